-- Names the signals whose death is a crash, and reads how a process ended off its wait status.
-- Numbers: signal(7), x86 column. Wait status: wait(2). A process that ends by SIGTERM, SIGINT, SIGHUP or
-- SIGPIPE was asked to: none of these.

local signals = {}

signals.NAME = {
	[4] = "SIGILL", [5] = "SIGTRAP", [6] = "SIGABRT", [7] = "SIGBUS", [8] = "SIGFPE",
	[9] = "SIGKILL", [11] = "SIGSEGV", [24] = "SIGXCPU", [25] = "SIGXFSZ", [31] = "SIGSYS",
}

-- The names in the order of their numbers, and as a set.
signals.NAMES, signals.IS_DEADLY = {}, {}
for number = 1, 31 do
	local name = signals.NAME[number]
	if name then
		signals.NAMES[#signals.NAMES + 1] = name
		signals.IS_DEADLY[name] = true
	end
end

-- Those that the kernel raises for a page fault.
signals.OF_A_FAULT = { SIGSEGV = true, SIGBUS = true }

-- The signal that ended a process, if it is one of these.
function signals.of(status)
	return signals.NAME[status % 128]
end

-- Whether the process ended by itself.
function signals.exited(status)
	return status % 128 == 0
end

function signals.dumped_core(status)
	return math.floor(status / 128) % 2 == 1
end

-- What a shell or a container runtime shows: 128 and the signal, or the exit status.
function signals.shown(status)
	if signals.exited(status) then
		return math.floor(status / 256) % 256
	end
	return 128 + status % 128
end

return signals
