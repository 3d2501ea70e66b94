-- Follows threads from a fault in the vsyscall page, or a deadly signal, to what comes of it, and tells the ledger.
--
-- The rules are those of crates/diagnosis/src/state, narrowed down to the vsyscall page:
--   a fault, then SIGSEGV on the same thread with nothing of that thread between: the signal is for the fault;
--   a fault, then anything else of that thread: the kernel emulated the call;
--   a signal, then anything else of that thread: the program caught it;
--   a process that dies by its own hand shortly after it caught the signal for a fault died of that fault.

local Kills = require("scapscope.kills")
local moment = require("scapscope.moment")
local page = require("scapscope.page")
local PageUse = require("scapscope.page_use")
local Processes = require("scapscope.processes")
local signals = require("scapscope.signals")

local State = {}
State.__index = State

-- A fault outside of the vsyscall page: it matters only in that the next signal is for it.
State.ELSEWHERE = -1

-- A death by a signal that the process sent itself counts as caused by a fault whose signal it caught this shortly
-- before: handlers that print a backtrace and raise the signal again need no longer.
local HANDLER_NS = 1000000000

-- Threads followed at once; where the ends of threads are missing, more pile up, and all are let go.
local THREADS = 65536

-- Emulated calls of one program that are counted one by one.
State.ENOUGH = 100000

-- ledger: told of deaths and page uses; mode: told of calls; watch: which threads to see everything of;
-- identify: see Processes.
function State.new(ledger, mode, watch, identify)
	return setmetatable({
		ledger = ledger, mode = mode, watch = watch,
		processes = Processes.new(identify), threads = {}, thread_count = 0, kills = Kills.new(), identify = identify,
	}, State)
end

local function in_page(fault)
	return fault and fault.offset ~= nil and fault.offset ~= State.ELSEWHERE
end

local function is_call(fault)
	return in_page(fault) and fault.access.kind == "fetch" and page.CALL_AT[fault.offset] ~= nil
end

-- The process of the thread, if the thread is followed.
function State:pid_of(tid)
	local thread = self.threads[tid]
	return thread and thread.process.pid
end

-- The thread of the present event, known or new. Its process has the names that it has at that event.
function State:thread(tid, pid)
	local thread = self.threads[tid]
	if not thread then
		if self.thread_count >= THREADS then
			self:drop_all()
		end
		thread = { tid = tid, dying = false, process = self.processes:of_event(pid, tid) }
		self.threads[tid] = thread
		self.thread_count = self.thread_count + 1
	end
	return thread
end

-- The thread is not followed any more.
function State:drop(tid)
	if self.threads[tid] then
		self.threads[tid] = nil
		self.thread_count = self.thread_count - 1
	end
end

-- Lets go of all threads and processes; what is open stays unanswered.
function State:drop_all()
	for tid in pairs(self.threads) do
		self.watch:close(tid)
	end
	for _, process in ipairs(self.processes:all()) do
		self:tell_use(process)
		self.watch:forget(process.pid)
	end
	self.ledger.omitted = self.ledger.omitted + self.thread_count
	self.threads, self.thread_count = {}, 0
	self.processes = Processes.new(self.identify)
end

-- Counts one more call of a program that the kernel emulated. When there are enough, nothing more is to be learnt from
-- calls like those of this process: sysdig is asked to leave them out.
function State:count_emulated(process, error)
	local program = process.program
	program.emulated = program.emulated + 1
	if program.emulated == State.ENOUGH and self.watch:skip(program, process.page_use:entries(), error) then
		program.enough = true
		self:let_go(program)
	end
end

-- What is open in the program's threads stays unanswered: their next event may be left out.
function State:let_go(program)
	for tid, thread in pairs(self.threads) do
		if is_call(thread) and thread.process.program == program then
			thread.offset = nil
			self.watch:close(tid)
		end
	end
end

-- What `thread` did shows that it lived on after its last fault and after a signal.
function State:lived(thread)
	if in_page(thread) then
		local process = thread.process
		process.page_use = process.page_use or PageUse.new()
		process.page_use:note(thread, nil)
		self.mode:lived(thread.access, is_call(thread))
		if is_call(thread) then
			self:count_emulated(process, thread.access.error)
		end
	end
	thread.offset = nil
	if thread.dying then
		thread.dying = false
		self:caught(thread)
	end
