"""Turns a duration as people write it ("1.5", "200ms", "2m") into nanoseconds."""

from __future__ import annotations

import re
from decimal import Decimal

import click

_UNITS = {"ns": 1, "us": 10**3, "ms": 10**6, "": 10**9, "s": 10**9, "m": 60 * 10**9, "h": 3600 * 10**9}
_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*(ns|us|ms|s|m|h|)", re.ASCII)


class Duration(click.ParamType[int]):
    """Seconds, or a number with one of the units ns, us, ms, s, m, h; the value is in nanoseconds."""

    name = "duration"

    def convert(self, value: str | int, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Nanoseconds; a usage error for anything else."""
        if isinstance(value, int):
            return value
        found = _DURATION.fullmatch(value.strip())
        if found is None:
            self.fail(f"{value!r} is not a duration: write seconds, or 200ms, 1.5s, 2m", param, ctx)
        nanoseconds = int(Decimal(found[1]) * _UNITS[found[2]])
        if nanoseconds >= 2**63:
            self.fail(f"{value!r} is longer than any capture", param, ctx)
        return nanoseconds


def check_within(since: int | None, until: int | None) -> None:
    """Refuse a time that ends before it begins."""
    if since is not None and until is not None and until < since:
        raise click.UsageError("--until is earlier than --since: nothing lies between them")
