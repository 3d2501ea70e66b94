"""time_calls and syscall_summary in a real sysdig: their counts are those of the events themselves."""

from __future__ import annotations

import gzip
import re
from collections import Counter, defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import scapscope
from conftest import Trace
from sysdig_runs import chisel, json_lines, needs_sysdig, sysdig

pytestmark = needs_sysdig

TIME_CALLS = {"time", "gettimeofday", "clock_gettime", "getcpu"}
CLONES = {"clone", "clone3", "fork", "vfork"}
CALLS = "syscall.type exists and not evt.type in (signaldeliver, procexit, container)"
FIELDS = "*%evt.dir %thread.tid %proc.pid %evt.rawtime %evt.rawres %evt.type"


@dataclass(frozen=True)
class Call:
    """A system call, from sysdig's own list of events; `took`: nanoseconds, None without an enter event."""

    name: str
    pid: int
    result: str
    took: int | None


def calls_of(trace: Path) -> list[Call]:
    entered: dict[str, tuple[str, int]] = {}
    calls = []
    for line in sysdig("-r", trace, "-p", FIELDS, CALLS).stdout.splitlines():
        direction, tid, pid, time, result, name = line.split(" ", 5)
        if direction == ">":
            entered[tid] = (name, int(time))
        elif name not in CLONES or result != "0":
            entry = entered.pop(tid, None)
            took = int(time) - entry[1] if entry and entry[0] == name else None
            calls.append(Call(name, int(pid), result, took))
    return calls


def failed(call: Call) -> bool:
    return call.result.startswith("-")


def test_the_summary_counts_what_sysdig_lists(trace: Trace) -> None:
    calls = calls_of(trace.path)
    summary = [
        row for row in json_lines(chisel(trace.path, "syscall_summary", flags=("-j",))) if "syscall" in row
    ]
    counted = {row["syscall"]: row for row in summary if "failed_path" not in row}
    count = Counter(call.name for call in calls)
    errors = Counter(call.name for call in calls if failed(call))
    time_ns = Counter[str]()
    for call in calls:
        time_ns[call.name] += call.took or 0
    assert {name: row["calls"] for name, row in counted.items()} == dict(count)
    assert {name: row["errors"] for name, row in counted.items() if row["errors"]} == dict(errors)
    assert {name: row.get("time_ns", 0) for name, row in counted.items()} == dict(time_ns)


def test_the_summary_counts_what_the_analyzer_reads(redis_capture: Path) -> None:
    exits = Counter(event.type for event in scapscope.open(redis_capture) if event.direction == "<")
    summary = {
        row["syscall"]: row["calls"]
        for row in json_lines(chisel(redis_capture, "syscall_summary", flags=("-j",)))
        if "failed_path" not in row
    }
    for name in ("openat", "read", "futex", "nanosleep", "mmap"):
        assert summary[name] == exits[name] > 0


def test_the_table_reads_like_strace(redis_capture: Path) -> None:
    lines = chisel(redis_capture, "syscall_summary").splitlines()
    assert lines[0] == "% time     seconds  usecs/call     calls    errors syscall"
    assert lines[1] == "------ ----------- ----------- --------- --------- ----------------"
    end = lines.index(lines[1], 2)
    rows = [line.split() for line in lines[2:end]]
    total = lines[end + 1].split()
    assert total[0] == "100.00"
    assert total[-1] == "total"
    assert int(total[2]) == sum(int(row[-2 if len(row) == 5 else -3]) for row in rows)
    assert rows == sorted(rows, key=lambda row: -float(row[1] if row[1] != "-" else 0))


def test_without_enter_events_no_time_is_made_up(traces: Path) -> None:
    lines = chisel(traces / "current-format/none-docker-redis-modern.scap", "syscall_summary").splitlines()
    assert {tuple(line.split()[:3]) for line in lines[2:40]} == {("-", "-", "-")}


