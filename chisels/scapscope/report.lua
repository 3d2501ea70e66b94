-- Writes findings: as stories for a person, as a table with a line each, or as JSON lines for a program.

local columns = require("scapscope.columns")
local json = require("scapscope.json")
local moment = require("scapscope.moment")
local output = require("scapscope.output")
local subjects = require("scapscope.subjects")
local unicode = require("scapscope.unicode")
local words = require("scapscope.words")
local wrap = require("scapscope.wrap")

local report = {}

local function events_text(finding)
	local parts = {}
	for _, at in ipairs(finding.evidence) do
		parts[#parts + 1] = string.format("%d %s", at.event, at.type)
	end
	return table.concat(parts, ", ")
end

local function event_numbers(finding)
	local numbers = {}
	for _, at in ipairs(finding.evidence) do
		numbers[#numbers + 1] = string.format("%d", at.event)
	end
	return table.concat(numbers, ",")
end

-- The calls and how often each was made, the single call, or what was done instead.
local function call_text(facts)
	if facts.calls then
		local parts = {}
		for call, count in pairs(facts.calls) do
			parts[#parts + 1] = string.format("%s() %s times", call, words.number(count))
		end
		table.sort(parts)
		return table.concat(parts, ", ")
	elseif facts.call then
		return string.format("%s() at %s", facts.call, facts.fault_address)
	end
	return string.format("none: %s of %s", facts.fault_access or "fetch", facts.fault_address)
end

local function rate_text(facts)
	local text = words.number(facts.count)
	if facts.calls then
		text = text .. (facts.count_is_minimum and " calls, then no more were counted" or " calls")
	end
	if facts.rate_per_second then
		text = text .. string.format(", %s a second", words.number(facts.rate_per_second))
	end
	if facts.peak_per_second then
		text = text .. string.format(" (busiest second of a process: %s)", words.number(facts.peak_per_second))
	end
	return text
end

local function container_text(container)
	local parts = { container.name or "name unknown", "image " .. (container.image or "unknown"), "id " .. container.id,
		container.runtime }
	return unicode.shown(table.concat(parts, ", "))
end

local function process_text(process)
	local text = string.format("%s, pid %d, exe %s", process.comm or "name unknown", process.pid,
		process.exe or "unknown")
	return unicode.shown(text)
end

-- What became of the process, as far as that was recorded.
local function outcome_text(facts)
	if facts.exit_status then
		return string.format("killed by %s; shells and runtimes show exit status %d", facts.signal, facts.exit_status)
	elseif facts.own_exit_status then
		return string.format("ended by itself, with exit status %d", facts.own_exit_status)
	elseif facts.outcome == "alive" then
		return "still alive when this was told"
	end
end

-- The lines of a finding about a process.
local function particulars(finding, case, add)
	local facts = finding.facts
	add("Process", process_text(finding.process))
	if finding.container then
		add("Container", container_text(finding.container))
	elseif case.containers_wanted then
		add("Container", "none: a process of the host")
	end
	add("Call", call_text(facts))
	add("Kernel", "vsyscall=" .. finding.mode)
	add("Count", rate_text(facts))
	local outcome = outcome_text(facts)
	if outcome then
		add("Outcome", outcome)
	end
	add("Events", string.format("%s (thread %d)", events_text(finding), finding.evidence[1].tid))
end

-- The command that shows the events again.
local function look_up(finding, case)
	local source = case.source
	if source:find("[^%w%._/+-]") then
		source = "'" .. source:gsub("'", "'\\''") .. "'"
	end
	return string.format('sysdig -r %s "evt.num in (%s)"', unicode.shown(source), event_numbers(finding))
end

local INDENT = "  "
local LABEL = INDENT .. "%-11s "

-- A finding as a story, in lines. case: source (the capture's path, empty when live), containers_wanted.
function report.story(finding, case)
	local lines = { string.format("%s (%s, %s)", finding.id, finding.severity, finding.confidence) }
	local function add_wrapped(head, text)
		for index, line in ipairs(wrap(text, words.WIDTH - #head)) do
			lines[#lines + 1] = (index == 1 and head or (" "):rep(#head)) .. line
		end
	end
	local function add(label, text)
		add_wrapped(LABEL:format(label .. ":"), text)
	end
	add_wrapped(INDENT, words.sentence(finding))
	if finding.process then
		particulars(finding, case, add)
	end
	add("Advice", words.ADVICE[finding.id])
	if case.source ~= "" and #finding.evidence > 0 then
		-- To be copied: in one line, however long.
		lines[#lines + 1] = LABEL:format("Look it up:") .. look_up(finding, case)
	end
	return lines
end

local HEADS = {
	{ "FINDING" }, { "SEVERITY" }, { "SURE" }, { "PROCESS" }, { "PID", right = true }, { "CALL" }, { "KERNEL" },
	{ "COUNT", right = true }, { "RATE/S", right = true }, { "EVENTS" },
}
local CONTAINER_HEADS = { { "CONTAINER" }, { "NAME" }, { "IMAGE" } }

local function integer(number)
	return number and string.format("%d", number)
end

local function row(finding, case)
	local facts, process, container = finding.facts, finding.process or {}, finding.container or {}
	local cells = {
		finding.id, finding.severity, finding.confidence, process.comm, integer(process.pid), facts.call,
		"vsyscall=" .. finding.mode, integer(facts.count or facts.segfaults), integer(facts.rate_per_second),
		event_numbers(finding),
	}
	if case.containers_wanted then
		cells[11], cells[12], cells[13] = container.id or (process.pid and "host"), container.name, container.image
	end
	return cells
end

-- Findings as a table, in lines; with columns for the container if the case wants them.
function report.table(found, case)
	local heads, rows = {}, {}
	for index, head in ipairs(HEADS) do
		heads[index] = head
	end
	for _, head in ipairs(case.containers_wanted and CONTAINER_HEADS or {}) do
		heads[#heads + 1] = head
	end
	for index, finding in ipairs(found) do
		rows[index] = row(finding, case)
	end
	return columns.lines(heads, rows)
end

local FINDING_KEYS = {
	"id", "severity", "confidence", "process", "container", "facts", "evidence", "kernel", "advice",
}

local function evidence_json(finding)
	local events = json.array({})
	for index, at in ipairs(finding.evidence) do
		events[index] = json.object({ "event", "timestamp_ns", "tid", "type" }, {
			event = at.event, timestamp_ns = json.digits(moment.digits(at)), tid = at.tid, type = at.type,
		})
	end
	return events
end

-- A finding as one line of JSON, with the keys that `scapscope explain --json` has; kernel and advice besides.
function report.json(finding)
	local process = finding.process
	return json.encode(json.object(FINDING_KEYS, {
		id = finding.id, severity = finding.severity, confidence = finding.confidence,
		process = process and subjects.process_json(process, { "comm", "exe", "pid", "tid" }) or json.null,
		container = subjects.container_json(finding.container),
		facts = finding.facts, evidence = evidence_json(finding),
		kernel = { vsyscall_mode = finding.mode }, advice = words.ADVICE[finding.id],
	}))
end

-- Prints findings in the format: story, table or json.
function report.print(found, format, case)
	if format == "table" then
		return #found > 0 and output.print(report.table(found, case))
	end
	for _, finding in ipairs(found) do
		if format == "json" then
			print(report.json(finding))
		else
			output.print(report.story(finding, case))
			print("")
		end
	end
end

return report
