"""Our rules on real engines over every capture, and the command that runs them."""

from __future__ import annotations

import json
import os
import shutil
import textwrap
from collections import Counter
from functools import cache
from itertools import chain
from pathlib import Path

import pytest
import yaml

import scapscope
from conftest import MANIFEST, REPOSITORY, Trace
from running import scapscope as run
from scapscope.rules import cases
from scapscope.rules.cases import Case
from scapscope.rules.engine import Alert
from scapscope.rules.eventtypes import event_types
from scapscope.rules.expansion import Expander
from scapscope.rules.judge import judge, unjudged
from scapscope.rules.loader import load
from scapscope.rules.reference import reference
from scapscope.rules.source import SourceError
from scapscope.rules.sysdig import Sysdig
from scapscope.rules.traps import HIGH_VOLUME
from written_captures import ABSENT, PAGE, PRESENT, SUPERVISOR, Capture
from written_captures import READ as READ_ERROR

RULES = REPOSITORY / "rules/vsyscall_rules.yaml"
ALL_RULES = sorted((REPOSITORY / "rules").glob("*.yaml"))
ALL_TESTS = sorted((REPOSITORY / "rules/tests").glob("*.yaml"))
# Those of the rules that need the plugin scapscope: test_rules_plugin.py.
TESTS = [path for path in ALL_TESTS if cases.read(path).rules[0].name == RULES.name]
FETCH = "Instruction Fetch in Vsyscall Page"
JUMP = "Instruction Fetch off Vsyscall Entry Points"
READ = "Read of Vsyscall Page"
SIGSEGV = "SIGSEGV Delivered in Container"
ENTRY_POINTS = {
    "gettimeofday": "0xffffffffff600000",
    "time": "0xffffffffff600400",
    "getcpu": "0xffffffffff600800",
}
WRITE_ERROR = 21  # PROTECTION_VIOLATION, WRITE_ACCESS, USER_FAULT

DOCKER_HOSTS = [one for one in MANIFEST if "docker" in one.name]

needs_sysdig = pytest.mark.skipif(shutil.which("sysdig") is None, reason="needs sysdig")


