-- A csysdig view: which processes enter the kernel for the time, how often, and what it costs.

view_info = {
	id = "time_calls",
	name = "Time System Calls",
	description = "System calls that ask for the time (time, gettimeofday, clock_gettime, getcpu), by process. On a"
		.. " healthy host the vDSO answers them without the kernel, and little shows here.",
	tips = {
		"Many programs at once: look at /sys/devices/system/clocksource/clocksource0/current_clocksource. With xen, hpet or"
			.. " acpi_pm, or an unstable tsc, the vDSO has to enter the kernel.",
		"One program or image only: its libc is old or static, or it asks for a clock that the vDSO does not serve.",
		"Captures of current drivers have no enter events: then AVG TIME and MAX TIME mean nothing.",
	},
	tags = { "Default" },
	view_type = "table",
	filter = "evt.type in (time, gettimeofday, clock_gettime, getcpu) and evt.dir = <",
	applies_to = {
		"", "container.id", "proc.pid", "proc.name", "thread.tid", "thread.nametid", "k8s.pod.id", "k8s.ns.id",
	},
	use_defaults = true,
	drilldown_target = "syscalls",
	columns = {
		{ name = "NA", field = "proc.pid", is_key = true },
		{
			name = "CALLS",
			field = "evt.count",
			description = "Calls during the sample interval. On trace files, in the whole file.",
			colsize = 10,
			aggregation = "SUM",
			is_sorting = true,
		},
		{
			name = "CALLS/S",
			field = "evt.count",
			description = "Calls per second.",
			colsize = 10,
			aggregation = "TIME_AVG",
		},
		{
			name = "AVG TIME",
			field = "evt.latency",
			description = "Mean time from enter to exit of a call.",
			colsize = 10,
			aggregation = "AVG",
		},
		{
			name = "MAX TIME",
			field = "evt.latency",
			description = "Longest time from enter to exit of a call.",
			colsize = 10,
			aggregation = "MAX",
		},
		{ name = "PID", field = "proc.pid", description = "Process id.", colsize = 8 },
		{
			tags = { "containers" },
			name = "Container ID",
			field = "container.id",
			description = "Id of the container, known before its name; host for a process of the host.",
			colsize = 13,
		},
		{
			tags = { "containers" },
			name = "Container",
			field = "container.name",
			description = "Name of the container.",
			colsize = 20,
		},
		{
			tags = { "containers" },
			name = "Image",
			field = "container.image",
			description = "Image of the container.",
			colsize = 24,
		},
		{
			name = "Command",
			field = "proc.exeline",
			description = "Command line of the process.",
			aggregation = "MAX",
			colsize = 0,
		},
	},
}
