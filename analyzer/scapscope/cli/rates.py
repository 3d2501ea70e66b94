"""scapscope rates: turns a capture into system calls over time: a table, a chart, CSV, JSON."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import click

from scapscope.cli import calls
from scapscope.cli.durations import Duration
from scapscope.cli.output import (
    colour_option,
    refuse_to_overwrite,
    wants_colour,
    width,
    write_answer,
    write_file,
)

_LEAST_NS = 1
# Columns that may fit on a line, and curves that can be told apart.
_MOST_SHOWN = 6
_ENDINGS = (".svg", ".png", ".pdf")


@click.command()
@click.argument("trace")
@click.option("--every", type=Duration(), default="1s", show_default=True, help="How long an interval is.")
@click.option(
    "--by",
    type=click.Choice(["process", "thread", "container", "syscall", "capture"]),
    default="process",
    show_default=True,
    help="What calls are counted by; capture: all together.",
)
@click.option(
    "--top",
    type=click.IntRange(min=1),
    metavar="N",
    help="Only the N that make most calls; the rest together.",
)
@calls.call_options
@click.option("--chart", is_flag=True, help="Curves in the terminal.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
@click.option(
    "--csv", "as_csv", is_flag=True, help="Comma-separated values, a line for each interval with calls."
)
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    help=f"Write the answer to FILE; if it ends in {', '.join(_ENDINGS)}, curves as a picture.",
)
@colour_option
def rates(
    trace: str,
    every: int,
    by: Literal["process", "thread", "container", "syscall", "capture"],
    top: int | None,
    chart: bool,
    as_json: bool,
    as_csv: bool,
    output: str | None,
    colour: bool | None,
    **which: Any,
) -> None:
    """Count system calls over time, and by who makes them.

    A call counts in the interval in which it ends. Intervals begin with the capture's first event.

    TRACE is a capture, plain or gzipped, or a log of strace -f -tt -T; - is standard input.

    \b
    Examples:
      scapscope rates redis.scap
      scapscope rates java.scap --time-calls --every 100ms --chart
      scapscope rates java.scap --by syscall --comm java -o java.svg
      scapscope rates redis.scap --by container --csv > rates.csv

    Pictures need matplotlib: pip install 'scapscope[charts]'.
    """
    from scapscope import _native
    from scapscope.reports import rates as reports
    from scapscope.reports.json import dump

    ending = Path(output).suffix.lower() if output else ""
    picture = ending in _ENDINGS
    if [as_json, as_csv, chart, picture].count(True) > 1:
        raise click.UsageError("--json, --csv, --chart and a picture as -o FILE exclude each other")
    if every < _LEAST_NS:
        raise click.UsageError("--every must be longer than nothing")
    refuse_to_overwrite(output, [trace])
    most = top or (None if as_json or as_csv else _MOST_SHOWN)
    asked = calls.asked(**which)
    told = calls.read(trace, lambda progress: _native.rates(trace, every, by, most, asked, progress))
    if picture and output is not None and told["series"]:
        write_file(output, _picture(told, by, ending))
    elif as_json:
        write_answer(output, dump(told))
    elif as_csv:
        write_answer(output, reports.render_csv(told, by))
    else:
        coloured = output is None and wants_colour(colour)
        write_answer(output, _as_text(told, by, coloured, chart=chart))
    calls.warn(told)


def _as_text(told: dict[str, Any], by: Any, coloured: bool, *, chart: bool) -> str:
    if chart and told["series"]:
        from scapscope.reports.chart import in_terminal

        return in_terminal(told, by, width=width(), colour=coloured)
    from scapscope.reports.rates import render

    return render(told, by, width=width(), colour=coloured)


def _picture(told: dict[str, Any], by: Any, ending: str) -> bytes:
    from scapscope.reports.chart import NoLibrary, picture

    try:
        return picture(told, by, ending)
    except NoLibrary:
        raise click.UsageError(
            "a picture needs matplotlib, which is not installed: pip install 'scapscope[charts]'. "
            "--chart draws in the terminal without it."
        ) from None
