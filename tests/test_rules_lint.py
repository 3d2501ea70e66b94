"""What lint finds: every check by an example that has it and one that only looks like it."""

from __future__ import annotations

from pathlib import Path

import pytest

from scapscope.rules.checks import CHECKS, HOUSE, LOADING, TRAPS
from scapscope.rules.lint import lint
from scapscope.rules.problem import Problem

FAULT = "evt.type = page_fault and "
SIGNAL = "evt.type = signaldeliver and "
OUTPUT = (
    "Something was seen | address=%evt.arg.addr process=%proc.name pid=%proc.pid exe=%proc.exepath"
    " command=%proc.cmdline parent=%proc.pname container_id=%container.id container_name=%container.name"
    " image=%container.image.repository image_tag=%container.image.tag"
)
HOUSE_RULE = f"""
- required_engine_version: 0.50.0
- list: page_addresses
  items: [FFFFFFFFFF600000]
- macro: page_faulted
  condition: (evt.type = page_fault and evt.arg.addr in (page_addresses))
- rule: Fault in the Page
  desc: >
    Something happened.

    Why it matters: It does.

    What to do: Look.

    Cost: High. To enable it, override enabled.
  condition: page_faulted
  exceptions:
    - name: known_programs
      fields: proc.exepath
  enabled: false
  output: {OUTPUT}
  priority: NOTICE
  tags: [maturity_sandbox, host, mitre_execution, T1203]
"""


def problems(tmp_path: Path, *texts: str, ours: bool = False, tested: bool = True) -> list[Problem]:
    paths = [tmp_path / f"{number}.yaml" for number in range(len(texts))]
    for path, text in zip(paths, texts, strict=True):
        path.write_text(text, encoding="utf-8")
    return lint(paths, ours=ours, tested=frozenset({"Fault in the Page"} if tested else ()))


def rule(condition: str, output: str = "x", more: str = "enabled: false") -> str:
    return (
        "- rule: R\n  desc: d\n  condition: >\n"
        f"    {condition}\n  output: >\n    {output}\n  priority: INFO\n  {more}\n"
    )


def checks(found: list[Problem]) -> list[str]:
    return [problem.check for problem in found]


@pytest.mark.parametrize(
    ("condition", "check"),
    [
        (FAULT + "evt.arg.addr = ffffffffff600400", "address-case"),
        (FAULT + "evt.arg.addr = 0xFFFFFFFFFF600400", "address-case"),
        (FAULT + "evt.arg.addr startswith ffffffffff600", "address-case"),
        (FAULT + "evt.arg.addr in (FFFFFFFFFF600400, 0xffffffffff600800)", "address-case"),
        (FAULT + "evt.arg.addr contains Ff600", "address-case"),
        (FAULT + "evt.arg.addr icontains 0xff600", "address-case"),
        (FAULT + "evt.rawarg.addr = 18446744073699066880", "raw-address"),
        (FAULT + "evt.rawarg.addr exists", "raw-address"),
        (FAULT + "evt.rawarg.error = 0x9a", "raw-number"),
        (FAULT + "evt.rawarg.error = INSTRUCTION_FETCH", "raw-number"),
        (FAULT + "evt.arg.error = INSTRUCTION_FETCH", "fault-error"),
        (FAULT + "evt.arg.error in (USER_FAULT)", "fault-error"),
        (FAULT + "evt.arg.error = 154", "fault-error"),
        (FAULT + "evt.arg.ip startswith FFFFFFFFFF600", "fault-ip"),
        (FAULT + "tolower(evt.arg.ip) = 0", "fault-ip"),
        (SIGNAL + "evt.arg.sig = 11", "signal-name"),
        (SIGNAL + "evt.arg.sig in (SIGSEGV, 7)", "signal-name"),
        (SIGNAL + "evt.arg.sig = sigsegv", "signal-name"),
        (SIGNAL + "evt.arg.sig = SEGV", "signal-name"),
        (SIGNAL + "evt.arg.sig >= 11", "signal-name"),
        ("evt.type = open and evt.dir = <", "event-direction"),
        ("evt.type = open and evt.dir=>", "event-direction"),
        ("proc.name = x", "no-event-type"),
        ("not evt.type = open", "no-event-type"),
        ("evt.type = open or proc.name = x", "no-event-type"),
        ("evt.type != open and proc.name = x", "no-event-type"),
    ],
)
def test_traps_in_conditions(condition: str, check: str, tmp_path: Path) -> None:
    (found,) = problems(tmp_path, rule(condition))
    assert found.check == check
    assert found.fatal
    assert found.spot.line == (3 if check == "no-event-type" else 4)


