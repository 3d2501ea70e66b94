-- Counts what one process did in the vsyscall page and lived: calls that the kernel emulated, and faults that
-- are something else.
--
-- Emulated calls come by the million: counting one creates nothing.

local moment = require("scapscope.moment")
local page = require("scapscope.page")
local Peak = require("scapscope.peak")

local PageUse = {}
PageUse.__index = PageUse

-- enough: not all emulated calls were counted; outcome and exit_status: what became of the process (see State).
function PageUse.new()
	return setmetatable({}, PageUse)
end

-- A fault as it is kept. `fault`: a moment with offset and access.
function PageUse.copy(fault)
	local copy = moment.of(fault)
	copy.offset, copy.access = fault.offset, fault.access
	return copy
end

local function start(fault)
	local calls = {}
	for _, call in ipairs(page.CALLS) do
		calls[call] = 0
	end
	return {
		calls = calls, first = PageUse.copy(fault), last = moment.of(fault),
		peak = Peak.new(fault),
	}
end

local function move(to, from)
	to.event, to.s, to.ns, to.tid = from.event, from.s, from.ns, from.tid
end

local function count(emulated, call, fault)
	emulated.calls[call] = emulated.calls[call] + 1
	move(emulated.last, fault)
	emulated.peak:add(fault)
end

-- Notes a fault in the page that did not end the process; `delivery`: the signal that it brought, if any.
function PageUse:note(fault, delivery)
	local call = page.CALL_AT[fault.offset]
	local what
	if fault.access.kind ~= "fetch" then
		what = "read"
	elseif not call then
		what = "misaligned"
	elseif delivery then
		what = "handled"
	else
		self.emulated = self.emulated or start(fault)
		return count(self.emulated, call, fault)
	end
	local touched = self[what]
	if not touched then
		touched = { count = 0, first = PageUse.copy(fault), delivery = delivery }
		self[what] = touched
	end
	touched.count = touched.count + 1
end

-- The addresses of the calls that were emulated.
function PageUse:entries()
	local entries = {}
	for _, call in ipairs(page.CALLS) do
		if self.emulated.calls[call] > 0 then
			entries[#entries + 1] = page.entry(call)
		end
	end
	return entries
end

-- Adds what another process of the same program did. The peak is that of the busiest process.
function PageUse:add(more)
	local mine, its = self.emulated, more.emulated
	if mine and its then
		for call, calls in pairs(its.calls) do
			mine.calls[call] = mine.calls[call] + calls
		end
		if its.first.event < mine.first.event then
			mine.first = its.first
		end
		if its.last.event > mine.last.event then
			mine.last = its.last
		end
		mine.peak.most = math.max(mine.peak.most, its.peak.most)
	else
		self.emulated = mine or its
	end
	for _, what in ipairs({ "handled", "misaligned", "read" }) do
		if self[what] and more[what] then
			self[what].count = self[what].count + more[what].count
		else
			self[what] = self[what] or more[what]
		end
	end
	self.enough = self.enough or more.enough
	self.outcome, self.exit_status = more.outcome, more.exit_status
end

return PageUse
