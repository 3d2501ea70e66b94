-- Explains, from page faults and signals, what programs did in the vsyscall page and what it did to them.
--
-- The events come from sysdig; scapscope/watch.lua says which, scapscope/state.lua what they mean.

local access = require("scapscope.access")
local Containers = require("scapscope.containers")
local findings = require("scapscope.findings")
local help = require("scapscope.help")
local known = require("scapscope.known")
local Ledger = require("scapscope.ledger")
local Mode = require("scapscope.mode")
local not_calls = require("scapscope.not_calls")
local output = require("scapscope.output")
local page = require("scapscope.page")
local report = require("scapscope.report")
local signals = require("scapscope.signals")
local State = require("scapscope.state")
local summary = require("scapscope.summary")
local Ticks = require("scapscope.ticks")
local Watch = require("scapscope.watch")

description = help.description(
	"Says which processes were killed by a call into the vsyscall page (0xffffffffff600000), which caught the "
	.. "signal, which make the kernel emulate such calls again and again, and which jumped into the page or read it: "
	.. "with container, image, kernel mode (vsyscall=none, xonly or emulate), event numbers and advice. Record with "
	.. "page faults (sysdig --page-faults -w crash.scap), or there is little to see. Crashes with another cause are "
	.. "counted, not explained. -j gives one JSON object per finding, -pc adds container columns. On a live capture "
	.. "it reports every 5 seconds. Arguments may come in any order: -c vsyscall_diag 'table 5000'."
)
short_description = "Crashes and slowness by the vsyscall page"
category = "Errors"

args = {
	help.argument("min_rate", "int", "report emulated calls from this many in one second of a process on (default 1000)"),
	help.argument("output", "string", "story, table or json (default story; json with -j)"),
}

-- Seconds between the reports of a live capture.
local INTERVAL_S = 5

local hot_calls = findings.DEFAULT_HOT_CALLS
local format = output.choice({ "story", "table", "json" })

local fields = {}
-- Of events that belong to none, as sysdig has it.
local NO_THREAD = -1
local state, ledger, mode, watch, containers, ticks
-- page_faults: there was one; ended: on_capture_end was called; told: its absence was reported.
local page_faults, started, ended, told

-- An argument is known by what it looks like, not by its place.
function on_set_arg(_, value)
	local number = value:match("^%d+$") and tonumber(value)
	if number and number > 0 then
		hot_calls = number
		return true
	end
	return format:set(value, "vsyscall_diag", "a number of calls per second, ")
end

local function identify()
	return {
		comm = known(evt.field(fields.comm)), exe = known(evt.field(fields.exe)),
		container = Containers.id(evt.field(fields.container)), vpid = evt.field(fields.vpid),
	}
end

local function start()
	ledger, mode, containers, ticks = Ledger.new(), Mode.new(), Containers.new(), Ticks.new(INTERVAL_S)
	watch = Watch.new(chisel.set_filter)
	state = State.new(ledger, mode, watch, identify)
	page_faults, started, ended, told = false, false, false, false
end

function on_init()
	for name, field in pairs({
		tid = "thread.tid", pid = "proc.pid", comm = "proc.name", exe = "proc.exe", container = "container.id",
		container_name = "container.name", image = "container.image", runtime = "container.type",
		address = "evt.arg.addr", error = "evt.rawarg.error", signal = "evt.arg.sig", sender = "evt.rawarg.spid",
		target_pid = "evt.rawarg.pid", target_tid = "evt.rawarg.tid", vpid = "proc.vpid",
		status = "evt.rawarg.status", direction = "evt.dir", result = "evt.rawres",
	}) do
		fields[name] = chisel.request_field(field)
	end
	start()
	return true
end

function on_capture_start()
	if started then
		start()
	end
	started = true
	containers:learn_table(sysdig.get_container_table)
	if sysdig.is_live() then
		chisel.set_interval_s(INTERVAL_S)
	end
	return true
end

local function page_fault(tid, pid)
	if not page_faults then
		page_faults = true
		watch:page_faults_seen()
	end
	local address, error = evt.field(fields.address), evt.field(fields.error)
	local offset = address and page.offset(address)
	local wanted = offset or watch:sees_all_of(tid, pid)
	if address and error and wanted and access.read(error).user then
		state:fault(tid, pid, offset or State.ELSEWHERE, access.read(error), evt.get_num(), evt.get_ts())
	end
