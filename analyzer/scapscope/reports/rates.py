"""Turns calls by interval into a table of intervals, or into CSV."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from scapscope import report
from scapscope.knowledge.formats import clock, count, duration
from scapscope.reports import csv, recorded
from scapscope.reports.costs import summary
from scapscope.reports.page import INDENT, Page, printable
from scapscope.reports.who import COLUMNS, By, columns, name

_GAP = 3


def series_name(series: Mapping[str, Any], by: By) -> str:
    """What a series is called: the process, or whatever calls are put together by."""
    if by == "capture":
        return "all calls"
    return str(series["syscall"]) if by == "syscall" else name(series, by)


def render(told: Mapping[str, Any], by: By, *, width: int = 100, colour: bool = False) -> str:
    """A line an interval, with a column for each of the first series; longer gaps are one line."""
    page = Page(width, colour=colour)
    calls = sum(series["calls"] for series in told["series"]) + told["rest"]["calls"]
    page.paragraph(summary(told["capture"], calls), indent="")
    if calls:
        _table(page, told, by, width)
    if told["every_ns"] != told["asked_every_ns"]:
        asked, is_now = duration(told["asked_every_ns"]), duration(told["every_ns"])
        page.gap()
        page.paragraph(f"There are too many intervals of {asked} to keep: they are of {is_now}.", indent="")
    return str(page)


def render_csv(told: Mapping[str, Any], by: By) -> str:
    """One line for each interval of a series that has calls."""
    named = ["syscall"] if by == "syscall" else []
    first = told["capture"]["first_timestamp_ns"]
    return csv.render(
        ["timestamp_ns", "after_seconds", *COLUMNS[by], *named, "calls"],
        (
            [
                first + cell["interval"] * told["every_ns"],
                f"{cell['interval'] * told['every_ns'] / 10**9:.9f}",
                *columns(series, by),
                *([series["syscall"]] if named else []),
                cell["calls"],
            ]
            for series in told["series"]
            for cell in series["intervals"]
        ),
    )


def _table(page: Page, told: Mapping[str, Any], by: By, width: int) -> None:
    shown = _that_fit(told["series"], by, width)
    others = told["series"][len(shown) :]
    of_each = [_by_interval(series) for series in shown]
    rest = _sum([*(_by_interval(series) for series in others), _by_interval(told["rest"])])
    left_out = len(others) + told["rest"]["series"]
    header = ["from", "calls", *(series_name(series, by) for series in shown)]
    if left_out:
        header.append(f"{count(left_out)} others")
        of_each.append(rest)
    if len(shown) == 1 and not left_out:
        header, of_each = ["from", series_name(shown[0], by)], []
    whole = _sum([*(_by_interval(series) for series in shown), rest])
    rows = [
        [f"({count(-interval)} empty)", "", *("" for _ in of_each)]
        if interval < 0
        else [
            _time(told, interval),
            *(_number(one.get(interval, 0)) for one in [whole, *of_each]),
        ]
        for interval in _lines(sorted(whole))
    ]
    totals = [str(sum(one.values())) for one in [whole, *of_each]]
    page.gap()
    zone = recorded.zone(report.strace(told["capture"]["strace"]))
    page.heading(f"System calls in each {duration(told['every_ns'])}, by when they ended ({zone})")
    page.table([*rows, ["total", *totals]], header=header, right=range(1, len(header)))


def _that_fit(all_series: list[Mapping[str, Any]], by: By, width: int) -> list[Mapping[str, Any]]:
    """The first series whose columns fit on a line, beside the time, the sum and the others."""
    room = width - len(INDENT) - len("12:15:46.000  ") - len("12345678  ") - len("1,234 others")
    shown: list[Mapping[str, Any]] = []
    for series in all_series:
        room -= max(len(printable(series_name(series, by))), len(str(series["calls"]))) + 2
        if room < 0 and shown:
            break
        shown.append(series)
    return shown


def _by_interval(series: Mapping[str, Any]) -> dict[int, int]:
    return {cell["interval"]: cell["calls"] for cell in series["intervals"]}


def _sum(counts: list[dict[int, int]]) -> dict[int, int]:
    together: dict[int, int] = {}
    for one in counts:
        for interval, calls in one.items():
            together[interval] = together.get(interval, 0) + calls
    return together


def _lines(intervals: list[int]) -> Iterator[int]:
    """Every interval from the first to the last, but long gaps as the negative number of their intervals."""
    for before, interval in zip([intervals[0] - 1, *intervals], intervals, strict=False):
        missing = interval - before - 1
        if missing > _GAP:
            yield -missing
        else:
            yield from range(before + 1, interval)
        yield interval


def _time(told: Mapping[str, Any], interval: int) -> str:
    """When an interval begins, as exactly as its length asks for."""
    moment = clock(told["capture"]["first_timestamp_ns"] + interval * told["every_ns"])
    every, decimals = told["every_ns"], 3
    while every % 10 ** (9 - decimals) and decimals < 9:
        decimals += 3
    return moment[: len("12:15:46.") + decimals]


def _number(calls: int) -> str:
    return str(calls) if calls else "."
