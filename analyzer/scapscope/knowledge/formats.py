"""Turns the value of a fact into words: durations, sizes, counts, lists, clock times."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

_NAMED_COUNTS = {1: "once", 2: "twice"}
_LONGEST_LIST = 6
_ROUNDS_UP = 999.5  # with three digits, this is 1000 of a unit, and so 1 of the next


def plain(value: Any) -> str:
    """The value as it is."""
    return str(value)


def count(value: int) -> str:
    """72425 -> "72,425"."""
    return f"{value:,}"


def times(value: int) -> str:
    """1 -> "once", 3 -> "3 times"."""
    return _NAMED_COUNTS.get(value, f"{value:,} times")


def hexadecimal(value: int) -> str:
    """1024 -> "0x400"."""
    return f"{value:#x}"


def address(value: str) -> str:
    """An address without its leading zeros: "0x0000000000000008" -> "0x8"."""
    return f"{int(value, 16):#x}"


def size(value: int) -> str:
    """Bytes in decimal units: 674112 -> "674 kB"."""
    for unit, name in ((1, "bytes"), (10**3, "kB"), (10**6, "MB"), (10**9, "GB")):
        if value < _ROUNDS_UP * unit:
            return f"{value / unit:.3g} {name}"
    return f"{value / 10**12:,.3g} TB"


def duration(nanoseconds: int) -> str:
    """Nanoseconds in the unit a person would pick: 7177253 -> "7.18 ms", 93e9 -> "1 min 33 s"."""
    if nanoseconds < 0:
        return f"-{duration(-nanoseconds)}"
    for unit, name in ((1, "ns"), (10**3, "us"), (10**6, "ms")):
        if nanoseconds < _ROUNDS_UP * unit:
            return f"{nanoseconds / unit:.3g} {name}"
    if nanoseconds < 59.95 * 10**9:
        return f"{nanoseconds / 10**9:.3g} s"
    minutes, seconds = divmod(round(nanoseconds / 10**9), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {seconds} s"


def clock(timestamp_ns: int, *, local: bool = False) -> str:
    """Nanoseconds since 1970 -> "12:15:52.775580364", in UTC unless `local`."""
    seconds, nanoseconds = divmod(timestamp_ns, 10**9)
    moment = time.localtime(seconds) if local else time.gmtime(seconds)
    return f"{time.strftime('%H:%M:%S', moment)}.{nanoseconds:09d}"


def date(timestamp_ns: int, *, local: bool = False) -> str:
    """Nanoseconds since 1970 -> "2026-11-20", in UTC unless `local`."""
    seconds = timestamp_ns // 10**9
    return time.strftime("%Y-%m-%d", time.localtime(seconds) if local else time.gmtime(seconds))


def listing(values: Sequence[Any]) -> str:
    """["a", "b", "c"] -> "a, b and c"; a long list ends in "and 7 more"."""
    words = [str(value) for value in values]
    if len(words) > _LONGEST_LIST:
        words = [*words[: _LONGEST_LIST - 1], f"{len(words) - _LONGEST_LIST + 1} more"]
    return " and ".join(filter(None, [", ".join(words[:-1]), *words[-1:]]))


def durations(values: Sequence[int]) -> str:
    """A list of durations in nanoseconds."""
    return listing([duration(value) for value in values])


def calls(values: Mapping[str, int]) -> str:
    """{"time": 3000} -> "time() 3,000 times"."""
    most_first = sorted(values.items(), key=lambda item: -item[1])
    return listing([f"{name}() {times(number)}" for name, number in most_first])


def programs(values: Sequence[Mapping[str, Any]]) -> str:
    """[{"comm": "dockerd", "container": None, "count": 3}] -> "dockerd 3 times"."""

    def name(value: Mapping[str, Any]) -> str:
        comm = value["comm"] or "a process"
        return f"{comm} in container {value['container']}" if value["container"] else comm

    return listing([f"{name(value)} {times(value['count'])}" for value in values])


def paths(values: Sequence[Mapping[str, Any]]) -> str:
    """[{"path": "/srv/", "count": 3}] -> "/srv/ 3 times"; relative paths are in the working directory."""
    return listing(
        [f"{value['path'] or 'the working directory'} {times(value['count'])}" for value in values]
    )


FORMATS: dict[str, Callable[[Any], str]] = {
    "plain": plain,
    "count": count,
    "times": times,
    "hex": hexadecimal,
    "address": address,
    "size": size,
    "duration": duration,
    "durations": durations,
    "list": listing,
    "calls": calls,
    "programs": programs,
    "paths": paths,
}
"""The formats a placeholder may name, as in ``{duration_ns:duration}``."""