@pytest.mark.parametrize(
    "condition",
    [
        FAULT + "evt.arg.addr = FFFFFFFFFF600400",
        FAULT + "evt.arg.addr startswith FFFFFFFFFF600",
        FAULT + "evt.arg.addr icontains ffffffffff600400",
        FAULT + "evt.arg.addr in (FFFFFFFFFF600400, 601000)",
        FAULT + "evt.rawarg.error = 154",
        FAULT + "evt.arg.error contains INSTRUCTION_FETCH",
        FAULT + "evt.arg.error = PAGE_NOT_PRESENT|READ_ACCESS|USER_FAULT|INSTRUCTION_FETCH",
        SIGNAL + "evt.arg.sig in (SIGSEGV, SIGBUS, SIGRTMIN+3)",
        SIGNAL + "evt.arg.sig startswith SIG",
        "evt.type = connect and evt.arg.addr contains /var/run/docker.sock",
        "evt.type = connect and evt.arg.addr = fe80::1",
        "evt.type in (open, openat) and not (evt.type = open and proc.name = x)",
        "not (evt.type != open or proc.name = x)",
        "evt.type = open and not container.image.repository = x",
        "evt.type = open and container.id != host",
    ],
)
def test_what_only_looks_like_a_trap(condition: str, tmp_path: Path) -> None:
    assert problems(tmp_path, rule(condition)) == []


def test_a_trap_in_a_macro_is_found_once_where_it_is_written(tmp_path: Path) -> None:
    text = "- macro: by_signal\n  condition: >\n    (evt.type = signaldeliver and\n     evt.arg.sig = 11)\n"
    (found,) = problems(tmp_path, text + rule("by_signal") + rule("by_signal and a.b = c").replace("R", "S"))
    assert (str(found.spot).partition(":")[2], found.check) == ("4:6", "signal-name")


@pytest.mark.parametrize("event", ["page_fault", "gettimeofday", "clock_gettime", "time", "getcpu"])
def test_an_enabled_rule_on_a_costly_event(event: str, tmp_path: Path) -> None:
    text = f"- macro: often\n  condition: evt.type in (open, {event})\n"
    (found,) = problems(tmp_path, text + rule("often and proc.name = x", more="tags: [x]"))
    assert found.check == "high-volume"
    assert event in found.message
    assert problems(tmp_path, text + rule("often and proc.name = x")) == []
    assert problems(tmp_path, text + rule("often and evt.type = open", more="tags: [x]")) == []


def test_a_later_file_that_enables_a_costly_rule_is_told(tmp_path: Path) -> None:
    enabling = "- {rule: R, enabled: true, override: {enabled: replace}}\n"
    assert checks(problems(tmp_path, rule(FAULT + "a.b = c"), enabling)) == ["high-volume"]


def test_who_knows_that_every_event_is_meant_is_only_warned(tmp_path: Path) -> None:
    (found,) = problems(tmp_path, rule("proc.name = x", more="warn_evttypes: false"))
    assert (found.check, found.severity) == ("no-event-type", "warning")


def test_rules_of_plugins_need_no_event_type(tmp_path: Path) -> None:
    assert problems(tmp_path, rule("ct.name = PutBucketAcl", more="source: aws_cloudtrail")) == []


@pytest.mark.parametrize("operator", ["!="])
@pytest.mark.parametrize("field", ["container.image.repository", "container.name", "k8s.ns.name"])
def test_metadata_that_comes_late(field: str, operator: str, tmp_path: Path) -> None:
    (found,) = problems(tmp_path, rule(f"evt.type = open and {field} {operator} x"))
    assert (found.check, found.severity) == ("late-image", "warning")


