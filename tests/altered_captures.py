"""Makes odd captures of a real one: cut off, begun in the middle, empty, with names that bite."""

from __future__ import annotations

import gzip
from pathlib import Path

_EVENT = (0x216).to_bytes(4, "little")


def cut_off(capture: Path, part: float) -> bytes:
    """The first `part` of the capture."""
    content = gzip.decompress(capture.read_bytes())
    return content[: int(len(content) * part)]


def without_events(capture: Path) -> bytes:
    """What stands in front of the first event."""
    content = gzip.decompress(capture.read_bytes())
    return content[: content.index(_EVENT)]


def from_the_middle(capture: Path) -> bytes:
    """The capture without the first half of its events."""
    content = gzip.decompress(capture.read_bytes())
    at = len(content) // 2 & ~3
    while not _is_event(content, at):
        at += 4
    return without_events(capture) + content[at:]


def with_hostile_names(capture: Path) -> bytes:
    """The capture with a process that is called after an escape sequence, and after the ends of frames."""
    # In front of a string stands its length.
    return gzip.decompress(capture.read_bytes()).replace(b"\x07\0dockerd", b"\x07\0\x1b[2J;xy")


def _is_event(content: bytes, at: int) -> bool:
    """Whether an event block begins there, and two more behind it."""
    for _ in range(3):
        if content[at : at + 4] != _EVENT:
            return False
        at += int.from_bytes(content[at + 4 : at + 8], "little")
    return True
