"""Writes captures event by event, in front of them the tables of a real one: for what no capture here holds.

Both sysdig and the analyzer read them: what the one makes of a sequence of events is held against the other.
"""

from __future__ import annotations

import gzip
import random
import struct
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise

from conftest import TRACES

PAGE = 0xFFFFFFFFFF600000
ENTRIES = (PAGE, PAGE + 0x400, PAGE + 0x800)
# Faults: a call where the page is absent and where it is there; a read; reads and writes of ordinary memory.
ABSENT, PRESENT, READ = 154, 153, 26
ORDINARY = (22, 26, 154)
SUPERVISOR = (38, 42)
SIGILL, SIGABRT, SIGBUS, SIGKILL, SIGSEGV, SIGTERM = 4, 6, 7, 9, 11, 15

EVENT = 0x216
# Event types (libscap, ppm_events_public.h).
GENERIC_ENTER, GENERIC_EXIT = 0, 1
KILL_ENTER, TKILL_ENTER, TGKILL_ENTER = 128, 130, 132
PROCEXIT, SIGNALDELIVER, PAGE_FAULT, EXECVE_EXIT, CLONE3_EXIT = 186, 232, 290, 293, 335
START_NS = 1795176946_000000000
HEADER = struct.Struct("<HQqIHI")

# Processes of the capture whose tables these have, with their threads.
PROCESSES = {173: [173, 180, 204, 202], 193: [193, 194], 137: [137]}


def signed(value: int) -> bytes:
    return struct.pack("<q", value)


@cache
def tables() -> tuple[bytes, dict[int, list[bytes]]]:
    """Give what stands in front of the first event, and the parameters of one event of each type."""
    data = gzip.decompress((TRACES / "none-docker-redis.scap").read_bytes())
    examples: dict[int, list[bytes]] = {}
    front = b""
    position = 0
    while position < len(data):
        kind, length = struct.unpack_from("<II", data, position)
        if kind == EVENT:
            front = front or data[:position]
            *_, event_type, count = HEADER.unpack_from(data, position + 8)
            params = read_params(data, position + 8 + HEADER.size, count)
            # Of execve and clone, one that went well, on the side of the child.
            if event_type not in examples or examples[event_type][:1] not in ([signed(0)], []):
                examples[event_type] = params
        position += length
    return front, examples


def read_params(data: bytes, at: int, count: int) -> list[bytes]:
    lengths = struct.unpack_from(f"<{count}H", data, at)
    ends = [at + 2 * count]
    for length in lengths:
        ends.append(ends[-1] + length)
    return [data[start:end] for start, end in pairwise(ends)]


@dataclass
class Capture:
    """A capture that is being written; `step_ns` lies between two events."""

    step_ns: int = 1000
    time_ns: int = START_NS
    blocks: list[bytes] = field(default_factory=list)

    def event(self, tid: int, event_type: int, params: list[bytes]) -> None:
        self.time_ns += self.step_ns
        lengths = b"".join(struct.pack("<H", len(value)) for value in params)
        values = b"".join(params)
        header = HEADER.pack(0, self.time_ns, tid, 26 + len(lengths) + len(values), event_type, len(params))
        body = header + lengths + values
        body += b"\0" * (-len(body) % 4)
        total = struct.pack("<I", len(body) + 12)
        self.blocks.append(struct.pack("<I", EVENT) + total + body + total)

    def fault(self, tid: int, address: int, error: int) -> None:
        self.event(tid, PAGE_FAULT, [struct.pack("<Q", address)] * 2 + [struct.pack("<I", error)])

    def call(self, tid: int, exits: bool = True) -> None:
        number, native = tables()[1][GENERIC_ENTER][:2]
        self.event(tid, GENERIC_ENTER, [number, native])
        if exits:
            self.event(tid, GENERIC_EXIT, [number])

    def signal(self, tid: int, signal: int, sender: int = 0) -> None:
        self.event(tid, SIGNALDELIVER, [signed(sender), signed(tid), bytes([signal])])

    def kill(self, sender: int, enter: int, target: int, signal: int, result: int | None = 0) -> None:
        targets = [signed(target)] * (2 if enter == TGKILL_ENTER else 1)
        self.event(sender, enter, [*targets, bytes([signal])])
        if result is not None:
            self.event(sender, enter + 1, [signed(result)])

    def exit(self, tid: int, status: int) -> None:
        signal = status & 0x7F if status >= 0 else 0
        self.event(tid, PROCEXIT, [signed(status), signed(0), bytes([signal]), b"\0"])

    def execve(self, pid: int) -> None:
        params = list(tables()[1][EXECVE_EXIT])
        params[3:5] = [signed(pid), signed(pid)]
        self.event(pid, EXECVE_EXIT, params)

    def born(self, pid: int, parent: int) -> None:
        params = list(tables()[1][CLONE3_EXIT])
        params[0] = signed(0)
        params[3:6] = [signed(pid), signed(pid), signed(parent)]
        self.event(pid, CLONE3_EXIT, params)

    def bytes(self) -> bytes:
        return tables()[0] + b"".join(self.blocks)


