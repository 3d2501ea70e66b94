-- Says whom something is about, the process and its container, in words and as JSON.

local json = require("scapscope.json")
local unicode = require("scapscope.unicode")

local subjects = {}

-- In words; process: comm and pid; container: nil for a process of the host.
function subjects.text(process, container)
	local text = string.format("%s (pid %d)", process.comm or "a process", process.pid)
	if container then
		text = text .. " in container " .. (container.name or container.id)
			.. (container.image and " (" .. container.image .. ")" or "")
	end
	return unicode.shown(text)
end

-- keys: which of comm, exe, pid and tid are told.
function subjects.process_json(process, keys)
	local values = {}
	for _, key in ipairs(keys) do
		values[key] = process[key] == nil and json.null or process[key]
	end
	return json.object(keys, values)
end

-- null for a process of the host.
function subjects.container_json(container)
	return container and json.object({ "id", "name", "image", "runtime" }, {
		id = container.id, name = container.name or json.null, image = container.image or json.null,
		runtime = container.runtime or json.null,
	}) or json.null
end

return subjects
