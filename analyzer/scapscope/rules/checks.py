"""Why each check exists: what goes wrong in the engines, and what to write instead.

Facts about sysdig are of 0.29.3, facts about Falco of its July 2026 state, both run on captures; facts
about its rule loader are read from its source (userspace/engine).
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that lint looks for."""

    finds: str
    why: str
    instead: str


LOADING = {
    "yaml": Check(
        "a file that is not YAML",
        "Falco refuses the file, and starts without any of its rules.",
        "Mend it where the message points; yamllint says more.",
    ),
    "structure": Check(
        "items and keys that Falco does not know, or not with such a value",
        "Falco refuses the whole file for a wrong value, and passes over what it does not know.",
        "The keys are those of Falco's rule loader: rule, desc, condition, output, priority and so on.",
    ),
    "override": Check(
        "append and override of something that cannot be changed so",
        "Falco refuses the whole file.",
        "Give the key, name it under 'override' with append or replace, and load the file after the one "
        "that it changes.",
    ),
    "exception": Check(
        "exceptions whose fields, comps and values do not fit together",
        "Falco refuses the whole file.",
        "One value in each row for each field; for a single field, comps is in, intersects or pmatch.",
    ),
    "condition": Check(
        "conditions that cannot be read, and macros and lists that are not there",
        "Falco refuses the whole file, not only this rule.",
        "Mend it where the message points.",
    ),
    "list-item": Check(
        "list items that are no values of the filter language",
        "Falco pastes list items into the condition as text: blanks, parentheses, commas and = break it.",
        "Quote inside the quotes: '\"(systemd)\"'.",
    ),
    "unused": Check(
        "macros and lists that no rule uses",
        "Falco warns about each at every start.",
        "Use it or remove it.",
    ),
    "nested-list": Check(
        "lists nested two deep",
        "Falco expands a list in a list once; a name left over is compared as if it were a value.",
        "Name the inner list itself in the outer one.",
    ),
}

TRAPS = {
    "address-case": Check(
        "addresses with lower-case digits or 0x",
        "Both engines render an address as upper-case hexadecimal without 0x, and compare texts: "
        "anything else never matches, silently.",
        "Write FFFFFFFFFF600400.",
    ),
    "raw-address": Check(
        "evt.rawarg.addr in a condition",
        "Falco refuses the rule; sysdig loads it and matches nothing.",
        "Use evt.arg.addr with =, in or startswith.",
    ),
    "raw-number": Check(
        "evt.rawarg compared with anything but a decimal number",
        "Falco compares the raw value as a decimal number: hexadecimal and names never match.",
        "Write evt.rawarg.error = 154, or evt.arg.error contains INSTRUCTION_FETCH.",
    ),
    "fault-error": Check(
        "evt.arg.error compared as a whole",
        "It is a list of names, PAGE_NOT_PRESENT|READ_ACCESS|USER_FAULT|INSTRUCTION_FETCH: neither one name "
        "nor a number is ever equal to it.",
        "Write evt.arg.error contains INSTRUCTION_FETCH.",
    ),
    "fault-ip": Check(
        "evt.arg.ip in a condition",
        "Falco's eBPF drivers record a wrong instruction pointer in page faults (0 for those of programs); "
        "only the kernel module's is right.",
        "Decide on evt.arg.addr and INSTRUCTION_FETCH: in a fetch the address is the instruction pointer.",
    ),
    "signal-name": Check(
        "evt.arg.sig compared with anything but a signal's name",
        "The engines render a signal as SIGSEGV and compare texts: numbers and other spellings never match.",
        "Write evt.arg.sig = SIGSEGV.",
    ),
    "output-ends-falco": Check(
        "%evt.rawarg fields in an output",
        "%evt.rawarg.sig and %evt.rawarg.ID end Falco at the first match: the rule takes the sensor down. "
        "What others of the kind do is not known.",
        "Use %evt.arg with the same name; it reads better, too.",
    ),
    "event-direction": Check(
        "evt.dir",
        "Falco has given up enter events: evt.dir is deprecated, and evt.dir=> matches less than it did.",
        "Leave it out: evt.type alone means the event that has the result.",
    ),
    "no-event-type": Check(
        "conditions that no evt.type limits",
        "Falco then switches every event of the host on, and evaluates the rule for each.",
        "Begin with evt.type = or evt.type in (...), not negated, and not on one side of an 'or' only.",
    ),
    "high-volume": Check(
        "enabled rules on events of very high volume",
        "An enabled rule that names such an event switches it on for the whole host, at full volume; "
        "Falco has no -A any more.",
        "Ship enabled: false, say what it costs, and let a site enable it.",
    ),
    "late-image": Check(
        "container metadata compared by !=",
        "A short-lived container's image and name arrive after its death. In sysdig a field without a value "
        "fails every comparison, != too: the rule misses the containers that crash first.",
        "Write not (container.image.repository = x), which holds while nothing is known.",
    ),
    "container-info": Check(
        "%container.info in an output",
        "Falco renders nothing for it since its container plugin, and will drop it in 1.0.",
        "Name the fields: %container.id %container.name %container.image.repository.",
    ),
    "plugin-field": Check(
        "fields that the plugin scapscope does not have, or that no file requires the plugin for",
        "Falco refuses the whole file, with a message that does not name the plugin.",
        "The fields vsyscall.* and timecalls.* are the plugin's: name it in required_plugin_versions; "
        "`falco --list` says which it has.",
    ),
    "missing-percent": Check(
        "a field in an output without its %",
        "Falco prints the field's name instead of its value.",
        "Write a % before it.",
    ),
}

