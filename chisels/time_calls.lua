-- Shows which processes ask the kernel for the time, how often, and what that costs.

local Arguments = require("scapscope.arguments")
local CallTimes = require("scapscope.call_times")
local Capture = require("scapscope.capture")
local Durations = require("scapscope.durations")
local Event = require("scapscope.event")
local event_types = require("scapscope.event_types")
local help = require("scapscope.help")
local output = require("scapscope.output")
local report = require("scapscope.call_times_report")

description = help.description(
	"Shows how often each process enters the kernel for the time (time, gettimeofday, clock_gettime, getcpu), "
	.. "with calls per second, the busiest second, mean and worst cost of a call, and the share of all system calls "
	.. "of the process and of the capture. On a healthy host these calls are answered by the vDSO and hardly show "
	.. "here; where they do, look at /sys/devices/system/clocksource/clocksource0/current_clocksource and at the "
	.. "libc. Costs are from enter to exit event, recording included; captures without enter events have none. Calls "
	.. "of the vsyscall page are no system calls: see vsyscall_diag. With an interval there is a table for each, "
	.. "then the totals. -pc adds container columns, -j gives one JSON object per row."
)
short_description = "Rate and cost of time, gettimeofday, clock_gettime and getcpu"
category = "Performance"

args = {
	help.argument("interval", "int", "seconds from table to table (default: one table at the end; 1 on a live capture)"),
	help.argument("output", "string", "table or json (default table; json with -j)"),
}

local arguments = Arguments.new("time_calls", { "table", "json" }, "a number of seconds")
local event, capture, times, durations, interval_s
-- The present time call.
local at = {}

function on_set_arg(_, value)
	return arguments:take(value)
end

function on_init()
	event, capture, durations = Event.new(), Capture.new(), Durations.new()
	times = CallTimes.new(function() return event:names() end)
	chisel.set_filter("evt.dir = < or evt.type in (time, gettimeofday, clock_gettime, getcpu, procexit, container)")
	return true
end

function on_capture_start()
	interval_s = arguments.number or (sysdig.is_live() and 1 or nil)
	capture:start(interval_s)
	return true
end

local function time_call(kind, tid)
	at.s, at.ns = evt.get_ts()
	if event:is_enter() then
		durations:enter(tid, kind, at.s, at.ns)
	else
		local process = times:call(event:pid(tid))
		times:time_call(process, kind, durations:exit(tid, kind, at), at)
	end
end

local function other_call(kind, tid)
	if event:is_birth(kind) then
		return
	end
	local pid = event:pid(tid)
	times:call(pid)
	if event:is_exec(kind) then
		times.accounts:finish(pid)
	end
end

local function print_rows(rows, case)
	for _, row in ipairs(rows) do
		row.container = capture.containers:show(row.process and row.process.container)
	end
	if output.is_json(arguments.chosen) then
		for _, row in ipairs(rows) do
			print(report.json(row, case))
		end
	else
		output.print(report.table(rows, case))
	end
end

local function heading(text)
	if not output.is_json(arguments.chosen) then
		print(text)
	end
end

-- s: when it ends; remark: what to say besides.
local function print_tick(s, remark)
	heading(output.clock(s) .. remark)
	print_rows(times:rows("tick"), {
		which = "tick", calls_key = "tick_calls", total = times.tick_total, timestamp = s,
		rate = function(row) return math.floor(row.tick.calls / interval_s) end,
		containers_wanted = sysdig.is_print_container_data(),
	})
	times:next_tick()
end

local function end_section(next_s)
	if interval_s then
		print_tick(capture.ticks:restart(next_s), ", end of a capture in this file")
	end
	times.accounts:finish_all()
	durations = Durations.new()
end

function on_event()
	if capture:is_next_section() then
		end_section((evt.get_ts()))
	end
	local kind = evt.get_type()
	local tid = event:tid()
	if event_types.TIME[kind] then
		time_call(kind, tid)
	elseif event_types.NO_CALL[kind] then
		capture:no_call(kind, event, durations, times.accounts)
	else
		other_call(kind, tid)
	end
	return true
end

function on_interval(ts_s)
	if capture:is_next_section() then
		end_section(ts_s)
	end
	local ended_s = capture:interval_ended(ts_s)
	if ended_s then
		print_tick(ended_s, "")
	end
	return true
end

function on_capture_end(ts_s)
	if not capture:finish(ts_s) then
		return
	end
	if interval_s then
		print_tick(ts_s, ", end of the capture")
		heading("Totals")
	end
	print_rows(times:rows("all"), {
		which = "all", calls_key = "calls", total = times.total, rate = CallTimes.rate,
		containers_wanted = sysdig.is_print_container_data(),
	})
end
