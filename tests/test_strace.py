"""Logs of strace are read as captures are: real ones, recorded here, and those kept with crates/stracelog."""

from __future__ import annotations

import gzip
import json
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import scapscope
from conftest import REPOSITORY
from running import scapscope as run

LOGS = REPOSITORY / "crates/stracelog/tests/logs"
# What strace and libscap call by different names.
NAMES = {"pread64": "pread", "pwrite64": "pwrite", "prlimit64": "prlimit"}
# How often these are made depends on who comes first.
UNSTEADY = {
    "futex",
    "sched_yield",
    "madvise",
    "mprotect",
    "brk",
    "mmap",
    "munmap",
    "clock_nanosleep",
    "rt_sigprocmask",
}
THREADS = """
import threading
def work():
    for number in range(20):
        try:
            open(f"/srv/missing/{number}")
        except OSError:
            pass
threads = [threading.Thread(target=work) for _ in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
"""
PYTHON = [sys.executable, "-I", "-S", "-c"]


def need(program: str) -> str:
    path = shutil.which(program)
    if path is None:
        pytest.skip(f"no {program} here to record a log with")
    return path


def record(log: Path, options: list[str], command: list[str], cwd: Path | None = None) -> None:
    """Run `command` under strace, without this machine's environment."""
    words = [need("strace"), *options, "-o", str(log), "--", *command]
    done = subprocess.run(
        words, cwd=cwd, env={"PATH": "/usr/bin:/bin"}, capture_output=True, text=True, check=False
    )
    if "Operation not permitted" in done.stderr:
        pytest.skip("strace may not trace here")


def calls(log: Path) -> Counter[str]:
    """Calls by name, as far as they came back."""
    return Counter(event.type for event in scapscope.open(log) if event.direction == "<")


def counted(table: Path) -> dict[str, int]:
    """What strace -c counted."""
    rows = [line.split() for line in table.read_text().splitlines()]
    rows = [row for row in rows if len(row) in (5, 6) and row[3].isdigit() and row[-1] != "total"]
    return {NAMES.get(row[-1], row[-1]): int(row[3]) for row in rows}


def info(log: Path) -> dict[str, Any]:
    done = run("info", log, "--json")
    assert done.returncode == 0, done.stderr
    told: dict[str, Any] = json.loads(done.stdout)
    return told


@pytest.mark.parametrize("options", [["-tt", "-T"], ["-ttt", "-T"], ["-r"], ["-t", "-i", "-n"]], ids=" ".join)
def test_a_log_has_the_calls_that_strace_counts(tmp_path: Path, options: list[str]) -> None:
    command = [need("ls"), "/"]
    record(tmp_path / "log", ["-f", *options], command)
    record(tmp_path / "table", ["-f", "-c"], command)
    assert calls(tmp_path / "log") == counted(tmp_path / "table")
    log = info(tmp_path / "log")["capture"]["strace"]
    assert (log["damaged_lines"], log["dated"]) == (0, "-ttt" in options)


def test_a_log_of_threads_has_the_calls_of_all_of_them(tmp_path: Path) -> None:
    record(tmp_path / "log", ["-f", "-tt", "-T"], [*PYTHON, THREADS])
    record(tmp_path / "table", ["-f", "-c"], [*PYTHON, THREADS])
    told, table = calls(tmp_path / "log"), counted(tmp_path / "table")
    steady = {name: number for name, number in table.items() if name not in UNSTEADY}
    assert {name: told[name] for name in steady} == steady
    assert table.keys() - told.keys() <= UNSTEADY
    about = info(tmp_path / "log")
    assert (about["threads_seen"], about["capture"]["strace"]["damaged_lines"]) == (5, 0)
    failed = [
        event
        for event in scapscope.open(tmp_path / "log")
        if event.type == "openat" and event.direction == "<" and "/srv/missing/" in event.args
    ]
    assert len(failed) == 80
    assert all("ENOENT" in event.args or "fd=-2" in event.args for event in failed)
    assert {event.comm for event in failed} == {Path(sys.executable).name[:15]}


def test_the_logs_of_single_threads_are_read_too(tmp_path: Path) -> None:
    record(tmp_path / "log", ["-ff", "-tt", "-T"], [*PYTHON, THREADS])
    logs = sorted(tmp_path.glob("log.*"))
    assert len(logs) == 5
    opened = 0
    for log in logs:
        events = [event for event in scapscope.open(log) if "/srv/missing/" in event.args]
        assert len({event.tid for event in events}) <= 1
        opened += sum(event.direction == "<" for event in events)
    assert opened == 80


