-- A csysdig view: which processes fault in the vsyscall page, how often, and how.

view_info = {
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
	tags = { "Default" },
	view_type = "table",
	filter = "evt.type = page_fault and evt.arg.addr startswith FFFFFFFFFF600",
	applies_to = {
		"", "container.id", "proc.pid", "proc.name", "thread.tid", "thread.nametid", "k8s.pod.id", "k8s.ns.id",
	},
	use_defaults = true,
	drilldown_target = "threads",
	columns = {
		{ name = "NA", field = "proc.pid", is_key = true },
		{
			name = "FAULTS",
			field = "evt.count",
			description = "Faults in the page during the sample interval. On trace files, in the whole file.",
			colsize = 10,
			aggregation = "SUM",
			is_sorting = true,
		},
		{
			name = "FAULTS/S",
			field = "evt.count",
			description = "Faults in the page per second.",
			colsize = 10,
			aggregation = "TIME_AVG",
		},
		{ name = "PID", field = "proc.pid", description = "Process id.", colsize = 8 },
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
		{
			tags = { "containers" },
			name = "Container ID",
			field = "container.id",
			description = "Id of the container, known before its name; host for a process of the host.",
			colsize = 13,
		},
		{
			tags = { "containers" },
			name = "Container",
			field = "container.name",
			description = "Name of the container, as far as it was known at the fault.",
			colsize = 20,
		},
		{
			tags = { "containers" },
			name = "Image",
			field = "container.image",
			description = "Image of the container, as far as it was known at the fault.",
			colsize = 24,
		},
		{
			name = "Command",
			field = "proc.exeline",
			description = "Command line of the process.",
			aggregation = "MAX",
			colsize = 0,
		},
	},
}
