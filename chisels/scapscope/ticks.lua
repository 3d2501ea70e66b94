-- Tells the end of an interval from an event that is late.
--
-- sysdig ends an interval whenever an event is in another one than the event before. Events of different CPUs come
-- slightly out of order, so around the end of an interval that happens several times.

local Ticks = {}
Ticks.__index = Ticks

function Ticks.new(seconds)
	return setmetatable({ seconds = seconds, reached = 0 }, Ticks)
end

-- The second in which the interval of that time began.
function Ticks:boundary(ts_s)
	return ts_s - ts_s % self.seconds
end

-- The second in which the interval ended, if it did; ts_s: the time of the event that ended it.
function Ticks:ended(ts_s)
	local boundary = self:boundary(ts_s)
	if boundary <= self.reached then
		return nil
	end
	self.reached = boundary
	return boundary
end

-- Another capture begins, at the time ts_s: gives the second in which the interval that it cuts short would have
-- ended.
function Ticks:restart(ts_s)
	local cut_short = self.reached + self.seconds
	self.reached = self:boundary(ts_s)
	return cut_short
end

return Ticks
