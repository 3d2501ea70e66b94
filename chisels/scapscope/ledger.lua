-- Gathers what happens again and again: deaths of one kind, uses of the vsyscall page by one program.
--
-- Bounded: GROUPS kinds of each; what finds no place is counted.

local Processes = require("scapscope.processes")
local signals = require("scapscope.signals")

local Ledger = {}
Ledger.__index = Ledger

local GROUPS = 512
-- Process ids kept per kind.
local KEPT = 16

function Ledger.new()
	local ledger = setmetatable({}, Ledger)
	ledger:clear()
	return ledger
end

-- Begins anew, for the next interval.
function Ledger:clear()
	self.deaths, self.uses = {}, {}
	self.death_of, self.use_of = {}, {}
	self.other_deaths, self.segfaults, self.omitted = 0, 0, 0
end

-- Of a process that is shown later, and may be another program by then.
local function copy(process, tid)
	return {
		comm = process.comm, exe = process.exe, container = process.container, pid = process.pid, tid = tid,
	}
end

local RANK = { certain = 1, likely = 2, possible = 3 }

-- How much of a death by a fault the capture shows: every step, all but one, or only the beginning.
function Ledger.recorded(death)
	if death.delivery and death.status and not death.handler_ran then
		return "certain"
	end
	return (death.delivery or death.status) and "likely" or "possible"
end

-- The one of which most is recorded is the one that is shown.
local function show(group, death)
	if not group.shown or RANK[Ledger.recorded(death)] < RANK[Ledger.recorded(group.shown)] then
		group.shown, group.process = death, copy(death.process, death.tid)
	end
end

-- Notes a death. Those that no fault in the vsyscall page explains are counted only: they are the analyzer's.
function Ledger:death(death)
	if signals.OF_A_FAULT[death.signal] then
		self.segfaults = self.segfaults + 1
	end
	local fault = death.fault
	if not fault then
		self.other_deaths = self.other_deaths + 1
		return
	end
	local key = table.concat({
		Processes.key(death.process), death.signal, fault.offset, fault.access.kind, tostring(death.handler_ran),
	}, "\0")
	local group = self.death_of[key]
	if not group then
		if #self.deaths >= GROUPS then
			self.omitted = self.omitted + 1
			return
		end
		group = { count = 0, pids = {} }
		self.death_of[key] = group
		self.deaths[#self.deaths + 1] = group
	end
	show(group, death)
	group.count = group.count + 1
	if #group.pids < KEPT then
		group.pids[#group.pids + 1] = death.process.pid
	end
end

-- Notes what a process did in the page and lived.
function Ledger:page_use(use, process)
	local key = Processes.key(process)
	local group = self.use_of[key]
	if group then
		group.use:add(use)
		group.processes = group.processes + 1
	elseif #self.uses < GROUPS then
		group = { use = use, processes = 1, process = copy(process, process.pid) }
		self.use_of[key] = group
		self.uses[#self.uses + 1] = group
	else
		self.omitted = self.omitted + 1
	end
end

-- Whether a process that caught a fault in the page died of one after all: of what its handler did, or of the next one.
function Ledger:died_of_it(group)
	for _, deaths in ipairs(self.deaths) do
		if deaths.process.container == group.process.container then
			for _, pid in ipairs(deaths.pids) do
				if pid == group.process.pid then
					return true
				end
			end
		end
	end
	return false
end

return Ledger
