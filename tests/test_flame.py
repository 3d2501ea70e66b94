"""scapscope flame: stacks whose weights are those of the table, in forms that others read."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

import jsonschema

from altered_captures import cut_off, with_hostile_names
from conftest import REPOSITORY, Trace
from running import parse_xml
from running import scapscope as run

SPEEDSCOPE = jsonschema.Draft202012Validator(
    json.loads((REPOSITORY / "tests/speedscope.schema.json").read_text())
)
MODERN = "current-format/none-docker-redis-modern.scap"


def folded(trace: Path, *words: str) -> Counter[tuple[str, ...]]:
    done = run("flame", trace, *words)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    stacks = Counter[tuple[str, ...]]()
    for line in done.stdout.splitlines():
        path, weight = line.rsplit(" ", 1)
        stacks[tuple(path.split(";"))] += int(weight)
    return stacks


def by_call(stacks: Counter[tuple[str, ...]]) -> Counter[str]:
    together = Counter[str]()
    for path, weight in stacks.items():
        together[path[-1]] += weight
    return together


def test_the_stacks_weigh_what_the_table_says(trace: Trace) -> None:
    (group,) = json.loads(run("syscalls", trace.path, "--json").stdout)["groups"]
    calls = {line["syscall"]: line["calls"] for line in group["syscalls"]}
    assert by_call(folded(trace.path, "--weight", "calls")) == Counter(calls)
    if group["total"]["timed"]:
        times = {line["syscall"]: line["time_ns"] for line in group["syscalls"] if line["time_ns"]}
        assert by_call(folded(trace.path)) == Counter(times)


def test_a_stack_goes_from_the_container_to_the_call(redis_capture: Path) -> None:
    stacks = folded(redis_capture, "--weight", "calls", "--pid", "308")
    entrypoint = {path: weight for path, weight in stacks.items() if "entrypoint.sh (pid 308)" in path}
    assert {path[0] for path in entrypoint} == {"container redis1 (redis:2.8.22)"}
    assert {path[-2] for path in entrypoint} == {"tid 308"}
    assert sum(entrypoint.values()) == 14
    assert ("host", "init (pid 1)") in {path[:2] for path in folded(redis_capture, "--weight", "calls")}


def test_speedscope_reads_it(redis_capture: Path, tmp_path: Path) -> None:
    for weight, unit in (("time", "nanoseconds"), ("calls", "none")):
        path = tmp_path / f"{weight}.speedscope.json"
        assert run("flame", redis_capture, "--weight", weight, "-o", path).returncode == 0
        written = json.loads(path.read_text())
        SPEEDSCOPE.validate(written)
        (profile,) = written["profiles"]
        frames = [frame["name"] for frame in written["shared"]["frames"]]
        stacks = Counter[tuple[str, ...]]()
        for sample, heavy in zip(profile["samples"], profile["weights"], strict=True):
            stacks[tuple(frames[frame] for frame in sample)] += heavy
        assert stacks == folded(redis_capture, "--weight", weight)
        assert (profile["unit"], profile["endValue"]) == (unit, stacks.total())


def test_the_picture_shows_the_stacks(redis_capture: Path, tmp_path: Path) -> None:
    done = run("flame", redis_capture, "-o", tmp_path / "redis.svg")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    drawn = (tmp_path / "redis.svg").read_text()
    parse_xml(drawn)
    stacks = folded(redis_capture)
    host = sum(weight for path, weight in stacks.items() if path[0] == "host")
    assert f"<title>host ({host:,} ns, {100 * host / stacks.total():.2f}%)</title>" in drawn
    assert "none-docker-redis.scap: time in system calls" in drawn
    assert run("flame", redis_capture, "--format", "svg").stdout == drawn


def test_where_durations_are_unknown_calls_are_weighed_and_it_is_said(traces: Path) -> None:
    done = run("flame", traces / MODERN)
    assert done.returncode == 0
    assert "durations are unknown" in done.stderr
    assert done.stdout == run("flame", traces / MODERN, "--weight", "calls").stdout != ""
    refused = run("flame", traces / MODERN, "--weight", "time")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "--weight calls" in refused.stderr


def test_nothing_asked_for_is_an_empty_answer(redis_capture: Path) -> None:
    for form in ("folded", "speedscope", "svg"):
        done = run("flame", redis_capture, "--container", "postgres", "--format", form)
        assert done.returncode == 0
        assert "no system call was asked for" in done.stderr
        if form == "speedscope":
            SPEEDSCOPE.validate(json.loads(done.stdout))


def test_names_end_no_frame_and_steer_no_terminal(redis_capture: Path, tmp_path: Path) -> None:
    path = tmp_path / "hostile.scap"
    path.write_bytes(with_hostile_names(redis_capture))
    stacks = folded(path)
    assert "\x1b" not in run("flame", path).stdout
    assert any(r"\x1b[2J\x3bxy (pid 173)" in frames for frames in stacks)
    assert by_call(stacks) == by_call(folded(redis_capture))
    run("flame", path, "-o", tmp_path / "hostile.svg")
    parse_xml((tmp_path / "hostile.svg").read_text())
    assert "\x1b" not in (tmp_path / "hostile.svg").read_text()


def test_a_capture_that_is_cut_off_is_drawn_up_to_the_cut(redis_capture: Path, tmp_path: Path) -> None:
    path = tmp_path / "cut.scap"
    path.write_bytes(cut_off(redis_capture, 0.4))
    done = run("flame", path)
    assert done.returncode == 0
    assert "The calls before that are counted." in done.stderr
    assert re.search(r"^host;.* \d+$", done.stdout, re.MULTILINE)


def test_it_never_overwrites_its_capture(redis_capture: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.svg"
    copy.write_bytes(redis_capture.read_bytes())
    assert run("flame", copy, "-o", copy).returncode == 2
    assert copy.read_bytes() == redis_capture.read_bytes()