@pytest.fixture
def no_falco(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """An environment in which sysdig is found, and Falco is not."""
    folder = tmp_path_factory.mktemp("programs")
    if (sysdig := shutil.which("sysdig")) is not None:
        (folder / "sysdig").symlink_to(sysdig)
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setenv("FALCO_BIN", "")


@cache
def alerts(rule: str, capture: Path) -> list[Alert]:
    rules = load([RULES])
    return Sysdig().alerts(rules, rules.rules[rule], capture)


def test_lint_has_nothing_to_say(repository: Path) -> None:
    done = run("rules", "lint", "--json", cwd=repository)
    assert json.loads(done.stdout)["problems"] == []
    assert done.returncode == 0


def test_the_reference_is_generated(repository: Path) -> None:
    told = reference(load(ALL_RULES), [cases.read(path) for path in ALL_TESTS])
    assert (repository / "docs/rules.md").read_text(encoding="utf-8") == told
    assert run("rules", "doc", cwd=repository).stdout == told


def test_every_rule_has_its_test_file() -> None:
    rules = load([RULES]).rules
    assert {cases.read(path).rule for path in TESTS} == set(rules) == {FETCH, JUMP, READ, SIGSEGV}
    assert {path.stem for path in TESTS} == {name.lower().replace(" ", "_") for name in rules}


@pytest.mark.parametrize("path", TESTS, ids=lambda path: path.stem)
def test_a_test_file_covers_the_whole_manifest(path: Path) -> None:
    case = cases.read(path)
    assert sorted(one.capture.resolve() for one in (*case.alerting, *case.silent)) == sorted(
        trace.path.resolve() for trace in MANIFEST
    )
    assert case.alerting
    assert case.silent


@needs_sysdig
@pytest.mark.parametrize("path", TESTS, ids=lambda path: path.stem)
def test_a_rule_alerts_where_it_must_and_is_silent_elsewhere(path: Path) -> None:
    verdicts = list(judge([cases.read(path)], [Sysdig()]))
    assert [
        (one.expectation.capture.name, one.faults, one.unable) for one in verdicts if not one.passed
    ] == []
    assert len(verdicts) >= len(MANIFEST)


def address(alert: Alert) -> str:
    return f"0x{alert.fields['evt.arg.addr'].lower()}"


@needs_sysdig
def test_who_touches_the_page_tells_the_mode(trace: Trace) -> None:
    """A call does, and a jump where the page is; where it is not, none and xonly refuse a jump alike."""
    mode = trace.entry["vsyscall_mode"]
    calls, jumps = alerts(FETCH, trace.path), alerts(JUMP, trace.path)
    present = ["PROTECTION_VIOLATION" in one.fields["evt.arg.error"] for one in (*calls, *jumps)]
    assert set(present) <= {mode == "emulate"}
    assert (mode != "unknown") == (calls != [] or any(present))


@needs_sysdig
def test_calls_are_those_of_the_manifest(trace: Trace) -> None:
    seen = alerts(FETCH, trace.path)
    in_page = [one for one in trace.expect if one["id"].startswith(("vsyscall-", "crash-"))]
    called = [one for one in in_page if "call" in one.get("facts", {})]
    if called:
        assert {(one.fields["proc.name"], address(one)) for one in seen} == {
            (one["process"]["comm"], ENTRY_POINTS[one["facts"]["call"]]) for one in called
        }
        if all("count" in one["facts"] for one in called):
            assert len(seen) == sum(one["facts"]["count"] for one in called)
    first = {one.fields["thread.tid"]: one.timestamp_ns for one in reversed(seen)}
    for fault in (event for one in called for event in one.get("evidence", [])[:1]):
        assert first[fault["tid"]] == fault["timestamp_ns"]


@needs_sysdig
@pytest.mark.parametrize(("rule", "finding"), [(JUMP, "vsyscall-misaligned-jump"), (READ, "vsyscall-read")])
def test_jumps_and_reads_are_those_of_the_manifest(rule: str, finding: str, trace: Trace) -> None:
    assert [(one.fields["proc.name"], address(one)) for one in alerts(rule, trace.path)] == [
        (one["process"]["comm"], one["facts"]["fault_address"])
        for one in trace.expect
        if one["id"] == finding
    ]


@needs_sysdig
def test_segmentation_faults_in_containers_are_those_of_the_manifest(trace: Trace) -> None:
    """A finding is of one death where it does not say of how many."""
    died = [one for one in trace.expect if one.keys() >= {"process", "container"}]
    died = [one for one in died if one["facts"].get("signal") == "SIGSEGV"]
    seen = alerts(SIGSEGV, trace.path)
    assert Counter(one.fields["proc.name"] for one in seen) == Counter(
        one["process"]["comm"] for one in died for _ in range(one["facts"].get("count", 1))
    )
    assert {(one.fields["proc.pid"], one.fields["container.id"]) for one in seen} >= {
        (one["process"]["pid"], one["container"]["id"]) for one in died if "pid" in one["process"]
    }


@needs_sysdig
def test_a_fault_at_the_borders_of_the_page_belongs_to_one_rule_or_none(tmp_path: Path) -> None:
    """Written, since no program of the captures faults there, writes there or has the kernel read there."""
    faults = {
        FETCH: [(PAGE, PRESENT), (PAGE + 0x800, PRESENT)],
        JUMP: [(PAGE + 1, ABSENT), (PAGE + 0xC00, PRESENT), (PAGE + 0xFFF, ABSENT)],
        READ: [(PAGE, WRITE_ERROR), (PAGE + 1, READ_ERROR), (PAGE + 0xFFF, READ_ERROR)],
    }
    beside = [(PAGE - 1, READ_ERROR), (PAGE + 0x1000, ABSENT), *((PAGE + 0x400, one) for one in SUPERVISOR)]
    written = Capture()
    for place, error in (*chain.from_iterable(faults.values()), *beside):
        written.fault(173, place, error)
    path = tmp_path / "written.scap"
    path.write_bytes(written.bytes())
    for rule, ones in faults.items():
        assert [int(address(one), 16) for one in alerts(rule, path)] == [place for place, _ in ones]


def test_rules_on_costly_events_ship_disabled() -> None:
    rules = load([RULES])
    for rule in rules.rules.values():
        types = event_types(Expander(rules).rule(rule))
        assert types.names
        assert not types.others
        assert rule.enabled == (not types.names & HIGH_VOLUME)


def share_of_page_faults(capture: Path) -> float:
    events = Counter(event.type for event in scapscope.open(capture))
    return events["page_fault"] / events.total()


@pytest.mark.parametrize("host", DOCKER_HOSTS, ids=lambda one: one.name)
def test_page_faults_cost_what_the_rules_say_on_docker_hosts(host: Trace) -> None:
    """Between a tenth and three tenths of all events."""
    assert 0.1 <= round(share_of_page_faults(host.path), 1) <= 0.3


def test_page_faults_cost_what_the_rules_say_while_python_starts(traces: Path) -> None:
    """Two fifths of all events."""
    assert round(share_of_page_faults(traces / "none-python-start.scap"), 1) == 0.4


@pytest.mark.parametrize("host", DOCKER_HOSTS, ids=lambda one: one.name)
def test_signals_cost_what_the_rules_say(host: Trace) -> None:
    """Less than one in a hundred events on a Docker host, of which less than one in a hundred is SIGSEGV."""
    events = sum(1 for _ in scapscope.open(host.path))
    signals = ["SIGSEGV" in event.args for event in scapscope.open(host.path, types=["signaldeliver"])]
    assert 0 < len(signals) < events / 100
    assert sum(signals) < len(signals) / 100


def adapted(
    tmp_path: Path, site: str, expected: str, rule: str = SIGSEGV, capture: str = "none-docker-redis"
) -> Case:
    """A rule test with a site's own file after ours, on the capture of the crash or another one."""
    (tmp_path / "site.yaml").write_text(site, encoding="utf-8")
    test = tmp_path / "test.yaml"
    path = REPOSITORY / f"traces/{capture}.scap"
    test.write_text(
        f"rules: [{RULES}, site.yaml]\nrule: {rule}\n"
        + expected.replace("CAPTURE", os.path.relpath(path, tmp_path)),
        encoding="utf-8",
    )
    return cases.read(test)


SILENT = "alerts: []\nsilent: [CAPTURE]\n"
ONE_ALERT = "alerts: [{capture: CAPTURE, count: 1}]\nsilent: []\n"


@needs_sysdig
@pytest.mark.parametrize(
    ("site", "expected", "rule"),
    [
        ("[]", ONE_ALERT, SIGSEGV),
        (
            f"- rule: {SIGSEGV}\n  exceptions: [{{name: known_programs, values: [/entrypoint.sh]}}]\n"
            "  override: {exceptions: append}\n",
            SILENT,
            SIGSEGV,
        ),
        (
            f"- rule: {SIGSEGV}\n  exceptions: [{{name: known_images, values: [redis]}}]\n"
            "  override: {exceptions: append}\n",
            ONE_ALERT,  # the image is not known yet
            SIGSEGV,
        ),
        (
            "- list: sigsegv_handling_programs\n  items: [entrypoint.sh]\n  override: {items: append}\n",
            SILENT,
            SIGSEGV,
        ),
        ("- macro: sigsegv_in_container\n  condition: (proc.name = other)\n", SILENT, SIGSEGV),
        (
            "- macro: vsyscall_call_of_interest\n  condition: (evt.arg.error contains PAGE_NOT_PRESENT)\n",
            ONE_ALERT,
            FETCH,
        ),
        (
            "- macro: vsyscall_call_of_interest\n  condition: (evt.arg.error contains PROTECTION)\n",
            SILENT,
            FETCH,
        ),
        ("- list: vsyscall_entry_points\n  items: [FFFFFFFFFF600000]\n", ONE_ALERT, JUMP),
    ],
)
def test_a_site_can_adapt_the_rules(site: str, expected: str, rule: str, tmp_path: Path) -> None:
    (verdict,) = judge([adapted(tmp_path, site, expected, rule)], [Sysdig()])
    assert verdict.faults == ()


@needs_sysdig
@pytest.mark.parametrize(
    ("expected", "says"),
    [
        (SILENT, "1 alerts, expected none"),
        ("alerts: [{capture: CAPTURE, count: 2}]\nsilent: []\n", "1 alerts, expected 2"),
        (
            "alerts: [{capture: CAPTURE, count: 1, fields: {proc.name: bash}}]\nsilent: []\n",
            "alert 1: proc.name is entrypoint.sh, expected bash",
        ),
        (
            "alerts: [{capture: CAPTURE, count: 1, fields: {container.image.tag: redis}}]\nsilent: []\n",
            "alert 1: container.image.tag is None, expected redis",
        ),
        (
            "alerts: [{capture: CAPTURE, count: 1, fields: {proc.name: null}}]\nsilent: []\n",
            "expected None",
        ),
        (
            "alerts: [{capture: CAPTURE, count: 1, fields: {user.uid: 0}}]\nsilent: []\n",
            "the rule's output has no %user.uid",
        ),
        ("alerts: [{capture: missing.scap, count: 1}]\nsilent: []\n", "there is no capture"),
    ],
)
def test_a_rule_test_can_fail(expected: str, says: str, tmp_path: Path) -> None:
    (verdict,) = judge([adapted(tmp_path, "[]", expected)], [Sysdig()])
    assert not verdict.passed
    assert says in verdict.faults[0]


@needs_sysdig
def test_each_alert_can_have_a_value_of_its_own(tmp_path: Path) -> None:
    expected = "alerts: [{capture: CAPTURE, count: 3, fields: {proc.pid: [333, 411, 486]}}]\nsilent: []\n"
    (verdict,) = judge([adapted(tmp_path, "[]", expected, capture="none-docker-loop")], [Sysdig()])
    assert verdict.faults == ("alert 2: proc.pid is 410, expected 411",)


@needs_sysdig
@pytest.mark.parametrize(
    ("handling", "expected"),
    [("", SILENT), ("- list: sigsegv_handling_programs\n  items: [dotnet]\n", ONE_ALERT)],
)
def test_java_makes_use_of_sigsegv(handling: str, expected: str, tmp_path: Path) -> None:
    """On the host, which a site takes for a container here: of Java in one there is no capture."""
    site = f"- macro: sigsegv_in_container\n  condition: (evt.type = signaldeliver)\n{handling}"
    (verdict,) = judge([adapted(tmp_path, site, expected, capture="java-ordinary")], [Sysdig()])
    assert verdict.faults == ()


@needs_sysdig
def test_a_rule_that_is_not_there_fails(tmp_path: Path) -> None:
    (verdict,) = judge([adapted(tmp_path, "[]", ONE_ALERT, rule="Nothing")], [Sysdig()])
    assert "no rule 'Nothing' is defined: Instruction" in verdict.faults[0]


@needs_sysdig
@pytest.mark.usefixtures("no_falco")
def test_a_rule_that_no_engine_can_run_is_not_passed(tmp_path: Path) -> None:
    site = (
        f"- rule: {SIGSEGV}\n  condition: and proc.is_exe_upper_layer = true\n"
        "  override: {condition: append}\n"
    )
    case = adapted(tmp_path, site, ONE_ALERT)
    verdicts = list(judge([case], [Sysdig()]))
    assert unjudged(verdicts) == [case]
    done = run("rules", "test", case.file)
    assert done.returncode == 1
    assert "not run: SIGSEGV Delivered in Container on sysdig" in done.stdout


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ("- x\n", 1, "a rule test is one mapping"),
        ("rules: r.yaml\nrule: R\nalerts: []\n", 1, "the key 'silent' is missing"),
        ("rules: r.yaml\nrule: R\nalerts: []\nsilent: []\nsilence: []\n", 5, "no key 'silence'"),
        ("rules: r.yaml\nrule: R\nrule: S\nalerts: []\nsilent: []\n", 3, "given twice"),
        ("rules: r.yaml\nrule: R\nalerts: x\nsilent: []\n", 3, "'alerts' is a list"),
        ("rules: r.yaml\nrule: R\nalerts:\n  - capture: c\n    count: 0\nsilent: []\n", 5, "at least 1"),
        ("rules: r.yaml\nrule: R\nalerts:\n  - capture: c\n    count: many\nsilent: []\n", 5, "no number"),
        ("rules: r.yaml\nrule: R\nalerts: []\nsilent: [nothing*.scap]\n", 4, "no capture matches"),
        ("rules: r.yaml\nrule: R\nalerts: []\nsilent: [{capture: c}]\n", 4, "the key 'why' is missing"),
        (
            "rules: r.yaml\nrule: R\nalerts: [{capture: c, count: 3, fields: {p: [x]}}]\nsilent: []\n",
            3,
            "1 values for 3 alerts",
        ),
        (
            "rules: r.yaml\nrule: R\nalerts: [{capture: c, count: 1, fields: [x]}]\nsilent: []\n",
            3,
            "names to values",
        ),
    ],
)
def test_a_bad_rule_test_is_named(text: str, line: int, says: str, tmp_path: Path) -> None:
    path = tmp_path / "test.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(SourceError, match=says) as problem:
        cases.read(path)
    assert problem.value.spot.line == line
    done = run("rules", "test", path)
    assert done.returncode == 3
    assert done.stderr.startswith(f"scapscope: {path}:{line}:")


