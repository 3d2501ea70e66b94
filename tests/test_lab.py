"""The trace lab's own logic: what a scenario is, what is as expected, how a recording is kept."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import yaml
from benchmarks import throughput
from traces.lab import machine, scenario
from traces.lab import manifest as kept
from traces.lab.expected import differences
from traces.lab.places import LabError
from traces.lab.recorder import Recording, check
from traces.lab.scenario import Scenario

from conftest import REPOSITORY, Trace

SCENARIOS = scenario.load()
FOUND: dict[str, Any] = {
    "id": "vsyscall-none-crash",
    "process": {"comm": "redis", "pid": 7},
    "container": None,
    "facts": {"call": "time"},
    "evidence": [{"event": 3, "type": "page_fault"}],
}
ENTRY = {"file": "b.scap", "sha256": "0", "shows": "b: again", "expect": [{"id": "x"}], "forbid": []}
MANIFEST = """\
# Kept.
about: &about "somebody"

captures:
  - file: a.scap
    notes: [*about]

  - file: b.scap
    notes: |
      old

      text
  - file: c.scap  # the last
"""


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_scenario_names_findings_that_exist(name: str) -> None:
    known = {file.stem for file in (REPOSITORY / "analyzer/scapscope/knowledge").glob("*.yaml")}
    one = SCENARIOS[name]
    expected = {finding["id"] for finding in one.expect}
    assert expected <= known
    assert expected.isdisjoint(one.forbid)


def test_a_kept_capture_is_expected_to_yield_what_its_scenario_says(manifest: list[Trace]) -> None:
    recorded = [trace for trace in manifest if "make lab SCENARIO=" in trace.entry["provenance"]["source"]]
    assert recorded
    for trace in recorded:
        one = SCENARIOS[trace.entry["provenance"]["source"].rpartition("=")[2]]
        assert trace.name == f"{one.name}.scap"
        assert (trace.expect, trace.entry["vsyscall_mode"]) == (one.expect, one.vsyscall_mode)
        assert (trace.entry["shows"], trace.entry.get("notes", [])) == (one.shows, one.notes)
        assert trace.entry["provenance"]["exit_status"] == one.exit_status


def test_every_program_a_scenario_runs_is_there() -> None:
    programs = {file.stem for file in (REPOSITORY / "traces/lab/programs").glob("*.c")}
    files = {file.name for file in (REPOSITORY / "traces/lab/image").iterdir()}
    of_the_guest = {"docker", "java", "python3", "sleep"}
    for one in SCENARIOS.values():
        assert {command.split()[0] for command in one.run} <= programs | files | of_the_guest, one.name


def test_the_smoke_test_has_a_crash_and_a_healthy_program() -> None:
    smoke = [one for one in SCENARIOS.values() if one.smoke]
    assert {bool(one.expect) for one in smoke} == {True, False}
    assert len(scenario.boots(smoke)) == 1


def test_one_boot_serves_all_scenarios_of_a_kernel_and_docker_comes_last() -> None:
    grouped = scenario.boots(list(SCENARIOS.values()))
    assert sum(len(group) for group in grouped.values()) == len(SCENARIOS)
    for kernel, group in grouped.items():
        assert {one.kernel for one in group} == {kernel}
        assert [one.docker for one in group] == sorted(one.docker for one in group)


def test_a_misspelt_field_is_named(tmp_path: Path) -> None:
    (tmp_path / "odd.yaml").write_text("shows: x\nkernel: k\nrun: [a]\nexpects: []\n")
    with pytest.raises(LabError, match=r"odd\.yaml: .*'expects'"):
        scenario.load(tmp_path)


def test_an_unknown_scenario_is_named() -> None:
    with pytest.raises(LabError, match="no scenario nothing-like-it"):
        scenario.choose(SCENARIOS, ["nothing-like-it"])


def test_findings_as_expected_differ_in_nothing() -> None:
    wanted = {
        "id": "vsyscall-none-crash",
        "process": {"comm": "redis"},
        "evidence": [{"event": 3, "type": "page_fault"}],
    }
    assert differences([wanted], [FOUND]) == []


@pytest.mark.parametrize(
    ("wanted", "told"),
    [
        ({"facts": {"call": "getcpu"}}, "facts.call is 'time', not 'getcpu'"),
        ({"facts": {"count": 1}}, "facts.count is missing"),
        ({"container": {"image": "redis"}}, "container is None"),
        ({"evidence": [{"event": 4}]}, "evidence 4 is None"),
    ],
)
def test_a_difference_is_named(wanted: dict[str, Any], told: str) -> None:
    assert differences([{"id": FOUND["id"], **wanted}], [FOUND]) == [f"{FOUND['id']}: {told}"]


def test_a_finding_too_many_and_one_too_few_are_named() -> None:
    assert differences([{"id": "crash-loop"}], [FOUND]) == [
        "crash-loop: not found",
        "vsyscall-none-crash: not expected",
    ]


def test_each_expected_finding_has_one_of_its_own() -> None:
    other = FOUND | {"process": {"comm": "nginx", "pid": 8}}
    wanted = [{"id": FOUND["id"], "process": {"comm": comm}} for comm in ("nginx", "redis")]
    assert differences(wanted, [FOUND, other]) == []
    assert differences(wanted, [FOUND, FOUND]) == [f"{FOUND['id']}: process.comm is 'redis', not 'nginx'"]


def test_an_entry_takes_the_place_of_the_old_one_and_leaves_the_others() -> None:
    changed = kept.with_entry(MANIFEST, ENTRY)
    assert [entry["file"] for entry in yaml.safe_load(changed)["captures"]] == ["a.scap", "b.scap", "c.scap"]
    assert changed.startswith(MANIFEST.partition("  - file: b.scap")[0])
    assert "old" not in changed


def test_a_new_entry_comes_last() -> None:
    changed = kept.with_entry(MANIFEST, ENTRY | {"file": "d.scap"})
    assert changed.startswith(MANIFEST)
    assert yaml.safe_load(changed)["captures"][-1] == ENTRY | {"file": "d.scap"}


def test_the_readme_gets_a_row_for_each_capture() -> None:
    readme = "before\n\n| capture | what | finding |\n|---|---|---|\n| [old](old) | x | y |\n\nafter\n"
    told = kept.with_rows(readme, {"captures": [ENTRY, ENTRY | {"file": "e.scap", "expect": []}]})
    assert told == readme.replace(
        "| [old](old) | x | y |",
        "| [b.scap](b.scap) | b: again | x |\n| [e.scap](e.scap) | b: again | nothing |",
    )


def test_the_scenarios_can_be_listed_without_a_guest() -> None:
    command = (sys.executable, "-m", "traces.lab", "--list")
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=True)
    assert [line.split()[0] for line in done.stdout.splitlines()] == list(SCENARIOS)


def recording(run: list[dict[str, Any]], **changes: Any) -> Recording:
    one = Scenario(name="odd", shows="x", run=["a", "b"], kernel="k", exit_status=139, capture=False)
    values: dict[str, Any] = {"machine": {}, "result": {"run": run}, "capture": None}
    return Recording(one, **(values | changes))


def test_a_program_before_the_last_may_not_fail_unseen() -> None:
    ran = [{"command": "a", "status": 1, "output": ""}, {"command": "b", "status": 139, "output": ""}]
    assert check(recording(ran)) == ["a: exit status 1"]


def test_the_last_program_must_end_as_expected() -> None:
    ran: list[dict[str, Any]] = [
        {"command": "a", "status": 0, "output": ""},
        {"command": "b", "status": None, "output": ""},
    ]
    assert check(recording(ran)) == ["exit status None, not 139"]


def test_a_scenario_that_could_not_be_recorded_says_why() -> None:
    assert check(recording([], failure="the guest is stuck")) == ["the guest is stuck"]


def test_a_guest_that_is_stuck_is_not_waited_for(tmp_path: Path) -> None:
    console = tmp_path / "console"
    console.write_bytes(b"watchdog: BUG: soft lockup - CPU#1 stuck for 44s!")
    with subprocess.Popen(("sleep", "60")) as process:
        with pytest.raises(LabError, match="stuck"):
            machine.wait(process, console, time.monotonic() + 30)
        process.kill()


def test_a_capture_from_elsewhere_is_not_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    entry = ENTRY | {"file": "odd.scap", "provenance": {"source": "recorded by somebody"}}
    listed = tmp_path / "manifest.yaml"
    listed.write_text(yaml.safe_dump({"captures": [entry]}))
    monkeypatch.setattr(kept, "MANIFEST", listed)
    with pytest.raises(LabError, match=r"odd\.scap .* not replaced"):
        kept.keep(recording([], capture=tmp_path / "odd.scap"))


def rates(*statuses: int) -> list[throughput.Rate]:
    line = "calls=3 seconds=1.0 per_second=3 how=vsyscall-time"
    ran = [
        {"command": "stress vsyscall-time -s 1", "status": status, "output": "" if status else line}
        for status in statuses
    ]
    return throughput.rates_of("none", "no filter", "nobody", ran)


def test_only_death_by_sigsegv_is_a_rate_of_its_own() -> None:
    assert [rate.per_second for rate in (*rates(0, 0), *rates(139, 139))] == [3, None]
    with pytest.raises(LabError, match="ended with status 1"):
        rates(1)
    with pytest.raises(LabError, match="some runs only"):
        rates(0, 139)
