-- Remembers containers: name, image and runtime often come only after a short-lived container is gone.
--
-- sysdig has a table of its own, but forgets containers without processes: so what it says is taken over when it
-- says it. Bounded: what was learnt longest ago is forgotten first.

local known = require("scapscope.known")

local Containers = {}
Containers.__index = Containers

-- Containers remembered, twice this at most; a machine runs hundreds.
local MANY = 4096

function Containers.new()
	return setmetatable({ by_id = {}, by_id_before = {}, count = 0 }, Containers)
end

-- The id of a process's container; nil for a process of the host.
function Containers.id(text)
	local id = known(text)
	return id ~= "host" and id or nil
end

-- Takes over what is known of the container `id`; nothing replaces something.
function Containers:learn(id, name, image, runtime)
	id = Containers.id(id)
	if not id then
		return
	end
	local container = self:keep(id)
	container.name = known(name) or container.name
	container.image = known(image) or container.image
	runtime = known(runtime)
	-- sysdig writes libvirt_lxc, and unknown for those it has no name for.
	container.runtime = runtime and runtime ~= "unknown" and runtime:gsub("_", "-") or container.runtime
end

function Containers:keep(id)
	local container = self.by_id[id]
	if not container then
		if self.count >= MANY then
			self.by_id_before, self.by_id, self.count = self.by_id, {}, 0
		end
		container = self.by_id_before[id] or { id = id }
		self.by_id[id] = container
		self.count = self.count + 1
	end
	return container
end

-- Takes over sysdig's table; a sysdig that cannot give one is no reason to stop.
function Containers:learn_table()
	local got, containers = pcall(sysdig.get_container_table)
	if got and type(containers) == "table" then
		for _, container in ipairs(containers) do
			self:learn(container.id, container.name, container.image, container.type)
		end
	end
end

-- What is known of the container `id`: the id at least.
function Containers:show(id)
	return id and (self.by_id[id] or self.by_id_before[id] or { id = id }) or nil
end

return Containers
