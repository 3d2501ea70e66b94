-- Writes what is to be said besides the findings: the kernel's mode, and what was seen that is no finding.

local unicode = require("scapscope.unicode")
local words = require("scapscope.words")

local summary = {}

local function emulated_calls(ledger)
	local total = 0
	for _, group in ipairs(ledger.uses) do
		for _, count in pairs(group.use.emulated and group.use.emulated.calls or {}) do
			total = total + count
		end
	end
	return total
end

-- case: mode, hot_calls, page_faults, unexplained, filter, and the ledger; found: the findings.
function summary.lines(found, case)
	local lines = {}
	local function say(format, ...)
		lines[#lines + 1] = format:format(...)
	end
	if #found == 0 then
		say("Nothing in the vsyscall page that is worth a word.")
	end
	if case.page_faults then
		local calls = emulated_calls(case.ledger)
		say("Kernel: vsyscall=%s. Calls of the page that it emulated: %s%s", case.mode, words.number(calls), calls > 0
			and string.format(" (reported from %s within a second of one process on).", words.number(case.hot_calls))
			or ".")
	end
	if case.unexplained > 0 then
		say("Deaths by a signal that the vsyscall page does not explain: %s. For those: scapscope explain.",
			words.number(case.unexplained))
	end
	if case.ledger.omitted > 0 then
		say("More kinds of findings than are kept: %s left out.", words.number(case.ledger.omitted))
	end
	if case.filter ~= "" then
		say("Looked only at events that pass the filter: %s", unicode.shown(case.filter))
		if not case.page_faults then
			say("No page fault passes it: whether any was recorded, and what programs did in the page, does not show.")
		end
	end
	return lines
end

return summary