end

-- The signal delivered last to `thread` did not end it.
function State:caught(thread)
	local process = thread.process
	local delivery = process.dying
	if not delivery or delivery.tid ~= thread.tid then
		return
	end
	process.dying = nil
	if not delivery.fault then
		return
	end
	process.caught = delivery
	if in_page(delivery.fault) then
		process.page_use = process.page_use or PageUse.new()
		process.page_use:note(delivery.fault, delivery)
		-- What it dies of later, if it does, may be another fault.
		self.watch:process(process.pid)
	end
end

-- The present event is a page fault that `tid` took in user mode. offset: in the vsyscall page, or ELSEWHERE.
function State:fault(tid, pid, offset, access, event, s, ns)
	local thread = self:thread(tid, pid)
	local answers = in_page(thread) or thread.dying
	local had_enough = thread.process.program.enough
	self:lived(thread)
	if thread.process.program.enough and not had_enough then
		-- This call is the first of those that are left out.
		return
	end
	thread.offset, thread.access = offset, access
	thread.event, thread.s, thread.ns = event, s, ns
	if offset ~= State.ELSEWHERE then
		self.watch:open(tid)
	elseif answers then
		self.watch:close(tid)
	else
		self.watch:idle(tid)
	end
end

-- The present event is a system call of `tid`.
function State:call(tid)
	local thread = self.threads[tid]
	if not thread then
		return self.watch:idle(tid)
	end
	if in_page(thread) or thread.dying then
		self:lived(thread)
		self.watch:close(tid)
	else
		thread.offset = nil
		self.watch:idle(tid)
	end
	if not self.watch:is_watched(tid) then
		self:drop(tid)
	end
end

-- `signal` was the answer to `fault`.
function State:refused(fault, signal)
	if in_page(fault) and signal == "SIGSEGV" then
		self.mode:refused(fault.access, is_call(fault))
	end
end

-- `signal` is delivered to `tid`; sender: the process that sent it, nil where none is given.
function State:signal(tid, pid, signal, sender, event, s, ns)
	local thread = self:thread(tid, pid)
	local process = thread.process
	local delivery = moment.new(event, s, ns, tid)
	delivery.signal = signal
	delivery.sender = sender or self.kills:sender_of(process, tid, signal, delivery)
	if thread.offset and not delivery.sender and signals.OF_A_FAULT[signal] then
		delivery.fault = PageUse.copy(thread)
		thread.offset = nil
		self:refused(delivery.fault, signal)
	end
	thread.dying = true
	-- When a process ends, the kernel sends SIGKILL to its other threads: that is not the cause.
	if not (signal == "SIGKILL" and process.dying and process.dying.tid ~= tid) then
		process.dying = delivery
	end
	-- Nobody lives on after SIGKILL: there is nothing to look out for.
	if signal ~= "SIGKILL" then
		self.watch:open(tid)
	end
end

-- The first thread of a new process begins. If its id is that of one that is known, the end of that one is missing.
function State:born(pid)
	local process = self.processes:find(pid)
	if process then
		self:tell_use(process)
		self.processes:leave(process)
		self.watch:forget(pid)
	end
	self:drop(pid)
	self.watch:close(pid)
end

-- The process of `tid` has become another program; the present event is the exit of execve.
function State:exec(tid, pid)
	self:call(tid)
	local process = self.processes:find(pid)
	if process then
		self:tell_use(process)
		self.processes:name(process, tid)
	end
end

-- The signal that may have ended the thread, where no status tells: what it was last seen in. SIGKILL tells only with
-- its sender, since the kernel delivers it to the other threads of every process that exits.
local function open_signal(thread)
	local process = thread.process
	if thread.dying then
		local delivery = process.dying
		local tells = delivery and delivery.tid == thread.tid and (delivery.signal ~= "SIGKILL" or delivery.sender)
		return tells and delivery.signal or nil
	end
	return is_call(thread) and not thread.access.present and not process.page_use and "SIGSEGV" or nil
end

