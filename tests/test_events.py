"""The events themselves: the same as sysdig's, filtered, and as Arrow batches."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import polars
import pyarrow  # type: ignore[import-untyped]
import pytest

import scapscope
from conftest import Trace
from running import scapscope as run

REDIS_THREAD = 308
ATTRIBUTES = ("number", "timestamp_ns", "cpu", "tid", "direction", "type", "comm", "container_id", "args")
FIELDS = ("evt.num", "evt.rawtime", "evt.cpu", "thread.tid", "evt.dir", "evt.type")
NAMED_SINCE = {"sigreturn": "rt_sigreturn", "<unknown>": "syscall"}


@pytest.mark.skipif(shutil.which("sysdig") is None, reason="needs sysdig (apt-get install sysdig)")
def test_every_event_is_the_one_sysdig_shows(trace: Trace) -> None:
    shown = subprocess.run(
        ["sysdig", "-D", "-r", trace.path, "-p", "*" + " ".join(f"%{field}" for field in FIELDS)],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    theirs = [as_now_called(line) for line in shown]
    ours = [
        f"{event.number} {event.timestamp_ns} {event.cpu} {event.tid} {event.direction} {event.type}"
        for event in scapscope.open(trace.path)
    ]
    if trace.name.startswith("current-format/"):
        # This sysdig skips event types younger than itself, and counts on without them.
        ours, theirs = ([line.partition(" ")[2] for line in lines] for lines in (ours, theirs))
        known = set(theirs)
        ours = [line for line in ours if line in known]
    assert theirs
    assert ours == theirs


def as_now_called(line: str) -> str:
    """A line of sysdig 0.29.3 with the names that the current event table has."""
    start, _, name = line.rstrip().rpartition(" ")
    return f"{start} {NAMED_SINCE.get(name, name)}"


def test_numbers_rise_without_a_gap(trace: Trace) -> None:
    numbers = [event.number for event in scapscope.open(trace.path)]
    assert numbers == list(range(1, len(numbers) + 1))


def test_the_arrow_table_has_the_same_rows(trace: Trace) -> None:
    table = pyarrow.table(scapscope.open(trace.path).to_arrow())
    assert table.column_names == [name.removesuffix("_ns") for name in ATTRIBUTES]
    rows = [tuple(getattr(event, name) for name in ATTRIBUTES) for event in scapscope.open(trace.path)]
    assert list(zip(*map(_plain, table.columns), strict=True)) == rows


def _plain(column: pyarrow.ChunkedArray) -> list[object]:
    if pyarrow.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pyarrow.types.is_timestamp(column.type):
        column = column.cast(pyarrow.int64())
    return list(column.to_pylist())


def test_polars_reads_it_too(redis_capture: Path) -> None:
    frame = polars.DataFrame(scapscope.open(redis_capture).to_arrow(batch_size=1000))
    assert frame.height == len(list(scapscope.open(redis_capture)))
    faults = frame.filter(
        (polars.col("type").cast(polars.String) == "page_fault") & (polars.col("tid") == REDIS_THREAD)
    )
    assert any("FFFFFFFFFF600400" in args for args in faults["args"])


def test_batches_have_the_size_asked_for(redis_capture: Path) -> None:
    reader = pyarrow.RecordBatchReader.from_stream(scapscope.open(redis_capture).to_arrow(batch_size=1000))
    sizes = [batch.num_rows for batch in reader]
    assert set(sizes[:-1]) == {1000}
    assert 0 < sizes[-1] <= 1000


def test_a_capture_can_be_gone_through_twice(traces: Path) -> None:
    capture = scapscope.open(traces / "none-handled.scap")
    assert [event.number for event in capture] == [event.number for event in capture]
    assert capture.damage is None


def test_filters_choose_what_they_say(redis_capture: Path) -> None:
    everything = list(scapscope.open(redis_capture))
    start = everything[0].timestamp_ns

    def numbers(**filters: object) -> list[int]:
        return [event.number for event in scapscope.open(redis_capture, **filters)]  # type: ignore[arg-type]

    assert numbers(types=["page_fault", "procexit"]) == [
        event.number for event in everything if event.type in ("page_fault", "procexit")
    ]
    assert numbers(tids=[REDIS_THREAD]) == [event.number for event in everything if event.tid == REDIS_THREAD]
    assert numbers(since_ns=200_000_000, until_ns=300_000_000) == [
        event.number for event in everything if 200_000_000 <= event.timestamp_ns - start <= 300_000_000
    ]


def test_a_type_that_does_not_exist_is_a_usage_error(redis_capture: Path) -> None:
    with pytest.raises(ValueError, match="page_fault"):
        scapscope.open(redis_capture, types=["pagefault"])
    done = run("events", redis_capture, "--type", "pagefault")
    assert done.returncode == 2
    assert "page_fault" in done.stderr
    assert done.stdout == ""


def test_a_container_is_found_by_its_id(redis_capture: Path) -> None:
    found = {event.container_id for event in scapscope.open(redis_capture, containers=["7272f37e"])}
    assert found == {"7272f37ebc5c"}


def test_the_listing_shows_a_thread_to_its_death(redis_capture: Path) -> None:
    done = run(
        "events",
        redis_capture,
        "--tid",
        "308",
        "--type",
        "page_fault",
        "--type",
        "signaldeliver",
        "--type",
        "procexit",
    )
    assert done.returncode == 0
    *_, fault, signal, death = done.stdout.splitlines()
    assert fault.startswith(
        "59363 12:15:52.775580364 1 entrypoint.sh (308) > page_fault addr=FFFFFFFFFF600400 "
    )
    assert signal.startswith("59607 12:15:52.782757617 1 entrypoint.sh (308) > signaldeliver ")
    assert "sig=11(SIGSEGV)" in signal
    assert death.startswith("59663 12:15:52.785802634 0 entrypoint.sh (308) > procexit status=11")


def test_the_listing_is_in_utc_unless_asked(redis_capture: Path) -> None:
    def time(*words: str) -> str:
        return run("events", redis_capture, "--limit", "1", *words, TZ="Asia/Tokyo").stdout.split()[1][:2]

    assert time() == "12"
    assert time("--local") == "21"


def test_the_listing_can_be_limited_and_bounded(redis_capture: Path) -> None:
    assert len(run("events", redis_capture, "--limit", "7").stdout.splitlines()) == 7
    assert run("events", redis_capture, "--limit", "0").stdout == ""
    whole = run("events", redis_capture, "--since", "0.2", "--until", "300ms").stdout.splitlines()
    assert 0 < len(whole) < 72425
    assert (
        whole == run("events", redis_capture, "--since", "200ms", "--until", "300000us").stdout.splitlines()
    )


def test_the_listing_as_json_lines(redis_capture: Path) -> None:
    done = run("events", redis_capture, "--json", "--tid", "308", "--type", "procexit")
    (event,) = [json.loads(line) for line in done.stdout.splitlines()]
    assert event["number"] == 59663
    assert event["timestamp_ns"] == 1795176952785802634
    assert event["container_id"] == "7272f37ebc5c"


@pytest.mark.parametrize("words", ["soon", "-1", "1.2.3", "5 weeks", "99999999999999h", ""])
def test_a_duration_that_is_none_is_a_usage_error(words: str, redis_capture: Path) -> None:
    done = run("events", redis_capture, f"--since={words}")
    assert done.returncode == 2
    assert done.stdout == ""
