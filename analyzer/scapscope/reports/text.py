"""Turns a Report into the story a tired person can act on: verdict, why, fix, evidence."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

from scapscope import knowledge
from scapscope.knowledge.context import context
from scapscope.knowledge.formats import clock, count, duration
from scapscope.reports import recorded
from scapscope.reports import story as parts
from scapscope.reports.page import Page

if TYPE_CHECKING:
    from scapscope.knowledge import Story
    from scapscope.report import CaptureSummary, Evidence, Finding, Report

_VERDICTS = 10
_HEALTHY = (
    "No crash found, and none of the causes of slowness scapscope knows, in {events} events over {duration}."
)
_NO_CRASH = "No crash found in {events} events over {duration}."


def render(report: Report, *, width: int = 100, colour: bool = False, left_out: int = 0) -> str:
    """The report as text of at most `width` columns (but for commands, which are never wrapped).

    `left_out` is the number of findings that were filtered away, so that the text says so.
    """
    page = Page(width, colour=colour)
    told = [(finding, context(report, finding)) for finding in report.findings]
    stories = [(finding, facts, knowledge.load(finding.id).tell(facts)) for finding, facts in told]
    _verdicts(page, [(finding, story) for finding, _, story in stories if finding.reaches("warning")])
    if all(finding.concerns_capture for finding in report.findings):
        _nothing_found(page, report, left_out)
    elif left_out:
        page.paragraph(f"Findings left out by the filters: {left_out}.", indent="")
    _verdicts(page, [(finding, story) for finding, _, story in stories if not finding.reaches("warning")])
    page.gap()
    _capture(page, report)
    seen: set[str] = set()
    for finding, facts, story in stories:
        _finding(page, report.capture, finding, facts, story, again=finding.id in seen)
        seen.add(finding.id)
    return str(page)


def _verdicts(page: Page, told: list[tuple[Finding, Story]]) -> None:
    advised: set[str] = set()
    for finding, story in told[:_VERDICTS]:
        page.verdict(finding.severity, story.verdict, finding.severity)
        if story.remedy and story.remedy not in advised:
            page.paragraph(f"Fix: {story.remedy}")
        advised.add(story.remedy)
    if len(told) > _VERDICTS:
        page.paragraph(f"and {len(told) - _VERDICTS} more", indent="")


def _nothing_found(page: Page, report: Report, left_out: int) -> None:
    capture = report.capture
    if left_out:
        page.paragraph(f"Nothing to report under these filters. Findings left out: {left_out}.", indent="")
        return
    if not capture.events:
        page.paragraph("The capture holds no events: nothing can be said about what happened.", indent="")
        return
    # What warns here is of a cause of slowness, or of events that may have shown one.
    words = _NO_CRASH if any(finding.reaches("warning") for finding in report.findings) else _HEALTHY
    found = words.format(events=count(capture.events), duration=duration(capture.duration_ns))
    page.paragraph(found if capture.damage is None else f"{found} No more could be read.", indent="")
    if report.kernel.vsyscall_mode == "unknown":
        page.item(
            "-",
            "Which vsyscall mode the kernel runs does not show, because no program used the page. On the "
            "machine, cat /proc/cmdline and grep vsyscall /proc/self/maps tell.",
        )
    page.item("-", "What happened before and after the recording is not in it.")


def _capture(page: Page, report: Report) -> None:
    capture, machine = report.capture, report.machine
    words = [f"{count(capture.events)} events in {duration(capture.duration_ns)}"]
    if capture.first_timestamp_ns is not None:
        start = recorded.start(capture.first_timestamp_ns, capture.strace, digits=0)
        words.append(f"from {start}")
    if machine is not None and machine.hostname:
        words.append(f"host {machine.hostname}")
    words.append(f"kernel vsyscall={report.kernel.vsyscall_mode}")
    words.append(f"page faults {'recorded' if capture.page_faults_recorded else 'not recorded'}")
    if capture.strace is not None:
        words.append(recorded.lines(capture.strace))
    if capture.damage is not None:
        words.append(f"{capture.damage.kind} at byte {count(capture.damage.offset)}")
    if capture.undecoded_events:
        words.append(f"{count(capture.undecoded_events)} events not decoded")
    if capture.unknown_blocks:
        words.append(f"{count(capture.unknown_blocks)} blocks of unknown type skipped")
    if capture.malformed_lists:
        words.append(f"{count(capture.malformed_lists)} lists of processes or users read in part")
    if capture.threads_forgotten:
        words.append(f"{count(capture.threads_forgotten)} threads lost sight of (too many at once)")
    if capture.happenings_omitted:
        words.append(f"{count(capture.happenings_omitted)} more deaths or programs are not listed")
    if capture.processes_unwatched:
        words.append(f"{count(capture.processes_unwatched)} processes not timed (too many at once)")
    page.paragraph(f"{_name(capture)}: {', '.join(words)}.", indent="")


def _finding(
    page: Page,
    capture: CaptureSummary,
    finding: Finding,
    facts: dict[str, Any],
    story: Story,
    *,
    again: bool,
) -> None:
    known = knowledge.load(finding.id)
    page.gap()
    page.heading(f"{finding.id} ({finding.severity}, {finding.confidence}): {known.title}", finding.severity)
    if again:
        page.paragraph(story.verdict)
    parts.sentences(page, "What happened", story.what)
    if rows := knowledge.case(facts):
        page.gap()
        page.heading("Particulars")
        page.table([(f"{label}:", words) for label, words in rows])
    if again:
        page.paragraph(f"Why, fix and references: as for the first {finding.id} above.")
    else:
        parts.sentences(page, "Why", story.why)
        parts.fixes(page, story.fixes)
        parts.sentences(page, "How sure", story.sure)
        parts.sentences(page, "What would make it surer", story.surer)
    _evidence(page, capture, finding)
    if not again:
        parts.references(page, known.references)


def _evidence(page: Page, capture: CaptureSummary, finding: Finding) -> None:
    if finding.evidence:
        page.gap()
        page.heading("Evidence")
        page.table(
            [_row(evidence) for evidence in finding.evidence],
            header=(
                "event",
                f"time ({'UTC' if recorded.is_utc(capture.strace) else 'of the log'})",
                "tid",
                "type",
                "detail",
            ),
            right=(0, 2),
        )
    if calls := finding.facts.get("last_syscalls"):
        page.gap()
        page.heading("Last system calls before the death")
        page.table(
            [(str(call["event"]), duration(call["before_death_ns"]), call["name"]) for call in calls],
            header=("event", "before", "call"),
            right=(0, 1),
        )
    if finding.evidence:
        page.gap()
        page.heading("Look it up")
        for line in _look_up(capture, finding):
            page.verbatim(line, indent="  ")


def _row(evidence: Evidence) -> tuple[str, str, str, str, str]:
    return (
        str(evidence.event),
        clock(evidence.timestamp_ns),
        str(evidence.tid),
        evidence.type,
        evidence.detail,
    )


def _look_up(capture: CaptureSummary, finding: Finding) -> list[str]:
    """Commands that show the evidence in the capture itself."""
    path = "FILE.scap" if capture.path == "-" else capture.path
    file = shlex.quote(f"./{path}" if path.startswith("-") else path)
    numbers = ",".join(str(evidence.event) for evidence in finding.evidence)
    lines = [f"scapscope events {file} --tid {finding.evidence[0].tid}"]
    # sysdig skips event types younger than itself, so only an old capture has the numbers it prints.
    if capture.enter_events and capture.strace is None:
        lines.insert(0, f'sysdig -r {file} "evt.num in ({numbers})"')
    return lines


def _name(capture: CaptureSummary) -> str:
    return "standard input" if capture.path == "-" else capture.path
