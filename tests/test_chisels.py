"""vsyscall_diag in a real sysdig: the verdicts are the analyzer's, on every capture, whole or cut off."""

from __future__ import annotations

import gzip
import json
import re
import shutil
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from conftest import REPOSITORY, Trace
from running import scapscope
from sysdig_runs import CHISELS, COVERED, chisel, json_lines, needs_sysdig, sysdig, told

pytestmark = needs_sysdig

EVENT_BLOCKS = {0x204, 0x208, 0x216, 0x217, 0x221, 0x222}
KNOWLEDGE = REPOSITORY / "analyzer/scapscope/knowledge"
REDIS_EVENTS = [59363, 59607, 59663]


def analyzers_findings(trace: Path) -> list[dict[str, Any]]:
    done = scapscope("explain", "--json", trace)
    assert done.returncode == 0, done.stderr
    return [finding for finding in json.loads(done.stdout)["findings"] if finding["id"] in COVERED]


def shape(finding: dict[str, Any], facts: dict[str, Any], by_number: bool) -> dict[str, Any]:
    """Give what both must say alike: all of it, of the facts those that the chisel states."""
    process, container = finding["process"], finding["container"]
    return {
        "id": finding["id"],
        "severity": finding["severity"],
        "confidence": finding["confidence"],
        "process": process and {key: process[key] for key in ("comm", "exe", "pid", "tid")},
        "container": container and {key: container[key] for key in ("id", "name", "image")},
        "facts": {name: finding["facts"].get(name) for name in facts},
        "evidence": [
            (event["event"] if by_number else None, event["timestamp_ns"], event["tid"], event["type"])
            for event in finding["evidence"]
        ],
    }


def assert_same_verdicts(trace: Path, by_number: bool = True) -> list[dict[str, Any]]:
    ours = analyzers_findings(trace)
    # A capture that is cut off makes sysdig complain and fail; what the chisel printed counts.
    theirs = json_lines(sysdig("-j", "-r", trace, "-c", "vsyscall_diag").stdout)
    assert [finding["id"] for finding in theirs] == [finding["id"] for finding in ours]
    for our, their in zip(ours, theirs, strict=True):
        assert shape(their, their["facts"], by_number) == shape(our, their["facts"], by_number)
    return theirs


def test_the_verdicts_are_the_analyzers(trace: Trace) -> None:
    # sysdig 0.29.3 skips event types younger than itself and does not count them: in captures of the current
    # format its numbers are lower, and the timestamp and the thread say which event is meant.
    assert_same_verdicts(trace.path, by_number=not trace.name.startswith("current-format/"))


def test_the_verdicts_are_the_manifests(trace: Trace) -> None:
    wanted = sorted(finding["id"] for finding in trace.expect if finding["id"] in COVERED)
    found = json_lines(chisel(trace.path, "vsyscall_diag", flags=("-j",)))
    assert sorted(finding["id"] for finding in found) == wanted
    assert {finding["kernel"]["vsyscall_mode"] for finding in found} <= {trace.entry["vsyscall_mode"]}


def test_no_other_crash_is_called_one_of_the_vsyscall_page(trace: Trace) -> None:
    # A loop is made of deaths that have findings of their own.
    deaths = {finding["id"] for finding in trace.expect if finding["id"].startswith("crash-")}
    others = deaths - {"crash-loop"}
    story = chisel(trace.path, "vsyscall_diag")
    if others:
        assert "was killed" not in story
        assert "Deaths by a signal that the vsyscall page does not explain: 1." in story
    else:
        assert "does not explain" not in story


def events_of(data: bytes) -> Iterator[tuple[int, int]]:
    """Give the number of each event and where its block ends."""
    position = number = 0
    while position + 8 <= len(data):
        kind, length = struct.unpack_from("<II", data, position)
        position += length
        if kind in EVENT_BLOCKS:
            number += 1
            yield number, position


@pytest.mark.parametrize(
    ("name", "number", "confidence"),
    [
        ("none-docker-redis", 59362, None),
        ("none-docker-redis", 59363, "possible"),
        ("none-docker-redis", 59606, "possible"),
        ("none-docker-redis", 59607, "likely"),
        ("none-docker-redis", 59662, "likely"),
        ("none-docker-redis", 59663, "certain"),
        ("none-docker-redis", 62029, "certain"),
        ("none-gtod", 695, "possible"),
        ("none-gtod", 696, "likely"),
        ("none-handled", 684, "possible"),
        ("none-handled", 685, "likely"),
        ("none-handled", 688, "likely"),
        ("none-handled", 689, "certain"),
        ("emulate-stress-n3000", 688, None),
        ("emulate-stress-n3000", 2000, "certain"),
        ("xonly-stress-n3000", 678, "possible"),
        ("xonly-stress-n3000", 680, None),
    ],
)
def test_a_capture_that_is_cut_off_is_judged_alike(
    name: str, number: int, confidence: str | None, traces: Path, tmp_path: Path
) -> None:
    data = gzip.decompress((traces / f"{name}.scap").read_bytes())
    end = dict(events_of(data))[number]
    cut = tmp_path / "cut.scap"
    cut.write_bytes(data[: end + 13])  # 13 bytes into the next block
    found = assert_same_verdicts(cut)
    assert [finding["confidence"] for finding in found] == ([confidence] if confidence else [])


