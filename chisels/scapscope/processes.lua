-- Remembers the processes that something happened to: names, container, and what may be killing them.
--
-- Bounded: a process is forgotten after it is gone, but not at once, since its other threads end after it and must
-- not be taken for a new process of the same id.

local Processes = {}
Processes.__index = Processes

-- Ended processes remembered: twice this at most.
local ENDED = 1024

-- identify(): the process of the present event, {comm, exe, container, vpid}; each nil if unknown.
function Processes.new(identify)
	return setmetatable({
		alive = {}, ended = {}, ended_before = {}, ended_count = 0, identify = identify,
		programs = setmetatable({}, { __mode = "v" }),
	}, Processes)
end

-- The program that the process runs: the same table for all processes of the same names and container.
function Processes:program_of(process)
	local key = Processes.key(process)
	local program = self.programs[key]
	if not program then
		program = { comm = process.comm, exe = process.exe, container = process.container, emulated = 0 }
		self.programs[key] = program
	end
	return program
end

-- What makes two processes run the same program.
function Processes.key(process)
	return table.concat({ process.container or "", process.comm or "", process.exe or "" }, "\0")
end

-- The process `pid`, if something happened to it before.
function Processes:find(pid)
	return self.alive[pid] or self.ended[pid] or self.ended_before[pid]
end

-- Gives the process the names it has at the present event, which is of the thread `tid`. The names of the first
-- thread are those of the process; those of another thread do until that one shows up.
function Processes:name(process, tid)
	if tid == process.pid or not process.named then
		local names = self.identify()
		process.comm, process.exe = names.comm, names.exe
		process.container, process.vpid = names.container, names.vpid
		process.named = true
		process.program = self:program_of(process)
	end
end

-- The process of the present event, known or new. A process whose first thread has ended has none with its id any
-- more: what comes from such a thread is of a new process.
function Processes:of_event(pid, tid)
	local process = self:find(pid)
	if not process or (process.gone and tid == pid) then
		self.ended[pid], self.ended_before[pid] = nil, nil
		process = { pid = pid }
		self.alive[pid] = process
		self:name(process, tid)
	end
	return process
end

-- The first thread of the process has ended.
function Processes:leave(process)
	process.gone = true
	self.alive[process.pid] = nil
	if self.ended_count >= ENDED then
		self.ended_before, self.ended, self.ended_count = self.ended, {}, 0
	end
	self.ended[process.pid] = process
	self.ended_count = self.ended_count + 1
end

-- All that are remembered, in the order of their ids.
function Processes:all()
	local all, seen = {}, {}
	for _, group in ipairs({ self.alive, self.ended, self.ended_before }) do
		for pid, process in pairs(group) do
			if not seen[pid] then
				seen[pid] = true
				all[#all + 1] = process
			end
		end
	end
	table.sort(all, function(a, b) return a.pid < b.pid end)
	return all
end

return Processes
