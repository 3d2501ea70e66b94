-- Measures system calls from their enter event to their exit event.
--
-- sysdig's evt.latency will not do: in captures without enter events it counts from whatever that thread did last
-- that looked like one, a signal for instance.

local moment = require("scapscope.moment")

local Durations = {}
Durations.__index = Durations

-- Threads within a call at once; where the ends of threads are missing, more pile up, and are forgotten.
local THREADS = 65536

function Durations.new()
	return setmetatable({ entered = {}, count = 0 }, Durations)
end

-- The thread enters the call.
function Durations:enter(tid, call, s, ns)
	local entered = self.entered[tid]
	if not entered then
		if self.count >= THREADS then
			self.entered, self.count = {}, 0
		end
		entered = {}
		self.entered[tid] = entered
		self.count = self.count + 1
	end
	entered.call, entered.s, entered.ns = call, s, ns
end

-- The thread leaves the call: gives the nanoseconds that it took; nil where the enter event is missing.
function Durations:exit(tid, call, at)
	local entered = self.entered[tid]
	if not entered or entered.call ~= call then
		return nil
	end
	entered.call = nil
	return moment.since(entered, at)
end

-- The thread has ended.
function Durations:forget(tid)
	if self.entered[tid] then
		self.entered[tid] = nil
		self.count = self.count - 1
	end
end

return Durations
