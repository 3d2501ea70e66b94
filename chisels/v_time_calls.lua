-- A csysdig view: which processes enter the kernel for the time, how often, and what it costs.

local view = require("scapscope.view")

local function latency(name, description, aggregation)
	return { name = name, field = "evt.latency", description = description, colsize = 10, aggregation = aggregation }
end

view_info = view.of_processes({
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
	filter = "evt.type in (time, gettimeofday, clock_gettime, getcpu) and evt.dir = <",
	drilldown_target = "syscalls",
	heading = "CALLS",
	what = "Calls",
	columns = {
		latency("AVG TIME", "Mean time from enter to exit of a call.", "AVG"),
		latency("MAX TIME", "Longest time from enter to exit of a call.", "MAX"),
	},
})
