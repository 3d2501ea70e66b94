"""What syscalls, rates and flame have in common: which calls are asked for, and the reading of them."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from scapscope.cli import failure
from scapscope.cli.durations import Duration, check_within
from scapscope.cli.progress import ProgressBar

if TYPE_CHECKING:
    from scapscope._native import CallFilter
    from scapscope.report import ProgressCallback

TIME_CALLS = ("time", "gettimeofday", "clock_gettime", "getcpu")
Command = TypeVar("Command", bound=Callable[..., Any])
_OPTIONS = (
    click.option("--call", "calls", multiple=True, metavar="NAME", help="Only this call (repeat for more)."),
    click.option(
        "--time-calls", is_flag=True, help=f"Only the calls that tell the time: {', '.join(TIME_CALLS)}."
    ),
    click.option(
        "--pid",
        "pids",
        multiple=True,
        type=click.IntRange(min=1),
        help="Only this process (repeat for more).",
    ),
    click.option(
        "--tid", "tids", multiple=True, type=click.IntRange(min=0), help="Only this thread (repeat for more)."
    ),
    click.option(
        "--comm",
        "comms",
        multiple=True,
        metavar="NAME",
        help="Only processes of this name (repeat for more).",
    ),
    click.option(
        "--container",
        "containers",
        multiple=True,
        metavar="ID|NAME|IMAGE",
        help="Only this container, as known at the end of the capture (repeat for more).",
    ),
    click.option(
        "--since", type=Duration(), help="Leave out calls that end earlier than this after the first event."
    ),
    click.option(
        "--until", type=Duration(), help="Leave out calls that end later than this after the first event."
    ),
)


def call_options(command: Command) -> Command:
    """The options that say which calls; asked() makes of them what the core wants."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def asked(
    *,
    calls: tuple[str, ...],
    time_calls: bool,
    pids: tuple[int, ...],
    tids: tuple[int, ...],
    comms: tuple[str, ...],
    containers: tuple[str, ...],
    since: int | None,
    until: int | None,
) -> CallFilter:
    """What call_options gathered, as the core wants it."""
    check_within(since, until)
    names = [*calls, *(TIME_CALLS if time_calls else ())]
    return {
        "calls": names or None,
        "pids": list(pids) or None,
        "tids": list(tids) or None,
        "comms": list(comms) or None,
        "containers": list(containers) or None,
        "since_ns": since,
        "until_ns": until,
    }


def read(trace: str, tally: Callable[[ProgressCallback], bytes]) -> dict[str, Any]:
    """What `tally` says of `trace`; leaves with a message when it cannot be read."""
    from scapscope import CaptureError
    from scapscope.reports.page import printable

    try:
        with ProgressBar("Reading standard input" if trace == "-" else f"Reading {trace}") as progress:
            told: dict[str, Any] = json.loads(tally(progress))
    except ValueError as problem:
        raise click.UsageError(printable(str(problem))) from None
    except CaptureError as problem:
        failure.unreadable(trace, problem)
        sys.exit(failure.UNREADABLE)
    return told


def warn(told: dict[str, Any]) -> None:
    """Say on standard error what of the capture is not in the answer."""
    from scapscope.report import damage

    found = damage(told["capture"]["damage"])
    if found is not None:
        failure.damaged(found, "The calls before that are counted.")
