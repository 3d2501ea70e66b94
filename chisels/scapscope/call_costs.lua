-- Counts system calls by name, for the capture and for each process: how often, how long, how often in vain; and the
-- paths that calls failed on.

local CallCosts = {}
CallCosts.__index = CallCosts

-- Different failures kept; those that come when the table is full are counted together.
local FAILURES = 10000
-- Processes kept that are gone.
local ENDED = 4096

-- name(): the names of the process of the present event, {comm, container}.
function CallCosts.new(name)
	return setmetatable({
		name = name, whole = { by_call = {} }, processes = {}, ended = {}, failures = {}, failure_count = 0,
		other_failures = 0, left_out = 0,
	}, CallCosts)
end

-- The account of the process `pid`, of which the present event is.
function CallCosts:process(pid)
	local process = self.processes[pid]
	if not process then
		process = { pid = pid, names = self.name(), by_call = {} }
		self.processes[pid] = process
	end
	return process
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
		note(self:process(pid), call, cost_ns, failed)
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

-- The process ends, or becomes another program.
function CallCosts:finish(pid)
	local process = self.processes[pid]
	self.processes[pid] = nil
	if process and #self.ended < ENDED then
		self.ended[#self.ended + 1] = process
	elseif process then
		self.left_out = self.left_out + 1
	end
end

-- The costs of an account and their sum: what took longest first; where no time is known, what was called most.
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
		if a.time_ns ~= b.time_ns then
			return a.time_ns > b.time_ns
		elseif a.calls ~= b.calls then
			return a.calls > b.calls
		end
		return a.call < b.call
	end)
	return sorted, total
end

-- The accounts of all processes, in the same order, each with its total.
function CallCosts:by_process()
	local accounts = {}
	local function take(process)
		local _, total = CallCosts.sorted(process)
		accounts[#accounts + 1] = { process = process, total = total }
	end
	for _, process in ipairs(self.ended) do
		take(process)
	end
	for _, process in pairs(self.processes) do
		take(process)
	end
	table.sort(accounts, function(a, b)
		if a.total.time_ns ~= b.total.time_ns then
			return a.total.time_ns > b.total.time_ns
		elseif a.total.calls ~= b.total.calls then
			return a.total.calls > b.total.calls
		end
		return a.process.pid < b.process.pid
	end)
	return accounts
end

-- The failures, the most frequent first; at most `most` of them.
function CallCosts:top_failures(most)
	local all, top = {}, {}
	for _, failure in pairs(self.failures) do
		all[#all + 1] = failure
	end
	table.sort(all, function(a, b)
		if a.count ~= b.count then
			return a.count > b.count
		elseif a.path ~= b.path then
			return a.path < b.path
		end
		return a.call .. a.errno < b.call .. b.errno
	end)
	for index = 1, math.min(most, #all) do
		top[index] = all[index]
	end
	return top, #all
end

return CallCosts
