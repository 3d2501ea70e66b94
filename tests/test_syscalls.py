"""scapscope syscalls: its numbers are sysdig's, and what cannot be told is not."""

from __future__ import annotations

import csv
import io
import json
import os
import re
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

import scapscope
from altered_captures import cut_off, from_the_middle, with_hostile_names, without_events
from conftest import MANIFEST, Trace
from running import scapscope as run
from scapscope.reports.costs import render, render_csv
from sysdig_runs import chisel, json_lines, needs_sysdig

MODERN = "current-format/none-docker-redis-modern.scap"
CLONES = {"clone", "clone3", "fork", "vfork"}


def told(trace: Path, *words: str) -> dict[str, Any]:
    done = run("syscalls", trace, "--json", *words)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return dict(json.loads(done.stdout))


def only_group(trace: Path, *words: str) -> dict[str, dict[str, int]]:
    groups = told(trace, *words)["groups"]
    return {line["syscall"]: line for group in groups for line in group["syscalls"]}


# sysdig skips event types younger than itself, so only captures of its own age have the same numbers.
SAME_AGE = [trace for trace in MANIFEST if not trace.name.startswith("current-format/")]
each_of_sysdigs_age = pytest.mark.parametrize("capture", SAME_AGE, ids=[trace.name for trace in SAME_AGE])


def summarised(capture: Trace, *words: str) -> list[dict[str, Any]]:
    """What sysdig sums up, with the help of a chisel; it calls `<unknown>` what it knows no name of."""
    rows = json_lines(chisel(capture.path, "syscall_summary", *words, flags=("-j",)))
    return [
        row | {"syscall": row["syscall"].replace("<unknown>", "syscall")}
        for row in rows
        if "failed_path" not in row
    ]


@needs_sysdig
@each_of_sysdigs_age
def test_every_number_is_the_one_that_sysdig_arrives_at(capture: Trace) -> None:
    ours = {
        name: (line["calls"], line["errors"], line["timed"], line["time_ns"])
        for name, line in only_group(capture.path).items()
    }
    theirs = {
        row["syscall"]: (row["calls"], row["errors"], row["timed_calls"], row.get("time_ns", 0))
        for row in summarised(capture)
    }
    assert ours == theirs


@needs_sysdig
@each_of_sysdigs_age
def test_and_so_for_every_process(capture: Trace) -> None:
    ours: dict[int, Counter[str]] = defaultdict(Counter)
    process_of: dict[int, int] = {}
    for group in told(capture.path, "--by", "thread")["groups"]:
        for line in group["syscalls"]:
            for key in ("calls", "errors", "time_ns"):
                ours[group["pid"]][f"{line['syscall']} {key}"] += line[key]
        process_of[group["tid"]] = group["pid"]
    theirs: dict[int, Counter[str]] = defaultdict(Counter)
    for row in summarised(capture, "process"):
        # Some threads in containers sysdig 0.29 takes for processes: their clone event says otherwise.
        pid = process_of.get(row["process"]["pid"], row["process"]["pid"])
        for key in ("calls", "errors", "time_ns"):
            theirs[pid][f"{row['syscall']} {key}"] += row.get(key, 0)
    assert {pid: +counts for pid, counts in ours.items()} == {pid: +counts for pid, counts in theirs.items()}


def test_calls_are_the_exit_events(trace: Trace) -> None:
    """Counted here from the events, but for what is no call: the child's side of a clone, for one."""
    counted = Counter[str]()
    no_calls = {"switch", "procexit", "page_fault", "signaldeliver", "container", "procinfo", "cpu_hotplug"}
    for event in scapscope.open(trace.path):
        child = event.type in CLONES and event.args.startswith("res=0 ")
        if event.direction == "<" and event.type not in no_calls and not child:
            counted[event.type] += 1
    assert {name: line["calls"] for name, line in only_group(trace.path).items()} == counted


@pytest.mark.parametrize("by", ["process", "thread", "container"])
def test_groups_add_up_to_the_whole(by: str, redis_capture: Path) -> None:
    whole = told(redis_capture)["groups"][0]["total"]
    for words in ([], ["--all"], ["--sort", "errors"]):
        answer = told(redis_capture, "--by", by, *words)
        assert {key: sum(group["total"][key] for group in answer["groups"]) for key in whole} == whole
    for group in answer["groups"]:
        assert {key: sum(line[key] for line in group["syscalls"]) for key in whole} == group["total"]


def test_the_text_is_what_strace_prints(redis_capture: Path) -> None:
    lines = run("syscalls", redis_capture.name, cwd=redis_capture.parent).stdout.splitlines()
    assert lines[2].split() == ["%", "time", "seconds", "usecs/call", "calls", "errors", "syscall"]
    assert lines[3].split()[3:] == ["3479", "180", "futex"]
    (total,) = (line.split() for line in lines if line.endswith(" total"))
    assert (total[0], total[-1]) == ("100.00", "total")
    rows = [line.split() for line in lines[3:] if re.match(r" +\d", line)]
    seconds = [float(row[1]) for row in rows if row[1] != "-"]
    assert seconds[:-1] == sorted(seconds[:-1], reverse=True)


