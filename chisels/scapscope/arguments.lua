-- Reads a chisel's arguments: each is known by what it looks like, not by its place.

local Arguments = {}
Arguments.__index = Arguments

-- words: what can be chosen, the first unless told otherwise; number: what a number means, nil if none is taken.
-- `chosen` and `number` hold what was given.
function Arguments.new(chisel_name, words, number)
	return setmetatable({ chisel_name = chisel_name, words = words, meaning = number, chosen = words[1] }, Arguments)
end

local function positive(text)
	local number = text:match("^%d+$") and tonumber(text)
	return number and number > 0 and number or nil
end

-- Takes over an argument; false, and a line on standard error, if it is none.
function Arguments:take(text)
	local number = self.meaning and positive(text)
	if number then
		self.number = number
		return true
	end
	for _, word in ipairs(self.words) do
		if text == word then
			self.chosen = word
			return true
		end
	end
	io.stderr:write(string.format("%s: argument '%s' is unknown: give %sone of %s\n", self.chisel_name, text,
		self.meaning and self.meaning .. ", or " or "", table.concat(self.words, ", ")))
	return false
end

return Arguments
