"""Engines: what sysdig is asked and says, what Falco would be asked and what is read from its alerts."""

from __future__ import annotations

import json
import os
import shutil
import stat
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from scapscope.rules import falco
from scapscope.rules.definitions import RuleSet
from scapscope.rules.engine import EngineError, UnableError
from scapscope.rules.expansion import Expander
from scapscope.rules.falco import Falco, Installation
from scapscope.rules.lint import lint
from scapscope.rules.loader import load
from scapscope.rules.output import printed, rendered
from scapscope.rules.sysdig import Sysdig, alert

FETCH = "Instruction Fetch in Vsyscall Page"
SIGSEGV = "SIGSEGV Delivered in Container"

# Written by hand in the form in which Falco 0.41 and later print alerts and, at the end of a replay, counts:
# there was no Falco to record them from. The fields are those of our rules, the values those of
# none-docker-redis.scap.
FALCO_OUTPUT_WRITTEN_BY_HAND = Path(__file__).with_name("falco_alerts.txt").read_text(encoding="utf-8")

needs_sysdig = pytest.mark.skipif(shutil.which("sysdig") is None, reason="needs sysdig")
needs_falco = pytest.mark.skipif(falco.find() is None, reason="needs Falco: FALCO_BIN or falco on PATH")


@pytest.fixture(scope="module")
def ours(repository: Path) -> RuleSet:
    return load([repository / "rules/vsyscall_rules.yaml"])


def one_rule(
    tmp_path: Path, condition: str, output: str = "x %proc.name %evt.num", more: str = ""
) -> RuleSet:
    path = tmp_path / "rule.yaml"
    path.write_text(
        f"- rule: R\n  desc: d\n  condition: >\n    {condition}\n"
        f"  output: >\n    {output}\n  priority: INFO\n{more}",
        encoding="utf-8",
    )
    return load([path])


def count(rules: RuleSet, capture: Path) -> int:
    return len(Sysdig().alerts(rules, rules.rules["R"], capture))


@needs_sysdig
@pytest.mark.parametrize(
    ("right", "wrong", "check"),
    [
        ("evt.arg.addr = FFFFFFFFFF600400", "evt.arg.addr = ffffffffff600400", "address-case"),
        ("evt.arg.addr = FFFFFFFFFF600400", "evt.arg.addr = 0xFFFFFFFFFF600400", "address-case"),
        (
            "evt.arg.addr icontains ffffffffff600400",
            "evt.arg.addr icontains 0xffffffffff600400",
            "address-case",
        ),
        ("evt.arg.addr in (FFFFFFFFFF600400)", "evt.rawarg.addr = FFFFFFFFFF600400", "raw-address"),
        ("evt.arg.error contains INSTRUCTION_FETCH", "evt.arg.error = INSTRUCTION_FETCH", "fault-error"),
        ("evt.rawarg.error = 154", "evt.arg.error = 154", "fault-error"),
    ],
)
def test_sysdig_falls_into_the_traps_of_faults(
    right: str, wrong: str, check: str, tmp_path: Path, redis_capture: Path
) -> None:
    """A real engine matches nothing where lint sees a trap, and the crash where it sees none."""
    around = "evt.type = page_fault and proc.name = entrypoint.sh and evt.arg.addr startswith FFFFFFFFFF and "
    for condition, alerts, found in ((right, 1, []), (wrong, 0, [check])):
        rules = one_rule(tmp_path, around + condition, more="  enabled: false\n")
        assert count(rules, redis_capture) == alerts
        assert [problem.check for problem in lint(rules.files)] == found


@needs_sysdig
@pytest.mark.parametrize("wrong", ["11", "sigsegv", "SEGV"])
def test_sysdig_falls_into_the_traps_of_signals(wrong: str, tmp_path: Path, redis_capture: Path) -> None:
    for value, alerts, found in (("SIGSEGV", 1, []), (wrong, 0, ["signal-name"])):
        rules = one_rule(tmp_path, f"evt.type = signaldeliver and evt.arg.sig = {value}")
        assert count(rules, redis_capture) == alerts
        assert [problem.check for problem in lint(rules.files)] == found


@needs_sysdig
def test_sysdig_misses_a_container_whose_image_is_late(tmp_path: Path, redis_capture: Path) -> None:
    crash = "evt.type = signaldeliver and evt.arg.sig = SIGSEGV and "
    assert count(one_rule(tmp_path, crash + "container.image.repository != x"), redis_capture) == 0
    assert count(one_rule(tmp_path, crash + "not (container.image.repository = x)"), redis_capture) == 1


