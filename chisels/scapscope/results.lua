-- Gathers what was found, over the sections of a capture or in an interval, and what was seen that is no finding.

local findings = require("scapscope.findings")

local Results = {}
Results.__index = Results

-- Findings kept, over all sections.
local FOUND = 2048

local RANK = { critical = 1, error = 2, warning = 3, info = 4 }

-- found: findings; modes: of the kernels that were told apart; the rest are counts.
function Results.new()
	return setmetatable({
		found = {}, modes = {}, unexplained = 0, segfaults = 0, emulated_calls = 0, is_minimum = false, omitted = 0,
	}, Results)
end

function Results:count_emulated(ledger)
	for _, group in ipairs(ledger.uses) do
		for _, count in pairs(group.use.emulated and group.use.emulated.calls or {}) do
			self.emulated_calls = self.emulated_calls + count
		end
		self.is_minimum = self.is_minimum or group.use.enough or false
	end
end

function Results:note_mode(mode)
	for _, noted in ipairs(self.modes) do
		if noted == mode then
			return
		end
	end
	self.modes[#self.modes + 1] = mode ~= "unknown" and mode or nil
end

-- Judges the ledger of one kernel, which runs in `mode`. Containers are shown as they are known now.
function Results:add(ledger, mode, hot_calls, containers)
	local found, unexplained = findings.of_section(ledger, mode, hot_calls)
	for _, finding in ipairs(found) do
		finding.container = containers:show(finding.process.container)
		if #self.found < FOUND then
			self.found[#self.found + 1] = finding
		else
			self.omitted = self.omitted + 1
		end
	end
	self:note_mode(mode)
	self:count_emulated(ledger)
	self.unexplained = self.unexplained + unexplained
	self.segfaults = self.segfaults + ledger.segfaults
	self.omitted = self.omitted + ledger.omitted
end

-- There was no page fault in all of this.
function Results:no_page_faults()
	self.found[#self.found + 1] = findings.page_faults_not_captured(self.segfaults)
end

local function worse(a, b)
	if a.severity ~= b.severity then
		return RANK[a.severity] < RANK[b.severity]
	end
	local first_of_a, first_of_b = a.evidence[1], b.evidence[1]
	return (first_of_a and first_of_a.event or math.huge) < (first_of_b and first_of_b.event or math.huge)
end

-- Puts the worst first, then goes by the order of events.
function Results:sort()
	table.sort(self.found, worse)
end

return Results
