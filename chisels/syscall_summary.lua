-- Sums up the system calls of a capture as `strace -c` does, and says which paths calls failed on.

local CallCosts = require("scapscope.call_costs")
local Containers = require("scapscope.containers")
local Durations = require("scapscope.durations")
local help = require("scapscope.help")
local known = require("scapscope.known")
local not_calls = require("scapscope.not_calls")
local output = require("scapscope.output")
local report = require("scapscope.call_costs_report")

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

-- Processes that get a table, and failing paths shown.
local PROCESSES = 10
local PATHS = 10

local CLONES = { clone = true, clone3 = true, fork = true, vfork = true }
-- What the parameter is called that holds the path, in one event or another.
local PATH_FIELDS = {
	"evt.arg.name", "evt.arg.path", "evt.arg.pathname", "evt.arg.filename", "evt.arg.oldpath", "evt.arg.target",
}

local by = output.choice({ "capture", "process" })
local fields, path_fields = {}, {}
-- Of events that belong to none, as sysdig has it.
local NO_THREAD = -1
local costs, durations, containers, started
-- The present event.
local at = {}

function on_set_arg(_, value)
	return by:set(value, "syscall_summary", "")
end

local function names()
	return { comm = known(evt.field(fields.comm)), container = Containers.id(evt.field(fields.container)) }
end

function on_init()
	for name, field in pairs({
		pid = "proc.pid", tid = "thread.tid", comm = "proc.name", container = "container.id",
		container_name = "container.name", image = "container.image", runtime = "container.type",
		direction = "evt.dir", result = "evt.rawres", errno = "evt.res",
	}) do
		fields[name] = chisel.request_field(field)
	end
	for index, field in ipairs(PATH_FIELDS) do
		path_fields[index] = chisel.request_field(field)
	end
	chisel.set_filter("syscall.type exists")
	costs, durations, containers, started = CallCosts.new(names), Durations.new(), Containers.new(), false
	return true
end

function on_capture_start()
	started = true
	containers:learn_table(sysdig.get_container_table)
	return true
end

local function path()
	for _, field in ipairs(path_fields) do
		local text = known(evt.field(field))
		if text then
			return text
		end
	end
end

local function no_call(kind, tid)
	if kind == "container" then
		containers:learn(evt.field(fields.container), evt.field(fields.container_name), evt.field(fields.image),
			evt.field(fields.runtime))
	elseif kind == "procexit" then
		durations:forget(tid)
		if by.chosen == "process" and tid == (evt.field(fields.pid) or tid) then
			costs:finish(tid)
		end
	end
end

local function exit_of(kind, tid)
	local result = evt.field(fields.result)
	if CLONES[kind] and result == 0 then
		-- The child's side of a call that its parent makes.
		return
	end
	local pid = by.chosen == "process" and (evt.field(fields.pid) or tid) or nil
	local failed = result ~= nil and result < 0
	costs:call(kind, durations:exit(tid, kind, at), failed, pid)
	if failed then
		local failed_path = path()
		if failed_path then
			costs:failure(kind, failed_path, known(evt.field(fields.errno)) or "?")
		end
	elseif pid and (kind == "execve" or kind == "execveat") then
		costs:finish(pid)
	end
end

function on_event()
	local kind = evt.get_type()
	local tid = evt.field(fields.tid) or NO_THREAD
	if not_calls[kind] then
		no_call(kind, tid)
		return true
	end
	at.s, at.ns = evt.get_ts()
	if evt.field(fields.direction) == ">" then
		durations:enter(tid, kind, at.s, at.ns)
	else
		exit_of(kind, tid)
	end
	return true
end

local function print_account(account, process)
	local container = process and containers:show(process.names.container)
	if sysdig.get_output_format() == "json" then
		for _, one in ipairs((CallCosts.sorted(account))) do
			print(report.call_json(one, process, container))
		end
	else
		output.print(process and { report.title(process, container) } or {})
		output.print(report.table(account))
		print("")
	end
end

local function print_processes()
	local accounts = costs:by_process()
	local json = sysdig.get_output_format() == "json"
	for index, account in ipairs(accounts) do
		if json or index <= PROCESSES then
			print_account(account.process, account.process)
		end
	end
	local more = #accounts - PROCESSES + costs.left_out
	if more > 0 and not json then
		print(string.format("... and %d more processes that spent less time in calls", more))
		print("")
	end
end

-- sysdig calls this a second time if reading ended with an error, and also when the chisel could not start.
function on_capture_end()
	if not started then
		return
	end
	started = false
	containers:learn_table(sysdig.get_container_table)
	if by.chosen == "process" then
		print_processes()
	else
		print_account(costs.whole)
	end
	if sysdig.get_output_format() == "json" then
		for _, failure in ipairs((costs:top_failures(math.huge))) do
			print(report.failure_json(failure))
		end
	else
		output.print(report.failures(costs:top_failures(PATHS)))
	end
end
