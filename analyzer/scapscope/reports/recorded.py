"""Says when a capture began, and what the log was like where it is one of strace."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scapscope.knowledge.formats import clock, count, date

if TYPE_CHECKING:
    from scapscope.report import StraceLog


def start(timestamp_ns: int, log: StraceLog | None, *, digits: int = 9) -> str:
    """Give date and time; of a log without dates (strace -tt) the time alone, in its own time zone.

    `digits`: how many behind the seconds.
    """
    time = clock(timestamp_ns)[: len("00:00:00") + (digits + 1 if digits else 0)]
    if log is not None and log.relative:
        return "a time that the log does not tell"
    return f"{date(timestamp_ns)} {time} UTC" if is_utc(log) else f"{time} by the log, which has no date"


def zone(log: StraceLog | None) -> str:
    """Say what times of day count from."""
    if is_utc(log):
        return "UTC"
    return "counted from the first line of the log" if log is not None and log.relative else "by the log"


def is_utc(log: StraceLog | None) -> bool:
    """Whether times count from 1970 in UTC, as those of captures do."""
    return log is None or log.dated


def lines(log: StraceLog) -> str:
    """Say how many lines the log has, and how many were left out."""
    words = f"{count(log.lines)} lines of strace"
    if not log.damaged_lines:
        return words
    first = ", ".join(str(line) for line in log.first_damaged)
    more = ", ..." if log.damaged_lines > len(log.first_damaged) else ""
    return f"{words}, {count(log.damaged_lines)} of them left out as damaged or foreign (line {first}{more})"
