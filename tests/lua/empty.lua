-- A chisel that does nothing, with the filter that vsyscall_diag has in a capture with page faults: what sysdig itself
-- takes for that.

local Watch = require("scapscope.watch")

description = "Does nothing, with the filter of vsyscall_diag: to measure against"
short_description = "An empty chisel"
category = "Misc"
args = {}

function on_init()
	Watch.new(chisel.set_filter):page_faults_seen()
	return true
end

function on_event()
	return true
end
