-- Makes text from a capture safe to print: names and paths are whatever bytes a program chose.

local unicode = {}

local REPLACEMENT = "\239\191\189" -- U+FFFD

-- Well-formed sequences of more than one byte (The Unicode Standard, table 3-7).
local SEQUENCES = {
	"^[\194-\223][\128-\191]",
	"^\224[\160-\191][\128-\191]", "^[\225-\236\238\239][\128-\191][\128-\191]", "^\237[\128-\159][\128-\191]",
	"^\240[\144-\191][\128-\191][\128-\191]", "^[\241-\243][\128-\191][\128-\191][\128-\191]",
	"^\244[\128-\143][\128-\191][\128-\191]",
}

local function sequence_at(text, at)
	for _, pattern in ipairs(SEQUENCES) do
		local found = text:match(pattern, at)
		if found then
			return found
		end
	end
end

-- `text` with U+FFFD for each byte that is not part of well-formed UTF-8.
function unicode.valid(text)
	if not text:find("[\128-\255]") then
		return text
	end
	local parts, at = {}, 1
	while at <= #text do
		local found = text:match("^[^\128-\255]+", at) or sequence_at(text, at)
		parts[#parts + 1] = found or REPLACEMENT
		at = at + (found and #found or 1)
	end
	return table.concat(parts)
end

-- `text` as a terminal may get it: nothing in it moves the cursor, or starts a line.
function unicode.shown(text)
	-- C1 controls are two bytes in UTF-8.
	return (unicode.valid(text):gsub("%c", "?"):gsub("\194[\128-\159]", "?"))
end

-- Characters in well-formed text.
function unicode.length(text)
	local _, continued = text:gsub("[\128-\191]", "")
	return #text - continued
end

return unicode
