-- Reads the present event: which thread, process and container it is of, and the fields that a chisel asks for.

local Containers = require("scapscope.containers")
local event_types = require("scapscope.event_types")
local known = require("scapscope.known")

local Event = {}
Event.__index = Event

-- The thread of events that belong to none, as sysdig has it.
local NO_THREAD = -1

local FIELDS = {
	tid = "thread.tid", pid = "proc.pid", comm = "proc.name", container = "container.id",
	container_name = "container.name", image = "container.image", runtime = "container.type",
	direction = "evt.dir", result = "evt.rawres",
}

-- more: further fields, each under the name that it goes by here. Only on_init may ask for fields.
function Event.new(more)
	local handles = {}
	for _, fields in ipairs({ FIELDS, more or {} }) do
		for name, field in pairs(fields) do
			handles[name] = chisel.request_field(field)
		end
	end
	return setmetatable({ handles = handles }, Event)
end

-- The field as sysdig gives it; nil where it has none.
function Event:get(name)
	return evt.field(self.handles[name])
end

-- The field as text; nil where sysdig has nothing to say.
function Event:text(name)
	return known(self:get(name))
end

function Event:tid()
	return self:get("tid") or NO_THREAD
end

-- The process of the thread `tid`, which the event is of.
function Event:pid(tid)
	return self:get("pid") or tid
end

-- nil for a process of the host.
function Event:container_id()
	return Containers.id(self:get("container"))
end

-- The name of the process, and the id of its container.
function Event:names()
	return self:text("comm"), self:container_id()
end

function Event:is_enter()
	return self:get("direction") == ">"
end

-- Whether the event is the exit of a call that went well, as far as its result tells.
function Event:succeeded()
	return self:get("direction") == "<" and self:get("result") == 0
end

-- Whether the event is the new process's side of a call that its parent makes.
function Event:is_birth(kind)
	return event_types.CLONE[kind] and self:succeeded() or false
end

-- Whether the process has become another program.
function Event:is_exec(kind)
	return event_types.EXEC[kind] and self:succeeded() or false
end

-- Whether a process has ended with the thread `tid`, which does: it is the first one.
function Event:ends_process(tid)
	return tid == self:pid(tid)
end

return Event
