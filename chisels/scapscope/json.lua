-- Writes values as JSON in one line: valid UTF-8 whatever bytes a capture holds, integers as integers.

local unicode = require("scapscope.unicode")

local json = {}

json.null = setmetatable({}, { __name = "null" })

local Digits = {}
local Object = {}
local Array = {}

-- A table that is an array even while it is empty.
function json.array(items)
	return setmetatable(items, Array)
end

-- A number too large for a double, given as its digits.
function json.digits(text)
	return setmetatable({ text }, Digits)
end

-- An object whose keys come in this order; those without a value are left out.
function json.object(keys, values)
	return setmetatable({ keys = keys, values = values }, Object)
end

local ESCAPES = { ['"'] = '\\"', ["\\"] = "\\\\", ["\n"] = "\\n", ["\r"] = "\\r", ["\t"] = "\\t" }

local function escape(character)
	return ESCAPES[character] or string.format("\\u%04x", character:byte())
end

local function string_text(text)
	return '"' .. unicode.valid(text):gsub('[%c"\\]', escape) .. '"'
end

-- JSON has no infinity and no NaN: they are not known.
local function number_text(number)
	if number ~= number or number == math.huge or number == -math.huge then
		return "null"
	elseif number == math.floor(number) then
		return string.format("%d", number)
	end
	return string.format("%.3f", number)
end

local encode

local function fields_text(keys, values)
	local fields = {}
	for _, key in ipairs(keys) do
		if values[key] ~= nil then
			fields[#fields + 1] = string_text(key) .. ":" .. encode(values[key])
		end
	end
	return "{" .. table.concat(fields, ",") .. "}"
end

local function table_text(value)
	if value == json.null then
		return "null"
	elseif getmetatable(value) == Digits then
		return value[1]
	elseif getmetatable(value) == Object then
		return fields_text(value.keys, value.values)
	elseif getmetatable(value) == Array or #value > 0 then
		local items = {}
		for index, item in ipairs(value) do
			items[index] = encode(item)
		end
		return "[" .. table.concat(items, ",") .. "]"
	end
	local keys = {}
	for key in pairs(value) do
		keys[#keys + 1] = key
	end
	table.sort(keys)
	return fields_text(keys, value)
end

local TEXT_OF = { string = string_text, number = number_text, boolean = tostring, table = table_text }

function encode(value)
	return TEXT_OF[type(value)](value)
end

-- One value as JSON. A table with a first element is an array, any other an object with sorted keys.
json.encode = encode

return json
