"""The rules that need the plugin scapscope, judged by the plugin's own library and by sysdig.

sysdig has no plugins of Falco. So the plugin is run on the captures first, by cargo, and says at which events
its fields are true; in the condition a check such as `vsyscall.crash = true` becomes those events, and sysdig
judges what that amounts to: event types, containers, exceptions.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from scapscope.rules import cases, plugin
from scapscope.rules.cases import Case, Expectation
from scapscope.rules.condition import And, Check, Expression, Field, Not, Or, Word, Words
from scapscope.rules.engine import Alert
from scapscope.rules.expansion import Expander
from scapscope.rules.judge import judge, unjudged
from scapscope.rules.lint import lint
from scapscope.rules.loader import load
from scapscope.rules.output import printed
from scapscope.rules.sysdig import Sysdig

RULES = "rules/vsyscall_plugin_rules.yaml"
TESTS = (
    "container_killed_by_vsyscall_call",
    "emulated_vsyscall_storm",
    "high_rate_of_time_syscalls",
    "return_oriented_jump_into_vsyscall_page",
)

needs_engines = pytest.mark.skipif(
    shutil.which("sysdig") is None or shutil.which("cargo") is None, reason="needs sysdig and cargo"
)

Told = dict[Path, list[dict[str, Any]]]


@pytest.fixture(scope="module")
def told(repository: Path) -> Told:
    """What the plugin says of each capture, event by event."""
    captures = sorted((repository / "traces").rglob("*.scap"))
    words = ["cargo", "run", "--quiet", "--locked", "-p", "falco-plugin", "--example", "episodes", "--"]
    done = subprocess.run([*words, *captures], cwd=repository, capture_output=True, text=True, check=True)
    found = defaultdict(list)
    for line in done.stdout.splitlines():
        one = json.loads(line)
        found[Path(one["capture"]).resolve()].append(one)
    return found


def of_plugin(expression: Expression, events: list[dict[str, Any]]) -> Expression:
    """The expression with the plugin's checks replaced by the events for which they hold."""
    match expression:
        case Check(left=Field(name=name), operator="=", right=Word(text="true")) if name in plugin.fields():
            times = [str(one["timestamp_ns"]) for one in events if one["fields"].get(name) == "true"]
            return Check(Field("evt.rawtime"), "in", Words(tuple(Word(time) for time in times or ["0"])))
        case And(parts):
            return And(tuple(of_plugin(part, events) for part in parts))
        case Or(parts):
            return Or(tuple(of_plugin(part, events) for part in parts))
        case Not(inner):
            return Not(of_plugin(inner, events))
    assert "vsyscall." not in str(expression), expression
    assert "timecalls." not in str(expression), expression
    return expression


def alerts(case: Case, capture: Path, events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The fields of each alert of the rule, those of the plugin among them."""
    rules = load(case.rules)
    rule = rules.rules[case.rule]
    shown = sorted({field.field for field in printed(rule.output.value)})
    native = [name for name in shown if not plugin.claims(name) and not name.startswith("k8s.")]
    condition = of_plugin(Expander(rules).rule(rule), events)
    seen = Sysdig().matches(condition, capture, native)
    return [{**one.fields, **own(one, events)} for one in seen]


def own(alert: Alert, events: list[dict[str, Any]]) -> dict[str, Any]:
    """The plugin's fields at the event of an alert."""
    (one,) = [one for one in events if one["timestamp_ns"] == alert.timestamp_ns]
    return {**dict.fromkeys(plugin.fields()), **one["fields"]}


def expected(case: Case) -> Iterator[Expectation]:
    yield from case.alerting
    yield from case.silent


@needs_engines
@pytest.mark.parametrize("name", TESTS)
def test_the_rule_alerts_once_for_each_episode(name: str, repository: Path, told: Told) -> None:
    case = cases.read(repository / f"rules/tests/{name}.yaml")
    captures = {one.resolve() for one in (repository / "traces").rglob("*.scap")}
    assert {one.capture.resolve() for one in expected(case)} == captures
    for one in case.alerting:
        found = alerts(case, one.capture, told[one.capture.resolve()])
        assert len(found) == one.count, one.capture
        for key, values in one.fields.items():
            shown = [None if fields[key] is None else str(fields[key]) for fields in found]
            assert shown == list(values if len(values) > 1 else values * one.count), (one.capture, key)
    for one in case.silent:
        # sysdig need not be asked about a capture that the plugin says nothing of.
        if events := told.get(one.capture.resolve()):
            assert alerts(case, one.capture, events) == [], one.capture


def test_every_rule_of_the_plugin_is_tested(repository: Path) -> None:
    tested = {cases.read(repository / f"rules/tests/{name}.yaml").rule for name in TESTS}
    assert tested == load([repository / RULES]).rules.keys()


@needs_engines
def test_sysdig_alone_cannot_judge_them_and_says_so(repository: Path) -> None:
    case = cases.read(repository / f"rules/tests/{TESTS[0]}.yaml")
    verdicts = list(judge([case], [Sysdig()]))
    assert {(one.unable is None, one.passed) for one in verdicts} == {(False, False)}
    assert unjudged(verdicts) == [], "only Falco with the plugin could"


def test_a_field_that_the_plugin_lacks_is_found(repository: Path, tmp_path: Path) -> None:
    text = (repository / RULES).read_text(encoding="utf-8")
    wrong = tmp_path / "wrong.yaml"
    wrong.write_text(text.replace("vsyscall.storm = true", "vsyscall.strom = true"), encoding="utf-8")
    assert [problem.check for problem in lint([wrong])] == ["plugin-field"]
    wrong.write_text(text.replace("%timecalls.share", "%timecalls.part"), encoding="utf-8")
    assert [problem.message for problem in lint([wrong])] == [
        "the plugin scapscope has no field timecalls.part"
    ]


def test_the_plugin_must_be_required(repository: Path, tmp_path: Path) -> None:
    text = (repository / RULES).read_text(encoding="utf-8")
    bare = tmp_path / "bare.yaml"
    bare.write_text(text.replace("    - name: scapscope\n      version: 0.1.0\n", ""), encoding="utf-8")
    found = lint([bare])
    assert {problem.check for problem in found} == {"plugin-field"}
    assert "vsyscall.crash without scapscope in required_plugin_versions" in {one.message for one in found}
