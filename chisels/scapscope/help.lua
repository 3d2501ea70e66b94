-- Lays out the texts that `sysdig -i` prints. sysdig breaks them at fixed widths, in the middle of words; so each line
-- is filled up with blanks to just that width (userspace/sysdig/sysdig.cpp, print_chisel_info).

local wrap = require("scapscope.wrap")

local help = {}

local DESCRIPTION_WIDTH = 79
local ARGUMENT_WIDTH = 63

-- first: what sysdig itself puts in front.
local function fill(text, width, first)
	local lines = wrap(text, width, first)
	for index = 1, #lines - 1 do
		lines[index] = lines[index] .. (" "):rep(width - #lines[index])
	end
	return table.concat(lines):sub(#first + 1)
end

-- A chisel's description.
function help.description(text)
	return fill(text, DESCRIPTION_WIDTH, "")
end

-- An optional argument of a chisel.
function help.argument(name, argtype, text)
	local description = fill(text, ARGUMENT_WIDTH, string.format("[%s] %s - ", argtype, name))
	return { name = name, description = description, argtype = argtype, optional = true }
end

return help
