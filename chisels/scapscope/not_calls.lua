-- Names the events that are no system calls (EC_TRACEPOINT and EC_METAEVENT in the event table of libscap).

local not_calls = {}

for _, name in ipairs({
	"switch", "page_fault", "signaldeliver", "procexit", "procinfo", "cpu_hotplug", "notification", "infra", "tracer",
	"k8s", "mesos", "pluginevent", "scapevent", "drop", "useradded", "userdeleted", "groupadded", "groupdeleted",
	"container", "asyncevent", "NA",
}) do
	not_calls[name] = true
end

return not_calls