@pytest.mark.parametrize(
    ("output", "check"),
    [
        ("x sig=%evt.rawarg.sig", "output-ends-falco"),
        ("x id=%evt.rawarg.ID", "output-ends-falco"),
        ("x %evt.dir", "event-direction"),
        ("x %container.info", "container-info"),
        ("x proto=fd.l4proto", "missing-percent"),
    ],
)
def test_traps_in_outputs(output: str, check: str, tmp_path: Path) -> None:
    (found,) = problems(tmp_path, rule("evt.type = open", output))
    assert found.check == check
    text = (tmp_path / "0.yaml").read_text().splitlines()[found.spot.line - 1]
    assert text[found.spot.column - 1 :].startswith(output.rpartition("=")[2].rpartition("%")[2])


def test_other_raw_arguments_are_only_warned_of(tmp_path: Path) -> None:
    (found,) = problems(tmp_path, rule("evt.type = open", "x %evt.rawarg.flags"))
    assert (found.check, found.severity) == ("output-ends-falco", "warning")


@pytest.mark.parametrize(
    "output", ["x %evt.arg.sig", "x user=%user.name", "100% cpu=%evt.cpu", "at a.b.c x=y.z"]
)
def test_outputs_that_are_well(output: str, tmp_path: Path) -> None:
    assert problems(tmp_path, rule("evt.type = open", output)) == []


@pytest.mark.parametrize(
    ("text", "check", "line"),
    [
        ("- a: [\n", "yaml", 2),
        ("- {rule: R, desc: d}\n", "structure", 1),
        ("- {list: l, items: [x], append: true}\n", "override", 1),
        ("- rule: R\n  exceptions: [{fields: a.b, values: [c], name: n}, {name: n}]\n", "structure", 1),
        ("- macro: m\n  condition: >\n    a.b = c and\n    and d.e = f\n", "condition", 4),
        ("- macro: m\n  condition: proc.name in (x, y\n", "condition", 2),
        ("- list: l\n  items:\n    - fine\n    - (systemd)\n", "list-item", 4),
        ("- {list: a, items: [x]}\n- {list: b, items: [a]}\n- {list: c, items: [b]}\n", "nested-list", 3),
    ],
)
def test_what_falco_would_refuse(text: str, check: str, line: int, tmp_path: Path) -> None:
    (found,) = problems(tmp_path, text)
    assert (found.check, found.spot.line) == (check, line)


def test_exceptions_that_falco_would_refuse(tmp_path: Path) -> None:
    text = rule("evt.type = open", more="exceptions: [{name: n, fields: [a.b], values: [x]}]")
    assert checks(problems(tmp_path, text)) == ["exception"]


def test_what_no_rule_uses(tmp_path: Path) -> None:
    text = (
        "- {list: used_list, items: [x]}\n- {list: left_list, items: [used_list]}\n"
        "- {macro: inner_macro, condition: proc.name in (used_list)}\n"
        "- {macro: left_macro, condition: a.b in (left_list)}\n"
    )
    found = problems(tmp_path, text + rule("evt.type = open and inner_macro"))
    assert [(problem.check, problem.severity, problem.spot.line) for problem in found] == [
        ("unused", "warning", 2),
        ("unused", "warning", 4),
    ]
    assert problems(tmp_path, text) == [], "a file of macros only is for others to use"


def test_a_list_that_only_an_exception_uses_is_used(tmp_path: Path) -> None:
    text = "- {list: my_list, items: [x]}\n" + rule(
        "evt.type = open", more="exceptions: [{name: n, fields: proc.name, values: [my_list]}]"
    )
    assert problems(tmp_path, text) == []


def test_problems_come_in_the_order_of_files_and_lines(tmp_path: Path) -> None:
    second = "- macro: late\n  condition: evt.dir=<\n"
    found = problems(tmp_path, rule("late and evt.arg.sig = 9") + rule("x").replace("R", "S"), second)
    assert [(Path(one.spot.file).name, one.spot.line) for one in found] == sorted(
        (Path(one.spot.file).name, one.spot.line) for one in found
    )
    assert len(found) == len(set(found)) == 4


