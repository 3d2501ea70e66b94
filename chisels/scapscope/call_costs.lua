-- Counts system calls by name, for the capture and for each process: how often, how long, how often in vain; and the
-- paths that calls failed on.

local Accounts = require("scapscope.accounts")

local CallCosts = {}
CallCosts.__index = CallCosts

-- Different failures kept; those that come when the table is full are counted together.
local FAILURES = 10000
-- Processes kept that have ended.
local ENDED = 4096

-- name(): of the process of the present event, its name and the id of its container.
function CallCosts.new(name)
	local costs = setmetatable({
		whole = { by_call = {} }, seen = 0, ended = {}, left_out = 0, failures = {}, failure_count = 0, other_failures = 0,
	}, CallCosts)
	costs.accounts = Accounts.new(function(pid)
		costs.seen = costs.seen + 1
		local comm, container = name()
		return { pid = pid, comm = comm, container = container, seen = costs.seen, by_call = {} }
	end, function(process)
		if #costs.ended < ENDED then
			costs.ended[#costs.ended + 1] = process
		else
			costs.left_out = costs.left_out + 1
		end
	end)
	return costs
end

local function note(account, call, cost_ns, failed)
	local costs = account.by_call[call]
	if not costs then
		costs = { call = call, calls = 0, errors = 0, time_ns = 0, timed = 0 }
		account.by_call[call] = costs
	end
	costs.calls = costs.calls + 1
	if cost_ns then
		costs.time_ns = costs.time_ns + cost_ns
		costs.timed = costs.timed + 1
	end
	if failed then
		costs.errors = costs.errors + 1
	end
end

-- The present event is the exit of a system call of the process `pid`, nil if processes are not told apart; cost_ns:
-- how long it took, nil where that is not known.
function CallCosts:call(call, cost_ns, failed, pid)
	note(self.whole, call, cost_ns, failed)
	if pid then
		note(self.accounts:of(pid), call, cost_ns, failed)
	end
end

-- That call failed on a path.
function CallCosts:failure(call, path, errno)
	local key = call .. "\0" .. errno .. "\0" .. path
	local failure = self.failures[key]
	if not failure then
		if self.failure_count >= FAILURES then
			self.other_failures = self.other_failures + 1
			return
		end
		failure = { call = call, path = path, errno = errno, count = 0 }
		self.failures[key] = failure
		self.failure_count = self.failure_count + 1
	end
	failure.count = failure.count + 1
end

-- Which of two sums goes first: what took longer; where no time is known, what was called more often. nil where they
-- are even.
local function is_more(a, b)
	if a.time_ns ~= b.time_ns then
		return a.time_ns > b.time_ns
	elseif a.calls ~= b.calls then
		return a.calls > b.calls
	end
end

-- The costs of an account and their sum, the most first.
function CallCosts.sorted(account)
	local sorted = {}
	local total = { call = "total", calls = 0, errors = 0, time_ns = 0, timed = 0 }
	for _, costs in pairs(account.by_call) do
		sorted[#sorted + 1] = costs
		for _, what in ipairs({ "calls", "errors", "time_ns", "timed" }) do
			total[what] = total[what] + costs[what]
		end
	end
	table.sort(sorted, function(a, b)
		local more = is_more(a, b)
		if more == nil then
			return a.call < b.call
		end
		return more
	end)
	return sorted, total
end

-- The accounts of all processes, the one with the most first.
function CallCosts:by_process()
	local accounts, totals = {}, {}
	local function take(process)
		local _, total = CallCosts.sorted(process)
		accounts[#accounts + 1] = process
		totals[process] = total
	end
	for _, process in ipairs(self.ended) do
		take(process)
	end
	for _, process in pairs(self.accounts.by_pid) do
		take(process)
	end
	table.sort(accounts, function(a, b)
		local more = is_more(totals[a], totals[b])
		if more == nil then
			return a.seen < b.seen
		end
		return more
	end)
	return accounts
end

-- The failures, the most frequent first.
function CallCosts:sorted_failures()
	local sorted = {}
	for _, failure in pairs(self.failures) do
		sorted[#sorted + 1] = failure
	end
	table.sort(sorted, function(a, b)
		if a.count ~= b.count then
			return a.count > b.count
		elseif a.path ~= b.path then
			return a.path < b.path
		end
		return a.call .. a.errno < b.call .. b.errno
	end)
	return sorted
end

return CallCosts
