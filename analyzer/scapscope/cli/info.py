"""scapscope info: turns a capture into what it holds: machine, time, events by type, gaps."""

from __future__ import annotations

import json
import sys
from typing import Any

import click

from scapscope.cli import failure
from scapscope.cli.output import Output, colour_option, wants_colour, width
from scapscope.cli.progress import ProgressBar

_MOST_FREQUENT = 15


@click.command()
@click.argument("trace")
@click.option("--all", "every", is_flag=True, help="Every type of event, not only the most frequent.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
@colour_option
def info(trace: str, every: bool, as_json: bool, colour: bool | None) -> None:
    """Say what a capture holds, and what is missing.

    The machine, the time, the events by type, page faults, drops, damage.

    TRACE is a capture, plain or gzipped, or a log of strace -f -tt -T; - is standard input.

    \b
    Examples:
      scapscope info redis.scap
      scapscope info redis.scap --json | jq '.capture.page_faults_recorded'
    """
    from scapscope import _native

    try:
        with ProgressBar(f"Reading {trace}") as progress:
            told = json.loads(_native.info(trace, progress))
    except _native.CaptureError as problem:
        failure.unreadable(trace, problem)
        sys.exit(failure.UNREADABLE)
    with Output() as out:
        out.write(_as_json(told) if as_json else _as_text(told, wants_colour(colour), every))


def _as_json(told: dict[str, Any]) -> str:
    from scapscope.reports.json import dump

    return dump(told)


def _as_text(told: dict[str, Any], colour: bool, every: bool) -> str:
    from scapscope.knowledge.formats import count
    from scapscope.reports.page import Page

    page = Page(width(), colour=colour)
    path = told["capture"]["path"]
    page.heading("standard input" if path == "-" else path)
    page.table([(f"{label}:", words) for label, words in _rows(told)])
    if told["containers"]:
        page.gap()
        page.heading("Containers")
        page.table(
            [[box[key] or "-" for key in ("id", "name", "image", "runtime")] for box in told["containers"]],
            header=("id", "name", "image", "runtime"),
        )
    by_type = sorted(told["events_by_type"], key=lambda row: -row["count"])
    listed = by_type if every else by_type[:_MOST_FREQUENT]
    if listed:
        page.gap()
        page.heading("Events by type")
        page.table([(count(row["count"]), row["direction"], row["type"]) for row in listed], right=(0,))
    if len(by_type) > len(listed):
        rest = sum(row["count"] for row in by_type[len(listed) :])
        page.paragraph(f"and {count(rest)} more of {len(by_type) - len(listed)} types (--all lists them)")
    return str(page)


def _rows(told: dict[str, Any]) -> list[tuple[str, str]]:
    from scapscope import report
    from scapscope.knowledge.formats import clock, count, date, duration, size
    from scapscope.reports import recorded

    capture, machine, damage = told["capture"], told["machine"], told["capture"]["damage"]
    log = report.strace(capture["strace"])
    rows = [("File", f"{size(capture['bytes'])}{', compressed' if capture['compressed'] else ''}")]
    if machine is not None and machine["hostname"]:
        parts = [
            machine["hostname"],
            f"{machine['cpus']} processors",
            f"{size(machine['memory_bytes'])} of memory",
        ]
        rows.append(("Machine", ", ".join(parts)))
        if (boot := machine["boot_timestamp_ns"]) is not None:
            rows.append(("Booted", f"{date(boot)} {clock(boot)[:8]} UTC"))
    if (start := capture["first_timestamp_ns"]) is not None:
        rows.append(("Recorded", f"{recorded.start(start, log)}, for {duration(capture['duration_ns'])}"))
    if log is not None:
        rows.append(("Log", recorded.lines(log)))
    layout = "enter and exit events" if capture["enter_events"] else "exit events only (current layout)"
    rows.append(("Events", f"{count(capture['events'])}, {layout}"))
    faults = (
        "recorded" if capture["page_faults_recorded"] else "not recorded (sysdig --page-faults records them)"
    )
    rows.append(("Page faults", faults))
    rows.append(("Kernel", f"vsyscall={told['kernel']['vsyscall_mode']}, as far as the events show"))
    rows.append(("Drop events", count(told["drops"])))
    rows.append(
        (
            "Processes",
            f"{count(told['processes'])} at the start, {count(told['threads_seen'])} threads in all",
        )
    )
    rows.append(("Network", f"{count(told['interfaces'])} interfaces"))
    rows.append(("Accounts", f"{count(told['users'])} users, {count(told['groups'])} groups"))
    rows.append(("Blocks", ", ".join(f"{row['type']} {count(row['count'])}" for row in told["blocks"])))
    if capture["undecoded_events"]:
        rows.append(("Not decoded", f"{count(capture['undecoded_events'])} events"))
    if capture["unknown_blocks"]:
        rows.append(("Skipped", f"{count(capture['unknown_blocks'])} blocks of unknown type"))
    if damage is None:
        rows.append(("Damage", "none"))
    else:
        where = f"{damage['kind']} at byte {count(damage['offset'])} of the uncompressed stream"
        rows.append(("Damage", f"{where}: expected {damage['expected']}, found {damage['found']}"))
    return rows
