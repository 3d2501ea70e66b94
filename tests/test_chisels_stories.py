"""vsyscall_diag on written sequences of events: each rule by itself, then whatever chance comes up with."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

import scapscope
from sysdig_runs import COVERED, chisel, json_lines, needs_sysdig, told
from written_captures import (
    ABSENT,
    KILL_ENTER,
    PAGE,
    PRESENT,
    READ,
    SIGABRT,
    SIGKILL,
    SIGSEGV,
    SIGTERM,
    Capture,
    by_chance,
)

pytestmark = needs_sysdig

TIME = PAGE + 0x400
ELSEWHERE = 0x7F0000001000
# A thread of the process 173, and its first thread.
WORKER, LEADER = 180, 173
SEEDS = range(100)


def analyzers(path: Path) -> list[dict[str, Any]]:
    return [asdict(finding) for finding in scapscope.explain(path).findings if finding.id in COVERED]


def shape(finding: dict[str, Any], facts: dict[str, Any]) -> dict[str, Any]:
    process = finding["process"]
    # A program that lived is shown by any of its threads that are left; its events say which did it.
    lived = finding["severity"] == "warning"
    return {
        "id": finding["id"],
        "severity": finding["severity"],
        "confidence": finding["confidence"],
        "process": process and {name: process[name] for name in ("comm", "exe", "pid")},
        "thread": None if lived or not process else process["tid"],
        "facts": {name: finding["facts"].get(name) for name in facts},
        "evidence": [
            tuple(event[key] for key in ("event", "timestamp_ns", "tid", "type"))
            for event in finding["evidence"]
        ],
    }


def place(finding: dict[str, Any]) -> tuple[str, int]:
    return finding["id"], finding["evidence"][0]["event"] if finding["evidence"] else 0


def verdicts(capture: Capture | bytes, folder: Path) -> list[dict[str, Any]]:
    """Give the chisel's findings, having held them against the analyzer's."""
    path = folder / "written.scap"
    path.write_bytes(capture if isinstance(capture, bytes) else capture.bytes())
    theirs = sorted(json_lines(chisel(path, "vsyscall_diag", flags=("-j",))), key=place)
    ours = sorted(analyzers(path), key=place)
    assert [shape(their, their["facts"]) for their in theirs] == [
        shape(our, their["facts"]) for our, their in zip(ours, theirs, strict=True)
    ]
    return theirs


def one(capture: Capture, folder: Path) -> dict[str, Any]:
    (found,) = verdicts(capture, folder)
    return found


def killed(capture: Capture, tid: int = WORKER, signal: int = SIGSEGV) -> None:
    """The kernel ends the whole process of 173 for a signal to one of its threads."""
    for other in (204, 202, LEADER, WORKER):
        if other != tid:
            capture.signal(other, SIGKILL)
    for other in (204, LEADER, 202, WORKER):
        capture.exit(other, signal)


def test_a_worker_thread_kills_its_process(tmp_path: Path) -> None:
    capture = Capture()
    capture.fault(WORKER, TIME, ABSENT)
    capture.call(LEADER)
    capture.signal(WORKER, SIGSEGV)
    killed(capture)
    found = one(capture, tmp_path)
    assert (found["id"], found["confidence"]) == ("vsyscall-none-crash", "certain")
    assert found["process"] == {"comm": "dockerd", "exe": "dockerd", "pid": LEADER, "tid": WORKER}
    assert found["facts"]["count"] == 1


def test_a_call_between_fault_and_signal_parts_them(tmp_path: Path) -> None:
    capture = Capture()
    capture.fault(WORKER, TIME, ABSENT)
    capture.call(WORKER)
    capture.signal(WORKER, SIGSEGV)
    killed(capture)
    assert verdicts(capture, tmp_path) == []


def test_a_fault_elsewhere_between_fault_and_signal_parts_them(tmp_path: Path) -> None:
    capture = Capture()
    capture.fault(WORKER, TIME, ABSENT)
    capture.fault(WORKER, ELSEWHERE, READ)
    capture.signal(WORKER, SIGSEGV)
    killed(capture)
    assert verdicts(capture, tmp_path) == []


def test_a_fault_of_the_kernel_does_not_part_them(tmp_path: Path) -> None:
    capture = Capture()
    capture.fault(WORKER, TIME, ABSENT)
    capture.fault(WORKER, TIME - 0x2A, 42)
    capture.signal(WORKER, SIGSEGV)
    killed(capture)
    assert one(capture, tmp_path)["id"] == "vsyscall-none-crash"


def test_a_signal_of_another_thread_is_not_for_the_fault(tmp_path: Path) -> None:
    capture = Capture()
    capture.fault(WORKER, TIME, ABSENT)
    capture.signal(204, SIGSEGV)
    killed(capture, tid=204)
    assert verdicts(capture, tmp_path) == []


def test_a_signal_sent_by_a_process_is_not_for_the_fault(tmp_path: Path) -> None:
    capture = Capture()
    capture.fault(WORKER, TIME, ABSENT)
    capture.signal(WORKER, SIGSEGV, sender=137)
    killed(capture)
    assert verdicts(capture, tmp_path) == []


def test_a_harmless_signal_between_does_not_part_them(tmp_path: Path) -> None:
    capture = Capture()
    capture.fault(WORKER, TIME, ABSENT)
    capture.signal(WORKER, SIGTERM)
    capture.signal(WORKER, SIGSEGV)
    killed(capture)
    assert one(capture, tmp_path)["id"] == "vsyscall-none-crash"


@pytest.mark.parametrize(("result", "explained"), [(0, False), (-3, True)])
def test_a_sender_that_shows_as_none_is_known_by_its_call(
    result: int, explained: bool, tmp_path: Path
) -> None:
    capture = Capture()
    capture.fault(WORKER, TIME, ABSENT)
    capture.kill(137, KILL_ENTER, LEADER, SIGSEGV, result)
    capture.signal(WORKER, SIGSEGV)
    killed(capture)
    assert [finding["id"] for finding in verdicts(capture, tmp_path)] == ["vsyscall-none-crash"] * explained


@pytest.mark.parametrize(("signal", "confidence"), [(SIGSEGV, "likely"), (SIGABRT, "possible")])
def test_a_handler_that_ends_the_program_ends_it_for_the_call(
    signal: int, confidence: str, tmp_path: Path
) -> None:
    capture = Capture()
    capture.fault(LEADER, TIME, ABSENT)
    capture.signal(LEADER, SIGSEGV)
    capture.call(LEADER)
    capture.signal(LEADER, signal, sender=LEADER)
    killed(capture, tid=LEADER, signal=signal)
    found = one(capture, tmp_path)
    assert (found["id"], found["confidence"]) == ("vsyscall-none-crash", confidence)
    assert found["facts"]["handler_ran"]


def test_a_death_long_after_a_caught_signal_is_another_story(tmp_path: Path) -> None:
    capture = Capture()
    capture.fault(LEADER, TIME, ABSENT)
    capture.signal(LEADER, SIGSEGV)
    capture.call(LEADER)
    capture.time_ns += 1_500_000_000
    capture.signal(LEADER, SIGABRT, sender=LEADER)
    killed(capture, tid=LEADER, signal=SIGABRT)
    assert one(capture, tmp_path)["id"] == "vsyscall-sigsegv-handled"


def test_another_fault_after_a_caught_one_is_what_kills(tmp_path: Path) -> None:
    capture = Capture()
    capture.fault(WORKER, TIME, ABSENT)
    capture.signal(WORKER, SIGSEGV)
    capture.call(WORKER)
    capture.fault(204, 0, READ)
    capture.signal(204, SIGSEGV)
    capture.call(204)
    capture.signal(204, SIGSEGV, sender=LEADER)
    killed(capture, tid=204)
    assert one(capture, tmp_path)["id"] == "vsyscall-sigsegv-handled"
    assert "vsyscall page does not explain: 1." in chisel(tmp_path / "written.scap", "vsyscall_diag")


@pytest.mark.parametrize(("lived", "expected"), [(False, "none-crash"), (True, "sigsegv-handled")])
def test_an_end_without_a_status_right_after_a_signal_is_a_likely_death(
    lived: bool, expected: str, tmp_path: Path
) -> None:
    capture = Capture()
    capture.fault(137, TIME, ABSENT)
    capture.signal(137, SIGSEGV)
    if lived:
        capture.call(137)
    capture.exit(137, -1)
    found = one(capture, tmp_path)
    assert (found["id"], found["confidence"]) == (f"vsyscall-{expected}", "certain" if lived else "likely")


def test_a_call_that_an_emulating_kernel_refuses_is_no_none_crash(tmp_path: Path) -> None:
    capture = Capture()
    capture.fault(137, TIME, PRESENT)
    capture.call(137)
    capture.fault(WORKER, TIME, PRESENT)
    capture.signal(WORKER, SIGSEGV)
    killed(capture)
    assert verdicts(capture, tmp_path) == []


@pytest.mark.parametrize(
    ("address", "error", "expected"),
    [
        (PAGE + 0x402, ABSENT, "vsyscall-misaligned-jump"),
        (PAGE + 0x402, PRESENT, "vsyscall-misaligned-jump"),
        (PAGE + 0x3C, READ, "vsyscall-read"),
        (TIME, READ, "vsyscall-read"),
    ],
)
@pytest.mark.parametrize("dies", [True, False])
def test_jumps_off_the_entry_points_and_reads_are_told(
    address: int, error: int, expected: str, dies: bool, tmp_path: Path
) -> None:
    capture = Capture()
    capture.fault(WORKER, address, error)
    capture.signal(WORKER, SIGSEGV)
    if dies:
        killed(capture)
    else:
        capture.call(WORKER)
    found = one(capture, tmp_path)
    assert (found["id"], found["severity"] == "warning") == (expected, not dies)


@pytest.mark.parametrize("address", [PAGE - 1, PAGE + 0x1000, PAGE >> 12, PAGE & 0xFFFFFFFF])
def test_addresses_that_only_look_like_the_page_are_not_it(address: int, tmp_path: Path) -> None:
    capture = Capture()
    capture.fault(WORKER, address, ABSENT)
    capture.signal(WORKER, SIGSEGV)
    killed(capture)
    assert verdicts(capture, tmp_path) == []


def test_a_new_program_does_not_answer_for_the_old_one(tmp_path: Path) -> None:
    capture = Capture()
    for _ in range(1000):
        capture.fault(137, TIME, PRESENT)
    capture.execve(137)
    capture.fault(137, TIME, PRESENT)
    capture.call(137)
    found = one(capture, tmp_path)
    assert (found["process"]["comm"], found["facts"]["count"]) == ("dockermore.sh", 1000)


def test_a_process_id_that_comes_again_is_another_process(tmp_path: Path) -> None:
    capture = Capture()
    for _ in range(2):
        capture.born(5000, 137)
        capture.fault(5000, TIME, ABSENT)
        capture.signal(5000, SIGSEGV)
        capture.exit(5000, SIGSEGV)
    assert one(capture, tmp_path)["facts"]["pids"] == [5000, 5000]


def test_what_a_hundred_thousand_calls_have_shown_is_not_counted_on(tmp_path: Path) -> None:
    """The one place where the chisel says less than the analyzer: it stops counting, and says so."""
    capture = Capture()
    for _ in range(100_500):
        capture.fault(LEADER, TIME, PRESENT)
    for _ in range(1500):
        capture.fault(193, TIME, PRESENT)
    capture.fault(LEADER, PAGE + 0x402, PRESENT)
    capture.call(LEADER)
    path = tmp_path / "storm.scap"
    path.write_bytes(capture.bytes())
    found = {
        (finding["id"], finding["process"]["comm"]): finding["facts"]
        for finding in json_lines(chisel(path, "vsyscall_diag", flags=("-j",)))
    }
    assert set(found) == {(finding["id"], finding["process"]["comm"]) for finding in analyzers(path)}
    stopped, counted = found["vsyscall-emulated-hot", "dockerd"], found["vsyscall-emulated-hot", "containerd"]
    assert (stopped["count"], stopped["count_is_minimum"]) == (100_000, True)
    assert counted["count"] == 1499  # whether the last one was emulated, nothing shows
    assert "count_is_minimum" not in counted
    assert "called the vsyscall page more than 100,000 times" in told(path, "vsyscall_diag")


def test_a_crowd_that_catches_the_signal_is_followed(tmp_path: Path) -> None:
    """More processes than are asked for one by one, each of which lives on."""
    capture = Capture()
    for tid in range(6000, 6400):
        capture.born(tid, 137)
        capture.fault(tid, TIME, ABSENT)
        capture.signal(tid, SIGSEGV)
        capture.call(tid)
    for tid in range(6000, 6400):
        capture.exit(tid, 42 << 8)
    found = one(capture, tmp_path)
    assert (found["id"], found["facts"]["count"]) == ("vsyscall-sigsegv-handled", 400)


@pytest.mark.parametrize("seed", SEEDS)
def test_whatever_happens_the_two_agree(seed: int, tmp_path: Path) -> None:
    verdicts(by_chance(seed), tmp_path)
