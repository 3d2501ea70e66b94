-- Keeps an account for each process that is there: opened by its first event, closed when it ends or becomes another
-- program.

local Accounts = {}
Accounts.__index = Accounts

-- Processes at once; where the ends of processes are missing, more pile up, and count as ended.
local PROCESSES = 65536

-- open(pid): a new account; close(account): takes one whose process has ended.
function Accounts.new(open, close)
	return setmetatable({ by_pid = {}, count = 0, open = open, close = close }, Accounts)
end

-- The account of the process of the present event.
function Accounts:of(pid)
	local account = self.by_pid[pid]
	if not account then
		if self.count >= PROCESSES then
			self:finish_all()
		end
		account = self.open(pid)
		self.by_pid[pid] = account
		self.count = self.count + 1
	end
	return account
end

-- The process ends, or becomes another program.
function Accounts:finish(pid)
	local account = self.by_pid[pid]
	if account then
		self.by_pid[pid] = nil
		self.count = self.count - 1
		self.close(account)
	end
end

-- All processes end.
function Accounts:finish_all()
	for pid in pairs(self.by_pid) do
		self:finish(pid)
	end
end

return Accounts
