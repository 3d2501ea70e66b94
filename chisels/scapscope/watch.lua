-- Decides which events sysdig hands to vsyscall_diag, so that its C++ filter says no before any Lua runs.
--
-- Most events of a capture are of no concern. But after a fault in the vsyscall page, or a deadly signal, the next
-- event of that thread tells what came of it, whatever it is. So the filter grows by the thread while such a
-- question is open. To compile a filter takes 0.6 ms, as much as some hundred events in Lua: a thread stays in until
-- it has sent IDLE events that answered nothing, or has ended.

local page = require("scapscope.page")
local signals = require("scapscope.signals")

local Watch = {}
Watch.__index = Watch

local IDLE = 500
-- Threads that have ended cost a comparison with each event: they are left out after this many events.
local STALE_EVENTS = 20000
-- With more threads and processes than this, asking for each costs more than taking all events.
local MANY = 128

local ALL_FAULTS = "evt.type = page_fault"
local PAGE_FAULTS = "(evt.type = page_fault and evt.arg.addr startswith " .. page.PREFIX .. ")"
-- First of all, since these are what there is most of.
local BUT = "not (evt.type = page_fault and (%s)) and (%s)"
local CALLS_OF = '(proc.name = "%s" and proc.exe = "%s" and container.id = "%s" and evt.rawarg.error = %d'
	.. " and evt.arg.addr in (%s))"
-- A name that nothing has to be escaped in, whatever sysdig's way to do so is.
local PLAIN = "^[%w_./:+@-]+$"
-- Programs left out at once.
local SKIPPED = 16

local SIGNALS = "(" .. table.concat(signals.NAMES, ", ") .. ")"

-- The first line lets almost nothing through, for the price of one comparison.
local ALWAYS = "(evt.type in (page_fault, signaldeliver, procexit, execve, execveat, clone, clone3, fork, vfork,"
	.. " container, kill, tkill, tgkill) and (evt.type in (procexit, container) or %s"
	.. " or (evt.type in (signaldeliver, kill, tkill, tgkill) and evt.arg.sig in " .. SIGNALS .. ")"
	.. " or (evt.type in (execve, execveat, clone, clone3, fork, vfork) and evt.dir = < and evt.rawres = 0)"
	.. " or (evt.type in (kill, tkill, tgkill) and evt.rawres < 0)))"
-- A thread does nothing in a scheduler switch, which is by far the most frequent event without a syscall.type. The
-- other events that are no system calls are told apart in Lua: to name a type that a sysdig does not know is an error.
local OF_THREADS = " or (%s and (evt.type = page_fault or syscall.type exists))"

-- set_filter: chisel.set_filter.
function Watch.new(set_filter)
	local watch = setmetatable({
		set_filter = set_filter, faults = ALL_FAULTS,
		skipped = {}, open_tids = {}, open_count = 0, in_filter = {}, pids = {}, pid_count = 0,
		refiltered_at = -STALE_EVENTS - 1,
	}, Watch)
	watch:refilter()
	return watch
end

local function list(set)
	local members = {}
	for member in pairs(set) do
		members[#members + 1] = string.format("%d", member)
	end
	table.sort(members)
	return #members > 0 and "(" .. table.concat(members, ", ") .. ")" or nil
end

function Watch:too_many()
	return self.open_count + self.pid_count > MANY
end

function Watch:refilter()
	self.in_filter = {}
	for tid in pairs(self.open_tids) do
		self.in_filter[tid] = true
	end
	self.idle_events, self.ended = 0, false
	self.everything = self:too_many()
	local whose = {}
	if self.everything then
		whose = { "evt.num > 0" }
	else
		local tids, pids = list(self.in_filter), list(self.pids)
		whose[1] = tids and "thread.tid in " .. tids
		whose[#whose + 1] = pids and "proc.pid in " .. pids
	end
	local filter = ALWAYS:format(self.faults)
	if #whose > 0 then
		filter = filter .. OF_THREADS:format("(" .. table.concat(whose, " or ") .. ")")
	end
	if #self.skipped > 0 then
		filter = BUT:format(table.concat(self.skipped, " or "), filter)
	end
	self.set_filter(filter)
end

-- No more such calls of the page by that program are wanted: the calls at these entry points whose faults have these
-- error bits. Whether that can be had.
function Watch:skip(program, entries, error)
	local comm, exe, container = program.comm or "", program.exe or "", program.container or "host"
	local plain = comm:find(PLAIN) and exe:find(PLAIN) and container:find(PLAIN)
	if not plain or #self.skipped >= SKIPPED then
		return false
	end
	self.skipped[#self.skipped + 1] = CALLS_OF:format(comm, exe, container, error, table.concat(entries, ", "))
	self:refilter()
	return true
end

-- All are wanted again.
function Watch:skip_none()
	if #self.skipped > 0 then
		self.skipped = {}
		self:refilter()
	end
end

-- There is a page fault in the capture: from now on those in the vsyscall page will do.
function Watch:page_faults_seen()
	if self.faults ~= PAGE_FAULTS then
		self.faults = PAGE_FAULTS
		self:refilter()
	end
end

-- The next event of the thread is wanted, whatever it is.
function Watch:open(tid)
	if self.open_tids[tid] then
		return
	end
	self.open_tids[tid] = true
	self.open_count = self.open_count + 1
	if not self:is_watched(tid) then
		self:refilter()
	end
end

-- It came.
function Watch:close(tid)
	if self.open_tids[tid] then
		self.open_tids[tid] = nil
		self.open_count = self.open_count - 1
	end
end

-- An event of the thread answered nothing.
function Watch:idle(tid)
	if self.in_filter[tid] and not self.open_tids[tid] or self.everything and not self:too_many() then
		self.idle_events = self.idle_events + 1
		if self.idle_events >= IDLE then
			self:refilter()
		end
	end
end

-- The thread has ended, in the event of that number.
function Watch:gone(tid, event)
	self:close(tid)
	self.ended = self.ended or self.in_filter[tid] or false
	if self.ended and math.abs(event - self.refiltered_at) > STALE_EVENTS then
		self.refiltered_at = event
		self:refilter()
	end
end

-- Whether all events of the thread come.
function Watch:is_watched(tid)
	return self.everything or self.in_filter[tid] or false
end

-- Whether all events of the thread come, because of it or of its process.
function Watch:sees_all_of(tid, pid)
	return self:is_watched(tid) or self.pids[pid]
end

-- All events of the process are wanted, up to its end.
function Watch:process(pid)
	if not self.pids[pid] then
		self.pids[pid] = true
		self.pid_count = self.pid_count + 1
		if not self.everything then
			self:refilter()
		end
	end
end

function Watch:forget(pid)
	if self.pids[pid] then
		self.pids[pid] = nil
		self.pid_count = self.pid_count - 1
		if not self.everything then
			self:refilter()
		end
	end
end

return Watch