def test_help_teaches() -> None:
    for command in ("lint", "replay", "doc"):
        done = run("rules", command, "--help")
        assert done.returncode == 0
        assert f"\n    scapscope rules {command}" in done.stdout
    told = run("rules", "test", "--help").stdout
    assert "rules: ../my_rules.yaml" in told
    assert "Exit status:" in told


def test_the_rule_test_in_the_help_is_one(tmp_path: Path) -> None:
    """What --help shows can be copied."""
    told = run("rules", "test", "--help").stdout
    block = told.partition("A rule test:\n")[2].partition("\n\n")[0]
    capture = tmp_path / "captures/shell.scap"
    path = tmp_path / "tests/test.yaml"
    for file, text in ((capture, ""), (path, textwrap.dedent(block))):
        file.parent.mkdir()
        file.write_text(text, encoding="utf-8")
    case = cases.read(path)
    assert case.rule == "Shell in Database Container"
    assert [(one.capture.resolve(), one.fields) for one in case.alerting] == [
        (capture, {"proc.name": ("sh",)})
    ]
    assert case.silent == ()


@pytest.mark.parametrize(
    "words",
    [
        ["rules", "lint", "--what"],
        ["rules", "replay", str(RULES)],
        ["rules", "replay", "--capture", "x"],
        ["rules", "replay", str(RULES), "--capture", str(MANIFEST[0].path), "--rule", "Nothing"],
        ["rules", "test", "--engine", "ebpf"],
    ],
)
def test_wrong_usage(words: list[str]) -> None:
    done = run(*words)
    assert (done.returncode, done.stdout) == (2, "")


