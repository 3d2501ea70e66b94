-- Shows which processes ask the kernel for the time, how often, and what that costs.

local CallTimes = require("scapscope.call_times")
local Containers = require("scapscope.containers")
local Durations = require("scapscope.durations")
local help = require("scapscope.help")
local known = require("scapscope.known")
local not_calls = require("scapscope.not_calls")
local output = require("scapscope.output")
local report = require("scapscope.call_times_report")
local Ticks = require("scapscope.ticks")

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

local TIME_CALLS = { time = true, gettimeofday = true, clock_gettime = true, getcpu = true }
local CLONES = { clone = true, clone3 = true, fork = true, vfork = true }

local format = output.choice({ "table", "json" })
local fields = {}
-- Of events that belong to none, as sysdig has it.
local NO_THREAD = -1
local interval, times, durations, containers, ticks, started
-- The present time call.
local at = {}

-- An argument is known by what it looks like, not by its place.
function on_set_arg(_, value)
	local number = value:match("^%d+$") and tonumber(value)
	if number and number > 0 then
		interval = number
		return true
	end
	return format:set(value, "time_calls", "a number of seconds, ")
end

local function names()
	return { comm = known(evt.field(fields.comm)), container = Containers.id(evt.field(fields.container)) }
end

function on_init()
	for name, field in pairs({
		pid = "proc.pid", tid = "thread.tid", comm = "proc.name", container = "container.id",
		container_name = "container.name", image = "container.image", runtime = "container.type",
		direction = "evt.dir", result = "evt.rawres",
	}) do
		fields[name] = chisel.request_field(field)
	end
	chisel.set_filter("evt.dir = < or evt.type in (time, gettimeofday, clock_gettime, getcpu, procexit, container)")
	times, durations, containers, started = CallTimes.new(names), Durations.new(), Containers.new(), false
	return true
end

function on_capture_start()
	started = true
	containers:learn_table(sysdig.get_container_table)
	if interval or sysdig.is_live() then
		interval = interval or 1
		ticks = Ticks.new(interval)
		chisel.set_interval_s(interval)
	end
	return true
end

local function no_call(kind, tid)
	if kind == "container" then
		containers:learn(evt.field(fields.container), evt.field(fields.container_name), evt.field(fields.image),
			evt.field(fields.runtime))
	elseif kind == "procexit" then
		durations:forget(tid)
		if tid == (evt.field(fields.pid) or tid) then
			times:finish(tid)
		end
	end
end

local function time_call(kind, tid)
	at.s, at.ns = evt.get_ts()
	if evt.field(fields.direction) == ">" then
		durations:enter(tid, kind, at.s, at.ns)
	else
		local process = times:call(evt.field(fields.pid) or tid)
		times:time_call(process, kind, durations:exit(tid, kind, at), at)
	end
end

local function other_call(kind, tid)
	if CLONES[kind] and evt.field(fields.result) == 0 then
		-- The child's side of a call that its parent makes.
		return
	end
	local pid = evt.field(fields.pid) or tid
	times:call(pid)
	if (kind == "execve" or kind == "execveat") and evt.field(fields.result) == 0 then
		times:finish(pid)
	end
end

function on_event()
	local kind = evt.get_type()
	local tid = evt.field(fields.tid) or NO_THREAD
	if TIME_CALLS[kind] then
		time_call(kind, tid)
	elseif not_calls[kind] then
		no_call(kind, tid)
	else
		other_call(kind, tid)
	end
	return true
end

local function print_rows(rows, case)
	for _, row in ipairs(rows) do
		row.container = containers:show(row.names.container)
	end
	if format:get() == "json" then
		for _, row in ipairs(rows) do
			print(report.json(row, case))
		end
	else
		output.print(report.table(rows, case))
	end
end

-- ts_s: when it ends; remark: what to say besides.
local function print_tick(ts_s, remark)
	local rows = times:rows("tick")
	if format:get() ~= "json" then
		print(os.date("!%Y-%m-%d %H:%M:%S UTC", ts_s) .. remark)
	end
	print_rows(rows, {
		which = "tick", calls_key = "tick_calls", total = times.tick_total, timestamp = ts_s,
		rate = function(row) return math.floor(row.tick.calls / interval) end,
		containers_wanted = sysdig.is_print_container_data(),
	})
	times:next_tick()
end

function on_interval(ts_s)
	local ended_s = ticks:ended(ts_s)
	if ended_s then
		containers:learn_table(sysdig.get_container_table)
		print_tick(ended_s, "")
	end
	return true
end

-- sysdig calls this a second time if reading ended with an error, and also when the chisel could not start.
function on_capture_end(ts_s)
	if not started then
		return
	end
	started = false
	containers:learn_table(sysdig.get_container_table)
	if interval then
		print_tick(ts_s, ", end of the capture")
		if format:get() ~= "json" then
			print("Totals")
		end
	end
	print_rows(times:rows("all"), {
		which = "all", calls_key = "calls", total = times.total, rate = CallTimes.rate,
		containers_wanted = sysdig.is_print_container_data(),
	})
end