def test_failing_paths_are_named(redis_capture: Path) -> None:
    text = chisel(redis_capture, "syscall_summary")
    assert re.search(r"^ +\d+ +ENOENT +access +/etc/ld\.so\.preload$", text, re.MULTILINE)
    in_json = [
        row
        for row in json_lines(chisel(redis_capture, "syscall_summary", flags=("-j",)))
        if "failed_path" in row
    ]
    listed = sysdig(
        "-r", redis_capture, "-p", "%evt.arg.name", "evt.type = access and evt.res = ENOENT and evt.dir = <"
    ).stdout.splitlines()
    assert {row["failed_path"]: row["count"] for row in in_json if row["syscall"] == "access"} == Counter(
        listed
    )


def test_each_process_gets_its_own_table(redis_capture: Path) -> None:
    rows = [
        row
        for row in json_lines(chisel(redis_capture, "syscall_summary", "process", flags=("-j",)))
        if "failed_path" not in row
    ]
    counted = Counter[int]()
    for row in rows:
        counted[row["process"]["pid"]] += row["calls"]
    assert counted == Counter(call.pid for call in calls_of(redis_capture))
    of_the_crash = [row for row in rows if row["process"] == {"comm": "entrypoint.sh", "pid": 308}]
    assert of_the_crash[0]["container"] == {
        "id": "7272f37ebc5c",
        "name": "redis1",
        "image": "redis:2.8.22",
        "runtime": "docker",
    }
    text = chisel(redis_capture, "syscall_summary", "process")
    assert text.count("% time     seconds") == 10
    assert re.search(r"^\.\.\. and \d+ more processes", text, re.MULTILINE)


def test_time_calls_are_those_sysdig_lists(trace: Trace) -> None:
    calls = calls_of(trace.path)
    per_process = Counter(call.pid for call in calls)
    asked: defaultdict[tuple[int, str], list[Call]] = defaultdict(list)
    for call in calls:
        if call.name in TIME_CALLS:
            asked[call.pid, call.name].append(call)
    rows = json_lines(chisel(trace.path, "time_calls", flags=("-j",)))
    counted: Counter[tuple[int, str]] = Counter()
    for row in rows:
        counted[row["process"]["pid"], row["call"]] += row["calls"]
        assert row["all_syscalls"] == len(calls)
        assert row["process_syscalls"] <= per_process[row["process"]["pid"]]
    assert counted == {key: len(made) for key, made in asked.items()}
    for (pid, name), made in asked.items():
        took = [call.took for call in made if call.took is not None]
        worst = [row.get("worst_ns") for row in rows if (row["process"]["pid"], row["call"]) == (pid, name)]
        assert max((ns for ns in worst if ns is not None), default=None) == max(took, default=None)


def the_stress(trace: Path) -> dict[str, Any]:
    (row,) = [
        row
        for row in json_lines(chisel(trace, "time_calls", flags=("-j",)))
        if row["process"]["comm"] == "vsstress"
    ]
    return row


def test_calls_that_enter_the_kernel_show_and_the_vdso_does_not(traces: Path) -> None:
    hpet = the_stress(traces / "clk-hpet-vdso-cgt-n3000.scap")
    assert hpet["call"] == "clock_gettime"
    assert 3000 <= hpet["calls"] < 3010
    assert hpet["peak_per_second"] == hpet["calls"]
    assert 0 < hpet["mean_ns"] <= hpet["worst_ns"]
    assert chisel(traces / "clk-tsc-vdso-cgt-n3000.scap", "time_calls", flags=("-j",)) == ""


def test_the_container_of_the_calls_is_named(traces: Path) -> None:
    contained = the_stress(traces / "docker-hpet-vdso-cgt-n3000.scap")["container"]
    assert contained["image"] == "redis:2.8.22"
    text = chisel(traces / "docker-hpet-vdso-cgt-n3000.scap", "time_calls", flags=("-pc",))
    assert text.splitlines()[0].split()[-3:] == ["CONTAINER", "NAME", "IMAGE"]
    assert re.search(
        rf"^vsstress .* {contained['id']} +{contained['name']} +redis:2\.8\.22$", text, re.MULTILINE
    )


