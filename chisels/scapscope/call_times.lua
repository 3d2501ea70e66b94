-- Counts the system calls of each process that ask for the time, what each cost, and how many others it made.
--
-- Two tallies: one since the beginning, one since the last tick.

local Accounts = require("scapscope.accounts")
local moment = require("scapscope.moment")
local Peak = require("scapscope.peak")

local CallTimes = {}
CallTimes.__index = CallTimes

-- Rows kept of processes that have ended; what others did is counted in one row together.
CallTimes.ENDED = 4096

local function tally()
	return { calls = 0, time_ns = 0, timed = 0, worst_ns = 0 }
end

local function add(to, cost_ns)
	to.calls = to.calls + 1
	if cost_ns then
		to.time_ns = to.time_ns + cost_ns
		to.timed = to.timed + 1
		if cost_ns > to.worst_ns then
			to.worst_ns = cost_ns
		end
	end
end

-- What `more` has counted is counted here too.
local function merge(to, more)
	to.calls, to.time_ns, to.timed = to.calls + more.calls, to.time_ns + more.time_ns, to.timed + more.timed
	to.worst_ns = math.max(to.worst_ns, more.worst_ns)
end

-- name(): of the process of the present event, its name and the id of its container.
function CallTimes.new(name)
	local times = setmetatable({
		name = name, ended = {}, total = 0, tick_total = 0, others = { rows = 0, all = tally(), tick = tally() },
	}, CallTimes)
	times.accounts = Accounts.new(function(pid)
		return { pid = pid, calls = 0, tick_calls = 0, rows = {} }
	end, function(process)
		times:keep_rows(process)
	end)
	return times
end

-- The present event is the exit of a system call of the process `pid`. Gives its account.
function CallTimes:call(pid)
	local process = self.accounts:of(pid)
	process.calls = process.calls + 1
	process.tick_calls = process.tick_calls + 1
	self.total = self.total + 1
	self.tick_total = self.tick_total + 1
	return process
end

-- That call was one of those that ask for the time; cost_ns: how long it took, nil where that is not known.
function CallTimes:time_call(process, call, cost_ns, at)
	local row = process.rows[call]
	if not row then
		row = {
			call = call, process = process, all = tally(), tick = tally(), first = moment.of(at), last = moment.of(at),
			peak = Peak.new(at),
		}
		process.comm, process.container = self.name()
		process.rows[call] = row
	end
	row.last.s, row.last.ns = at.s, at.ns
	row.peak:add(at)
	add(row.all, cost_ns)
	add(row.tick, cost_ns)
end

-- The process has ended.
function CallTimes:keep_rows(process)
	for _, row in pairs(process.rows) do
		if #self.ended < CallTimes.ENDED then
			self.ended[#self.ended + 1] = row
		else
			self.others.rows = self.others.rows + 1
			merge(self.others.all, row.all)
			merge(self.others.tick, row.tick)
		end
	end
end

-- All rows with a tally: "all" or "tick"; the most calls first, and last those counted together, a row without process.
function CallTimes:rows(which)
	local rows = {}
	local function take(row)
		if row[which].calls > 0 then
			rows[#rows + 1] = row
		end
	end
	for _, row in ipairs(self.ended) do
		take(row)
	end
	for _, process in pairs(self.accounts.by_pid) do
		for _, row in pairs(process.rows) do
			take(row)
		end
	end
	table.sort(rows, function(a, b)
		if a[which].calls ~= b[which].calls then
			return a[which].calls > b[which].calls
		elseif a.process.pid ~= b.process.pid then
			return a.process.pid < b.process.pid
		elseif a.call ~= b.call then
			return a.call < b.call
		end
		return moment.between(a.first, b.first) > 0
	end)
	take(self.others)
	return rows
end

-- The next tick begins.
function CallTimes:next_tick()
	self.tick_total = 0
	self.others.tick = tally()
	for _, row in ipairs(self.ended) do
		row.tick = tally()
	end
	for _, process in pairs(self.accounts.by_pid) do
		process.tick_calls = 0
		for _, row in pairs(process.rows) do
			row.tick = tally()
		end
	end
end

-- Calls per second from the first to the last; nil where that is no time, or nobody's.
function CallTimes.rate(row)
	local span_ns = row.process and moment.since(row.first, row.last) or 0
	return span_ns > 0 and math.floor(row.all.calls * 1e9 / span_ns) or nil
end

return CallTimes
