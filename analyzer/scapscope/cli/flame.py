"""scapscope flame: turns a capture into a flame graph of its system calls."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from scapscope.cli import calls
from scapscope.cli.output import refuse_to_overwrite, write_answer

if TYPE_CHECKING:
    from scapscope.reports.flame import Weight

Format = Literal["folded", "speedscope", "svg"]
_BY_ENDING: dict[str, Format] = {".svg": "svg", ".json": "speedscope"}


@click.command()
@click.argument("trace")
@click.option(
    "--weight",
    type=click.Choice(["time", "calls"]),
    help="What makes a frame wide. Without this: the time in calls; where that is unknown, their number.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["folded", "speedscope", "svg"]),
    help="Without this: svg if FILE ends in .svg, speedscope if in .json, else folded.",
)
@click.option("-o", "--output", metavar="FILE", help="Write the answer to FILE.")
@calls.call_options
def flame(
    trace: str,
    weight: Weight | None,
    form: Format | None,
    output: str | None,
    **which: Any,
) -> None:
    """Show who spends how much in which system calls, as a flame graph.

    The frames are, from below: the container or the host, its processes from the first to the one
    concerned, the thread, the call.

    folded: a line for each stack, as flamegraph.pl and its kin take it. speedscope: for
    https://www.speedscope.app, which reads the file in the browser. svg: a picture that can be
    searched and zoomed in a browser.

    TRACE is a capture, plain or gzipped, or a log of strace -f -tt -T; - is standard input.

    \b
    Examples:
      scapscope flame redis.scap -o redis.svg
      scapscope flame redis.scap --container redis1 -o redis.speedscope.json
      scapscope flame redis.scap --weight calls | grep futex
    """
    from scapscope import _native

    refuse_to_overwrite(output, [trace])
    asked = calls.asked(**which)
    told = calls.read(trace, lambda progress: _native.stacks(trace, asked, progress))
    weighed = _weighed(told, weight)
    if not told["calls"]:
        click.echo("scapscope: no system call was asked for that this capture holds", err=True)
    form = form or _BY_ENDING.get(Path(output or "").suffix.lower(), "folded")
    write_answer(output, _in_form(form, told, trace, weighed))
    calls.warn(told)


def _weighed(told: dict[str, Any], weight: Weight | None) -> Weight:
    if weight == "calls" or any(told["time_ns"]) or not told["calls"]:
        return weight or "time"
    if weight == "time":
        raise click.UsageError(
            "this capture has exit events only, which tell no durations: weigh by --weight calls"
        )
    click.echo(
        "scapscope: durations are unknown, for this capture has exit events only; "
        "weighed by the number of calls",
        err=True,
    )
    return "calls"


def _in_form(form: Format, told: dict[str, Any], trace: str, weight: Weight) -> str:
    from scapscope import _native
    from scapscope.reports import flame as reports
    from scapscope.reports.page import printable

    name = printable("standard input" if trace == "-" else Path(trace).name)
    if form == "speedscope":
        return reports.render_speedscope(told, weight, name)
    if form == "svg" and told["calls"]:
        title = f"{name}: {'time in system calls' if weight == 'time' else 'system calls'}"
        return _native.flame_graph(reports.folded(told, weight), title, reports.UNITS[weight]).decode()
    return reports.render_folded(told, weight)