def test_ticks_add_up_to_the_totals(traces: Path) -> None:
    rows = json_lines(chisel(traces / "docker-hpet-vdso-cgt-n3000.scap", "time_calls", "1", flags=("-j",)))
    ticks, totals = Counter[tuple[int, str]](), Counter[tuple[int, str]]()
    for row in rows:
        (ticks if "timestamp" in row else totals)[row["process"]["pid"], row["call"]] += row["calls"]
    assert ticks == totals
    assert len({row["timestamp"] for row in rows if "timestamp" in row}) > 3


def test_each_tick_is_a_table(traces: Path) -> None:
    text = chisel(traces / "docker-hpet-vdso-cgt-n3000.scap", "time_calls", "2")
    # Events of different CPUs are slightly out of order, so sysdig ends these intervals ten times.
    assert re.findall(r"^2026-11-20 (\S+) UTC(.*)$", text, re.MULTILINE) == [
        ("12:19:56", ""),
        ("12:19:58", ""),
        ("12:20:00", ""),
        ("12:20:00", ", end of the capture"),
    ]
    assert len(re.findall(r"^PROCESS ", text, re.MULTILINE)) == 5
    assert "\nTotals\n" in text


def test_processes_of_another_capture_in_the_file_are_others(traces: Path, tmp_path: Path) -> None:
    one = gzip.decompress((traces / "clk-hpet-vdso-cgt-n3000.scap").read_bytes())
    other = gzip.decompress((traces / "none-native-time-n3000.scap").read_bytes())
    glued = tmp_path / "glued.scap"
    glued.write_bytes(one + other)
    for words, flags in (
        (("time_calls",), ("-j",)),
        (("syscall_summary", "process"), ("-j",)),
    ):
        rows = [
            json_lines(chisel(path, *words, flags=flags))
            for path in (
                glued,
                traces / "clk-hpet-vdso-cgt-n3000.scap",
                traces / "none-native-time-n3000.scap",
            )
        ]
        whole, *parts = [
            sorted(
                (str(row["process"]), row.get("call") or row["syscall"], row["calls"])
                for row in some
                if "failed_path" not in row
            )
            for some in rows
        ]
        assert whole == sorted(parts[0] + parts[1])


def test_intervals_begin_anew_with_another_capture_in_the_file(traces: Path, tmp_path: Path) -> None:
    later = gzip.decompress((traces / "none-native-time-n3000.scap").read_bytes())
    earlier = gzip.decompress((traces / "none-gtod.scap").read_bytes())
    glued = tmp_path / "glued.scap"
    glued.write_bytes(later + earlier)
    text = chisel(glued, "time_calls", "1")
    clocks = re.findall(r"^(\S+ \S+) UTC(.*)$", text, re.MULTILINE)
    (cut,) = [
        index for index, (_, remark) in enumerate(clocks) if remark == ", end of a capture in this file"
    ]
    alone = [
        re.findall(r"^(\S+ \S+) UTC(.*)$", chisel(traces / f"{name}.scap", "time_calls", "1"), re.MULTILINE)
        for name in ("none-native-time-n3000", "none-gtod")
    ]
    assert clocks[:cut] == alone[0][:-1]
    assert clocks[cut + 1 :] == alone[1]


@pytest.mark.parametrize(("name", "argument"), [("time_calls", "0"), ("syscall_summary", "thread")])
def test_a_wrong_argument_is_named(name: str, argument: str, redis_capture: Path) -> None:
    done = sysdig("-r", redis_capture, "-c", name, f"'{argument}'")
    assert done.returncode != 0
    assert f"{name}: argument '{argument}' is unknown" in done.stderr