@pytest.mark.parametrize("command", ["lint", "test", "doc"])
def test_nothing_to_work_on(command: str, tmp_path: Path) -> None:
    done = run("rules", command, cwd=tmp_path)
    assert done.returncode == 2
    assert "rules" in done.stderr


@pytest.mark.parametrize(
    "words",
    [
        ["lint", "missing.yaml"],
        ["lint", "."],
        ["doc", "missing.yaml"],
        ["test", "missing.yaml"],
        ["replay", "missing.yaml", "--capture", "x"],
        ["replay", str(RULES), "--capture", "missing.scap"],
    ],
)
def test_a_file_that_is_not_there(words: list[str], tmp_path: Path) -> None:
    done = run("rules", *words, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr.startswith("scapscope: ")


def test_no_engine_is_said(tmp_path: Path) -> None:
    done = run("rules", "test", TESTS[0], PATH=str(tmp_path), FALCO_BIN="")
    assert done.returncode == 3
    assert "sysdig is not installed" in done.stderr
    done = run("rules", "test", TESTS[0], "--engine", "falco", PATH=str(tmp_path), FALCO_BIN="")
    assert done.returncode == 3
    assert "FALCO_BIN is not set" in done.stderr


def test_lint_explains_with_place_and_reason(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(
        "- rule: R\n  desc: d\n  condition: evt.type=signaldeliver and evt.arg.sig=11\n"
        "  output: x sig=%evt.rawarg.sig\n  priority: INFO\n",
        encoding="utf-8",
    )
    done = run("rules", "lint", path)
    assert done.returncode == 1
    flat = " ".join(done.stdout.split())
    assert f"{path}:3:41: error: evt.arg.sig = 11 never matches [signal-name]" in flat
    assert f"{path}:4:18: error: %evt.rawarg.sig in an output [output-ends-falco]" in flat
    assert "Why: The engines render a signal as SIGSEGV" in flat
    assert "Instead: Use %evt.arg with the same name" in flat
    assert "1 file: 2 errors, 0 warnings" in flat
    told = json.loads(run("rules", "lint", "--json", path).stdout)
    assert [(one["line"], one["check"], one["severity"]) for one in told["problems"]] == [
        (3, "signal-name", "error"),
        (4, "output-ends-falco", "error"),
    ]


def test_warnings_do_not_fail(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(
        "- {rule: R, desc: d, condition: evt.type=open, output: '%container.info', priority: INFO}\n"
    )
    done = run("rules", "lint", path)
    assert done.returncode == 0
    assert "0 errors, 1 warning" in done.stdout
    assert run("rules", "lint", "--house", path).returncode == 1


def test_names_in_a_rules_file_cannot_steer_the_terminal(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(
        '- {rule: "\\e[2J", desc: d, condition: a.b=c, output: o, priority: INFO}\n', encoding="utf-8"
    )
    done = run("rules", "lint", path)
    assert "\x1b" not in done.stdout
    assert "\\x1b[2J" in done.stdout


@needs_sysdig
@pytest.mark.usefixtures("no_falco")
def test_the_command_runs_all_tests(repository: Path) -> None:
    done = run("rules", "test", cwd=repository)
    assert done.returncode == 0
    assert done.stdout.count("passed: ") == 4
    assert "falco not run: FALCO_BIN is not set" in done.stdout


@needs_sysdig
@pytest.mark.usefixtures("no_falco")
def test_the_command_says_what_failed(tmp_path: Path) -> None:
    case = adapted(tmp_path, "[]", SILENT)
    done = run("rules", "test", case.file)
    assert done.returncode == 1
    flat = " ".join(done.stdout.split())
    assert f"FAILED: {SIGSEGV} on sysdig: 1 of 0 captures with alerts, 1 silent" in flat
    assert f"{case.file}:4: none-docker-redis.scap: 1 alerts, expected none" in flat
    told = json.loads(run("rules", "test", "--json", case.file).stdout)
    assert told["engines"]["sysdig"]
    (verdict,) = told["verdicts"]
    assert (verdict["passed"], verdict["expected"], verdict["alerts"]) == (False, 0, 1)


@needs_sysdig
@pytest.mark.usefixtures("no_falco")
def test_replay_says_which_rules_would_have_alerted(redis_capture: Path) -> None:
    done = run("rules", "replay", RULES, "--capture", redis_capture, "--json")
    told = json.loads(done.stdout)
    assert {row["rule"]: row["count"] for row in told["rules"]} == {JUMP: 0, FETCH: 1, READ: 0, SIGSEGV: 1}
    (alert,) = next(row["alerts"] for row in told["rules"] if row["rule"] == FETCH)
    assert alert["fields"]["container.id"] == "7272f37ebc5c"
    assert alert["output"].startswith("Call into the vsyscall page | address=FFFFFFFFFF600400 ")
    text = run("rules", "replay", RULES, "--capture", redis_capture, "--rule", FETCH).stdout
    assert f"1 alert: {FETCH} on sysdig (disabled as shipped)" in text
    assert SIGSEGV not in text


@needs_sysdig
@pytest.mark.usefixtures("no_falco")
def test_replay_shows_a_few_alerts_of_many(traces: Path) -> None:
    capture = traces / "emulate-stress-n3000.scap"
    done = run("rules", "replay", RULES, "--capture", capture, "--rule", FETCH, "--limit", "2")
    assert "3000 alerts" in done.stdout
    assert done.stdout.count("Call into the vsyscall page |") == 2
    assert "and 2998 more" in done.stdout


@needs_sysdig
@pytest.mark.usefixtures("no_falco")
def test_replay_lists_what_an_engine_cannot_run(tmp_path: Path, redis_capture: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(
        "- {rule: New, desc: d, condition: proc.is_exe_from_memfd=true, output: o, priority: INFO}\n"
        "- {rule: Plugin, desc: d, condition: ct.name exists, output: o, priority: INFO,"
        " source: aws_cloudtrail}\n"
        "- {rule: Old, desc: d, condition: evt.num=1, output: '%evt.num', priority: INFO}\n",
        encoding="utf-8",
    )
    done = run("rules", "replay", path, "--capture", redis_capture)
    assert done.returncode == 0
    flat = " ".join(done.stdout.split())
    assert "not run: New on sysdig: sysdig says:" in flat
    assert "not run: Plugin on sysdig: sysdig has no events of source aws_cloudtrail" in flat
    assert "1 alert: Old on sysdig" in flat


def test_replay_refuses_a_file_that_falco_would_refuse(tmp_path: Path, redis_capture: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text("- {rule: R, desc: d}\n", encoding="utf-8")
    done = run("rules", "replay", path, "--capture", redis_capture)
    assert done.returncode == 3
    assert f"{path}:1:3: a rule needs the key 'condition'" in done.stderr


def test_the_reference_goes_to_a_file(tmp_path: Path, repository: Path) -> None:
    out = tmp_path / "rules.md"
    assert run("rules", "doc", "-o", out, cwd=repository).returncode == 0
    assert out.read_text(encoding="utf-8") == (repository / "docs/rules.md").read_text(encoding="utf-8")
    assert run("rules", "doc", "-o", tmp_path / "no/where", cwd=repository).returncode == 4


def test_the_examples_in_the_reference_can_be_loaded(repository: Path, tmp_path: Path) -> None:
    text = (repository / "docs/rules.md").read_text(encoding="utf-8")
    example = text.partition("```yaml\n")[2].partition("```")[0]
    site = tmp_path / "site.yaml"
    site.write_text(example, encoding="utf-8")
    rules = load([*ALL_RULES, site])
    assert rules.problems == []
    enabled = [rule for rule in rules.rules.values() if rule.enabled]
    assert len(enabled) == 2
    assert any("/opt/old/bin/server" in str(Expander(rules).rule(rule)) for rule in enabled)
    assert yaml.safe_load(example)


def test_a_reference_of_any_rules_file(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(
        "- {rule: Any Event, desc: d, condition: proc.name = x, output: 'o %evt.num', priority: INFO}\n",
        encoding="utf-8",
    )
    done = run("rules", "doc", path)
    assert done.returncode == 0
    assert "- Events: every type" in done.stdout
    assert "Not tested." in done.stdout
