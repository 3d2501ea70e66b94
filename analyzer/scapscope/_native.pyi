"""The Rust core: captures in, JSON text and events out. It emits ids and facts, never sentences."""

from collections.abc import Callable
from typing import Literal, TypedDict, final

__all__ = [
    "ArrowStream",
    "CallFilter",
    "CaptureError",
    "Event",
    "EventStream",
    "explain",
    "flame_graph",
    "info",
    "rates",
    "stacks",
    "syscalls",
]

class CaptureError(Exception):
    """The input cannot be read as a capture; str() is one clear sentence saying why."""

class _Damage(TypedDict):
    kind: Literal["cut-off", "corrupt"]
    offset: int
    expected: str
    found: str

class CallFilter(TypedDict):
    """Which system calls are asked for; None: it does not matter. Exists for type checkers only."""

    calls: list[str] | None
    pids: list[int] | None
    tids: list[int] | None
    comms: list[str] | None
    containers: list[str] | None
    since_ns: int | None
    until_ns: int | None

def explain(
    source: str,
    progress: Callable[[int, int | None], None] | None = None,
    hot_calls: int | None = None,
) -> bytes:
    """The report of the capture at the path `source` ("-": standard input), as a JSON object.

    `hot_calls`: time calls of one process within a second that count as many.
    """

def info(source: str, progress: Callable[[int, int | None], None] | None = None) -> bytes:
    """What the capture at the path `source` ("-": standard input) holds, as a JSON object."""

def syscalls(
    source: str,
    by: Literal["capture", "container", "process", "thread"],
    order: Literal["time", "calls", "errors", "usecs", "name"],
    most: int | None,
    asked: CallFilter,
    progress: Callable[[int, int | None], None] | None = None,
) -> bytes:
    """The costs of the calls of the capture at `source`, of the first `most` groups, as a JSON object."""

def rates(
    source: str,
    every_ns: int,
    by: Literal["capture", "container", "process", "thread", "syscall"],
    most: int | None,
    asked: CallFilter,
    progress: Callable[[int, int | None], None] | None = None,
) -> bytes:
    """The calls by intervals of `every_ns`, of the `most` frequent series, as a JSON object."""

def stacks(
    source: str, asked: CallFilter, progress: Callable[[int, int | None], None] | None = None
) -> bytes:
    """The costs of the calls as a tree of container, processes and thread, as a JSON object."""

def flame_graph(stacks: list[tuple[str, int]], title: str, unit: str) -> bytes:
    """The SVG of `stacks` (frames joined by ";", the outermost first), each with a weight in `unit`.

    Raises OSError when all weights are 0.
    """

@final
class Event:
    """One event of a capture, as sysdig numbers and names it."""

    @property
    def number(self) -> int: ...
    @property
    def timestamp_ns(self) -> int: ...
    @property
    def cpu(self) -> int: ...
    @property
    def tid(self) -> int: ...
    @property
    def direction(self) -> Literal[">", "<"]: ...
    @property
    def type(self) -> str: ...
    @property
    def comm(self) -> str | None: ...
    @property
    def container_id(self) -> str | None: ...
    @property
    def args(self) -> str: ...

@final
class ArrowStream:
    """Record batches of events, for anything that reads the Arrow PyCapsule interface."""

    def __arrow_c_schema__(self) -> object: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

@final
class EventStream:
    """The events of one capture, once, in file order."""

    def __new__(
        cls,
        source: str,
        *,
        types: list[str] | None = None,
        tids: list[int] | None = None,
        containers: list[str] | None = None,
        since_ns: int | None = None,
        until_ns: int | None = None,
    ) -> EventStream: ...
    def __iter__(self) -> EventStream: ...
    def __next__(self) -> Event: ...
    def to_arrow(self, batch_size: int = 65536) -> ArrowStream: ...
    @property
    def damage(self) -> _Damage | None: ...
