-- The chisels run inside sysdig, on LuaJIT (5.1), 5.3 or 5.4: only what all of them have.
std = "min"
max_line_length = 120

-- sysdig's API, and what sysdig asks a chisel or a view for.
read_globals = { "sysdig", "chisel", "evt" }
globals = {
	"description", "short_description", "category", "args", "view_info",
	"on_set_arg", "on_init", "on_capture_start", "on_event", "on_interval", "on_capture_end",
}
