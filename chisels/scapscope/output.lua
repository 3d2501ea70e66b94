-- Chooses how a chisel writes: by its argument, or by sysdig's -j, which goes before it.

local output = {}

local Choice = {}
Choice.__index = Choice

-- names: what can be chosen; the first unless told otherwise.
function output.choice(names)
	return setmetatable({ names = names, chosen = names[1] }, Choice)
end

-- Takes over an argument; false, and a line on standard error, if it is none. others: what else it might have been.
function Choice:set(value, chisel_name, others)
	for _, name in ipairs(self.names) do
		if value == name then
			self.chosen = name
			return true
		end
	end
	io.stderr:write(string.format("%s: argument '%s' is unknown: give %sor one of %s\n", chisel_name, value, others,
		table.concat(self.names, ", ")))
	return false
end

-- What it is to be.
function Choice:get()
	return sysdig.get_output_format() == "json" and "json" or self.chosen
end

-- Prints lines.
function output.print(lines)
	for _, line in ipairs(lines) do
		print(line)
	end
end

return output
