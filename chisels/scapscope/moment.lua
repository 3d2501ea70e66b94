-- Says when something was recorded: event number, time and thread, and what lies between two of them.
-- A time is kept as seconds and nanoseconds: together they do not fit into a double exactly.

local moment = {}

local SECOND = 1000000000

function moment.new(event, s, ns, tid)
	return { event = event, s = s, ns = ns, tid = tid }
end

-- A copy of the same of anything that has them.
function moment.of(any)
	return moment.new(any.event, any.s, any.ns, any.tid)
end

-- Nanoseconds from `earlier` to `later`; negative where the clock went backwards.
function moment.between(earlier, later)
	return (later.s - earlier.s) * SECOND + (later.ns - earlier.ns)
end

-- Nanoseconds from `earlier` to `later`; 0 where the clock went backwards.
function moment.since(earlier, later)
	return math.max(moment.between(earlier, later), 0)
end

-- Nanoseconds since the epoch, in digits.
function moment.digits(at)
	return string.format("%d%09d", at.s, at.ns)
end

return moment
