"""Turns bytes read into a progress bar: on standard error, on a terminal, and only if it takes long."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import TracebackType

    from rich.progress import Progress, TaskID

_PATIENCE_SECONDS = 0.5


class ProgressBar:
    """A context manager and a progress callback in one; rich is loaded only if the bar appears."""

    def __init__(self, title: str) -> None:
        self._title = title
        self._begin = time.monotonic()
        self._bar: tuple[Progress, TaskID] | None = None

    def __enter__(self) -> ProgressBar:
        return self

    def __call__(self, done: int, total: int | None) -> None:
        """Show that `done` of `total` bytes have been read (None: nobody knows of how many)."""
        if self._bar is None:
            if time.monotonic() - self._begin < _PATIENCE_SECONDS or not sys.stderr.isatty():
                return
            self._bar = _start(self._title)
        bar, task = self._bar
        bar.update(task, completed=done, total=total)

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar[0].stop()


def _start(title: str) -> tuple[Progress, TaskID]:
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
        TransferSpeedColumn,
    )

    from scapscope.reports.page import printable

    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    bar.start()
    return bar, bar.add_task(escape(printable(title)), total=None)
