-- A csysdig view: which processes fault in the vsyscall page, how often, and how.

local page = require("scapscope.page")
local view = require("scapscope.view")

view_info = view.of_processes({
	id = "vsyscall",
	name = "Vsyscall Page",
	description = "Page faults in the vsyscall page (0xffffffffff600000), by process. Each is a call of gettimeofday"
		.. " (address ends in 000), time (400) or getcpu (800) that the kernel emulates, or the last thing that the"
		.. " process did.",
	tips = {
		"Page faults must have been recorded: sysdig --page-faults -w crash.scap, or csysdig --page-faults.",
		"ERROR with PAGE_NOT_PRESENT: the kernel runs vsyscall=none or xonly; with PROTECTION_VIOLATION: emulate. Without"
			.. " INSTRUCTION_FETCH the page was read.",
		"For a verdict with its evidence, run the chisel: sysdig -r crash.scap -c vsyscall_diag",
	},
	filter = "evt.type = page_fault and evt.arg.addr startswith " .. page.PREFIX,
	drilldown_target = "threads",
	heading = "FAULTS",
	what = "Faults in the page",
	columns = {
		{
			name = "ADDRESS",
			field = "evt.arg.addr",
			description = "The last address that was touched: ends in 000 for gettimeofday, 400 for time, 800 for getcpu.",
			colsize = 18,
			aggregation = "MAX",
		},
		{
			name = "ERROR",
			field = "evt.arg.error",
			description = "What the last fault was: INSTRUCTION_FETCH for a call, without it a read.",
			colsize = 66,
			aggregation = "MAX",
		},
	},
})
