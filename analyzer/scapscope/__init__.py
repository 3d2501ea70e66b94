"""Explain why a container crashed, or why it is slow, from a system-call capture (``.scap``).

    >>> import scapscope
    >>> report = scapscope.explain("redis.scap")
    >>> report.findings[0].id, report.findings[0].container.image
    ('vsyscall-none-crash', 'redis:2.8.22')

    >>> for event in scapscope.open("redis.scap"):
    ...     print(event.number, event.type, event.args)

    >>> polars.DataFrame(scapscope.open("redis.scap").to_arrow())

Importing the package loads nothing else: every name below is imported when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable

    from scapscope._native import ArrowStream as ArrowStream
    from scapscope._native import CaptureError as CaptureError
    from scapscope._native import Event as Event
    from scapscope.capture import Capture as Capture
    from scapscope.report import CaptureSummary as CaptureSummary
    from scapscope.report import Container as Container
    from scapscope.report import Damage as Damage
    from scapscope.report import Evidence as Evidence
    from scapscope.report import Finding as Finding
    from scapscope.report import Kernel as Kernel
    from scapscope.report import Machine as Machine
    from scapscope.report import Process as Process
    from scapscope.report import ProgressCallback as ProgressCallback
    from scapscope.report import Relative as Relative
    from scapscope.report import Report as Report

__all__ = [
    "ArrowStream",
    "Capture",
    "CaptureError",
    "CaptureSummary",
    "Container",
    "Damage",
    "Event",
    "Evidence",
    "Finding",
    "Kernel",
    "Machine",
    "Process",
    "ProgressCallback",
    "Relative",
    "Report",
    "explain",
    "open",
]

_HOME = {
    "ArrowStream": "scapscope._native",
    "CaptureError": "scapscope._native",
    "Event": "scapscope._native",
    "Capture": "scapscope.capture",
}


def explain(
    path: str | os.PathLike[str],
    progress: ProgressCallback | None = None,
    *,
    hot_calls: int | None = None,
) -> Report:
    """Diagnose the capture at `path` and return the report of its findings.

    `path` may be ``"-"`` for standard input. `progress` is called with the bytes read and the
    bytes in all (None on a pipe) about ten times a second; an exception it raises stops the run.
    A damaged capture is diagnosed up to the damage: see ``report.capture.damage``. `hot_calls` is
    how many time calls of one process within a second count as many (None: 1,000).

    Raises CaptureError when the input cannot be read as a capture at all.
    """
    from scapscope.report import explain

    return explain(path, progress, hot_calls=hot_calls)


def open(
    path: str | os.PathLike[str],
    *,
    types: Iterable[str] | None = None,
    tids: Iterable[int] | None = None,
    containers: Iterable[str] | None = None,
    since_ns: int | None = None,
    until_ns: int | None = None,
) -> Capture:
    """Open the capture at `path` (``"-"`` for standard input) to go through its events.

    Without filters every event comes, in file order. `types` are event names ("page_fault"),
    `containers` ids (or beginnings of ids), names or images as known when the event happened;
    `since_ns` and `until_ns` count nanoseconds from the first event.

    Raises CaptureError when the input cannot be read as a capture at all.
    """
    from scapscope.capture import Capture

    return Capture(
        path,
        types=types,
        tids=tids,
        containers=containers,
        since_ns=since_ns,
        until_ns=until_ns,
    )


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'scapscope' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOME.get(name, "scapscope.report")), name)
