-- Lays out rows as a table of text, each column as wide as its widest cell.

local unicode = require("scapscope.unicode")

local columns = {}

local function cell_text(value)
	return value == nil and "-" or unicode.shown(tostring(value))
end

local function pad(text, width, right)
	local space = (" "):rep(width - unicode.length(text))
	return right and space .. text or text .. space
end

-- The lines of a table. heads: one {name, right = true for numbers} per column; rows: arrays of texts, nil (shown
-- as -) where something is not known.
function columns.lines(heads, rows)
	local widths, cells = {}, {}
	for column, head in ipairs(heads) do
		widths[column] = #head[1]
	end
	for index, row in ipairs(rows) do
		cells[index] = {}
		for column in ipairs(heads) do
			local text = cell_text(row[column])
			cells[index][column] = text
			widths[column] = math.max(widths[column], unicode.length(text))
		end
	end
	local function line(texts)
		local parts = {}
		for column, head in ipairs(heads) do
			parts[column] = pad(texts[column], widths[column], head.right)
		end
		return (table.concat(parts, "  "):gsub("%s+$", ""))
	end
	local names = {}
	for column, head in ipairs(heads) do
		names[column] = head[1]
	end
	local lines = { line(names) }
	for index, texts in ipairs(cells) do
		lines[index + 1] = line(texts)
	end
	return lines
end

return columns
