-- luacheck: globals arg
-- Runs one chisel on recorded events and prints what it prints, for a look from the shell:
--   lua5.4 tests/lua/run.lua CHISEL.lua RECORDING [live] [json] [containers] [ARGUMENT...]
-- RECORDING is what `sysdig -r CAPTURE -c record FIELD,FIELD,...` wrote with SYSDIG_CHISEL_DIR=tests/lua.

local here = arg[0]:match("^(.*/)") or "./"
package.path = here .. "?.lua;" .. arg[1]:match("^(.*/)") .. "?.lua;" .. package.path

local engine = require("engine")

local options = { args = {} }
for index = 3, #arg do
	if arg[index] == "live" or arg[index] == "json" or arg[index] == "containers" then
		options[arg[index]] = true
	else
		table.insert(options.args, arg[index])
	end
end
local file = assert(io.open(arg[2], "rb"))
io.write((engine.run(arg[1], engine.read(file:read("*a")), options)))
