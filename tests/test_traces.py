"""The manifest and the captures beside it belong together, and say where they come from."""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from conftest import MANIFEST, Trace

MEGABYTE = 1_000_000
PROVENANCE = {
    "source",
    "machine",
    "kernel",
    "kernel_command_line",
    "clocksource",
    "program",
    "exit_status",
    "recorder",
    "recorded_with",
}
LOOK_ALIKE = re.compile(r"\blook-alike\b")


def evidence(trace: Trace) -> list[dict[str, Any]]:
    return [event for finding in trace.expect for event in finding.get("evidence", [])]


def test_a_capture_is_the_one_the_manifest_names(trace: Trace) -> None:
    assert hashlib.sha256(trace.path.read_bytes()).hexdigest() == trace.entry["sha256"]


def test_every_capture_is_in_the_manifest(traces: Path, manifest: list[Trace]) -> None:
    lying_here = {str(file.relative_to(traces)) for file in traces.rglob("*.scap*")}
    named = [trace.name for trace in manifest]
    assert lying_here == set(named)
    assert len(named) == len(set(named))


def test_the_captures_stay_small(manifest: list[Trace]) -> None:
    assert sum(trace.path.stat().st_size for trace in manifest) < 12 * MEGABYTE


def test_a_capture_says_where_it_comes_from(trace: Trace) -> None:
    provenance = trace.entry["provenance"]
    assert set(provenance) == PROVENANCE
    assert trace.entry["shows"]
    assert provenance["source"]
    if not provenance["source"].startswith("falcosecurity/libs"):
        unknown = {field for field, value in provenance.items() if value is None}
        assert not unknown, "only a capture that others recorded may leave a field open"


def test_a_rewritten_capture_comes_from_one_that_is_here(manifest: list[Trace]) -> None:
    captures = {trace.name: trace for trace in manifest}
    rewritten = [trace for trace in manifest if trace.name.startswith("current-format/")]
    assert rewritten
    for trace in rewritten:
        original = captures[trace.entry["provenance"]["source"].split(",")[0]]
        assert [finding["id"] for finding in trace.expect] == [finding["id"] for finding in original.expect]


def test_a_look_alike_is_called_one(trace: Trace) -> None:
    program = str(trace.entry["provenance"]["program"])
    if "redis" in program or "bash" in program:
        assert LOOK_ALIKE.search(" ".join(trace.entry.get("notes", [])))


def test_an_expected_finding_is_not_forbidden(trace: Trace) -> None:
    assert {finding["id"] for finding in trace.expect}.isdisjoint(trace.forbid)


def test_every_id_is_a_known_finding(trace: Trace, repository: Path) -> None:
    known = {file.stem for file in (repository / "analyzer/scapscope/knowledge").glob("*.yaml")}
    assert {finding["id"] for finding in trace.expect} | set(trace.forbid) <= known


def test_the_readme_lists_what_the_manifest_says(traces: Path, manifest: list[Trace]) -> None:
    text = (traces / "README.md").read_text(encoding="utf-8")
    rows = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| [")]
    listed = [(row[0].partition("]")[0].strip("["), row[1].replace("`", ""), row[2]) for row in rows]
    assert listed == [
        (
            trace.name,
            trace.entry["shows"].replace("`", ""),
            ", ".join(finding["id"] for finding in trace.expect) or "nothing",
        )
        for trace in manifest
    ]


@pytest.mark.skipif(shutil.which("sysdig") is None, reason="needs sysdig")
@pytest.mark.parametrize("crash", [t for t in MANIFEST if evidence(t)], ids=lambda crash: crash.name)
def test_sysdig_shows_the_expected_evidence(crash: Trace) -> None:
    events = sorted(evidence(crash), key=lambda event: event["event"])
    fields = ["evt.rawtime", "thread.tid", "evt.type"]
    wanted = [f"{event['timestamp_ns']} {event['tid']} {event['type']}" for event in events]
    # An old sysdig does not count events of types it does not know, which current captures have.
    if not crash.name.startswith("current-format/"):
        fields = ["evt.num", *fields]
        wanted = [f"{event['event']} {line}" for event, line in zip(events, wanted, strict=True)]
    shown = subprocess.run(
        [
            *("sysdig", "-r", crash.path, "-p", "*" + " ".join(f"%{field}" for field in fields)),
            " or ".join(f"evt.rawtime={event['timestamp_ns']}" for event in events),
        ],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    assert [line.strip() for line in shown if line.strip() in wanted] == wanted
