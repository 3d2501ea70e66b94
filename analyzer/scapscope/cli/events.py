"""scapscope events: turns a capture into a listing, one event a line."""

from __future__ import annotations

import itertools
import json
import sys
from typing import TYPE_CHECKING

import click

from scapscope.cli import failure
from scapscope.cli.durations import Duration, check_within
from scapscope.cli.output import Output

if TYPE_CHECKING:
    from scapscope import Event


@click.command()
@click.argument("trace")
@click.option(
    "--type", "types", multiple=True, metavar="TYPE", help="Only events of this type (repeat for more)."
)
@click.option(
    "--tid",
    "tids",
    multiple=True,
    type=click.IntRange(min=0),
    help="Only events of this thread (repeat for more).",
)
@click.option(
    "--container",
    "containers",
    multiple=True,
    metavar="ID|NAME|IMAGE",
    help="Only events of this container, as known when the event happened (repeat for more).",
)
@click.option("--since", type=Duration(), help="Leave out what is earlier than this after the first event.")
@click.option("--until", type=Duration(), help="Leave out what is later than this after the first event.")
@click.option("--limit", type=click.IntRange(min=0), metavar="N", help="Stop after N events.")
@click.option(
    "--local", is_flag=True, help="Times in this machine's time zone, as sysdig prints them, not UTC."
)
@click.option("--json", "as_json", is_flag=True, help="JSON Lines: one object a line.")
def events(
    trace: str,
    types: tuple[str, ...],
    tids: tuple[int, ...],
    containers: tuple[str, ...],
    since: int | None,
    until: int | None,
    limit: int | None,
    local: bool,
    as_json: bool,
) -> None:
    """List events, numbered as sysdig numbers them.

    A line has the event's number, its time, the processor, the thread's name, (its tid), > for a
    system call's enter event and < for its exit, the type, and the arguments. Times are UTC.
    TRACE is a capture, plain or gzipped, or a log of strace -f -tt -T; - is standard input.

    \b
    Examples:
      scapscope events redis.scap --tid 308
      scapscope events redis.scap --type page_fault --type signaldeliver
      scapscope events redis.scap --container redis1 --since 200ms --until 1.5s
      scapscope events redis.scap --json | jq 'select(.type == "procexit")'

    A damaged capture is listed up to the damage, which is then reported on standard error.
    """
    from scapscope import CaptureError
    from scapscope import open as open_capture
    from scapscope.reports.page import printable

    check_within(since, until)
    try:
        capture = open_capture(
            trace,
            types=types or None,
            tids=tids or None,
            containers=containers or None,
            since_ns=since,
            until_ns=until,
        )
        with Output() as out:
            for event in itertools.islice(capture, limit):
                out.write(_as_json(event) if as_json else _as_text(event, local))
    except ValueError as problem:
        raise click.UsageError(printable(str(problem))) from None
    except CaptureError as problem:
        failure.unreadable(trace, problem)
        sys.exit(failure.UNREADABLE)
    if capture.damage is not None:
        failure.damaged(capture.damage, "The events before that are listed.")


def _as_text(event: Event, local: bool) -> str:
    from scapscope.knowledge.formats import clock
    from scapscope.reports.page import printable

    time = clock(event.timestamp_ns, local=local)
    name = "<NA>" if event.comm is None else event.comm
    what = (
        f"{event.number} {time} {event.cpu} {name} ({event.tid}) {event.direction} {event.type} {event.args}"
    )
    return printable(what.rstrip()) + "\n"


def _as_json(event: Event) -> str:
    fields = ("number", "timestamp_ns", "cpu", "tid", "comm", "container_id", "direction", "type", "args")
    return json.dumps({name: getattr(event, name) for name in fields}) + "\n"
