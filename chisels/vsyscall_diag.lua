-- Explains, from page faults and signals, what programs did in the vsyscall page and what it did to them.
--
-- The events come from sysdig; scapscope/watch.lua says which, scapscope/state.lua what they mean.

local access = require("scapscope.access")
local Arguments = require("scapscope.arguments")
local Capture = require("scapscope.capture")
local Event = require("scapscope.event")
local event_types = require("scapscope.event_types")
local findings = require("scapscope.findings")
local help = require("scapscope.help")
local Ledger = require("scapscope.ledger")
local Mode = require("scapscope.mode")
local output = require("scapscope.output")
local page = require("scapscope.page")
local report = require("scapscope.report")
local Results = require("scapscope.results")
local signals = require("scapscope.signals")
local State = require("scapscope.state")
local summary = require("scapscope.summary")
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

local arguments = Arguments.new("vsyscall_diag", { "story", "table", "json" }, "a number of calls per second")
local event, capture, results
-- Of the section being read.
local state, ledger, mode, watch
-- page_faults: there was one; told: that there was none has been told.
local page_faults, told

function on_set_arg(_, value)
	return arguments:take(value)
end

local function identify()
	local comm, container = event:names()
	return { comm = comm, exe = event:text("exe"), container = container, vpid = event:get("vpid") }
end

local function start_section()
	ledger, mode, watch = Ledger.new(), Mode.new(), Watch.new(chisel.set_filter)
	state = State.new(ledger, mode, watch, identify)
end

function on_init()
	event, capture, results = Event.new({
		exe = "proc.exe", vpid = "proc.vpid", address = "evt.arg.addr", error = "evt.rawarg.error",
		signal = "evt.arg.sig", sender = "evt.rawarg.spid", target_pid = "evt.rawarg.pid",
		target_tid = "evt.rawarg.tid", status = "evt.rawarg.status",
	}), Capture.new(), Results.new()
	page_faults, told = false, false
	start_section()
	return true
end

function on_capture_start()
	capture:start(sysdig.is_live() and INTERVAL_S or nil)
	return true
end

local function page_fault(tid, pid)
	page_faults = true
	watch:page_faults_seen()
	local address, error = event:get("address"), event:get("error")
	local offset = address and page.offset(address)
	local wanted = offset or watch:sees_all_of(tid, pid)
	if address and error and wanted and access.read(error).user then
		state:fault(tid, pid, offset or State.ELSEWHERE, access.read(error), evt.get_num(), evt.get_ts())
	end
end

local function signal_delivered(tid, pid)
	local signal = event:get("signal")
	-- A thread that is watched shows its other signals too.
	if signals.IS_DEADLY[signal or ""] then
		local sender = event:get("sender")
		state:signal(tid, pid, signal, sender and sender > 0 and sender or nil, evt.get_num(), evt.get_ts())
	end
end

local function program_call(kind, tid, pid)
	if event:is_exec(kind) then
		return state:exec(tid, pid)
	end
	state:call(tid)
	if event:is_birth(kind) and tid == pid then
		state:born(pid)
	end
end

-- Who sends whom a signal stands in the enter event, or in newer exit events behind the result.
local function kill(kind, tid)
	state:call(tid)
	local result, signal = event:get("result"), event:get("signal")
	local target = event:get(kind == "tkill" and "target_tid" or "target_pid")
	if event:get("direction") == "<" and result and result < 0 then
		state.kills:failed(tid)
	elseif target and signals.IS_DEADLY[signal or ""] then
		local s, ns = evt.get_ts()
		state.kills:note(target, signal, tid, event:container_id(), { s = s, ns = ns })
	end
end

local handle = {
	page_fault = page_fault,
	signaldeliver = signal_delivered,
	procexit = function(tid, pid)
		state:exit(tid, pid, event:get("status"), evt.get_num(), evt.get_ts())
	end,
	container = function() capture:container_event(event) end,
}
for _, kinds in ipairs({ event_types.EXEC, event_types.CLONE }) do
	for kind in pairs(kinds) do
		handle[kind] = function(tid, pid) program_call(kind, tid, pid) end
	end
end
for kind in pairs(event_types.KILL) do
	handle[kind] = function(tid) kill(kind, tid) end
end

-- Judges what was seen since this was done last.
local function judge()
	results:add(ledger, mode:infer(), arguments.number or findings.DEFAULT_HOT_CALLS, capture.containers)
end

local function end_section()
	state:finish()
	judge()
	start_section()
end

function on_event()
	if capture:is_next_section() then
		end_section()
	end
	local tid = event:tid()
	local kind = evt.get_type()
	local handler = handle[kind]
	if handler then
		handler(tid, state:pid_of(tid) or event:pid(tid))
	elseif not event_types.NO_CALL[kind] then
		state:call(tid)
	end
	return true
end

local function tell()
	local filter = sysdig.get_filter()
	-- Page faults that the user's filter keeps away may have been recorded.
	if not page_faults and not told and filter == "" then
		results:no_page_faults()
	end
	told = true
	results:sort()
	local format = output.is_json(arguments.chosen) and "json" or arguments.chosen
	report.print(results.found, format, {
		source = sysdig.get_evtsource_name(), containers_wanted = sysdig.is_print_container_data(),
	})
	if format == "story" then
		output.print(summary.lines(results, {
			hot_calls = arguments.number or findings.DEFAULT_HOT_CALLS, page_faults = page_faults, filter = filter,
		}))
	end
end

-- Live: what happened since the last time. A container's name comes late; what is known by then is told.
function on_interval(ts_s)
	local ended_s = capture:interval_ended(ts_s)
	if ended_s then
		if not output.is_json(arguments.chosen) then
			print(output.clock(ended_s))
		end
		state:tell_all()
		judge()
		tell()
		ledger:clear()
		results = Results.new()
	end
	return true
end

function on_capture_end(ts_s)
	if capture:finish(ts_s) then
		state:finish()
		judge()
		tell()
	end
end