@pytest.mark.parametrize(
    ("program", "finding", "address"),
    [
        ("import ctypes; ctypes.string_at(0x10)", "crash-null-deref", "0x0000000000000010"),
        ("import ctypes; ctypes.CFUNCTYPE(None)(0x123456789000)()", "crash-bad-access", "0x0000123456789000"),
        ("import os; os.abort()", "crash-signal", None),
    ],
)
def test_a_crash_is_explained_by_the_address_of_its_signal(
    tmp_path: Path, program: str, finding: str, address: str | None
) -> None:
    log = tmp_path / "log"
    record(log, ["-f", "-tt", "-T"], [*PYTHON, program])
    told = scapscope.explain(log)
    death = told.findings[0]
    assert (death.id, death.facts.get("fault_address")) == (finding, address)
    assert death.process is not None
    assert death.process.comm == Path(sys.executable).name[:15]
    assert "fault_access" not in death.facts, "strace does not show it"
    text = run("explain", log).stdout
    assert "sysdig -r" not in text
    assert "1970" not in text


def test_an_entry_point_of_the_vsyscall_page_is_a_likely_call(tmp_path: Path) -> None:
    log = tmp_path / "log"
    lines = (LOGS / "crash.log").read_text()
    log.write_text(lines.replace("si_addr=0x18", "si_addr=0xffffffffff600400"))
    death = scapscope.explain(log).findings[0]
    assert (death.id, death.confidence, death.facts["call"]) == ("vsyscall-none-crash", "likely", "time")
    # Off the entry points, or where something is mapped, nothing says that it was one.
    for other in ("si_addr=0xffffffffff600404", "si_code=SEGV_ACCERR, si_addr=0xffffffffff600400"):
        code = "si_code=SEGV_MAPERR, " if other.startswith("si_code") else ""
        log.write_text(lines.replace(f"{code}si_addr=0x18", other))
        assert scapscope.explain(log).findings[0].id == "crash-bad-access", other
    # The address of a general protection fault is none.
    log.write_text(lines.replace("si_code=SEGV_MAPERR, si_addr=0x18", "si_code=SI_KERNEL, si_addr=NULL"))
    assert scapscope.explain(log).findings[0].id == "crash-signal"


def test_a_java_start_up_shows_its_failed_lookups(tmp_path: Path) -> None:
    java = need("java")
    record(tmp_path / "log", ["-f", "-tt", "-T"], [java, "-cp", ":a.jar", "Missing"], cwd=tmp_path)
    about = info(tmp_path / "log")
    assert about["capture"]["strace"]["damaged_lines"] == 0
    looked_up = [
        event
        for event in scapscope.open(tmp_path / "log")
        if event.direction == "<"
        and event.type in ("stat", "newfstatat", "lstat")
        and "Missing.class" in event.args
    ]
    # An empty entry of the class path is the working directory.
    assert any(
        "ENOENT" in event.args and str(tmp_path / "Missing.class") in event.args for event in looked_up
    )
    assert about["threads_seen"] > 10


def test_damaged_lines_are_counted_shown_and_not_fatal(tmp_path: Path) -> None:
    lines = (LOGS / "threads.log").read_text().splitlines()
    lines[9] = "Picked up JAVA_TOOL_OPTIONS"
    lines[20] = lines[20][:30]
    log = tmp_path / "log"
    log.write_text("\n".join(lines))
    told = info(log)["capture"]["strace"]
    assert (told["lines"], told["damaged_lines"], told["first_damaged"]) == (119, 2, [10, 21])
    shown = "119 lines of strace, 2 of them left out as damaged or foreign (line 10, 21)"
    for command in ("info", "explain"):
        done = run(command, log)
        assert shown in " ".join(done.stdout.split()), done.stdout
    assert scapscope.explain(log).to_dict()["capture"]["strace"] == {**told, "first_damaged": (10, 21)}


