-- Reads a sysdig filter into a function that says yes or no to an event. Only what the chisels here use: anything else
-- is an error, so that a chisel cannot ask for what this does not check.

local filter = {}

local function tokens_of(text)
	local tokens, at = {}, 1
	while true do
		at = text:find("%S", at)
		if not at then
			return tokens
		end
		local token = text:match("^[<>!]=", at) or text:match("^[%(%),=<>]", at) or text:match('^"[^"]*"', at)
			or text:match("^[^%s%(%),=<>!\"]+", at)
		assert(token, "filter: cannot read " .. text:sub(at))
		tokens[#tokens + 1] = token
		at = at + #token
	end
end

local Parser = {}
Parser.__index = Parser

function Parser:peek()
	return self.tokens[self.at]
end

function Parser:take(wanted)
	local token = self.tokens[self.at]
	assert(token and (not wanted or token == wanted),
		string.format("filter: %s where %s should be", tostring(token), wanted or "something"))
	self.at = self.at + 1
	return token
end

-- sysdig compares numbers as numbers, whatever way they are written.
local function plain(value)
	return tonumber(value) or value
end

local function equal(value, wanted)
	return plain(value) == plain(wanted)
end

local COMPARE = {
	["="] = equal,
	["!="] = function(value, wanted) return not equal(value, wanted) end,
	["<"] = function(value, wanted) return plain(value) < plain(wanted) end,
	[">"] = function(value, wanted) return plain(value) > plain(wanted) end,
	["<="] = function(value, wanted) return plain(value) <= plain(wanted) end,
	[">="] = function(value, wanted) return plain(value) >= plain(wanted) end,
	startswith = function(value, wanted) return value:sub(1, #wanted) == wanted end,
	contains = function(value, wanted) return value:find(wanted, 1, true) ~= nil end,
}

function Parser:list()
	local values = {}
	self:take("(")
	repeat
		values[#values + 1] = self:take()
	until self:take() == ")"
	return values
end

-- field OPERATOR value. A field that has nothing to say makes any comparison false.
function Parser:comparison()
	local field, operator = self:take(), self:take()
	if operator == "exists" then
		return function(get) return get(field) ~= nil end
	elseif operator == "in" then
		local values = self:list()
		return function(get)
			local value = get(field)
			for _, wanted in ipairs(value == nil and {} or values) do
				if equal(value, wanted) then
					return true
				end
			end
			return false
		end
	end
	local compare = assert(COMPARE[operator], "filter: operator " .. operator)
	-- The direction < and > is a value too.
	local wanted = self:take():gsub('^"(.*)"$', "%1")
	return function(get)
		local value = get(field)
		return value ~= nil and compare(value, wanted)
	end
end

function Parser:factor()
	if self:peek() == "not" then
		self:take()
		local inner = self:factor()
		return function(get) return not inner(get) end
	elseif self:peek() == "(" then
		self:take()
		local inner = self:expression()
		self:take(")")
		return inner
	end
	return self:comparison()
end

-- Terms joined by `and` or by `or`; sysdig refuses to guess what a mixture means.
function Parser:expression()
	local terms, word = { self:factor() }, nil
	while self:peek() == "and" or self:peek() == "or" do
		local this = self:take()
		assert(not word or word == this, "filter: expression mixes 'and' and 'or' in an ambiguous way")
		word = this
		terms[#terms + 1] = self:factor()
	end
	return function(get)
		for _, term in ipairs(terms) do
			if term(get) == (word == "or") then
				return word == "or"
			end
		end
		return word ~= "or"
	end
end

-- get(field): the field of the event at hand.
function filter.compile(text)
	local parser = setmetatable({ tokens = tokens_of(text), at = 1 }, Parser)
	local expression = parser:expression()
	assert(not parser:peek(), "filter: " .. tostring(parser:peek()) .. " at the end")
	return expression
end

return filter
