-- Breaks text into lines, between words.

-- text: words; width: of a line at most, in bytes, unless a word is longer; first: what stands in the first line
-- already. Gives the lines.
return function(text, width, first)
	first = first or ""
	local lines, line = {}, first
	for word in text:gmatch("%S+") do
		local longer = (line == "" or line == first) and line .. word or line .. " " .. word
		if #longer > width and #line > #first then
			lines[#lines + 1] = line
			longer, first = word, ""
		end
		line = longer
	end
	lines[#lines + 1] = line
	return lines
end