@needs_sysdig
def test_an_alert_of_sysdig_has_the_fields_of_the_output(ours: RuleSet, redis_capture: Path) -> None:
    rule = ours.rules[FETCH]
    (seen,) = Sysdig().alerts(ours, rule, redis_capture)
    assert set(seen.fields) == {field.field for field in printed(rule.output.value)}
    assert seen.timestamp_ns == 1795176952775580364
    assert seen.fields["container.image.repository"] is None
    assert rendered(rule.output.value, seen.fields) == (
        "Call into the vsyscall page | address=FFFFFFFFFF600400"
        " error=PAGE_NOT_PRESENT|READ_ACCESS|USER_FAULT|INSTRUCTION_FETCH"
        " process=entrypoint.sh pid=308 tid=308"
        " exe=/entrypoint.sh command=entrypoint.sh /entrypoint.sh redis-server parent=<NA> user=root"
        " container_id=7272f37ebc5c container_name=<NA> image=<NA> image_tag=<NA>"
    )


@needs_sysdig
def test_fields_that_sysdig_lacks_are_left_out(tmp_path: Path, redis_capture: Path) -> None:
    rules = one_rule(
        tmp_path, "evt.num = 59363", "x %proc.name %proc.is_exe_upper_layer %proc.aname[2] %evt.arg.addr"
    )
    (seen,) = Sysdig().alerts(rules, rules.rules["R"], redis_capture)
    assert set(seen.fields) == {"proc.name", "proc.aname[2]", "evt.arg.addr"}


@needs_sysdig
@pytest.mark.parametrize(
    ("condition", "more", "says"),
    [
        ("proc.is_exe_upper_layer = true", "", "unrecognized field proc.is_exe_upper_layer"),
        ("tolower(proc.name) = x", "", "unrecognized field tolower"),
        ("evt.type = pagefault", "", "unknown event type pagefault"),
        ("proc.name bcontains 00", "", "unrecognized comparison operator"),
        ('proc.cmdline = "it\'s"', "", "single quote"),
        ("ct.name = x", "  source: aws_cloudtrail\n", "no events of source aws_cloudtrail"),
    ],
)
def test_what_sysdig_cannot_run_is_no_verdict(
    condition: str, more: str, says: str, tmp_path: Path, redis_capture: Path
) -> None:
    rules = one_rule(tmp_path, condition, more=more)
    with pytest.raises(UnableError, match=says):
        count(rules, redis_capture)


@needs_sysdig
def test_a_capture_that_sysdig_cannot_read_is_an_error(tmp_path: Path) -> None:
    capture = tmp_path / "notes.scap"
    capture.write_text("it crashed at night\n" * 40, encoding="utf-8")
    with pytest.raises(EngineError, match="sysdig says") as problem:
        count(one_rule(tmp_path, "evt.num = 1"), capture)
    assert not isinstance(problem.value, UnableError)


def test_odd_bytes_in_what_sysdig_prints() -> None:
    told = alert('{"proc.name":"a\tb\x1b","evt.rawtime":7,"evt.num":1,"fd.name":"<NA>"}')
    assert told.timestamp_ns == 7
    assert told.fields == {"proc.name": "a\tb\x1b", "evt.num": 1, "fd.name": None}
    with pytest.raises(EngineError, match="no JSON"):
        alert('{"proc.name":"a')