HOUSE = {
    "engine-version": Check(
        "files that do not begin with required_engine_version",
        "An older Falco then fails on the first field it lacks, with a message about something else.",
        "Make required_engine_version: x.y.z the first item, with the reason in a comment.",
    ),
    "rule-name": Check(
        "rule names that are not in Title Case",
        "A name is what people see in an alert, and what they override by.",
        "Say what was seen: Instruction Fetch off Vsyscall Entry Points.",
    ),
    "key-order": Check(
        "rules whose keys come in another order",
        "Every rule reads the same way.",
        "Write rule, desc, condition, exceptions, enabled, output, priority, tags.",
    ),
    "description": Check(
        "descriptions that leave the reader alone",
        "Who is woken by an alert needs to know why it matters and what to do now.",
        "Give desc the paragraphs 'Why it matters: ...' and 'What to do: ...'.",
    ),
    "cost": Check(
        "rules that do not say what they cost",
        "Nobody can decide on a disabled rule without its cost.",
        "Give desc a paragraph 'Cost: ...' that also says how to enable the rule.",
    ),
    "maturity": Check(
        "tags that do not begin with one maturity",
        "Falco's users choose rules by maturity.",
        "Begin with maturity_sandbox, maturity_incubating, maturity_stable or maturity_deprecated.",
    ),
    "mitre": Check(
        "MITRE ATT&CK tags that do not hold together",
        "A tactic without its technique, or the other way round, cannot be mapped.",
        "Tactic and technique: mitre_execution, T1203.",
    ),
    "output-form": Check(
        "outputs that are not a sentence, a bar, and name=%field pairs",
        "People read the sentence, machines the pairs.",
        "Text without fields | address=%evt.arg.addr process=%proc.name",
    ),
    "output-fields": Check(
        "outputs without container, image, process, parent or address",
        "An alert that does not name its container and process cannot be acted on.",
        "Add the fields that the message names.",
    ),
    "no-exceptions": Check(
        "rules without exceptions",
        "A site that cannot name its exceptions overrides the condition, and misses our next correction.",
        "Define exceptions, without values: known_programs and known_images at least.",
    ),
    "explicit-enabled": Check(
        "rules that leave 'enabled' out",
        "Whether a rule ships enabled is a decision; it should be seen.",
        "Write enabled: true or enabled: false.",
    ),
    "names": Check(
        "macros and lists that are not lower_case words of more than one part",
        "All rules files of a site share one name space: a second macro called container replaces the first.",
        "Name them after the subject: vsyscall_page_fault.",
    ),
    "untested": Check(
        "rules without a test",
        "A rule that no real engine has run on a real capture is a guess.",
        "Add tests/NAME.yaml beside the rules file; scapscope rules test --help says what it holds.",
    ),
}

CHECKS = LOADING | TRAPS | HOUSE
