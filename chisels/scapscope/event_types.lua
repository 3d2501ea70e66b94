-- Names the types of events that the chisels tell apart.

local event_types = {}

local function set(names)
	local members = {}
	for _, name in ipairs(names) do
		members[name] = true
	end
	return members
end

-- Those that are no system calls (EC_TRACEPOINT and EC_METAEVENT in the event table of libscap).
event_types.NO_CALL = set({
	"switch", "page_fault", "signaldeliver", "procexit", "procinfo", "cpu_hotplug", "notification", "infra", "tracer",
	"k8s", "mesos", "pluginevent", "scapevent", "drop", "useradded", "userdeleted", "groupadded", "groupdeleted",
	"container", "asyncevent", "NA",
})

-- The calls that return twice: to the caller, and with 0 to the new process or thread.
event_types.CLONE = set({ "clone", "clone3", "fork", "vfork" })

-- The calls that turn a process into another program.
event_types.EXEC = set({ "execve", "execveat" })

-- The calls that send a signal.
event_types.KILL = set({ "kill", "tkill", "tgkill" })

-- Those that ask for the time, or like getcpu are answered by the vDSO too.
event_types.TIME = set({ "time", "gettimeofday", "clock_gettime", "getcpu" })

return event_types