def test_the_house_rule_is_in_order(tmp_path: Path) -> None:
    assert problems(tmp_path, HOUSE_RULE, ours=True) == []


@pytest.mark.parametrize(
    ("before", "after", "check"),
    [
        ("- required_engine_version: 0.50.0\n", "", "engine-version"),
        ("Fault in the Page", "Fault in the page", "rule-name"),
        ("Fault in the Page", "fault in the Page", "rule-name"),
        ("  priority: NOTICE\n  tags:", "  tags:", "structure"),
        ("  enabled: false\n  output:", "  output:", "explicit-enabled"),
        ("    Why it matters: It does.\n", "", "description"),
        ("What to do: Look.", "What to do:", "description"),
        ("    Cost: High. To enable it, override enabled.\n", "", "cost"),
        ("Cost: High. To enable it, override enabled.", "Cost: High.", "cost"),
        ("maturity_sandbox, host", "host, maturity_sandbox", "maturity"),
        ("maturity_sandbox, host", "host", "maturity"),
        ("maturity_sandbox", "maturity_new", "maturity"),
        ("host, mitre", "maturity_stable, mitre", "maturity"),
        ("mitre_execution, T1203", "mitre_execution", "mitre"),
        ("mitre_execution, T1203", "T1203.001", "mitre"),
        ("mitre_execution", "mitre_exploitation", "mitre"),
        (" | address", " address", "output-form"),
        ("Something was seen |", "Something %proc.name was seen |", "output-form"),
        ("Something was seen |", "Something was seen. |", "output-form"),
        ("pid=%proc.pid", "%proc.pid", "output-form"),
        ("pid=%proc.pid", "process=%proc.pid", "output-form"),
        (" address=%evt.arg.addr", "", "output-fields"),
        (" image=%container.image.repository", "", "output-fields"),
        ("  exceptions:\n    - name: known_programs\n      fields: proc.exepath\n", "", "no-exceptions"),
        ("page_addresses", "Page_Addresses", "names"),
        ("page_faulted", "faulted", "names"),
        ("  condition: page_faulted\n", "  condition: evt.type = page_fault\n", "unused"),
    ],
)
def test_the_house_style(before: str, after: str, check: str, tmp_path: Path) -> None:
    assert before in HOUSE_RULE
    found = problems(tmp_path, HOUSE_RULE.replace(before, after), ours=True)
    assert check in checks(found)
    assert set(checks(problems(tmp_path, HOUSE_RULE.replace(before, after)))) <= {
        "unused",
        "structure",
        "high-volume",
    }


def test_the_order_of_keys(tmp_path: Path) -> None:
    moved = HOUSE_RULE.replace("  priority: NOTICE\n", "").replace(
        "  enabled:", "  priority: NOTICE\n  enabled:"
    )
    assert checks(problems(tmp_path, moved, ours=True)) == ["key-order"]


@pytest.mark.parametrize(
    ("field", "found"),
    [("vsyscall.crash", []), ("vsyscall.crush", ["plugin-field"]), ("vsyscalls.crash", [])],
)
def test_fields_of_our_plugin(field: str, found: list[str], tmp_path: Path) -> None:
    text = rule(f"evt.type = procexit and {field} = true", f"x=%{field}")
    needed = "- required_plugin_versions: [{name: scapscope, version: 0.1.0}]\n"
    assert checks(problems(tmp_path, needed + text)) == found * 2
    unneeded = ["plugin-field"] * 2 if field.startswith("vsyscall.") else []
    assert checks(problems(tmp_path, text)) == unneeded


def test_a_rule_without_a_test(tmp_path: Path) -> None:
    assert checks(problems(tmp_path, HOUSE_RULE, ours=True, tested=False)) == ["untested"]


def test_every_check_has_an_example_here() -> None:
    examples = Path(__file__).read_text(encoding="utf-8")
    assert [name for name in CHECKS if f'"{name}"' not in examples] == []


def test_every_check_says_why_and_what_instead() -> None:
    assert len(CHECKS) == len(LOADING) + len(TRAPS) + len(HOUSE)
    for check in CHECKS.values():
        assert check.why.endswith((".", "\"'."))
        assert check.instead[0].isupper()
