"""scapscope rates: calls over time, in a table, in a chart, in a picture."""

from __future__ import annotations

import csv
import io
import json
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

import scapscope
from altered_captures import cut_off, with_hostile_names
from running import parse_xml
from running import scapscope as run
from scapscope.reports.rates import render

SECOND = 10**9


def told(trace: Path, *words: str) -> dict[str, Any]:
    done = run("rates", trace, "--json", *words)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return dict(json.loads(done.stdout))


def counted(series: list[dict[str, Any]]) -> Counter[int]:
    together = Counter[int]()
    for one in series:
        together.update({cell["interval"]: cell["calls"] for cell in one["intervals"]})
    return together


@pytest.mark.parametrize("every", ["1s", "100ms", "7ms"])
def test_a_call_counts_in_the_interval_in_which_it_ends(every: str, redis_capture: Path) -> None:
    """Counted here from the events."""
    answer = told(redis_capture, "--every", every, "--call", "futex", "--by", "capture")
    events = [event for event in scapscope.open(redis_capture, types=["futex"]) if event.direction == "<"]
    first = answer["capture"]["first_timestamp_ns"]
    expected = Counter((event.timestamp_ns - first) // answer["every_ns"] for event in events)
    assert counted(answer["series"]) == expected
    assert answer["every_ns"] == answer["asked_every_ns"]


@pytest.mark.parametrize("by", ["process", "thread", "container", "syscall"])
def test_every_way_of_counting_counts_every_call(by: str, redis_capture: Path) -> None:
    whole = counted(told(redis_capture, "--by", "capture")["series"])
    assert counted(told(redis_capture, "--by", by)["series"]) == whole
    answer = told(redis_capture, "--by", by, "--top", "2")
    assert len(answer["series"]) == 2
    assert counted([*answer["series"], answer["rest"]]) == whole


def test_the_time_calls_of_a_program_are_seen(traces: Path) -> None:
    (series,) = told(traces / "none-native-time-n3000.scap", "--time-calls")["series"]
    assert (series["comm"], series["calls"]) == ("vsstress", 3000)
    by_name = told(traces / "none-native-time-n3000.scap", "--time-calls", "--by", "syscall")["series"]
    assert [(one["syscall"], one["calls"]) for one in by_name] == [("time", 3000)]


def test_captures_of_both_ages_have_rates(traces: Path) -> None:
    old = told(traces / "none-docker-redis.scap", "--by", "syscall")
    modern = told(traces / "current-format/none-docker-redis-modern.scap", "--by", "syscall")
    # Before it had an event of its own, accept4 was recorded as accept.
    assert {one["syscall"].replace("accept4", "accept"): one["calls"] for one in modern["series"]} == {
        one["syscall"]: one["calls"] for one in old["series"]
    }


def test_the_table_adds_up(redis_capture: Path) -> None:
    lines = run("rates", redis_capture, COLUMNS="100").stdout.splitlines()
    rows = [re.split(r"\s{2,}", line.strip()) for line in lines if re.match(r"  (12:15|total)", line)]
    *intervals, totals = [[int(cell.replace(".", "0")) for cell in row[1:]] for row in rows]
    assert len(intervals) == 8
    assert [sum(column) for column in zip(*intervals, strict=True)] == totals
    for row in [*intervals, totals]:
        assert row[0] == sum(row[1:])
    assert max(map(len, lines)) <= 100
    assert "51 others" in " ".join(lines)


def test_a_gap_is_one_line(redis_capture: Path) -> None:
    shown = run("rates", redis_capture, "--container", "redis1", "--every", "10ms").stdout
    assert re.search(r"^ +\(151 empty\)$", shown, re.MULTILINE)


def test_short_intervals_are_kept_while_there_are_not_too_many(redis_capture: Path) -> None:
    short = told(redis_capture, "--every", "1ns", "--by", "capture")
    assert short["every_ns"] == 1
    assert counted(short["series"]).total() == 21_390


def test_intervals_that_became_longer_are_said_to(redis_capture: Path) -> None:
    answer = told(redis_capture, "--every", "200ms") | {"asked_every_ns": SECOND // 10}
    shown = render(answer, "process")
    assert "There are too many intervals of 100 ms to keep: they are of 200 ms." in shown
    assert "too many" not in render(answer | {"asked_every_ns": SECOND // 5}, "process")


def test_csv_has_the_same_numbers(redis_capture: Path) -> None:
    text = run("rates", redis_capture, "--by", "container", "--csv").stdout
    answer = told(redis_capture, "--by", "container")
    rows = list(csv.DictReader(io.StringIO(text)))
    cells = [(series, cell) for series in answer["series"] for cell in series["intervals"]]
    for row, (series, cell) in zip(rows, cells, strict=True):
        assert int(row["calls"]) == cell["calls"]
        assert float(row["after_seconds"]) == cell["interval"]
        assert int(row["timestamp_ns"]) == answer["capture"]["first_timestamp_ns"] + cell["interval"] * SECOND
        assert row["container_name"] == ("" if series["container"] is None else "redis1")


def test_a_chart_says_what_its_axes_count(redis_capture: Path) -> None:
    shown = run("rates", redis_capture, "--chart", COLUMNS="90").stdout
    assert "(system calls in each 1 s)" in shown
    assert "(seconds since 2026-11-20 12:15:46.828 UTC)" in shown
    assert "⠤a⠤ dockerd (pid 173)" in shown
    assert "\x1b" not in shown
    coloured = run("rates", redis_capture, "--chart", "--color").stdout
    assert "\x1b[31m" in coloured


def test_a_picture_says_it_too(redis_capture: Path, tmp_path: Path) -> None:
    for _ in range(2):
        done = run("rates", redis_capture, "-o", tmp_path / "rates.svg")
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    drawn = (tmp_path / "rates.svg").read_text()
    parse_xml(drawn)
    for label in (
        "system calls in each 1 s",
        "seconds since 2026-11-20 12:15:46.828 UTC",
        "dockerd (pid 173)",
    ):
        assert f"<!-- {label} -->" in drawn or label in drawn
    run("rates", redis_capture, "-o", tmp_path / "rates.png")
    assert (tmp_path / "rates.png").read_bytes().startswith(b"\x89PNG\r\n")
    run("rates", redis_capture, "-o", tmp_path / "again.svg")
    assert (tmp_path / "again.svg").read_text() == drawn


def test_without_matplotlib_the_way_to_it_is_named(redis_capture: Path, tmp_path: Path) -> None:
    hide = "import sys; sys.modules['matplotlib'] = None; from scapscope.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", hide, "rates", redis_capture, "-o", tmp_path / "rates.svg"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "pip install 'scapscope[charts]'" in done.stderr
    assert not (tmp_path / "rates.svg").exists()


def test_a_picture_that_cannot_be_written(redis_capture: Path, tmp_path: Path) -> None:
    done = run("rates", redis_capture, "-o", tmp_path / "no/rates.png")
    assert done.returncode == 4
    assert "no/rates.png: No such file or directory" in done.stderr


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--every", "0"], "longer than nothing"),
        (["--every", "often"], "often"),
        (["--json", "--chart"], "exclude each other"),
        (["--csv", "-o", "rates.svg"], "exclude each other"),
        (["--call", "tiem"], "did you mean time"),
        (["--top", "0"], "--top"),
    ],
)
def test_wrong_usage_is_named(words: list[str], says: str, redis_capture: Path) -> None:
    done = run("rates", redis_capture, *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert says in done.stderr


def test_nothing_to_show_is_no_error(redis_capture: Path, tmp_path: Path) -> None:
    for words in ([], ["--chart"], ["--csv"], ["-o", str(tmp_path / "none.svg")]):
        done = run("rates", redis_capture, "--container", "postgres", *words)
        assert (done.returncode, done.stderr) == (0, "")


def test_a_capture_that_is_cut_off_is_counted_up_to_the_cut(redis_capture: Path, tmp_path: Path) -> None:
    path = tmp_path / "cut.scap"
    path.write_bytes(cut_off(redis_capture, 0.5))
    done = run("rates", path)
    assert done.returncode == 0
    assert "The calls before that are counted." in done.stderr
    assert "12:15:50.828" in done.stdout


def test_names_cannot_steer_the_terminal(redis_capture: Path, tmp_path: Path) -> None:
    path = tmp_path / "hostile.scap"
    path.write_bytes(with_hostile_names(redis_capture))
    for words in ([], ["--chart"], ["--csv"]):
        shown = run("rates", path, *words).stdout
        assert "\x1b" not in shown
        assert r"\x1b[2J;xy" in shown
    run("rates", path, "-o", tmp_path / "rates.svg")
    parse_xml((tmp_path / "rates.svg").read_text())


@pytest.mark.parametrize(
    "words", [[], ["--by", "container", "--every", "500ms"], ["--chart"], ["--by", "syscall", "--top", "3"]]
)
def test_the_text_stays_as_it_is(words: list[str], traces: Path, snapshot: SnapshotAssertion) -> None:
    shown = run("rates", "none-docker-redis.scap", *words, cwd=traces, COLUMNS="100")
    assert shown.stderr == ""
    assert shown.stdout == snapshot