-- The thread `tid` ends; status: the wait status, nil where it is not recorded.
function State:exit(tid, pid, status, event, s, ns)
	local thread = self.threads[tid]
	if status and status < 0 then
		status = nil
	end
	local signal
	if status then
		signal = signals.of(status)
	elseif thread then
		signal = open_signal(thread)
	end
	local process = self.processes:find(pid)
	if signal then
		process = self.processes:of_event(pid, tid)
		self.processes:name(process, tid)
		self:die(process, tid, signal, status, moment.new(event, s, ns, tid))
	elseif thread then
		self:lived(thread)
		process = thread.process
	end
	if process and tid == pid then
		local exited = status and signals.exited(status)
		self:tell_use(process, exited and "exited" or nil, exited and signals.shown(status) or nil)
		self.processes:leave(process)
		self.watch:forget(pid)
	end
	self:drop(tid)
	self.watch:gone(tid, event)
end

local function take_fault(thread, signal)
	if not thread or not thread.offset then
		return nil
	end
	local fault = PageUse.copy(thread)
	thread.offset = nil
	return signals.OF_A_FAULT[signal] and fault or nil
end

-- What the process caught last, if it died of what its handler did.
local function from_handler(process, signal, delivery, fault, ended)
	local caught = process.caught
	if not caught or fault or not ended then
		return nil
	end
	local by_itself = not delivery or not delivery.sender or delivery.sender == process.pid
	local recent = moment.since(caught, ended) <= HANDLER_NS
	local fits = signal == caught.signal or (signal == "SIGABRT" and in_page(caught.fault))
	return by_itself and recent and fits and caught or nil
end

-- The process dies of `signal`; `tid`: the thread in which that shows first; status and exit: nil where the capture
-- ends before.
function State:die(process, tid, signal, status, exit)
	if process.dead then
		return
	end
	process.dead = true
	local delivery = process.dying
	process.dying = nil
	if delivery and delivery.signal ~= signal then
		delivery = nil
	end
	tid = delivery and delivery.tid or tid
	-- If the delivery was not recorded, the fault still may have been.
	local left_over = take_fault(self.threads[tid], signal)
	local fault = left_over
	if delivery then
		fault = delivery.fault
	end
	-- Without the signal's own event, fault and death on the same thread show the mode.
	if left_over and not delivery and exit and status then
		self:refused(left_over, signal)
	end
	local caught = from_handler(process, signal, delivery, fault, exit or delivery)
	if caught then
		fault = caught.fault
		delivery = delivery or (caught.signal == signal and caught) or nil
	end
	self.ledger:death({
		process = process, tid = tid, signal = signal, status = status, exit = exit,
		delivery = delivery, fault = in_page(fault) and fault or nil, handler_ran = caught ~= nil,
	})
end

-- Tells what the process did in the vsyscall page, since it ends being what it is. outcome: exited, alive, or nil if
-- it is gone in a way that says nothing of the page; status: the exit status.
function State:tell_use(process, outcome, status)
	local use = process.page_use
	if use then
		process.page_use = nil
		use.outcome, use.exit_status = outcome, status
		use.enough = process.program.enough
		self.ledger:page_use(use, process)
	end
end

-- Tells what all processes did in the page up to now, and counts anew.
function State:tell_all()
	for _, process in ipairs(self.processes:all()) do
		self:tell_use(process, "alive")
	end
	for _, program in pairs(self.processes.programs) do
		program.emulated, program.enough = 0, nil
	end
	self.watch:skip_none()
end

-- The capture ends: what is still open is told as it stands.
function State:finish()
	for _, process in ipairs(self.processes:all()) do
		local dying = process.dying
		local thread = dying and self.threads[dying.tid]
		if thread and thread.process == process then
			self:die(process, dying.tid, dying.signal, nil, nil)
		end
	end
	for _, thread in ipairs(self:within_calls()) do
		if not thread.process.page_use then
			self:die(thread.process, thread.tid, "SIGSEGV", nil, nil)
		end
	end
	self:tell_all()
end

-- The threads that were right in a call of the page when the capture ended, in the order of their ids: the signal that
-- may have followed is missing.
function State:within_calls()
	local within = {}
	for _, thread in pairs(self.threads) do
		if is_call(thread) and not thread.access.present then
			within[#within + 1] = thread
		end
	end
	table.sort(within, function(a, b) return a.tid < b.tid end)
	return within
end

return State
