-- Writes what call_costs counted, as `strace -c` does (strace(1)), and the failing paths; or JSON lines.

local CallCosts = require("scapscope.call_costs")
local columns = require("scapscope.columns")
local json = require("scapscope.json")
local subjects = require("scapscope.subjects")
local unicode = require("scapscope.unicode")
local words = require("scapscope.words")

local report = {}

-- Failing paths shown in a table; JSON has all.
local PATHS = 10

local LINE = "%6s %11s %11s %9s %9s %s"
local RULER = LINE:format(("-"):rep(6), ("-"):rep(11), ("-"):rep(11), ("-"):rep(9), ("-"):rep(9), ("-"):rep(16))

local function share_of(costs, total)
	return total.time_ns > 0 and 100 * costs.time_ns / total.time_ns or nil
end

local function mean_us(costs)
	return costs.timed > 0 and costs.time_ns / costs.timed / 1000 or nil
end

local function line(costs, total, with_mean)
	local share, mean = share_of(costs, total), with_mean and mean_us(costs)
	return LINE:format(
		share and string.format("%.2f", share) or "-",
		costs.timed > 0 and string.format("%.6f", costs.time_ns / 1e9) or "-",
		mean and string.format("%d", math.floor(mean)) or (with_mean and "-" or ""),
		string.format("%d", costs.calls), costs.errors > 0 and string.format("%d", costs.errors) or "",
		unicode.shown(costs.call))
end

-- The table of one account, in lines.
function report.table(account)
	local sorted, total = CallCosts.sorted(account)
	local lines = { LINE:format("% time", "seconds", "usecs/call", "calls", "errors", "syscall"), RULER }
	for _, costs in ipairs(sorted) do
		lines[#lines + 1] = line(costs, total, true)
	end
	lines[#lines + 1] = RULER
	lines[#lines + 1] = line(total, total, false)
	return lines
end

-- The paths that calls failed on most, in lines. failures: all, sorted; others: how often calls failed on paths that
-- are not among them.
function report.failures(failures, others)
	if #failures == 0 then
		return {}
	end
	local rows, more = {}, others
	for index, failure in ipairs(failures) do
		if index <= PATHS then
			rows[index] = { words.number(failure.count), failure.errno, failure.call, failure.path }
		else
			more = more + failure.count
		end
	end
	local lines = columns.lines({ { "FAILED", right = true }, { "ERROR" }, { "SYSCALL" }, { "PATH" } }, rows)
	if more > 0 then
		lines[#lines + 1] = string.format("... and %s more failures, each of a kind less frequent", words.number(more))
	end
	return lines
end

local CALL_KEYS = { "process", "container", "syscall", "calls", "errors", "time_ns", "timed_calls" }

-- One call of an account as a line of JSON; process: nil for the capture as a whole; container: nil for the host.
function report.call_json(costs, process, container)
	return json.encode(json.object(CALL_KEYS, {
		process = process and subjects.process_json(process, { "comm", "pid" }),
		container = process and subjects.container_json(container),
		syscall = costs.call, calls = costs.calls, errors = costs.errors,
		time_ns = costs.timed > 0 and costs.time_ns or nil, timed_calls = costs.timed,
	}))
end

-- A failing path as a line of JSON.
function report.failure_json(failure)
	return json.encode(json.object({ "failed_path", "errno", "syscall", "count" }, {
		failed_path = failure.path, errno = failure.errno, syscall = failure.call, count = failure.count,
	}))
end

return report
