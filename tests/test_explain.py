"""Each capture of the manifest gives exactly its findings, through the API and the command line."""

from __future__ import annotations

import json

import jsonschema
import pytest
from traces.lab.expected import differences

import scapscope
from conftest import REPOSITORY, Trace
from running import scapscope as run

SCHEMA = jsonschema.Draft202012Validator(json.loads((REPOSITORY / "docs/report.schema.json").read_text()))


@pytest.fixture
def diagnosed(trace: Trace) -> scapscope.Report:
    return scapscope.explain(trace.path)


def test_a_capture_has_the_findings_the_manifest_says_and_no_others(
    trace: Trace, diagnosed: scapscope.Report
) -> None:
    told = diagnosed.to_dict()
    assert differences(trace.expect, told["findings"]) == []
    assert told["kernel"]["vsyscall_mode"] == trace.entry["vsyscall_mode"]
    assert not {finding.id for finding in diagnosed.findings} & set(trace.forbid)


def test_the_report_is_what_the_schema_says(diagnosed: scapscope.Report) -> None:
    SCHEMA.validate(json.loads(json.dumps(diagnosed.to_dict())))


def test_the_report_survives_its_json(diagnosed: scapscope.Report) -> None:
    assert scapscope.Report.from_json(json.dumps(diagnosed.to_dict())) == diagnosed


def test_the_command_line_gives_the_same_findings(trace: Trace) -> None:
    done = run("explain", "--json", trace.path)
    assert (done.returncode, done.stderr) == (0, "")
    told = json.loads(done.stdout)
    SCHEMA.validate(told)
    assert sorted(finding["id"] for finding in told["findings"]) == sorted(
        expected["id"] for expected in trace.expect
    )


def test_the_text_can_be_told(trace: Trace) -> None:
    done = run("explain", trace.path)
    assert (done.returncode, done.stderr) == (0, "")
    for expected in trace.expect:
        assert f"\n{expected['id']} (" in done.stdout
    if all(expected["id"] == "page-faults-not-captured" for expected in trace.expect):
        assert done.stdout.startswith(
            "No crash found, and none of the causes of slowness scapscope knows, in "
        )


def test_the_events_a_finding_names_are_in_the_listing(trace: Trace, diagnosed: scapscope.Report) -> None:
    wanted = {
        (proof.event, proof.timestamp_ns, proof.tid, proof.type)
        for finding in diagnosed.findings
        for proof in finding.evidence
    }
    if not wanted:
        pytest.skip("no finding")
    listed = {
        (event.number, event.timestamp_ns, event.tid, event.type) for event in scapscope.open(trace.path)
    }
    assert wanted <= listed


def test_info_agrees_with_explain(trace: Trace, diagnosed: scapscope.Report) -> None:
    done = run("info", "--json", trace.path)
    assert (done.returncode, done.stderr) == (0, "")
    told, report = json.loads(done.stdout), json.loads(json.dumps(diagnosed.to_dict()))
    assert told["capture"] == report["capture"]
    assert told["machine"] == report["machine"]
    assert told["kernel"] == report["kernel"]
    assert sum(row["count"] for row in told["events_by_type"]) == told["capture"]["events"]
    text = run("info", trace.path).stdout
    assert f"{told['capture']['events']:,}, " in text


def test_only_current_captures_have_no_enter_events(trace: Trace, diagnosed: scapscope.Report) -> None:
    assert diagnosed.capture.enter_events != trace.name.startswith("current-format/")
