"""Draws calls by interval as curves: in the terminal, or as a picture."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from scapscope import report
from scapscope.knowledge.formats import duration
from scapscope.reports import recorded
from scapscope.reports.page import printable
from scapscope.reports.rates import series_name
from scapscope.reports.who import By

_COLOURS = ("red", "blue", "green", "magenta", "cyan", "yellow")
# Beside the curves stand the numbers of the vertical axis.
_AXIS = 14
_HEIGHT = 18
_SECOND = 10**9


class NoLibrary(Exception):  # noqa: N818 - says what is so
    """What draws pictures is not installed."""


def in_terminal(told: Mapping[str, Any], by: By, *, width: int, colour: bool) -> str:
    """Curves of dots, with what the axes count beside them."""
    import plotille  # type: ignore[import-untyped, unused-ignore]

    figure = plotille.Figure()
    figure.width, figure.height = max(20, width - _AXIS), _HEIGHT
    figure.color_mode = "names"
    figure.with_colors = colour
    figure.origin = False
    figure.x_label, figure.y_label = _x_label(told), _y_label(told)
    figure.register_label_formatter(float, _number)
    curves = [points(series, told["every_ns"]) for series in told["series"]]
    figure.set_x_limits(min_=0, max_=max(end for times, _ in curves for end in times))
    figure.set_y_limits(min_=0, max_=1.05 * max(top for _, calls in curves for top in calls))
    for number, (series, (times, calls)) in enumerate(zip(told["series"], curves, strict=True)):
        # Without colours, letters tell the curves apart.
        marker = None if colour or len(curves) == 1 else chr(ord("a") + number)
        label = printable(series_name(series, by))
        figure.plot(times, calls, label=label, lc=_COLOURS[number % len(_COLOURS)], marker=marker)
    with _decided(colour):
        return str(figure.show(legend=True)) + "\n"


def picture(told: Mapping[str, Any], by: By, ending: str) -> bytes:
    """The same as SVG, PNG or PDF. Raises NoLibrary where matplotlib is not installed."""
    try:
        from matplotlib.backends.backend_svg import FigureCanvasSVG
        from matplotlib.figure import Figure
    except ImportError as problem:
        raise NoLibrary from problem
    import matplotlib

    figure = Figure(figsize=(10, 5), layout="constrained")
    FigureCanvasSVG(figure)
    axes = figure.subplots()
    for series in told["series"]:
        times, calls = points(series, told["every_ns"])
        # A name may hold what would be taken for mathematics.
        axes.plot(times, calls, label=printable(series_name(series, by)).replace("$", r"\$"))
    path = told["capture"]["path"]
    axes.set_title(printable("standard input" if path == "-" else path).replace("$", r"\$"))
    axes.set_xlabel(_x_label(told))
    axes.set_ylabel(_y_label(told))
    axes.set_xlim(left=0)
    axes.set_ylim(bottom=0)
    axes.grid(alpha=0.3)
    axes.legend()
    drawn = io.BytesIO()
    # The same capture gives the same picture.
    with matplotlib.rc_context({"svg.hashsalt": "scapscope"}):
        figure.savefig(drawn, format=ending.removeprefix("."), metadata=_undated(ending))
    return drawn.getvalue()


def points(series: Mapping[str, Any], every_ns: int) -> tuple[list[float], list[int]]:
    """Seconds and calls: an interval at its middle, and 0 on both sides of a gap."""
    known = {cell["interval"]: cell["calls"] for cell in series["intervals"]}
    around = {near for interval in known for near in (interval - 1, interval, interval + 1) if near >= 0}
    intervals = sorted(around)
    middles = [(interval + 0.5) * every_ns / _SECOND for interval in intervals]
    return middles, [known.get(interval, 0) for interval in intervals]


@contextmanager
def _decided(colour: bool) -> Iterator[None]:
    """Plotille has a look at the environment and the terminal too: what was decided here holds."""
    before = {name: os.environ.pop(name, None) for name in ("FORCE_COLOR", "NO_COLOR")}
    if colour:
        os.environ["FORCE_COLOR"] = "1"
    try:
        yield
    finally:
        os.environ.pop("FORCE_COLOR", None)
        os.environ.update({name: value for name, value in before.items() if value is not None})


def _x_label(told: Mapping[str, Any]) -> str:
    capture = told["capture"]
    log = report.strace(capture["strace"])
    return f"seconds since {recorded.start(capture['first_timestamp_ns'], log, digits=3)}"


def _y_label(told: Mapping[str, Any]) -> str:
    return f"system calls in each {duration(told['every_ns'])}"


def _number(value: float, chars: int, delta: float, left: bool = False) -> str:
    del delta
    text = f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
    return text.ljust(chars) if left else text.rjust(chars)


def _undated(ending: str) -> dict[str, None]:
    return {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}.get(ending, {})
