-- Turns what sysdig gives for a field into what is known: nil where it has nothing to say.

local NOTHING = { ["<NA>"] = true, [""] = true }

-- A text, if there is one.
return function(text)
	if text == nil or NOTHING[text] then
		return nil
	end
	return tostring(text)
end
