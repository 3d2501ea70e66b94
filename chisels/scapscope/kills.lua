-- Remembers who lately sent whom a signal that ends processes: a sender in another pid namespace shows as 0 in the
-- delivery, as the kernel does.

local moment = require("scapscope.moment")

local Kills = {}
Kills.__index = Kills

-- Calls remembered.
local KEPT = 64
-- A signal takes effect when its target runs next; one that ends it later has another sender.
local EFFECT_NS = 2000000000

function Kills.new()
	return setmetatable({ calls = {}, next = 1 }, Kills)
end

-- The thread `sender`, in `container`, sends a signal to `target`: a process or thread in the sender's namespace, or a
-- process group if negative. at: when.
function Kills:note(target, signal, sender, container, at)
	self.calls[self.next] = {
		target = target, signal = signal, sender = sender, container = container, s = at.s, ns = at.ns,
	}
	self.next = self.next % KEPT + 1
end

local function latest(calls, is_meant)
	local found
	for _, call in ipairs(calls) do
		if is_meant(call) and (not found or moment.between(found, call) >= 0) then
			found = call
		end
	end
	return found
end

-- The call that `sender` made last has failed.
function Kills:failed(sender)
	local call = latest(self.calls, function(one) return one.sender == sender end)
	if call then
		call.signal = nil
	end
end

local function is_target(call, process, tid)
	if call.target == process.pid or call.target == tid or call.target == -process.pid then
		return true
	end
	local is_neighbour = call.container ~= nil and call.container == process.container
	local vpid = process.vpid
	return is_neighbour and vpid ~= nil and (call.target == vpid or call.target == -vpid)
end

-- The thread that sent `signal` to the process, or its thread `tid`, shortly before `at`.
function Kills:sender_of(process, tid, signal, at)
	local call = latest(self.calls, function(one)
		return one.signal == signal and moment.since(one, at) <= EFFECT_NS and is_target(one, process, tid)
	end)
	return call and call.sender
end

return Kills