end

local function signal_delivered(tid, pid)
	local signal = evt.field(fields.signal)
	-- A thread that is watched shows its other signals too.
	if signals.IS_DEADLY[signal or ""] then
		local sender = evt.field(fields.sender)
		state:signal(tid, pid, signal, sender and sender > 0 and sender or nil, evt.get_num(), evt.get_ts())
	end
end

local function program_call(kind, tid, pid)
	if evt.field(fields.direction) ~= "<" or evt.field(fields.result) ~= 0 then
		state:call(tid)
	elseif kind == "execve" or kind == "execveat" then
		state:exec(tid, pid)
	else
		state:call(tid)
		if tid == pid then
			state:born(pid)
		end
	end
end

-- Who sends whom a signal stands in the enter event, or in newer exit events behind the result.
local function kill(kind, tid)
	state:call(tid)
	local result, signal = evt.field(fields.result), evt.field(fields.signal)
	local target = evt.field(kind == "tkill" and fields.target_tid or fields.target_pid)
	if evt.field(fields.direction) == "<" and result and result < 0 then
		state.kills:failed(tid)
	elseif target and signals.IS_DEADLY[signal or ""] then
		local s, ns = evt.get_ts()
		state.kills:note(target, signal, tid, Containers.id(evt.field(fields.container)), { s = s, ns = ns })
	end
end

local handle = {
	page_fault = page_fault,
	signaldeliver = signal_delivered,
	procexit = function(tid, pid)
		state:exit(tid, pid, evt.field(fields.status), evt.get_num(), evt.get_ts())
	end,
	container = function()
		containers:learn(evt.field(fields.container), evt.field(fields.container_name), evt.field(fields.image),
			evt.field(fields.runtime))
	end,
}
for _, kind in ipairs({ "execve", "execveat", "clone", "clone3", "fork", "vfork" }) do
	handle[kind] = function(tid, pid)
		program_call(kind, tid, pid)
	end
end

for _, kind in ipairs({ "kill", "tkill", "tgkill" }) do
	handle[kind] = function(tid)
		kill(kind, tid)
	end
end

function on_event()
	local tid = evt.field(fields.tid) or NO_THREAD
	local kind = evt.get_type()
	local handler = handle[kind]
	if handler then
		handler(tid, state:pid_of(tid) or evt.field(fields.pid) or tid)
	elseif not not_calls[kind] then
		state:call(tid)
	end
	return true
end

-- Reports what the ledger has.
local function tell()
	local filter = sysdig.get_filter()
	local case = {
		ledger = ledger, mode = mode:infer(), hot_calls = hot_calls, page_faults = page_faults, filter = filter,
		-- Those that the user's filter keeps away may have been recorded.
		no_page_faults = not page_faults and not told and filter == "",
		source = sysdig.get_evtsource_name(), containers_wanted = sysdig.is_print_container_data(),
	}
	told = true
	local found, unexplained = findings.all(case)
	case.unexplained = unexplained
	for _, finding in ipairs(found) do
		finding.container = containers:show(finding.process and finding.process.container)
	end
	report.print(found, case, format:get())
	if format:get() == "story" then
		output.print(summary.lines(found, case))
	end
end

-- Live: what happened since the last time. A container's name comes late; what is known by then is told.
function on_interval(ts_s)
	local ended_s = ticks:ended(ts_s)
	if not ended_s then
		return true
	end
	containers:learn_table(sysdig.get_container_table)
	state:tell_all()
	if format:get() ~= "json" then
		print(os.date("!%Y-%m-%d %H:%M:%S UTC", ended_s))
	end
	tell()
	ledger:clear()
	return true
end

-- sysdig calls this a second time if reading ended with an error, also when the chisel could not even start, and with
-- time 0 where there was no event.
function on_capture_end(ts_s)
	if not started or ended or ts_s == 0 then
		return
	end
	ended = true
	containers:learn_table(sysdig.get_container_table)
	state:finish()
	tell()
end