def test_where_no_enter_events_are_no_time_is_made_up(traces: Path) -> None:
    answer = told(traces / MODERN)
    assert answer["groups"][0]["total"]["timed"] == 0
    shown = run("syscalls", traces / MODERN).stdout
    rows = [line.split() for line in shown.splitlines() if re.match(r" +- ", line)]
    assert len(rows) > 50
    assert {tuple(row[:3]) for row in rows} == {("-", "-", "-")}
    assert "Times are unknown: this capture has exit events only" in shown
    sorted_by = [int(row[3]) for row in rows[:-1]]
    assert sorted_by == sorted(sorted_by, reverse=True), "most calls first, for there is no time to sort by"


def test_errors_are_unknown_for_calls_that_have_no_result(traces: Path) -> None:
    shown = run("syscalls", traces / "none-native-time-n3000.scap", "--time-calls").stdout
    (line,) = (line.split() for line in shown.splitlines() if line.endswith(" time"))
    assert line[3:] == ["3000", "-", "time"]
    assert "Whether 3,000 calls failed is unknown" in shown


def test_calls_under_way_are_told_and_not_counted(redis_capture: Path) -> None:
    underway = told(redis_capture)["underway"]
    assert underway["calls"] == 15
    longest = underway["longest"]
    assert len(longest) == 10
    assert [call["for_ns"] for call in longest] == sorted((call["for_ns"] for call in longest), reverse=True)
    shown = " ".join(run("syscalls", redis_capture).stdout.split())
    assert "Not counted: 15 calls that were under way at the end, the longest futex of dockerd" in shown


@pytest.mark.parametrize(
    ("words", "calls"),
    [
        (["--call", "futex"], 3479),
        (["--call", "futex", "--call", "openat"], 3479 + 773),
        (["--pid", "173"], 2944),
        (["--comm", "runc"], None),
        (["--container", "redis1"], 2188),
        (["--container", "redis"], 2188),
        (["--container", "7272f37e"], 2188),
        (["--container", "postgres"], 0),
        (["--tid", "308", "--call", "mprotect"], None),
        (["--since", "7s"], None),
        (["--until", "0"], 0),
    ],
)
def test_filters(words: list[str], calls: int | None, redis_capture: Path) -> None:
    groups = told(redis_capture, *words)["groups"]
    counted = sum(group["total"]["calls"] for group in groups)
    if calls is None:
        assert 0 < counted < 21_390
    else:
        assert counted == calls


def test_time_ranges_divide_the_calls(redis_capture: Path) -> None:
    first = only_group(redis_capture, "--until", "3.000000000s")
    second = only_group(redis_capture, "--since", "3.000000001s")
    together = Counter({name: line["calls"] for name, line in first.items()})
    together.update({name: line["calls"] for name, line in second.items()})
    assert together == Counter({name: line["calls"] for name, line in only_group(redis_capture).items()})


