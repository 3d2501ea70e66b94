"""Turns the JSON report of the Rust core into typed, read-only objects, and back into JSON.

The objects have the names, order and nesting of docs/report.schema.json.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, Literal, TypeVar

from scapscope import _native

Severity = Literal["info", "warning", "error", "critical"]
Confidence = Literal["certain", "likely", "possible"]
ProgressCallback = Callable[[int, int | None], None]
_SHORT_ID = 12
SEVERITIES: tuple[Severity, ...] = ("info", "warning", "error", "critical")


@dataclass(frozen=True, slots=True)
class Damage:
    """Where a capture stops making sense; `offset` counts bytes of the uncompressed stream."""

    kind: Literal["cut-off", "corrupt"]
    offset: int
    expected: str
    found: str


@dataclass(frozen=True, slots=True)
class StraceLog:
    """The log of strace that a capture was made of; `first_damaged` are line numbers, from 1.

    Without `dated` the log has no dates, and its times count from 1970-01-01; those of a `relative` one from
    its first line.
    """

    lines: int
    damaged_lines: int
    first_damaged: tuple[int, ...]
    dated: bool
    relative: bool


@dataclass(frozen=True, slots=True)
class CaptureSummary:
    """What was read. Timestamps are nanoseconds since 1970; None in a capture without events."""

    path: str
    bytes: int
    compressed: bool
    events: int
    first_timestamp_ns: int | None
    last_timestamp_ns: int | None
    duration_ns: int
    enter_events: bool
    page_faults_recorded: bool
    unknown_blocks: int
    undecoded_events: int
    malformed_lists: int
    threads_forgotten: int
    happenings_omitted: int
    processes_unwatched: int
    damage: Damage | None
    strace: StraceLog | None


@dataclass(frozen=True, slots=True)
class Machine:
    """The machine that was recorded, if the capture says."""

    hostname: str
    cpus: int
    memory_bytes: int
    boot_timestamp_ns: int | None


@dataclass(frozen=True, slots=True)
class Evidence:
    """One event a finding rests on; `event` is the number sysdig gives it."""

    event: int
    timestamp_ns: int
    tid: int
    type: str
    detail: str


@dataclass(frozen=True, slots=True)
class Kernel:
    """How the recorded kernel treats the vsyscall page, as inferred from the evidence."""

    vsyscall_mode: Literal["none", "xonly", "emulate", "unknown"]
    vsyscall_mode_evidence: tuple[Evidence, ...]


@dataclass(frozen=True, slots=True)
class Relative:
    """Another process that explains one: its parent, or the entry point of its container.

    `args` begins with argv[0].
    """

    comm: str | None
    pid: int
    args: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Process:
    """The process a finding concerns, as it was when the finding's first event happened.

    `exe` is argv[0], `args` are the arguments after it, `exepath` is the program's file and
    `filename` the path that was given to execve: for a script, the script.
    """

    comm: str | None
    exe: str | None
    exepath: str | None
    filename: str | None
    args: tuple[str, ...]
    pid: int
    tid: int
    parent: Relative | None
    entry_point: Relative | None


@dataclass(frozen=True, slots=True)
class Container:
    """The container a finding concerns; name and image may have arrived after the finding."""

    id: str
    name: str | None
    image: str | None
    runtime: str | None


@dataclass(frozen=True, slots=True)
class Finding:
    """A verdict with its evidence. A fact that is not known is absent from `facts`."""

    id: str
    severity: Severity
    confidence: Confidence
    process: Process | None
    container: Container | None
    facts: Mapping[str, Any]
    evidence: tuple[Evidence, ...]

    def reaches(self, severity: Severity) -> bool:
        """Whether this finding is at least as severe as `severity`."""
        return SEVERITIES.index(self.severity) >= SEVERITIES.index(severity)

    def concerns_pid(self, pid: int) -> bool:
        """Whether `pid` is the process of this finding, or one of the processes it groups."""
        own = self.process is not None and pid in (self.process.pid, self.process.tid)
        return own or pid in self.facts.get("pids", ())

    def concerns_container(self, wanted: str) -> bool:
        """Whether `wanted` is the id (or its beginning), the name or the image of the container.

        An image is also found without its tag: "redis" finds "redis:2.8.22". Captures shorten ids to
        12 digits; more may be given.
        """
        box = self.container
        if box is None or not wanted:
            return False
        image = box.image or ""
        return (
            box.id.startswith(wanted)
            or (len(box.id) == _SHORT_ID and wanted.startswith(box.id))
            or wanted in (box.name, image)
            or image.startswith((f"{wanted}:", f"{wanted}@"))
        )

    @property
    def concerns_capture(self) -> bool:
        """Whether this is about the capture as a whole: what it cannot tell."""
        return self.process is None and self.container is None


@dataclass(frozen=True, slots=True)
class Report:
    """The diagnosis of one capture; findings come most severe first."""

    schema_version: str
    capture: CaptureSummary
    machine: Machine | None
    kernel: Kernel
    findings: tuple[Finding, ...]

    @classmethod
    def from_json(cls, text: str | bytes) -> Report:
        """Read the JSON of a report. Raises KeyError or ValueError when it is not one."""
        return _report(json.loads(text))

    def to_dict(self) -> dict[str, Any]:
        """The report as docs/report.schema.json describes it."""
        return asdict(self)

    def with_findings(self, findings: Iterable[Finding]) -> Report:
        """The same report with only these findings."""
        return replace(self, findings=tuple(findings))


def explain(
    path: str | os.PathLike[str],
    progress: ProgressCallback | None = None,
    *,
    hot_calls: int | None = None,
) -> Report:
    """Diagnose the capture at `path`; see scapscope.explain."""
    return Report.from_json(_native.explain(os.fspath(path), progress, hot_calls))


def damage(data: Mapping[str, Any] | None) -> Damage | None:
    """The damage object of the JSON report, typed."""
    return None if data is None else _plain(Damage, data)


Plain = TypeVar("Plain")


def _plain(cls: type[Plain], data: Mapping[str, Any], **nested: Any) -> Plain:
    """`cls` from the values of the same names; `nested` are those already typed."""
    names = [field.name for field in fields(cls) if field.name not in nested]  # type: ignore[arg-type]
    return cls(**{name: data[name] for name in names}, **nested)


def strace(data: Mapping[str, Any] | None) -> StraceLog | None:
    """The strace object of the JSON report, typed."""
    return None if data is None else _plain(StraceLog, data, first_damaged=tuple(data["first_damaged"]))


def _evidence(data: Iterable[Mapping[str, Any]]) -> tuple[Evidence, ...]:
    return tuple(_plain(Evidence, item) for item in data)


def _relative(data: Mapping[str, Any] | None) -> Relative | None:
    if data is None:
        return None
    return _plain(Relative, data, args=tuple(data["args"]))


def _process(data: Mapping[str, Any] | None) -> Process | None:
    if data is None:
        return None
    return _plain(
        Process,
        data,
        args=tuple(data["args"]),
        parent=_relative(data["parent"]),
        entry_point=_relative(data["entry_point"]),
    )


def _finding(data: Mapping[str, Any]) -> Finding:
    box = data["container"]
    return _plain(
        Finding,
        data,
        process=_process(data["process"]),
        container=None if box is None else _plain(Container, box),
        evidence=_evidence(data["evidence"]),
    )


def _report(data: Mapping[str, Any]) -> Report:
    capture, machine, kernel = data["capture"], data["machine"], data["kernel"]
    return Report(
        schema_version=data["schema_version"],
        capture=_plain(
            CaptureSummary, capture, damage=damage(capture["damage"]), strace=strace(capture["strace"])
        ),
        machine=None if machine is None else _plain(Machine, machine),
        kernel=_plain(Kernel, kernel, vsyscall_mode_evidence=_evidence(kernel["vsyscall_mode_evidence"])),
        findings=tuple(_finding(item) for item in data["findings"]),
    )
