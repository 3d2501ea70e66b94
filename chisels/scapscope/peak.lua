-- Counts how many of something there are in the busiest second, without keeping each.
-- A second begins with the first that comes a second or more after the last one began.

local moment = require("scapscope.moment")

local Peak = {}
Peak.__index = Peak

local WINDOW_NS = 1000000000

-- at: the first moment.
function Peak.new(at)
	return setmetatable({ most = 0, count = 0, s = at.s, ns = at.ns }, Peak)
end

-- One more, at that moment.
function Peak:add(at)
	local passed = moment.between(self, at)
	if passed >= WINDOW_NS or passed < 0 then
		self.s, self.ns, self.count = at.s, at.ns, 0
	end
	self.count = self.count + 1
	if self.count > self.most then
		self.most = self.count
	end
end

return Peak
