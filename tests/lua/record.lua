-- luacheck: read_globals unpack
-- A chisel that writes down what sysdig's API gives for each event, so that chisels can be run on it without sysdig.
--
-- One line per event, its cells parted by tabs: number, seconds, nanoseconds, type, then the fields asked for. A cell
-- begins with its kind (n number, s string, b boolean, - nothing); tabs, line ends and backslashes are escaped. The
-- first line names the fields; the last ones hold the containers and the end of the capture. In front of the first
-- event of a section stands a line with what get_firstevent_ts gives from there on.

description = "Records events as the chisel API gives them, for tests"
short_description = "Record events for tests"
category = "Misc"
args = {
	{ name = "fields", description = "fields, parted by commas", argtype = "string", optional = false },
}

local names, handles = {}, {}
local first_event

local function cell(value)
	if value == nil then
		return "-"
	elseif type(value) == "number" then
		return "n" .. string.format("%.17g", value)
	elseif type(value) == "boolean" then
		return value and "btrue" or "bfalse"
	end
	return "s" .. value:gsub("[\\\t\n\r]", { ["\\"] = "\\\\", ["\t"] = "\\t", ["\n"] = "\\n", ["\r"] = "\\r" })
end

local function line(...)
	io.write(table.concat({ ... }, "\t"), "\n")
end

function on_set_arg(_, value)
	for name in value:gmatch("[^,]+") do
		names[#names + 1] = name
	end
	return true
end

function on_init()
	for index, name in ipairs(names) do
		handles[index] = chisel.request_field(name)
	end
	line("fields", unpack(names))
	return true
end

function on_event()
	if sysdig.get_firstevent_ts() ~= first_event then
		first_event = sysdig.get_firstevent_ts()
		line("section", first_event)
	end
	local s, ns = evt.get_ts()
	local cells = { string.format("%d", evt.get_num()), tostring(s), tostring(ns), cell(evt.get_type()) }
	for _, handle in ipairs(handles) do
		cells[#cells + 1] = cell(evt.field(handle))
	end
	line(unpack(cells))
	return true
end

function on_capture_end(ts_s, ts_ns, delta)
	for _, container in ipairs(sysdig.get_container_table()) do
		line("container", cell(container.id), cell(container.name), cell(container.image), cell(container.type))
	end
	line("end", string.format("%d", ts_s), string.format("%d", ts_ns), string.format("%d", delta))
end
