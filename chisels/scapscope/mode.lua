-- Infers how the kernel treats the vsyscall page (boot parameter vsyscall=) from calls of it and what followed.
--
-- Measured on Linux 6.1: a call faults with PAGE_NOT_PRESENT under none and xonly, and with PROTECTION_VIOLATION
-- under emulate, which alone has the page in the page table. Under none SIGSEGV follows on the same thread; under
-- the other two the kernel emulates the call and the thread goes on.

local Mode = {}
Mode.__index = Mode

function Mode.new()
	return setmetatable({}, Mode)
end

-- Something done in the page after which the thread went on. access: what its fault was; call: whether it was at an
-- entry point. A page that is there tells of its mode whatever was done with it, and however the kernel answered.
function Mode:lived(access, call)
	if access.present then
		self.present = true
	elseif call then
		self.emulated_absent = true
	end
end

-- Something done in the page that brought SIGSEGV.
function Mode:refused(access, call)
	if access.present then
		self.present = true
	elseif call then
		self.refused_absent = true
	end
end

-- none, xonly, emulate, or unknown: nothing was seen, or what no single kernel does.
function Mode:infer()
	if self.emulated_absent then
		return self.present and "unknown" or "xonly"
	elseif self.present then
		return self.refused_absent and "unknown" or "emulate"
	end
	return self.refused_absent and "none" or "unknown"
end

return Mode
