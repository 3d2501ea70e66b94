"""Turns the costs of system calls into tables such as `strace -c` prints, or into CSV."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from scapscope import report
from scapscope.knowledge.formats import count, duration
from scapscope.reports import csv, recorded
from scapscope.reports.page import Page
from scapscope.reports.who import COLUMNS, By, columns, title

_HEADER = ("% time", "seconds", "usecs/call", "calls", "errors", "syscall")
_UNKNOWN = "-"
Costs = Mapping[str, int]


def render(told: Mapping[str, Any], by: By, *, width: int = 100, colour: bool = False) -> str:
    """The tables, and what they do not hold, as text."""
    page = Page(width, colour=colour)
    groups, rest = told["groups"], told["rest"]
    whole = total([*(group["total"] for group in groups), rest])
    page.paragraph(summary(told["capture"], whole["calls"]), indent="")
    for group in groups:
        page.gap()
        if by != "capture":
            page.heading(title(group, by))
        _table(page, group)
    page.gap()
    if rest["groups"]:
        page.paragraph(f"and {_left_out(rest, by)} (--all shows all)", indent="")
    for note in _notes(told, by, whole):
        page.paragraph(note, indent="")
    return str(page)


def render_csv(told: Mapping[str, Any], by: By) -> str:
    """One line a call of each group; times and errors that are unknown are empty."""
    header = [*COLUMNS[by], "syscall", "calls", "errors", "seconds", "usecs_per_call", "timed_calls"]
    return csv.render(
        header,
        (
            [
                *columns(group, by),
                line["syscall"],
                line["calls"],
                line["errors"] if line["with_result"] else None,
                f"{line['time_ns'] / 10**9:.9f}" if line["timed"] else None,
                f"{line['time_ns'] / line['timed'] / 1000:.3f}" if line["timed"] else None,
                line["timed"],
            ]
            for group in told["groups"]
            for line in group["syscalls"]
        ),
    )


def summary(capture: Mapping[str, Any], calls: int) -> str:
    """What was read, in one sentence."""
    name = "standard input" if capture["path"] == "-" else capture["path"]
    sentence = f"{name}: {count(calls)} system calls"
    log = report.strace(capture["strace"])
    if log is not None:
        sentence = f"{sentence}, {recorded.lines(log)}"
    if (start := capture["first_timestamp_ns"]) is None:
        return f"{sentence}; the {'capture' if log is None else 'input'} holds no events."
    began = recorded.start(start, log, digits=0)
    return f"{sentence} in {duration(capture['duration_ns'])}, from {began}."


def total(costs: Sequence[Costs]) -> dict[str, int]:
    """The sum of several costs."""
    names = ("calls", "with_result", "errors", "timed", "time_ns")
    return {name: sum(one[name] for one in costs) for name in names}


def _table(page: Page, group: Mapping[str, Any]) -> None:
    rows = [(*_row(line, group["total"]), line["syscall"]) for line in group["syscalls"]]
    rows.append((*_row(group["total"], group["total"]), "total"))
    page.table(rows, header=_HEADER, right=range(len(_HEADER) - 1))


def _row(costs: Costs, whole: Costs) -> tuple[str, str, str, str, str]:
    timed, time_ns = costs["timed"], costs["time_ns"]
    return (
        f"{100 * time_ns / whole['time_ns']:.2f}" if timed and whole["time_ns"] else _UNKNOWN,
        f"{time_ns / 10**9:.6f}" if timed else _UNKNOWN,
        _microseconds(time_ns / timed) if timed else _UNKNOWN,
        str(costs["calls"]),
        (str(costs["errors"]) if costs["errors"] else "") if costs["with_result"] else _UNKNOWN,
    )


def _microseconds(nanoseconds: float) -> str:
    """As strace has it, but for what it would round to nearly nothing."""
    return f"{nanoseconds / 1000:.1f}" if nanoseconds < 10_000 else f"{nanoseconds / 1000:.0f}"


_PLURAL: dict[By, str] = {"process": "processes", "thread": "threads", "container": "containers"}


def _left_out(rest: Mapping[str, Any], by: By) -> str:
    took = f", {duration(rest['time_ns'])} in all" if rest["timed"] else ""
    return f"{count(rest['groups'])} more {_PLURAL[by]} with {count(rest['calls'])} calls{took}"


def _notes(told: Mapping[str, Any], by: By, whole: Costs) -> list[str]:
    notes = []
    if not whole["calls"]:
        return ["No system call was asked for that this capture holds."]
    if not told["capture"]["events"]:
        notes.append(
            "Counted by strace -c. Its time is that of the processor within the kernel, or with -w that "
            "until the call was back."
        )
    elif not whole["timed"]:
        notes.append(
            "Times are unknown: this capture has exit events only, and without its enter event a call has "
            "no duration."
        )
    elif whole["timed"] < whole["calls"]:
        missing = count(whole["calls"] - whole["timed"])
        notes.append(
            f"Times leave out {missing} calls whose duration is unknown: their enter event is missing."
        )
    if whole["with_result"] < whole["calls"]:
        missing = count(whole["calls"] - whole["with_result"])
        notes.append(f"Whether {missing} calls failed is unknown: their events hold no result.")
    notes += _underway(told["underway"])
    if any(group["others"] for group in told["groups"]):
        notes.append(f"There were too many {_PLURAL[by]} to tell them all apart.")
    return notes


def _underway(underway: Mapping[str, Any]) -> list[str]:
    if not underway["calls"]:
        return []
    longest = underway["longest"][0]
    who = title(longest, "thread")
    return [
        f"Not counted: {count(underway['calls'])} calls that were under way at the end, the longest "
        f"{longest['syscall']} of {who}, for {duration(longest['for_ns'])}."
    ]