@dataclass
class Chance:
    """Writes what a host might do: threads that call, fault, get signals, die, begin anew."""

    capture: Capture
    dice: random.Random
    process_of: dict[int, int] = field(default_factory=dict)
    alive: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.process_of = {tid: pid for pid, tids in PROCESSES.items() for tid in tids}
        self.alive = set(self.process_of)
        self.errors = self.dice.choice([(ABSENT,), (PRESENT,), (ABSENT, PRESENT)])

    def group(self, tid: int) -> list[int]:
        return [other for other in sorted(self.alive) if self.process_of[other] == self.process_of[tid]]

    def called(self, tid: int) -> None:
        self.capture.fault(tid, self.dice.choice([*ENTRIES, PAGE + 0x400]), self.dice.choice(self.errors))

    def called_often(self, tid: int) -> None:
        for _ in range(self.dice.choice([1001, 1200])):
            self.called(tid)

    def jumped(self, tid: int) -> None:
        self.capture.fault(
            tid, PAGE + self.dice.choice([1, 0x402, 0xFFF]), self.dice.choice([ABSENT, PRESENT])
        )

    def read(self, tid: int) -> None:
        self.capture.fault(tid, PAGE + self.dice.choice([0, 0x400, 0x3C]), self.dice.choice([READ, 25, 22]))

    def faulted_elsewhere(self, tid: int) -> None:
        places = (0, 0x7F0000001000, PAGE - 0xC00, PAGE + 0x1400, PAGE >> 12)
        self.capture.fault(tid, self.dice.choice(places), self.dice.choice(ORDINARY + SUPERVISOR))

    def signalled(self, tid: int) -> None:
        if self.dice.random() < 0.5:
            self.called(tid)
        own = self.process_of[tid]
        signal = self.dice.choice([SIGSEGV, SIGSEGV, SIGSEGV, SIGBUS, SIGILL, SIGABRT, SIGKILL, SIGTERM])
        self.capture.signal(tid, signal, 0 if signal == SIGKILL else self.dice.choice([0, 0, 0, own, 137]))

    def sent(self, tid: int) -> None:
        """A signal that the sender's own call explains, whatever the delivery says of it."""
        target = self.dice.choice(sorted(self.alive))
        signal = self.dice.choice([SIGSEGV, SIGSEGV, SIGBUS, SIGABRT, SIGKILL])
        if self.dice.random() < 0.5:
            self.called(target)
        call = self.dice.choice([KILL_ENTER, TKILL_ENTER, TGKILL_ENTER])
        given = self.process_of[target] * self.dice.choice([1, -1]) if call == KILL_ENTER else target
        self.capture.kill(tid, call, given, signal, self.dice.choice([0, 0, -3, None]))
        if self.dice.random() < 0.1:
            self.capture.time_ns += 3_000_000_000
        if self.dice.random() < 0.8:
            self.capture.signal(target, signal)

    def executed(self, tid: int) -> None:
        pid = self.process_of[tid]
        if pid in self.alive:
            for other in self.group(tid):
                if other != pid:
                    self.capture.exit(other, 0)
                    self.alive.discard(other)
            self.capture.execve(pid)

    def forked(self, tid: int) -> None:
        pid = self.dice.choice([5000, 5001, 5002])
        if pid not in self.alive:
            self.capture.born(pid, tid)
            self.alive.add(pid)
            self.process_of[pid] = pid

    def ended(self, tid: int) -> None:
        status = self.dice.choice([0, 0, SIGSEGV, SIGSEGV, SIGABRT, SIGKILL, 42 << 8, -1])
        if status in (SIGSEGV, SIGABRT, -1) and self.dice.random() < 0.6:
            if self.dice.random() < 0.6:
                self.called(tid)
            signal = SIGABRT if status == SIGABRT else SIGSEGV
            self.capture.signal(tid, signal, 0 if signal == SIGSEGV else self.process_of[tid])
        group = self.group(tid) if self.dice.random() < 0.5 else [tid]
        self.dice.shuffle(group)
        for other in group:
            if other != tid and self.dice.random() < 0.7:
                self.capture.signal(other, SIGKILL)
        for other in group:
            self.capture.exit(other, status)
            self.alive.discard(other)

    def went_on(self, tid: int) -> None:
        self.capture.call(tid, exits=self.dice.random() < 0.7)

    def waited(self, _: int) -> None:
        self.capture.time_ns += 2_000_000_000


ACTS = {
    Chance.called: 28,
    Chance.jumped: 4,
    Chance.read: 4,
    Chance.faulted_elsewhere: 6,
    Chance.went_on: 13,
    Chance.signalled: 24,
    Chance.sent: 8,
    Chance.called_often: 3,
    Chance.executed: 3,
    Chance.forked: 3,
    Chance.waited: 2,
    Chance.ended: 8,
}


def by_chance(seed: int) -> bytes:
    """Write a capture of a few dozen acts; the same seed gives the same."""
    dice = random.Random(seed)  # noqa: S311 - repeatable on purpose
    capture = Capture()
    chance = Chance(capture, dice)
    crowded = dice.random() < 0.1
    if crowded:
        # More threads with an open question than the chisel asks for one by one.
        for tid in range(6000, 6000 + dice.choice([100, 150, 400])):
            chance.process_of[tid] = tid
            chance.alive.add(tid)
            chance.called(tid)
    for _ in range(dice.randrange(500, 1000) if crowded else dice.randrange(5, 60)):
        if chance.alive:
            capture.step_ns = dice.choice([100, 1000, 5000, -300, 50_000])
            (act,) = dice.choices(list(ACTS), list(ACTS.values()))
            if not (crowded and act is Chance.called_often):
                act(chance, dice.choice(sorted(chance.alive)))
    return capture.bytes()
