"""Turns a finding and the report it is in into the facts that sentences may use.

These are the finding's own facts (docs/report.schema.json) and the names of `NAMES`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from scapscope.report import Container, Finding, Process, Relative, Report

NAMES = {
    "confidence": "certain, likely or possible",
    "subject": "the process and its container, as the subject of a sentence",
    "comm": "the name of the process",
    "exepath": "the path of its program",
    "script": "the path given to execve, if that is another: a script",
    "command": "its command line",
    "pid": "its process id",
    "tid": "the id of the thread concerned",
    "other_tid": "the same, if it is not the main thread",
    "parent.comm": "the name of its parent",
    "parent.pid": "the process id of its parent",
    "entry_point.comm": "the name of the container's entry point, if that is another process",
    "entry_point.pid": "the process id of the entry point",
    "entry_point.command": "the command line of the entry point",
    "is_entry_point": "true if the process is the container's entry point itself",
    "container": "the name of the container, or else its id",
    "container_id": "the id of the container",
    "image": "the image of the container",
    "runtime": "what runs the container",
    "repeats": "how often it happened, if more than once",
    "vsyscall_mode": "none, xonly or emulate, as the capture shows it",
    "page_faults_recorded": "whether the capture has page faults",
    "strace": "true if it is not a capture but a log of strace",
}
_LONGEST_COMMAND = 200


def context(report: Report, finding: Finding) -> dict[str, Any]:
    """Everything a sentence about `finding` may use; what is not known is None or absent."""
    return {
        "confidence": finding.confidence,
        "subject": _subject(finding),
        "vsyscall_mode": _known_mode(report),
        "page_faults_recorded": report.capture.page_faults_recorded,
        "strace": report.capture.strace is not None,
        **(_of_process(finding.process) if finding.process else {}),
        **(_of_container(finding.container) if finding.container else {}),
        **finding.facts,
        "repeats": count if (count := finding.facts.get("count", 1)) > 1 else None,
    }


def _known_mode(report: Report) -> str | None:
    mode = report.kernel.vsyscall_mode
    return None if mode == "unknown" else mode


def _subject(finding: Finding) -> str:
    process = _name(finding.process) if finding.process else "A process"
    box = finding.container
    if box is None:
        return process
    image = f" ({box.image})" if box.image else ""
    return f"{process} in container {box.name or box.id}{image}"


def _of_process(process: Process) -> dict[str, Any]:
    entry = process.entry_point
    own = entry is not None and entry.pid == process.pid
    return {
        "comm": _name(process),
        "exepath": process.exepath,
        "script": process.filename if process.exepath not in (None, process.filename) else None,
        "command": _command((process.exe or _name(process), *process.args)),
        "pid": process.pid,
        "tid": process.tid,
        "other_tid": process.tid if process.tid != process.pid else None,
        "parent": _of_relative(process.parent),
        "entry_point": None if own else _of_relative(entry),
        "is_entry_point": own,
    }


def _of_relative(relative: Relative | None) -> dict[str, Any] | None:
    if relative is None:
        return None
    return {
        "comm": _name(relative),
        "pid": relative.pid,
        "command": _command(relative.args),
    }


def _of_container(box: Container) -> dict[str, Any]:
    return {
        "container": box.name or box.id,
        "container_id": box.id,
        "image": box.image,
        "runtime": box.runtime,
    }


def _name(process: Process | Relative) -> str:
    return process.comm or f"process {process.pid}"


def _command(words: tuple[str, ...]) -> str:
    line = " ".join(words)
    return line if len(line) <= _LONGEST_COMMAND else f"{line[:_LONGEST_COMMAND]}..."