def test_no_sysdig(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(EngineError, match="sysdig is not installed"):
        Sysdig().version()


def test_the_undefined_is_told_where_it_stands(tmp_path: Path, redis_capture: Path) -> None:
    with pytest.raises(EngineError, match=r"rule.yaml:4:5: no macro 'nothing'"):
        count(one_rule(tmp_path, "nothing"), redis_capture)


def test_the_command_for_falco() -> None:
    assert falco.command(Path("/opt/falco/bin/falco"), Path("/tmp/x/falco.yaml")) == [  # noqa: S108
        "/opt/falco/bin/falco",
        "-c",
        "/tmp/x/falco.yaml",  # noqa: S108
    ]


def test_the_configuration_for_falco() -> None:
    plugin = Path("/usr/share/falco/plugins/libcontainer.so")
    odd = Path('/captures/a "b"=[c]: d.scap')
    config = yaml.safe_load(
        falco.configuration([Path("/r/a.yaml"), Path("/r/b.yaml")], odd, {"container": plugin})
    )
    assert config["engine"] == {"kind": "replay", "replay": {"capture_file": str(odd)}}
    assert config["rules_files"] == ["/r/a.yaml", "/r/b.yaml"]
    assert config["load_plugins"] == ["container"]
    assert config["plugins"] == [{"name": "container", "library_path": str(plugin)}]
    assert config["json_output"] is True
    assert config["json_include_output_fields_property"] is True
    assert config["stdout_output"] == {"enabled": True}
    assert config["rule_matching"] == "all"
    assert config["priority"] == "debug"
    assert config["config_files"] == []
    for quiet in ("syslog_output", "webserver"):
        assert config[quiet] == {"enabled": False}
    assert yaml.safe_load(falco.configuration([], odd, {}))["load_plugins"] == []


def test_a_disabled_rule_is_enabled_by_a_file_that_lint_accepts(repository: Path, tmp_path: Path) -> None:
    enabling = tmp_path / "enabled.yaml"
    enabling.write_text(falco.enabled(FETCH), encoding="utf-8")
    rules = load([repository / "rules/vsyscall_rules.yaml", enabling])
    assert rules.problems == []
    assert rules.rules[FETCH].enabled is True


def test_alerts_are_read_from_what_falco_prints() -> None:
    (seen,) = falco.parse_alerts(FALCO_OUTPUT_WRITTEN_BY_HAND, FETCH)
    assert seen.timestamp_ns == 1795176952775580364
    assert seen.fields["evt.arg.addr"] == "FFFFFFFFFF600400"
    assert seen.fields["proc.pid"] == 308
    for unknown in ("container.image.repository", "container.name", "proc.pname"):
        assert seen.fields[unknown] is None
    assert len(falco.parse_alerts(FALCO_OUTPUT_WRITTEN_BY_HAND, SIGSEGV)) == 1
    assert falco.parse_alerts(FALCO_OUTPUT_WRITTEN_BY_HAND, "Falco internal: syscall event drop") == []


def test_a_time_in_iso_8601_is_the_same_number() -> None:
    said = FALCO_OUTPUT_WRITTEN_BY_HAND.replace('"evt.time":', '"evt.time.iso8601":')
    (seen,) = falco.parse_alerts(said, FETCH)
    assert seen.timestamp_ns == 1795176952775580364


def test_an_alert_that_is_cut_off_is_an_error() -> None:
    with pytest.raises(EngineError, match="cut off"):
        falco.parse_alerts(FALCO_OUTPUT_WRITTEN_BY_HAND[:300], FETCH)


def test_the_hand_written_alerts_have_the_fields_of_the_rule(ours: RuleSet) -> None:
    first = json.loads(FALCO_OUTPUT_WRITTEN_BY_HAND.splitlines()[0])
    fields = {field.field for field in printed(ours.rules[FETCH].output.value)}
    assert set(first["output_fields"]) == fields | {"evt.time"}
    assert first["tags"] == sorted(tag.value for tag in ours.rules[FETCH].tags)


def test_falco_s_complaint_is_short() -> None:
    said = (
        "Mon Nov 20 12:00:00 2026: Loading rules from:\n"
        "Error: r.yaml: Invalid\n1 Errors:\nIn rules content: (r.yaml:0:0)\n"
        "    rule 'R': (r.yaml:1:2)\n------\n"
        "LOAD_ERR_COMPILE_CONDITION (Error compiling condition): "
        "filter_check called with nonexistent field a.b\n"
    )
    told = falco.complaint("", said)
    assert told.startswith("Error: r.yaml: Invalid / LOAD_ERR_COMPILE_CONDITION")
    assert "nonexistent field a.b" in told
    assert falco.complaint("", "") == "nothing"
    assert falco.complaint("killed by a bug\n", "") == "killed by a bug"


def test_where_falco_and_its_plugin_are_found(tmp_path: Path) -> None:
    program = tmp_path / "usr/bin/falco"
    plugin = tmp_path / "usr/share/falco/plugins/libcontainer.so"
    for path in (program, plugin):
        path.parent.mkdir(parents=True)
        path.write_bytes(b"")
    program.chmod(0o755)
    on_path = {"PATH": str(program.parent)}
    assert falco.find({"PATH": str(tmp_path)}) is None
    assert falco.find(on_path) == Installation(program, plugin)
    assert falco.find({"FALCO_BIN": str(program), "PATH": ""}) == Installation(program, plugin)
    other = tmp_path / "other.so"
    other.write_bytes(b"")
    assert falco.find({**on_path, "FALCO_CONTAINER_PLUGIN": str(other)}) == Installation(program, other)
    assert falco.find({**on_path, "FALCO_CONTAINER_PLUGIN": "/nowhere"}) == Installation(program, None)
    given = {**on_path, "FALCO_SCAPSCOPE_PLUGIN": "/p/libscapscope.so"}
    assert falco.find(given) == Installation(program, plugin, Path("/p/libscapscope.so"))


def test_without_the_container_plugin_a_rule_loses_those_fields_only(ours: RuleSet, tmp_path: Path) -> None:
    path = tmp_path / "alone.yaml"
    path.write_text(falco.without_container_fields(ours, ours.rules[FETCH]), encoding="utf-8")
    alone = load([path])
    assert alone.problems == []
    assert str(Expander(alone).rule(alone.rules[FETCH])) == str(Expander(ours).rule(ours.rules[FETCH]))
    before, after = (
        [field.field for field in printed(rules.rules[FETCH].output.value)] for rules in (ours, alone)
    )
    assert after == [field for field in before if not field.startswith("container.")]
    with pytest.raises(UnableError, match="no container plugin"):
        falco.without_container_fields(ours, ours.rules[SIGSEGV])


def stand_in(tmp_path: Path, body: str) -> Installation:
    """A shell script in Falco's place: it shows that the command is started and its output read."""
    program = tmp_path / "falco"
    program.write_text(f"#!/bin/sh\n{body}\n", encoding="utf-8")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    plugin = tmp_path / "libcontainer.so"
    plugin.write_bytes(b"")
    return Installation(program, plugin)


def test_falco_is_given_the_files_and_its_alerts_are_read(
    ours: RuleSet, redis_capture: Path, tmp_path: Path
) -> None:
    kept = tmp_path / "kept"
    alerts = Path(__file__).with_name("falco_alerts.txt")
    installed = stand_in(tmp_path, f'cp -r "$(dirname "$2")" {kept} && cat {alerts}')
    (seen,) = Falco(installed).alerts(ours, ours.rules[FETCH], redis_capture)
    assert seen.fields["container.id"] == "7272f37ebc5c"
    config = yaml.safe_load((kept / "falco.yaml").read_text())
    assert config["engine"]["replay"]["capture_file"] == str(redis_capture.resolve())
    assert config["load_plugins"] == ["container"]
    rules, enabling = (Path(path) for path in config["rules_files"])
    assert rules == ours.files[0].resolve()
    assert (kept / enabling.name).read_text() == falco.enabled(FETCH)
    assert not enabling.exists(), "what was written for Falco is gone afterwards"


def test_falco_without_the_plugin_gets_the_rule_alone(
    ours: RuleSet, redis_capture: Path, tmp_path: Path
) -> None:
    kept = tmp_path / "kept"
    program = stand_in(tmp_path, f'cp -r "$(dirname "$2")" {kept}').program
    assert Falco(Installation(program, None)).alerts(ours, ours.rules[FETCH], redis_capture) == []
    config = yaml.safe_load((kept / "falco.yaml").read_text())
    assert [Path(path).name for path in config["rules_files"]] == ["rule.yaml"]
    assert config["plugins"] == []


def test_falco_loads_our_plugin_for_rules_that_need_it(
    repository: Path, redis_capture: Path, tmp_path: Path
) -> None:
    rules = load([repository / "rules/vsyscall_plugin_rules.yaml"])
    rule = rules.rules["Container Killed By Vsyscall Call"]
    kept, library = tmp_path / "kept", tmp_path / "libscapscope.so"
    installed = stand_in(tmp_path, f'cp -r "$(dirname "$2")" {kept}')
    with pytest.raises(UnableError, match=r"set FALCO_SCAPSCOPE_PLUGIN to libscapscope\.so"):
        Falco(installed).alerts(rules, rule, redis_capture)
    assert Falco(replace(installed, scapscope_plugin=library)).alerts(rules, rule, redis_capture) == []
    config = yaml.safe_load((kept / "falco.yaml").read_text())
    assert config["load_plugins"] == ["container", "scapscope"]
    assert config["plugins"][1] == {"name": "scapscope", "library_path": str(library), "init_config": {}}


def test_falco_that_fails_is_an_error(ours: RuleSet, redis_capture: Path, tmp_path: Path) -> None:
    installed = stand_in(tmp_path, "echo 'Error: no such capture' >&2; exit 1")
    with pytest.raises(EngineError, match="Falco says: Error: no such capture"):
        Falco(installed).alerts(ours, ours.rules[FETCH], redis_capture)
    with pytest.raises(EngineError, match="Falco did not run"):
        Falco(Installation(tmp_path / "missing", None)).version()


def test_the_version_of_falco(tmp_path: Path) -> None:
    assert (
        Falco(stand_in(tmp_path, "echo 'Falco version: 0.44.1'; echo 'Libs version: 0.22'")).version()
        == "0.44.1"
    )


@needs_falco
def test_falco_sees_the_crash(ours: RuleSet, redis_capture: Path) -> None:
    installed = falco.find(dict(os.environ))
    assert installed is not None
    (seen,) = Falco(installed).alerts(ours, ours.rules[FETCH], redis_capture)
    assert seen.fields["evt.arg.addr"] == "FFFFFFFFFF600400"
    assert seen.fields["proc.name"] == "entrypoint.sh"
