-- luacheck: read_globals setfenv
-- Runs a chisel on recorded events (record.lua) the way sysdig does (libs, userspace/chisel), in any Lua.
--
-- Numbers come as sysdig pushes them: floats, save the timestamp. What the chisel prints is given back.

local filter = require("filter")

local engine = {}

local function float(number)
	return number + 0.0
end

local UNESCAPE = { ["\\\\"] = "\\", ["\\t"] = "\t", ["\\n"] = "\n", ["\\r"] = "\r" }

local function value_of(cell)
	local kind, text = cell:sub(1, 1), cell:sub(2)
	if kind == "n" then
		return float(tonumber(text))
	elseif kind == "b" then
		return text == "true"
	elseif kind == "s" then
		return (text:gsub("\\.", UNESCAPE))
	end
	return nil
end

local function cells_of(line)
	local cells = {}
	for cell in (line .. "\t"):gmatch("(.-)\t") do
		cells[#cells + 1] = cell
	end
	return cells
end

local function event_of(cells, fields, first_event)
	local event = {
		first_event = first_event,
		num = float(tonumber(cells[1])), s = math.floor(tonumber(cells[2])), ns = math.floor(tonumber(cells[3])),
		kind = value_of(cells[4]), fields = {},
	}
	for index, name in ipairs(fields) do
		event.fields[name] = value_of(cells[4 + index] or "-")
	end
	event.fields["evt.num"] = event.num
	return event
end

-- The recording in `text`: fields (a set), events, containers, last (seconds, nanoseconds, length of the capture).
function engine.read(text)
	local recording = { fields = {}, events = {}, containers = {}, last = { 0, 0, 0 } }
	local names, first_event
	for line in text:gmatch("[^\n]+") do
		local cells = cells_of(line)
		if cells[1] == "fields" then
			table.remove(cells, 1)
			names = cells
			for _, name in ipairs(names) do
				recording.fields[name] = true
			end
		elseif cells[1] == "section" then
			first_event = cells[2]
		elseif cells[1] == "container" then
			local id, name, image, runtime = value_of(cells[2]), value_of(cells[3]), value_of(cells[4]), value_of(cells[5])
			table.insert(recording.containers, { id = id, name = name, image = image, type = runtime })
		elseif cells[1] == "end" then
			recording.last = { float(tonumber(cells[2])), float(tonumber(cells[3])), float(tonumber(cells[4])) }
		else
			table.insert(recording.events, event_of(cells, names, first_event))
		end
	end
	return recording
end

local Run = {}
Run.__index = Run

local function environment(run)
	local function field(handle)
		return handle and run.event.fields[handle.name]
	end
	run.globals.chisel = {
		request_field = function(name)
			assert(run.recording.fields[name], "chisel requesting nonexistent field " .. tostring(name))
			return { name = name }
		end,
		set_filter = function(text) run.passes = filter.compile(text) end,
		set_interval_s = function(seconds) run.interval_s = seconds end,
	}
	run.globals.evt = {
		field = field,
		get_num = function() return run.event.num end,
		get_ts = function() return run.event.s, run.event.ns end,
		get_type = function() return run.event.kind end,
	}
	run.globals.sysdig = {
		is_live = function() return run.options.live or false end,
		is_print_container_data = function() return run.options.containers or false end,
		get_output_format = function() return run.options.json and "json" or "normal" end,
		get_evtsource_name = function() return run.options.live and "" or run.options.source or "recorded.scap" end,
		get_firstevent_ts = function() return run.event.first_event end,
		get_filter = function() return run.options.filter or "" end,
		get_container_table = function()
			if run.options.container_table_fails then
				error("no container table")
			end
			return run.recording.containers
		end,
	}
end

local function collector(lines)
	return function(...)
		local texts = {}
		for index = 1, select("#", ...) do
			texts[index] = tostring((select(index, ...)))
		end
		lines[#lines + 1] = table.concat(texts, "\t") .. "\n"
	end
end

-- A callback that the chisel may leave out. What must be true is checked as sysdig checks it.
function Run:call(name, must_be_true, ...)
	local callback = self.globals[name]
	if callback then
		local result = callback(...)
		assert(not must_be_true or result == true, name .. " did not return true")
	end
end

function Run:interval(event)
	local second = event.s - event.s % (self.interval_s or 1)
	if self.interval_s and self.second and second ~= self.second then
		self:call("on_interval", true, float(event.s), float(event.ns), float(0))
	end
	self.second = second
end

-- sysdig keeps the event it is at for the callbacks between events too.
function Run:feed(event)
	self.event = event
	self:interval(event)
	if not self.passes or self.passes(function(name) return event.fields[name] end) then
		self.seen = self.seen + 1
		self:call("on_event", false)
	end
end

-- Runs the chisel whose source is `path` on a recording; a chisel's modules must be on package.path. options: args (a
-- list), live, json, containers, filter, source, container_table_fails, cut_off (the end is told twice).
-- Gives what it printed, and how many events it was handed.
function engine.run(path, recording, options)
	local lines = {}
	local globals = setmetatable({ print = collector(lines) }, { __index = _G })
	local run = setmetatable({ recording = recording, options = options, globals = globals, seen = 0 }, Run)
	environment(run)
	-- Modules see the API and the printing as globals.
	local kept = { print = print }
	for _, name in ipairs({ "chisel", "evt", "sysdig", "print" }) do
		rawset(_G, name, globals[name])
	end
	local chunk
	if setfenv then
		chunk = setfenv(assert(loadfile(path)), globals)
	else
		chunk = assert(loadfile(path, "t", globals))
	end
	local ran, problem = pcall(function()
		chunk()
		for index, value in ipairs(options.args or {}) do
			run:call("on_set_arg", true, globals.args[index].name, value)
		end
		run:call("on_init", true)
		run:call("on_capture_start", true)
		for _, event in ipairs(recording.events) do
			run:feed(event)
		end
		for _ = 1, options.cut_off and 2 or 1 do
			run:call("on_capture_end", false, recording.last[1], recording.last[2], recording.last[3])
		end
	end)
	rawset(_G, "print", kept.print)
	assert(ran, problem)
	return table.concat(lines), run.seen
end

return engine
