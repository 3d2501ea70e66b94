-- Sums up the system calls of a capture as `strace -c` does, and says which paths calls failed on.

local Arguments = require("scapscope.arguments")
local CallCosts = require("scapscope.call_costs")
local Capture = require("scapscope.capture")
local Durations = require("scapscope.durations")
local Event = require("scapscope.event")
local event_types = require("scapscope.event_types")
local help = require("scapscope.help")
local output = require("scapscope.output")
local report = require("scapscope.call_costs_report")
local subjects = require("scapscope.subjects")

description = help.description(
	"Sums up the system calls of a capture as `strace -c` does: share of the time, seconds, microseconds per "
	.. "call, calls, errors. Time is from enter to exit event, as with `strace -c -w`, waiting included; captures "
	.. "without enter events have none. Calls that sysdig knows by number only have no result on record, so no "
	.. "errors. Below it, the paths that calls failed on most. With `process`, a table for each of the ten processes "
	.. "that spent most time in calls. -j gives one JSON object per call, then one per failing path."
)
short_description = "Count, time and errors of system calls, as strace -c"
category = "Performance"

args = { help.argument("by", "string", "capture, or process for a table each (default capture)") }

-- Processes that get a table; JSON has all.
local PROCESSES = 10

-- What the parameter is called that holds the path, in one event or another.
local PATHS = { "name", "path", "pathname", "filename", "oldpath", "target" }

local arguments = Arguments.new("syscall_summary", { "capture", "process" })
local event, capture, costs, durations
-- The present event.
local at = {}

function on_set_arg(_, value)
	return arguments:take(value)
end

function on_init()
	local fields = { errno = "evt.res" }
	for _, name in ipairs(PATHS) do
		fields[name] = "evt.arg." .. name
	end
	event, capture, durations = Event.new(fields), Capture.new(), Durations.new()
	costs = CallCosts.new(function() return event:names() end)
	chisel.set_filter("syscall.type exists")
	return true
end

function on_capture_start()
	capture:start()
	return true
end

local function path()
	for _, name in ipairs(PATHS) do
		local text = event:text(name)
		if text then
			return text
		end
	end
end

local function exit_of(kind, tid)
	if event:is_birth(kind) then
		return
	end
	local result = event:get("result")
	local failed = result ~= nil and result < 0
	local pid = arguments.chosen == "process" and event:pid(tid) or nil
	costs:call(kind, durations:exit(tid, kind, at), failed, pid)
	local failed_path = failed and path()
	if failed_path then
		costs:failure(kind, failed_path, event:text("errno") or "?")
	elseif pid and event:is_exec(kind) then
		costs.accounts:finish(pid)
	end
end

function on_event()
	if capture:is_next_section() then
		costs.accounts:finish_all()
		durations = Durations.new()
	end
	local kind = evt.get_type()
	local tid = event:tid()
	if event_types.NO_CALL[kind] then
		capture:no_call(kind, event, durations, costs.accounts)
		return true
	end
	at.s, at.ns = evt.get_ts()
	if event:is_enter() then
		durations:enter(tid, kind, at.s, at.ns)
	else
		exit_of(kind, tid)
	end
	return true
end

local function print_account(account, process)
	local container = process and capture.containers:show(process.container)
	output.print(process and { subjects.text(process, container) } or {})
	output.print(report.table(account))
	print("")
end

local function print_processes()
	local accounts = costs:by_process()
	for index = 1, math.min(#accounts, PROCESSES) do
		print_account(accounts[index], accounts[index])
	end
	local more = #accounts - PROCESSES + costs.left_out
	if more > 0 then
		print(string.format("... and %d more processes", more))
		print("")
	end
end

local function print_text()
	if arguments.chosen == "process" then
		print_processes()
	else
		print_account(costs.whole)
	end
	output.print(report.failures(costs:sorted_failures(), costs.other_failures))
end

local function print_json()
	local accounts = arguments.chosen == "process" and costs:by_process() or { costs.whole }
	for _, account in ipairs(accounts) do
		local process = account.pid and account
		local container = process and capture.containers:show(process.container)
		for _, one in ipairs((CallCosts.sorted(account))) do
			print(report.call_json(one, process, container))
		end
	end
	for _, failure in ipairs(costs:sorted_failures()) do
		print(report.failure_json(failure))
	end
end

function on_capture_end(ts_s)
	if not capture:finish(ts_s) then
		return
	elseif output.is_json() then
		print_json()
	else
		print_text()
	end
end
