-- Judges what the ledger gathered: findings with id, severity, confidence, facts and the events that prove them.
-- A finding says of itself by what mode of the kernel it was judged.
--
-- The rules are those of crates/diagnosis/src/detectors. A death is claimed only where a fault in the vsyscall page
-- explains it; every other crash is the analyzer's.

local Ledger = require("scapscope.ledger")
local moment = require("scapscope.moment")
local page = require("scapscope.page")
local signals = require("scapscope.signals")

local findings = {}

-- Calls of one process within a second from which on emulation is worth a word: DEFAULT_HOT_CALLS of
-- crates/diagnosis, which says why.
findings.DEFAULT_HOT_CALLS = 1000

local function evidence(at, event_type)
	return { event = at.event, s = at.s, ns = at.ns, tid = at.tid, type = event_type }
end

local function fault_facts(facts, fault)
	facts.fault_address = page.address(fault.offset)
	facts.fault_access = fault.access.kind
	facts.fault_error = fault.access.names
	return facts
end

-- Id, severity and confidence of a death by a fault in the page. Nil for a call that the kernel refused although it
-- has the page: that is the analyzer's.
local function claim(death, mode)
	local fault = death.fault
	local call = page.CALL_AT[fault.offset]
	if fault.access.kind ~= "fetch" then
		return "vsyscall-read", "error", Ledger.recorded(death)
	elseif not call then
		return "vsyscall-misaligned-jump", "critical", Ledger.recorded(death)
	elseif fault.access.present or mode == "xonly" or mode == "emulate" then
		return nil
	elseif death.signal == "SIGABRT" then
		-- An abort after the program caught the signal may have its own reason.
		return "vsyscall-none-crash", "warning", "possible"
	elseif death.signal == "SIGSEGV" then
		local sure = Ledger.recorded(death)
		return "vsyscall-none-crash", sure == "possible" and "warning" or "critical", sure
	end
end

local function death_facts(group, id)
	local death = group.shown
	local facts = fault_facts({ count = group.count, pids = group.pids, signal = death.signal }, death.fault)
	if death.status then
		facts.exit_status = signals.shown(death.status)
		facts.core_dumped = signals.dumped_core(death.status)
	end
	if death.handler_ran then
		facts.handler_ran = true
	end
	if death.delivery then
		facts.fault_to_signal_ns = moment.since(death.fault, death.delivery)
	end
	if id == "vsyscall-misaligned-jump" then
		facts.offset = death.fault.offset
	elseif id == "vsyscall-none-crash" then
		facts.call = page.CALL_AT[death.fault.offset]
		-- Without the signal it may still be that the kernel emulated the call.
		facts.vsyscall_mode = (death.delivery or death.status) and "none" or nil
	end
	return facts
end

local function death_evidence(death)
	local proof = { evidence(death.fault, "page_fault") }
	if death.delivery then
		proof[#proof + 1] = evidence(death.delivery, "signaldeliver")
	end
	if death.exit then
		proof[#proof + 1] = evidence(death.exit, "procexit")
	end
	return proof
end

local function of_death(group, mode)
	local id, severity, sure = claim(group.shown, mode)
	return id and {
		id = id, severity = severity, confidence = sure, process = group.process,
		facts = death_facts(group, id), evidence = death_evidence(group.shown),
	}
end

-- What a program did in the page and lived; `touched`: how often, the first fault, the signal that it brought.
local function of_touch(group, touched, id, facts)
	local proof = { evidence(touched.first, "page_fault") }
	if touched.delivery then
		proof[2] = evidence(touched.delivery, "signaldeliver")
	end
	facts.count = touched.count
	return {
		id = id, severity = "warning", confidence = "certain", process = group.process, facts = facts,
		evidence = proof,
	}
end

local function handled(group, ledger)
	local touched = group.use.handled
	if not touched or ledger:died_of_it(group) then
		return nil
	end
	local facts = fault_facts({ signal = "SIGSEGV", call = page.CALL_AT[touched.first.offset] }, touched.first)
	if not touched.first.access.present then
		facts.vsyscall_mode = "none"
	end
	facts.outcome, facts.own_exit_status = group.use.outcome, group.use.exit_status
	facts.fault_to_signal_ns = touched.delivery and moment.since(touched.first, touched.delivery)
	return of_touch(group, touched, "vsyscall-sigsegv-handled", facts)
end

local function busiest(calls)
	local most
	for _, call in ipairs(page.CALLS) do
		-- Of two that are even, the later entry point: as the analyzer has it.
		if not most or calls[call] >= calls[most] then
			most = call
		end
	end
	return most
end

local function emulated_facts(group, emulated, mode)
	local total, calls = 0, {}
	for call, count in pairs(emulated.calls) do
		total = total + count
		calls[call] = count > 0 and count or nil
	end
	local duration_ns = moment.since(emulated.first, emulated.last)
	return {
		count = total, count_is_minimum = group.use.enough, calls = calls, call = busiest(emulated.calls),
		processes = group.processes, duration_ns = duration_ns, peak_per_second = emulated.peak.most,
		vsyscall_mode = mode ~= "unknown" and mode or nil,
		rate_per_second = duration_ns > 0 and math.floor(total * 1e9 / duration_ns) or nil,
	}
end

local function hot(group, mode, hot_calls)
	local emulated = group.use.emulated
	if not emulated or emulated.peak.most < hot_calls then
		return nil
	end
	return {
		id = "vsyscall-emulated-hot", severity = "warning", confidence = "certain", process = group.process,
		facts = emulated_facts(group, emulated, mode),
		evidence = { evidence(emulated.first, "page_fault"), evidence(emulated.last, "page_fault") },
	}
end

local function misaligned(group)
	local touched = group.use.misaligned
	return touched and of_touch(group, touched, "vsyscall-misaligned-jump", {
		offset = touched.first.offset, fault_address = page.address(touched.first.offset),
	})
end

local function read(group)
	local touched = group.use.read
	return touched and of_touch(group, touched, "vsyscall-read", {
		fault_address = page.address(touched.first.offset), fault_access = touched.first.access.kind,
	})
end

-- What the ledger of one kernel, which runs in `mode`, yields; and how many deaths that leaves unexplained.
function findings.of_section(ledger, mode, hot_calls)
	local found, unexplained = {}, ledger.other_deaths
	for _, group in ipairs(ledger.deaths) do
		local finding = of_death(group, mode)
		found[#found + 1] = finding
		unexplained = unexplained + (finding and 0 or group.count)
	end
	for _, group in ipairs(ledger.uses) do
		found[#found + 1] = handled(group, ledger)
		found[#found + 1] = hot(group, mode, hot_calls)
		found[#found + 1] = misaligned(group)
		found[#found + 1] = read(group)
	end
	for _, finding in ipairs(found) do
		finding.mode = mode
	end
	return found, unexplained
end

-- The finding of a capture without any page fault.
function findings.page_faults_not_captured(segfaults)
	return {
		id = "page-faults-not-captured", severity = segfaults > 0 and "warning" or "info", confidence = "certain",
		facts = { segfaults = segfaults }, evidence = {}, mode = "unknown",
	}
end

return findings