@pytest.mark.parametrize(
    ("order", "key"),
    [
        ("time", lambda line: -line["time_ns"]),
        ("calls", lambda line: -line["calls"]),
        ("errors", lambda line: -line["errors"]),
        ("usecs", lambda line: -(line["time_ns"] // line["timed"]) if line["timed"] else 0),
        ("name", lambda line: line["syscall"]),
    ],
)
def test_an_order_can_be_asked_for(order: str, key: Any, redis_capture: Path) -> None:
    (group,) = told(redis_capture, "--sort", order)["groups"]
    values = [key(line) for line in group["syscalls"]]
    assert values == sorted(values)


def test_only_the_first_ten_processes_are_shown_unless_all_are_asked_for(redis_capture: Path) -> None:
    shown = run("syscalls", redis_capture, "--by", "process").stdout
    assert len(re.findall(r" total$", shown, re.MULTILINE)) == 10
    assert re.search(r"and 44 more processes with [\d,]+ calls, .* in all \(--all shows all\)", shown)
    every = run("syscalls", redis_capture, "--by", "process", "--all").stdout
    assert len(re.findall(r" total$", every, re.MULTILINE)) == 54
    assert "more processes" not in every


def test_csv_has_the_same_numbers(redis_capture: Path) -> None:
    text = run("syscalls", redis_capture, "--by", "thread", "--csv").stdout
    rows = list(csv.DictReader(io.StringIO(text)))
    groups = told(redis_capture, "--by", "thread")["groups"]
    lines = [(group, line) for group in groups for line in group["syscalls"]]
    assert len(rows) == len(lines)
    for row, (group, line) in zip(rows, lines, strict=True):
        assert (row["tid"], row["syscall"], int(row["calls"])) == (
            str(group["tid"]),
            line["syscall"],
            line["calls"],
        )
        assert row["errors"] == (str(line["errors"]) if line["with_result"] else "")
        assert row["seconds"] == (f"{line['time_ns'] / 1e9:.9f}" if line["timed"] else "")


def test_it_goes_to_a_file_and_never_over_the_capture(redis_capture: Path, tmp_path: Path) -> None:
    done = run("syscalls", redis_capture, "-o", tmp_path / "calls.txt", "--color")
    assert (done.returncode, done.stdout) == (0, "")
    assert (tmp_path / "calls.txt").read_text() == run("syscalls", redis_capture).stdout
    copy = tmp_path / "copy.scap"
    copy.write_bytes(redis_capture.read_bytes())
    assert run("syscalls", copy, "-o", copy).returncode == 2
    assert copy.read_bytes() == redis_capture.read_bytes()


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--call", "futx"], 'there is no system call "futx"; did you mean futex?'),
        (["--json", "--csv"], "exclude each other"),
        (["--by", "moon"], "moon"),
        (["--since", "soon"], "soon"),
    ],
)
def test_wrong_usage_is_named(words: list[str], says: str, redis_capture: Path) -> None:
    done = run("syscalls", redis_capture, *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert says in done.stderr


@pytest.mark.parametrize("part", [0.01, 0.3, 0.5, 0.9])
def test_a_capture_that_is_cut_off_is_counted_up_to_the_cut(
    part: float, redis_capture: Path, tmp_path: Path
) -> None:
    path = tmp_path / "cut.scap"
    path.write_bytes(cut_off(redis_capture, part))
    done = run("syscalls", path, "--json")
    assert done.returncode == 0
    assert "cut-off at byte" in done.stderr
    assert done.stderr.rstrip().endswith("The calls before that are counted.")
    whole = only_group(redis_capture)
    for group in json.loads(done.stdout)["groups"]:
        for line in group["syscalls"]:
            assert 0 < line["calls"] <= whole[line["syscall"]]["calls"]
    assert run("syscalls", path).returncode == run("syscalls", path, "--by", "thread").returncode == 0


def test_a_capture_that_begins_in_the_middle_has_exits_without_an_enter(
    redis_capture: Path, tmp_path: Path
) -> None:
    path = tmp_path / "middle.scap"
    path.write_bytes(from_the_middle(redis_capture))
    total = told(path)["groups"][0]["total"]
    whole = told(redis_capture)["groups"][0]["total"]
    assert 0 < total["calls"] - total["timed"] < 60, "at most one call for each thread"
    assert 0 < total["calls"] < whole["calls"]
    assert total["time_ns"] < whole["time_ns"]


def test_names_cannot_steer_the_terminal(tmp_path: Path, redis_capture: Path) -> None:
    path = tmp_path / "hostile.scap"
    path.write_bytes(with_hostile_names(redis_capture))
    for words in ([], ["--csv"], ["--json"]):
        shown = run("syscalls", path, "--by", "process", "--all", *words).stdout
        assert "\x1b" not in shown
        assert ("\\u001b[2J;xy" if words == ["--json"] else "\\x1b[2J;xy") in shown


def test_those_told_apart_no_more_are_said_to_be(redis_capture: Path) -> None:
    answer = told(redis_capture, "--by", "process")
    first = answer["groups"][0]
    answer["groups"][0] = first | {"comm": None, "pid": None, "container": None, "others": True}
    shown = render(answer, "process")
    assert "\nothers, told apart no more\n" in shown
    assert "There were too many processes to tell them all apart." in shown
    assert render_csv(answer, "process").splitlines()[1].startswith("(others),,,,,")


def test_a_capture_without_calls_says_so(tmp_path: Path, traces: Path) -> None:
    path = tmp_path / "empty.scap"
    path.write_bytes(without_events(traces / "none-neg-normal.scap"))
    done = run("syscalls", path.name, cwd=tmp_path)
    assert done.returncode == 0
    assert "0 system calls; the capture holds no events." in done.stdout
    assert "No system call was asked for that this capture holds." in done.stdout


@pytest.mark.parametrize(
    "words",
    [
        ["none-neg-normal.scap"],
        ["none-docker-redis.scap", "--by", "container", "--call", "futex", "--call", "openat"],
        ["current-format/none-neg-null-modern.scap", "--by", "process", "--sort", "calls"],
    ],
)
def test_the_text_stays_as_it_is(words: list[str], traces: Path, snapshot: SnapshotAssertion) -> None:
    shown = run("syscalls", *words, cwd=traces)
    assert shown.stderr == ""
    assert shown.stdout == snapshot


def test_lines_fit_the_terminal(redis_capture: Path) -> None:
    shown = run("syscalls", os.path.relpath(redis_capture), "--by", "process", COLUMNS="70").stdout
    assert max(map(len, shown.splitlines())) <= 70
