-- Knows the vsyscall page: whether an address lies in it, and which call begins there.
-- Source: Linux, arch/x86/include/uapi/asm/vsyscall.h; the page is at 0xffffffffff600000 on every x86-64 kernel.

local page = {}

-- What an address in the page begins with, as sysdig writes addresses: upper case, without 0x.
page.PREFIX = "FFFFFFFFFF600"

page.CALL_AT = { [0x000] = "gettimeofday", [0x400] = "time", [0x800] = "getcpu" }

-- The calls in the order of their entry points.
page.CALLS = { "gettimeofday", "time", "getcpu" }

local offsets = {}

-- The address of a call, as sysdig writes addresses.
function page.entry(call)
	for offset, name in pairs(page.CALL_AT) do
		if name == call then
			return page.PREFIX .. string.format("%03X", offset)
		end
	end
end

-- How far into the page `address` lies; nil outside of it. Answers are kept: there are 4096 at most.
function page.offset(address)
	local offset = offsets[address]
	if not offset and #address == 16 and address:sub(1, 13) == page.PREFIX then
		offset = tonumber(address:sub(14), 16)
		offsets[address] = offset
	end
	return offset
end

-- The address of an offset, as findings write addresses.
function page.address(offset)
	return string.format("0xffffffffff600%03x", offset)
end

return page
