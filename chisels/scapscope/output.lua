-- Chooses how a chisel writes, and writes lines.

local output = {}

-- Whether JSON is wanted: by sysdig's -j, or because the chisel's argument chose it.
function output.is_json(chosen)
	return chosen == "json" or sysdig.get_output_format() == "json"
end

function output.print(lines)
	for _, line in ipairs(lines) do
		print(line)
	end
end

-- A second since the epoch, as a heading.
function output.clock(s)
	return os.date("!%Y-%m-%d %H:%M:%S UTC", s)
end

return output
