"""scapscope syscalls: turns a capture into what `strace -c` prints."""

from __future__ import annotations

from typing import Any, Literal

import click

from scapscope.cli import calls
from scapscope.cli.output import colour_option, refuse_to_overwrite, wants_colour, width, write_answer

_SHOWN = 10


@click.command()
@click.argument("trace")
@click.option(
    "--by",
    type=click.Choice(["process", "thread", "container"]),
    help=f"A table for each of them, of the first {_SHOWN}.",
)
@click.option(
    "--sort",
    "order",
    type=click.Choice(["time", "calls", "errors", "usecs", "name"]),
    default="time",
    show_default=True,
    help="What comes first; usecs: the time of one call.",
)
@click.option("--all", "every", is_flag=True, help="Every process, thread or container, not only the first.")
@calls.call_options
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
@click.option("--csv", "as_csv", is_flag=True, help="Comma-separated values, a line for each call.")
@click.option("-o", "--output", metavar="FILE", help="Write the answer to FILE.")
@colour_option
def syscalls(
    trace: str,
    by: Literal["process", "thread", "container"] | None,
    order: Literal["time", "calls", "errors", "usecs", "name"],
    every: bool,
    as_json: bool,
    as_csv: bool,
    output: str | None,
    colour: bool | None,
    **which: Any,
) -> None:
    """Sum up system calls: how long, how many, how many in vain.

    As `strace -c -w` does, and for all processes of a capture at once: the time is that from a call's
    enter event to its exit event, waiting included. Current captures have exit events only: the time
    columns then hold a dash, for it cannot be told. So does the errors column for calls whose events
    hold no result, as those of time() and its kin do. A process that becomes another program by
    execve is counted anew.

    TRACE is a capture, plain or gzipped, a log of strace, or the table of strace -c; - is standard input.
    JSON and CSV hold every group.

    \b
    Examples:
      scapscope syscalls redis.scap
      scapscope syscalls redis.scap --by process --sort errors
      scapscope syscalls redis.scap --container redis1 --since 2s --until 5s
      scapscope syscalls redis.scap --by thread --comm java --csv -o java.csv
    """
    from scapscope import _native
    from scapscope.reports import costs
    from scapscope.reports.json import dump

    if as_json and as_csv:
        raise click.UsageError("--json and --csv exclude each other")
    refuse_to_overwrite(output, [trace])
    most = None if every or as_json or as_csv else _SHOWN
    asked = calls.asked(**which)
    told = calls.read(
        trace, lambda progress: _native.syscalls(trace, by or "capture", order, most, asked, progress)
    )
    if as_json:
        text = dump(told)
    elif as_csv:
        text = costs.render_csv(told, by or "capture")
    else:
        text = costs.render(
            told, by or "capture", width=width(), colour=output is None and wants_colour(colour)
        )
    write_answer(output, text)
    calls.warn(told)
