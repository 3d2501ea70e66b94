"""Turns a real capture into one in which a single page fault has another address or other error bits.

It stands in for a capture that nobody has recorded yet; what it is, its rule test says. Everything else
stays as recorded. Layout: docs/scap-format.md.
"""

from __future__ import annotations

import gzip
import struct
from dataclasses import dataclass
from pathlib import Path

PAGE_FAULT = 290
ERROR_BITS = {
    "PROTECTION_VIOLATION": 1,
    "PAGE_NOT_PRESENT": 2,
    "WRITE_ACCESS": 4,
    "READ_ACCESS": 8,
    "USER_FAULT": 16,
    "SUPERVISOR_FAULT": 32,
    "RESERVED_PAGE": 64,
    "INSTRUCTION_FETCH": 128,
}
"""scap's own bits (libs, driver/ppm_events_public.h: PPM_PF_*), not those of x86."""

_BLOCK = struct.Struct("<II")
_GZIP = b"\x1f\x8b"


@dataclass(frozen=True, slots=True)
class _Layout:
    flags: int
    counted: bool
    length_bytes: int


_EVENTS = {
    0x204: _Layout(0, counted=False, length_bytes=2),
    0x208: _Layout(4, counted=False, length_bytes=2),
    0x216: _Layout(0, counted=True, length_bytes=2),
    0x217: _Layout(4, counted=True, length_bytes=2),
    0x221: _Layout(0, counted=True, length_bytes=4),
    0x222: _Layout(4, counted=True, length_bytes=4),
}


@dataclass(frozen=True, slots=True)
class Alteration:
    """What to change: the event by its number in the file, the new address, the new error bits."""

    event: int
    address: int
    error: int


class AlterationError(ValueError):
    """The capture has no such page fault."""


def altered(capture: Path, change: Alteration) -> bytes:
    """The capture with the change, not compressed. Raises OSError and AlterationError."""
    stored = capture.read_bytes()
    content = bytearray(gzip.decompress(stored) if stored.startswith(_GZIP) else stored)
    block, layout = _event(content, change.event)
    address, error = _parameters(content, block, layout, change.event)
    struct.pack_into("<Q", content, address, change.address)
    struct.pack_into("<I", content, error, change.error)
    return bytes(content)


def _event(content: bytearray, number: int) -> tuple[int, _Layout]:
    """Where the event's header begins."""
    at, seen = 0, 0
    while at + _BLOCK.size <= len(content):
        kind, length = _BLOCK.unpack_from(content, at)
        layout = _EVENTS.get(kind)
        seen += layout is not None
        if layout is not None and seen == number:
            return at + _BLOCK.size + 2 + layout.flags, layout
        if length < _BLOCK.size:
            break
        at += length
    raise AlterationError(f"there is no event {number}: the capture has {seen}")


def _parameters(content: bytearray, header: int, layout: _Layout, number: int) -> tuple[int, int]:
    """Where the address and the error of a page fault stand."""
    (kind,) = struct.unpack_from("<H", content, header + 20)
    if kind != PAGE_FAULT:
        raise AlterationError(f"event {number} is no page fault: its type is {kind}")
    lengths = header + (26 if layout.counted else 22)
    first = lengths + 3 * layout.length_bytes
    sizes = struct.unpack_from("<3" + {2: "H", 4: "I"}[layout.length_bytes], content, lengths)
    if sizes != (8, 8, 4):
        raise AlterationError(f"event {number} has parameters of {sizes} bytes, not of 8, 8 and 4")
    return first, first + 16
