-- Writes what is to be said besides the findings: the kernel's mode, and what was seen that is no finding.

local unicode = require("scapscope.unicode")
local words = require("scapscope.words")
local wrap = require("scapscope.wrap")

local summary = {}

-- How the kernel treats the page, and how often it stepped in; of several kernels, all that were told apart.
local function kernel(results, hot_calls)
	local modes = {}
	for index, mode in ipairs(results.modes) do
		modes[index] = "vsyscall=" .. mode
	end
	local text = string.format("Kernel: %s. Calls of the page that it emulated: %s%s",
		#modes > 0 and table.concat(modes, " and ") or "vsyscall=unknown", results.is_minimum and "more than " or "",
		words.number(results.emulated_calls))
	if results.emulated_calls == 0 then
		return text .. "."
	end
	return text .. string.format(" (reported from %s within a second of one process on).", words.number(hot_calls))
end

-- case: hot_calls, page_faults (there was one), filter.
function summary.lines(results, case)
	local lines = {}
	local function say(text, ...)
		for _, line in ipairs(wrap(text:format(...), words.WIDTH)) do
			lines[#lines + 1] = line
		end
	end
	if #results.found == 0 then
		say("Nothing in the vsyscall page that is worth a word.")
	end
	if case.page_faults then
		say("%s", kernel(results, case.hot_calls))
	end
	if results.unexplained > 0 then
		say("Deaths by a signal that the vsyscall page does not explain: %s. For those: scapscope explain.",
			words.number(results.unexplained))
	end
	if results.omitted > 0 then
		say("More was seen than is kept: %s left out.", words.number(results.omitted))
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
