-- Holds the sentences: what a finding says, and what to do about it, each in one line.
--
-- The advice is that of analyzer/scapscope/knowledge, to the letter: the two must not part.

local subjects = require("scapscope.subjects")

local words = {}

-- Columns of the narrowest terminal that the stories are written for.
words.WIDTH = 80

words.ADVICE = {
	["vsyscall-none-crash"] = "Rebuild the image on a base whose glibc is newer than 2.13, or boot the node with"
		.. " vsyscall=xonly or vsyscall=emulate.",
	["vsyscall-sigsegv-handled"] = "Rebuild on a base whose glibc is newer than 2.13, unless the program only tries"
		.. " the page.",
	["vsyscall-emulated-hot"] = "Rebuild on a base whose glibc is newer than 2.13, which uses the vDSO. Do not switch"
		.. " this node to vsyscall=none before that.",
	["vsyscall-misaligned-jump"] = "Treat it as an incident until it is shown to be a bug: isolate the container,"
		.. " keep it and this capture.",
	["vsyscall-read"] = "Find out which tool or library reads there and replace it; vsyscall=emulate makes the read"
		.. " work.",
	["page-faults-not-captured"] = "Record it again with page faults: sysdig --page-faults -w crash.scap",
}

-- 1234567 as 1,234,567.
function words.number(number)
	local digits = string.format("%d", number)
	local grouped = digits:reverse():gsub("(%d%d%d)", "%1,"):reverse()
	return (grouped:gsub("^,", ""))
end

-- With three digits, this is 1000 of a unit, and so 1 of the next.
local ROUNDS_UP = 999.5

local function in_minutes(seconds)
	local minutes, hours = math.floor(seconds / 60), math.floor(seconds / 3600)
	if hours > 0 then
		return string.format("%d h %d min", hours, minutes % 60)
	end
	return string.format("%d min %d s", minutes, seconds % 60)
end

-- Nanoseconds as people say it, to three digits: 7177253 as 7.18 ms, 93e9 as 1 min 33 s.
function words.duration(ns)
	for _, unit in ipairs({ { 1, "ns" }, { 1e3, "us" }, { 1e6, "ms" } }) do
		if ns < ROUNDS_UP * unit[1] then
			return string.format("%.3g %s", ns / unit[1], unit[2])
		end
	end
	if ns < 59.95e9 then
		return string.format("%.3g s", ns / 1e9)
	end
	return in_minutes(math.floor(ns / 1e9 + 0.5))
end

local function times(count)
	return count == 1 and "" or string.format(" (%s times)", words.number(count))
end

local function repeated(facts)
	return facts.count > 1 and string.format(" That happened %s times.", words.number(facts.count)) or ""
end

local SENTENCE = {}

SENTENCE["vsyscall-none-crash"] = function(who, facts, finding)
	if finding.confidence == "possible" and facts.signal == "SIGSEGV" then
		return string.format("%s called %s() in the vsyscall page, and after that the capture shows nothing more of it:"
			.. " on a kernel that runs vsyscall=none this was its death.", who, facts.call)
	elseif finding.confidence == "possible" then
		return string.format("%s was killed by %s%s after a call of %s() in the vsyscall page, whose SIGSEGV it caught:"
			.. " the likely reason, since this kernel runs vsyscall=none.", who, facts.signal, times(facts.count),
			facts.call)
	end
	return string.format("%s was killed by %s%s: its libc calls %s() in the vsyscall page, and this kernel runs"
		.. " vsyscall=none.", who, facts.signal, times(facts.count), facts.call)
end

SENTENCE["vsyscall-sigsegv-handled"] = function(who, facts)
	local why = facts.vsyscall_mode == "none" and "which vsyscall=none forbids, caught the SIGSEGV"
		or "got SIGSEGV for it, caught it"
	return string.format("%s called %s() in the vsyscall page, %s and lived on.%s", who, facts.call, why,
		repeated(facts))
end

SENTENCE["vsyscall-emulated-hot"] = function(who, facts)
	local mode = facts.vsyscall_mode and string.format(" (vsyscall=%s)", facts.vsyscall_mode) or ""
	return string.format("%s called the vsyscall page %s%s times in %s; the kernel emulates each call with a trap%s.",
		who, facts.count_is_minimum and "more than " or "", words.number(facts.count),
		words.duration(facts.duration_ns), mode)
end

SENTENCE["vsyscall-misaligned-jump"] = function(who, facts)
	return string.format("%s jumped into the vsyscall page at %s, which is none of its three entry points: an"
		.. " exploit, or a wild jump.%s", who, facts.fault_address, repeated(facts))
end

SENTENCE["vsyscall-read"] = function(who, facts)
	local what = facts.signal and string.format("was killed by %s for reading", facts.signal) or "read"
	return string.format("%s %s the vsyscall page at %s.%s", who, what, facts.fault_address, repeated(facts))
end

SENTENCE["page-faults-not-captured"] = function(_, facts)
	if facts.segfaults == 0 then
		return "Page faults were not recorded: calls of the vsyscall page that the kernel emulates do not show here."
	end
	return "This capture cannot say why: page faults were not recorded. Deaths by SIGSEGV or SIGBUS that they would"
		.. " explain: " .. words.number(facts.segfaults) .. "."
end

-- What the finding says.
function words.sentence(finding)
	local who = finding.process and subjects.text(finding.process, finding.container)
	return SENTENCE[finding.id](who, finding.facts, finding)
end

return words
