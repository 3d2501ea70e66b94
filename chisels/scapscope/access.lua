-- Reads what a page fault tried to do off its error bits, which are scap's own, not the processor's
-- (driver/ppm_events_public.h, PPM_PF_...).

local access = {}

local NAMES = {
	"PROTECTION_VIOLATION", "PAGE_NOT_PRESENT", "WRITE_ACCESS", "READ_ACCESS",
	"USER_FAULT", "SUPERVISOR_FAULT", "RESERVED_PAGE", "INSTRUCTION_FETCH",
}

local seen = {}

-- A fetch carries READ_ACCESS too, so it is looked for first.
local function kind(set)
	if set.INSTRUCTION_FETCH then
		return "fetch"
	end
	return set.WRITE_ACCESS and "write" or "read"
end

-- error: the bits; names: theirs; user: taken in user mode; present: the page is there, but may not be used like
-- that; kind: fetch, write or read. The same bits always give the same table: there are few.
function access.read(error)
	local known = seen[error]
	if not known then
		local names, set = {}, {}
		for index, name in ipairs(NAMES) do
			if math.floor(error / 2 ^ (index - 1)) % 2 == 1 then
				names[#names + 1] = name
				set[name] = true
			end
		end
		known = {
			error = error, names = names, kind = kind(set),
			user = set.USER_FAULT or false, present = set.PROTECTION_VIOLATION or false,
		}
		seen[error] = known
	end
	return known
end

return access
