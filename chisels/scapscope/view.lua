-- Makes a csysdig view: a table of processes, with what is counted of each in front and the container behind.

local view = {}

-- What counts events; what: of what kind they are, as a heading and in a sentence.
local function counts(heading, what)
	return {
		{
			name = heading,
			field = "evt.count",
			description = what .. " during the sample interval. On trace files, in the whole file.",
			colsize = 10,
			aggregation = "SUM",
			is_sorting = true,
		},
		{
			name = heading .. "/S",
			field = "evt.count",
			description = what .. " per second.",
			colsize = 10,
			aggregation = "TIME_AVG",
		},
	}
end

local KEY = { name = "NA", field = "proc.pid", is_key = true }
local PID = { name = "PID", field = "proc.pid", description = "Process id.", colsize = 8 }
local COMMAND = {
	name = "Command",
	field = "proc.exeline",
	description = "Command line of the process.",
	aggregation = "MAX",
	colsize = 0,
}

local function of_container(name, field, description, colsize)
	return { tags = { "containers" }, name = name, field = field, description = description, colsize = colsize }
end

local CONTAINER = {
	of_container("Container ID", "container.id",
		"Id of the container, known before its name; host for a process of the host.", 13),
	of_container("Container", "container.name", "Name of the container, as far as it was known at the event.", 20),
	of_container("Image", "container.image", "Image of the container, as far as it was known at the event.", 24),
}

local function joined(...)
	local all = {}
	for _, columns in ipairs({ ... }) do
		for _, column in ipairs(columns) do
			all[#all + 1] = column
		end
	end
	return all
end

-- info: id, name, description, tips, filter and drilldown_target as csysdig has them; heading and what: of the events
-- that are counted; columns: further ones, put behind the process id.
function view.of_processes(info)
	return {
		id = info.id,
		name = info.name,
		description = info.description,
		tips = info.tips,
		tags = { "Default" },
		view_type = "table",
		filter = info.filter,
		applies_to = {
			"", "container.id", "proc.pid", "proc.name", "thread.tid", "thread.nametid", "k8s.pod.id", "k8s.ns.id",
		},
		use_defaults = true,
		drilldown_target = info.drilldown_target,
		columns = joined({ KEY }, counts(info.heading, info.what), { PID }, info.columns, CONTAINER, { COMMAND }),
	}
end

return view