def test_an_end_between_two_events_is_judged_alike(traces: Path, tmp_path: Path) -> None:
    data = gzip.decompress((traces / "none-gtod.scap").read_bytes())
    short = tmp_path / "short.scap"
    short.write_bytes(data[: dict(events_of(data))[695]])
    (found,) = assert_same_verdicts(short)
    assert (found["id"], found["confidence"]) == ("vsyscall-none-crash", "possible")
    assert "after that the capture shows nothing more of it" in told(short, "vsyscall_diag")


def test_a_crash_that_comes_again_and_again_is_one_finding(traces: Path, tmp_path: Path) -> None:
    data = gzip.decompress((traces / "none-gtod.scap").read_bytes())
    events = data[next(end for number, end in events_of(data) if number == 1) :]
    again = tmp_path / "again.scap"
    again.write_bytes(data + 4 * events)
    (found,) = assert_same_verdicts(again)
    assert found["facts"]["count"] == 5
    assert "was killed by SIGSEGV (5 times)" in told(again, "vsyscall_diag")


def test_the_story_of_the_container_fits_a_screen() -> None:
    path = Path("traces/none-docker-redis.scap")
    told_of = "in container redis1 (redis:2.8.22) was killed by SIGSEGV: its libc calls time()"
    assert told_of in told(path, "vsyscall_diag")
    story = chisel(path, "vsyscall_diag")
    assert "Outcome:    killed by SIGSEGV; shells and runtimes show exit status 139" in story
    assert "Container:  redis1, image redis:2.8.22, id 7272f37ebc5c, docker" in story
    assert "Events:     59363 page_fault, 59607 signaldeliver, 59663 procexit (thread 308)" in story
    assert "Kernel:     vsyscall=none" in story
    lines = story.splitlines()
    # What a terminal of 24 lines and 80 columns shows without scrolling, the prompt included.
    assert sum(len(line) // 81 + 1 for line in lines) < 24
    assert [line for line in lines if len(line) > 80 and "Look it up:" not in line] == []


def test_the_look_up_command_shows_the_events() -> None:
    story = chisel(Path("traces/none-docker-redis.scap"), "vsyscall_diag")
    (line,) = [line for line in story.splitlines() if "Look it up:" in line]
    condition = line.split('"')[1]
    shown = sysdig("-r", "traces/none-docker-redis.scap", "-p", "%evt.num", condition).stdout
    assert [int(number) for number in shown.split()] == REDIS_EVENTS


def test_a_path_that_a_shell_would_break_is_quoted(traces: Path, tmp_path: Path) -> None:
    odd = tmp_path / "it's odd.scap"
    shutil.copyfile(traces / "none-gtod.scap", odd)
    quoted = str(odd).replace("'", "'\\''")
    assert f"sysdig -r '{quoted}' \"evt.num in" in chisel(odd, "vsyscall_diag")


def test_container_columns_come_with_pc_only(redis_capture: Path) -> None:
    plain = chisel(redis_capture, "vsyscall_diag", "table").splitlines()
    wide = chisel(redis_capture, "vsyscall_diag", "table", flags=("-pc",)).splitlines()
    assert plain[0].split()[:2] == ["FINDING", "SEVERITY"]
    assert len(plain) == len(wide) == 2
    assert "redis1" not in plain[1]
    assert wide[0].split()[-3:] == ["CONTAINER", "NAME", "IMAGE"]
    assert wide[1].split()[-3:] == ["7272f37ebc5c", "redis1", "redis:2.8.22"]


def test_json_is_chosen_by_flag_or_argument(redis_capture: Path) -> None:
    assert chisel(redis_capture, "vsyscall_diag", "json") == chisel(
        redis_capture, "vsyscall_diag", "table", flags=("-j",)
    )


@pytest.mark.parametrize(
    ("argument", "found"), [("3001", 0), ("3000", 1), ("1", 1), ("table 3001", 0), ("1 table", 1)]
)
def test_the_minimum_rate_is_an_argument(argument: str, found: int, traces: Path) -> None:
    shown = chisel(traces / "emulate-stress-n3000.scap", "vsyscall_diag", argument)
    assert shown.count("vsyscall-emulated-hot") == found


def test_an_unknown_argument_is_named(redis_capture: Path) -> None:
    done = sysdig("-r", redis_capture, "-c", "vsyscall_diag", "'tabel'")
    assert done.returncode != 0
    assert "argument 'tabel' is unknown" in done.stderr
    assert "story, table, json" in done.stderr


def test_a_filter_narrows_it_and_is_named(redis_capture: Path) -> None:
    assert "vsyscall-none-crash" in chisel(redis_capture, "vsyscall_diag", "container.id = 7272f37ebc5c")
    elsewhere = chisel(redis_capture, "vsyscall_diag", "container.id = host")
    assert "vsyscall-none-crash" not in elsewhere
    assert "Looked only at events that pass the filter: container.id = host" in elsewhere


def test_a_filter_that_keeps_page_faults_away_does_not_say_that_there_are_none(redis_capture: Path) -> None:
    # The name of the container comes after the crash.
    shown = chisel(redis_capture, "vsyscall_diag", "container.name = redis1")
    assert "page-faults-not-captured" not in shown
    assert "No page fault passes it" in shown


def test_each_of_several_captures_is_judged_by_itself(traces: Path) -> None:
    names = ("none-gtod", "none-neg-normal", "emulate-stress-n3000")
    words = [word for name in names for word in ("-r", traces / f"{name}.scap")]
    found = json_lines(sysdig("-j", *words, "-c", "vsyscall_diag").stdout)
    assert [(finding["id"], finding["kernel"]["vsyscall_mode"]) for finding in found] == [
        ("vsyscall-none-crash", "none"),
        ("vsyscall-emulated-hot", "emulate"),
    ]


def plain(trace: Path) -> bytes:
    return gzip.decompress(trace.read_bytes())


@pytest.mark.parametrize(
    "names",
    [
        ("none-gtod", "emulate-stress-n3000"),
        ("emulate-stress-n3000", "none-gtod"),
        ("none-docker-redis", "xonly-stress-n3000", "none-handled"),
        ("none-neg-null-plain", "none-bash-nopf"),
    ],
)
def test_each_of_several_captures_in_one_file_is_judged_by_itself(
    names: tuple[str, ...], traces: Path, tmp_path: Path
) -> None:
    paths = [traces / f"{name}.scap" for name in names]
    glued = tmp_path / "glued.scap"
    glued.write_bytes(b"".join(path.read_bytes() if "plain" in path.name else plain(path) for path in paths))
    found = assert_same_verdicts(glued)
    alone = [
        (finding["id"], finding["kernel"])
        for path in paths
        for finding in json_lines(chisel(path, "vsyscall_diag", flags=("-j",)))
        if finding["process"]
    ]
    assert sorted(map(str, alone)) == sorted(str((finding["id"], finding["kernel"])) for finding in found)


def test_the_kernels_of_several_captures_in_one_file_are_named(traces: Path, tmp_path: Path) -> None:
    glued = tmp_path / "glued.scap"
    glued.write_bytes(plain(traces / "none-gtod.scap") + plain(traces / "emulate-stress-n3000.scap"))
    assert "Kernel: vsyscall=none and vsyscall=emulate. Calls of the page that it emulated: 3,000" in told(
        glued, "vsyscall_diag"
    )


def test_a_capture_without_events_says_nothing(traces: Path, tmp_path: Path) -> None:
    data = gzip.decompress((traces / "none-gtod.scap").read_bytes())
    first = struct.unpack_from("<I", data, 4)[0]
    empty = tmp_path / "empty.scap"
    empty.write_bytes(data[:first])
    assert sysdig("-r", empty, "-c", "vsyscall_diag").stdout == ""


def test_the_chisels_are_found_from_elsewhere(redis_capture: Path, tmp_path: Path) -> None:
    words = ("-j", "-r", redis_capture, "-c", "vsyscall_diag")
    there = sysdig(*words, cwd=tmp_path, chisel_dir=CHISELS)
    assert there.returncode == 0, there.stderr
    assert there.stdout == sysdig(*words).stdout
    assert "vsyscall_diag" not in sysdig("-cl", cwd=tmp_path).stdout


def test_sysdig_lists_and_explains_the_chisels() -> None:
    listed = sysdig("-cl")
    assert listed.stderr == ""
    for name in ("vsyscall_diag", "time_calls", "syscall_summary"):
        (line,) = [line for line in listed.stdout.splitlines() if line.startswith(name)]
        explained = sysdig("-i", name).stdout
        assert line.removeprefix(name).strip() in explained
        assert "Args:" in explained
    # Modules are no chisels.
    assert "scapscope" not in listed.stdout


def test_no_word_of_the_explanation_is_broken() -> None:
    explained = sysdig("-i", "vsyscall_diag").stdout
    text = re.sub(r"\s+", " ", explained)
    assert "(0xffffffffff600000), which caught the signal, which make the kernel emulate such calls" in text
    assert "in one second of a process on (default 1000)" in text


def test_the_advice_is_the_analyzers(trace: Trace) -> None:
    for finding in json_lines(chisel(trace.path, "vsyscall_diag", flags=("-j",))):
        knowledge = yaml.safe_load((KNOWLEDGE / f"{finding['id']}.yaml").read_text(encoding="utf-8"))
        assert finding["advice"] == knowledge["remedy"][0], "chisels/scapscope/words.lua must say the same"
