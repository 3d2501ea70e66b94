-- Writes what call_times counted: a table of rows for a person, or a JSON line per row.

local columns = require("scapscope.columns")
local json = require("scapscope.json")
local subjects = require("scapscope.subjects")
local words = require("scapscope.words")

local report = {}

-- Rows shown in a table; JSON has all.
local SHOWN = 30

local function percent(part, whole)
	return whole > 0 and string.format("%.2f", 100 * part / whole) or nil
end

local function mean_ns(counted)
	return counted.timed > 0 and counted.time_ns / counted.timed or nil
end

local function duration(ns)
	return ns and words.duration(ns)
end

local function name(row)
	if row.process then
		return row.process.comm
	end
	return words.number(row.rows) .. " rows of ended processes"
end

local function container_id(row)
	return row.container and row.container.id or (row.process and "host")
end

-- Of a row counted for several processes, the share of each is not known.
local function process_calls(row, case)
	return row.process and row.process[case.calls_key]
end

-- Each column: its head, and what stands in it for a row, what was counted in it, and the case; of: only in tables of
-- that kind.
local COLUMNS = {
	{ "PROCESS", cell = name },
	{ "PID", right = true, cell = function(row) return row.process and string.format("%d", row.process.pid) end },
	{ "CALL", cell = function(row) return row.call end },
	{ "CALLS", right = true, cell = function(_, counted) return words.number(counted.calls) end },
	{ "CALLS/S", right = true, cell = function(row, _, case) return case.rate(row) and words.number(case.rate(row)) end },
	{ "PEAK/S", right = true, of = "all", cell = function(row) return row.peak and words.number(row.peak.most) end },
	{ "MEAN", right = true, cell = function(_, counted) return duration(mean_ns(counted)) end },
	{ "WORST", right = true, cell = function(_, counted) return duration(counted.timed > 0 and counted.worst_ns) end },
	{ "%PROCESS", right = true, cell = function(row, counted, case)
		return percent(counted.calls, process_calls(row, case) or 0)
	end },
	{ "%ALL", right = true, cell = function(_, counted, case) return percent(counted.calls, case.total) end },
	{ "CONTAINER", of = "containers", cell = container_id },
	{ "NAME", of = "containers", cell = function(row) return row.container and row.container.name end },
	{ "IMAGE", of = "containers", cell = function(row) return row.container and row.container.image end },
}

local function columns_of(case)
	local chosen = {}
	for _, column in ipairs(COLUMNS) do
		if not column.of or column.of == case.which or column.of == "containers" and case.containers_wanted then
			chosen[#chosen + 1] = column
		end
	end
	return chosen
end

local function cells_of(row, chosen, case)
	local cells = {}
	for index, column in ipairs(chosen) do
		cells[index] = column.cell(row, row[case.which], case) or nil
	end
	return cells
end

-- The table in lines. case: which (all or tick), rate(row), calls_key (of a process), total, containers_wanted.
function report.table(rows, case)
	local heads, shown, asked = columns_of(case), {}, 0
	for index, row in ipairs(rows) do
		asked = asked + row[case.which].calls
		if index <= SHOWN then
			shown[index] = cells_of(row, heads, case)
		end
	end
	local lines = columns.lines(heads, shown)
	if #rows > SHOWN then
		lines[#lines + 1] = string.format("... and %d more rows with fewer calls", #rows - SHOWN)
	end
	lines[#lines + 1] = string.format("%s system calls that ask for the time, %s %% of %s", words.number(asked),
		percent(asked, case.total) or "0.00", words.number(case.total))
	return lines
end

local KEYS = {
	"timestamp", "process", "container", "call", "rows", "calls", "rate_per_second", "peak_per_second", "mean_ns",
	"worst_ns", "process_syscalls", "all_syscalls",
}

-- A row as one line of JSON; case.timestamp: the tick's second. A row counted for several processes has no process, and
-- says how many rows it stands for.
function report.json(row, case)
	local counted = row[case.which]
	local mean = mean_ns(counted)
	return json.encode(json.object(KEYS, {
		timestamp = case.timestamp, call = row.call or json.null, rows = row.rows, calls = counted.calls,
		process = row.process and subjects.process_json(row.process, { "comm", "pid" }) or json.null,
		container = subjects.container_json(row.container),
		rate_per_second = case.rate(row), peak_per_second = case.which == "all" and row.peak and row.peak.most or nil,
		mean_ns = mean and math.floor(mean) or nil, worst_ns = mean and counted.worst_ns or nil,
		process_syscalls = process_calls(row, case), all_syscalls = case.total,
	}))
end

return report