def test_a_log_comes_through_a_pipe_as_well() -> None:
    log = (LOGS / "threads.log").read_bytes()
    piped, read = run("events", "-", stdin=log), run("events", LOGS / "threads.log")
    assert piped.stdout == read.stdout
    # A call in one line is two events, everything else one.
    whole = [
        line
        for line in log.decode().splitlines()
        if line.endswith(">") and "unfinished" not in line and "resumed" not in line
    ]
    assert len(read.stdout.splitlines()) == len(log.splitlines()) + len(whole)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            'execve("/bin/ls", ["ls"], 0x7f /* 9 vars */) = 0\nbrk(NULL) = 0x55\n',
            "a log of strace without times",
        ),
        ((LOGS / "table.txt").read_text(), "the table of strace -c"),
        ("16:30:05 INFO started (pid 7) = 3\n" * 9, "not a capture but a text file"),
    ],
)
def test_what_cannot_be_read_is_named(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "text"
    path.write_text(text)
    done = run("explain", path)
    assert done.returncode != 0
    assert words in " ".join(done.stderr.split())
    assert "A log of `strace -f -tt -T -o FILE` is read as one." in done.stderr


def costs(log: Path, *words: str) -> dict[str, dict[str, int]]:
    done = run("syscalls", log, "--json", *words)
    assert (done.returncode, done.stderr) == (0, "")
    return {
        line["syscall"]: line for group in json.loads(done.stdout)["groups"] for line in group["syscalls"]
    }


def test_costs_and_errors_are_those_of_the_log(tmp_path: Path) -> None:
    command = [need("ls"), "/"]
    record(tmp_path / "log", ["-f", "-ttt", "-T"], command)
    record(tmp_path / "table", ["-f", "-c"], command)
    ours, theirs = costs(tmp_path / "log"), costs(tmp_path / "table")
    theirs = {NAMES.get(name, name): line for name, line in theirs.items()}
    counted = {name: (line["calls"], line["errors"]) for name, line in ours.items()}
    assert counted == {name: (line["calls"], line["errors"]) for name, line in theirs.items()}
    assert sum(line["errors"] for line in ours.values()) > 3
    # Every line has its duration, and their sum is the time.
    lines = (tmp_path / "log").read_text().splitlines()
    seconds = [line.rsplit("<", 1)[1].rstrip(">") for line in lines if line.endswith(">")]
    assert sum(line["time_ns"] for line in ours.values()) == sum(
        round(float(value) * 10**9) for value in seconds
    )
    assert all(line["timed"] == line["calls"] for line in ours.values())


def test_without_durations_none_are_made_up() -> None:
    assert all(line["timed"] == 0 for line in costs(LOGS / "gaps.log").values())
    assert "Times are unknown" in run("syscalls", LOGS / "gaps.log").stdout


def test_a_table_of_strace_is_shown_with_its_own_numbers() -> None:
    told = costs(LOGS / "table.txt")
    assert told["futex"] == {
        "syscall": "futex",
        "calls": 16,
        "with_result": 16,
        "errors": 0,
        "timed": 16,
        "time_ns": 745_000,
    }
    assert sum(line["calls"] for line in told.values()) == 89
    assert list(costs(LOGS / "table.txt", "--sort", "errors"))[:2] == ["access", "newfstatat"]
    assert list(costs(LOGS / "table.txt", "--call", "futex")) == ["futex"]
    shown = run("syscalls", "-", stdin=(LOGS / "table.txt").read_bytes()).stdout
    assert "Counted by strace -c" in shown
    assert "0.001089" in shown, "the sum is strace's"
    for words in (["--by", "process"], ["--pid", "7"], ["--since", "1s"]):
        done = run("syscalls", LOGS / "table.txt", *words)
        assert done.returncode == 2
        assert "a table of strace -c has no processes" in " ".join(done.stderr.split())
    done = run("rates", LOGS / "table.txt")
    assert done.returncode == 3
    assert "has sums and no events" in " ".join(done.stderr.split())


@pytest.mark.parametrize("command", ["true", "ls"])
def test_the_table_behind_a_log_is_passed_over(tmp_path: Path, command: str) -> None:
    record(tmp_path / "log", ["-C", "-f", "-tt", "-T"], [need(command)])
    assert calls(tmp_path / "log") == counted(tmp_path / "log")
    assert info(tmp_path / "log")["capture"]["strace"]["damaged_lines"] == 0
    assert all(line["timed"] for line in costs(tmp_path / "log").values())


def test_times_from_line_to_line_are_no_times_of_day() -> None:
    assert info(LOGS / "gaps.log")["capture"]["strace"]["relative"]
    for command, words in (
        ("info", "Recorded: a time that the log does not tell, for "),
        ("explain", "from a time that the log does not tell"),
        ("rates", "(counted from the first line of the log)"),
    ):
        shown = " ".join(run(command, LOGS / "gaps.log").stdout.split())
        assert words in shown
        assert "00:00:00 by the log" not in shown


def test_rates_and_stacks_are_made_of_a_log_too() -> None:
    rates = run("rates", LOGS / "threads.log", "--every", "5ms")
    assert "by the log" in rates.stdout
    assert "1970" not in rates.stdout
    stacks = run("flame", LOGS / "threads.log", "--format", "folded")
    assert "clock_nanosleep" in stacks.stdout


@pytest.mark.parametrize(
    ("clock", "hot"),
    [("CLOCK_MONOTONIC", True), ("CLOCK_PROCESS_CPUTIME_ID", False), ("CLOCK_THREAD_CPUTIME_ID", False)],
)
def test_only_clocks_that_programs_can_read_themselves_are_hot(tmp_path: Path, clock: str, hot: bool) -> None:
    log = tmp_path / "log"
    log.write_text(
        "".join(
            f"7 16:30:05.{number * 100:06} clock_gettime({clock}, {{tv_sec=1, tv_nsec=2}}) = 0 <0.000030>\n"
            for number in range(5000)
        )
    )
    told = scapscope.explain(log)
    assert ("time-syscalls-hot" in {finding.id for finding in told.findings}) == hot
    assert costs(log)["clock_gettime"]["calls"] == 5000
    shown = run("explain", log).stdout
    assert ("none of the causes of slowness" in shown) != hot


def test_captures_are_read_as_before(redis_capture: Path) -> None:
    plain = gzip.decompress(redis_capture.read_bytes())
    assert run("info", "-", "--json", stdin=plain).returncode == 0
    assert scapscope.explain(redis_capture).capture.strace is None
