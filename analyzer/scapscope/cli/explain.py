"""scapscope explain: turns captures into verdicts."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from scapscope.cli import failure
from scapscope.cli.output import colour_option, refuse_to_overwrite, wants_colour, width, write_answer
from scapscope.cli.progress import ProgressBar

if TYPE_CHECKING:
    from scapscope.report import Finding, Report, Severity

_SEVERITIES = click.Choice(["info", "warning", "error", "critical"])
_FAILED = 1


@click.command()
@click.argument("traces", nargs=-1, required=True, metavar="TRACE...")
@click.option("--json", "as_json", is_flag=True, help="JSON, as docs/report.schema.json describes it.")
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    help="Write the report to FILE; JSON if --json is given or FILE ends in .json.",
)
@click.option("--min-severity", type=_SEVERITIES, help="Leave out findings less severe than this.")
@click.option(
    "--fail-on", type=_SEVERITIES, help="Exit with status 1 if there is a finding this severe or more."
)
@click.option("--container", metavar="ID|NAME|IMAGE", help="Only findings about this container.")
@click.option("--pid", type=int, help="Only findings about this process.")
@click.option(
    "--hot-calls",
    type=click.IntRange(min=1),
    metavar="N",
    help="How many time calls of one process within a second count as many; 1,000 if not given.",
)
@colour_option
def explain(
    traces: tuple[str, ...],
    as_json: bool,
    output: str | None,
    min_severity: Severity | None,
    fail_on: Severity | None,
    container: str | None,
    pid: int | None,
    hot_calls: int | None,
    colour: bool | None,
) -> None:
    """Say why a program crashed or is slow, and what to do about it.

    TRACE is a capture as sysdig or Falco writes it, plain or gzipped, or a log of strace -f -tt -T;
    - is standard input. A damaged capture is analysed up to the damage, and the report says so; of a
    log all other lines are read.

    With --json, one TRACE gives one indented JSON object; several give JSON Lines: one object a line,
    in the order given. Findings about the capture itself (events dropped, capture cut off) pass
    --container and --pid: they limit what can be said about any process. --fail-on looks at what
    --container and --pid let through, and not at --min-severity.

    \b
    Examples:
      scapscope explain redis.scap
      scapscope explain redis.scap --json | jq '.findings[].id'
      scapscope explain *.scap.gz --min-severity error -o report.txt
      scapscope explain nightly.scap --container redis --fail-on error
      ssh node cat /tmp/crash.scap | scapscope explain -

    Exit status: 0 analysed, 1 --fail-on was reached, 2 usage, 3 a TRACE could not be read (the others
    are still analysed), 4 the report could not be written, 130 interrupted.
    """
    refuse_to_overwrite(output, traces)
    reports = [report for path in traces if (report := _diagnose(path, hot_calls)) is not None]
    selected = [_select(report, container, pid) for report in reports]
    shown = [report.with_findings(_severe(report, min_severity)) for report in selected]
    as_json = as_json or (output is not None and output.endswith(".json"))
    if as_json:
        from scapscope.reports import json

        text = "".join(json.render(report, one_line=len(traces) > 1) for report in shown)
    else:
        text = _as_text(reports, shown, colour=output is None and wants_colour(colour))
    write_answer(output, text)
    if len(reports) < len(traces):
        sys.exit(failure.UNREADABLE)
    if fail_on and any(finding.reaches(fail_on) for report in selected for finding in report.findings):
        sys.exit(_FAILED)


def _diagnose(path: str, hot_calls: int | None) -> Report | None:
    """The report, or None when the input cannot be read (which is then said)."""
    from scapscope import CaptureError
    from scapscope.report import explain as diagnose

    try:
        with ProgressBar("Reading standard input" if path == "-" else f"Reading {path}") as progress:
            return diagnose(path, progress, hot_calls=hot_calls)
    except CaptureError as problem:
        failure.unreadable(path, problem)
        return None


def _select(report: Report, container: str | None, pid: int | None) -> Report:
    return report.with_findings(
        finding
        for finding in report.findings
        if finding.concerns_capture
        or (
            (container is None or finding.concerns_container(container))
            and (pid is None or finding.concerns_pid(pid))
        )
    )


def _severe(report: Report, least: Severity | None) -> list[Finding]:
    return [finding for finding in report.findings if least is None or finding.reaches(least)]


def _as_text(reports: list[Report], shown: list[Report], *, colour: bool) -> str:
    from scapscope.reports import text

    return "\n".join(
        text.render(report, width=width(), colour=colour, left_out=len(whole.findings) - len(report.findings))
        for whole, report in zip(reports, shown, strict=True)
    )
