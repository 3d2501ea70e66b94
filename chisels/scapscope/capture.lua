-- Follows a capture from its start to its end: its containers, its intervals, and its sections.
--
-- A file may be several captures, one behind the other; each is a section, of a kernel and with processes of its own.
-- sysdig starts anew with each and tells no chisel, save that the time of the first event is another one then.

local Containers = require("scapscope.containers")
local Ticks = require("scapscope.ticks")

local Capture = {}
Capture.__index = Capture

function Capture.new()
	return setmetatable({ containers = Containers.new(), is_open = false }, Capture)
end

-- on_capture_start; interval_s: seconds from on_interval to on_interval, nil for none.
function Capture:start(interval_s)
	self.is_open = true
	self.containers:learn_table()
	if interval_s then
		self.ticks = Ticks.new(interval_s)
		chisel.set_interval_s(interval_s)
	end
end

-- Whether the present event is the first that comes of another section; to be asked before anything is made of it.
function Capture:is_next_section()
	local first = sysdig.get_firstevent_ts()
	local is_next = self.first_event ~= nil and first ~= self.first_event
	self.first_event = first
	if is_next then
		self.containers:learn_table()
	end
	return is_next
end

-- on_interval: the second in which the interval ended, if it did.
function Capture:interval_ended(ts_s)
	local ended_s = self.ticks:ended(ts_s)
	if ended_s then
		self.containers:learn_table()
	end
	return ended_s
end

-- on_capture_end: whether there is something to tell. sysdig calls it a second time if reading ended with an error,
-- also when the chisel could not even start, and with time 0 where there was no event.
function Capture:finish(ts_s)
	local was_open = self.is_open and ts_s > 0
	self.is_open = false
	if was_open then
		self.containers:learn_table()
	end
	return was_open
end

-- The event, which is no system call, says who a container is, or that a thread has ended, and maybe its process.
function Capture:no_call(kind, event, durations, accounts)
	if kind == "container" then
		self:container_event(event)
	elseif kind == "procexit" then
		local tid = event:tid()
		durations:forget(tid)
		if event:ends_process(tid) then
			accounts:finish(tid)
		end
	end
end

-- The event says who a container is.
function Capture:container_event(event)
	self.containers:learn(event:get("container"), event:get("container_name"), event:get("image"),
		event:get("runtime"))
end

return Capture
