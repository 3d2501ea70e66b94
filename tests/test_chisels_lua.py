"""The chisels in every Lua that a sysdig may have, LuaJIT (5.1), 5.3 and 5.4; odd events included.

The events are recorded by the real sysdig when the tests run (tests/lua/record.lua), and played to the
chisels by tests/lua/engine.lua, which pushes numbers as sysdig does: as floats, where a Lua has them.
"""

from __future__ import annotations

import functools
import importlib
import json
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sysdig_runs import CHISELS, FIELDS, TEST_CHISELS, chisel, json_lines, needs_sysdig, recording
from written_captures import PAGE, PRESENT, SIGSEGV, Capture

pytest.importorskip("lupa", reason="needs lupa (pip install lupa), which brings the Luas")

pytestmark = needs_sysdig

# Not every platform's lupa has LuaJIT: 5.1 speaks the same language.
LUAS = (("luajit21", "luajit20", "lua51"), ("lua53",), ("lua54",))
NAMES = ("vsyscall_diag", "time_calls", "syscall_summary")
SMALL = (
    "none-gtod",
    "none-handled",
    "none-neg-jump",
    "none-bash-nopf",
    "emulate-stress-n3000",
    "xonly-stress-n3000",
    "clk-hpet-vdso-cgt-n3000",
)
LARGE = ("none-docker-redis", "current-format/none-docker-redis-modern")
TIME = PAGE + 0x400


class Lua:
    """One Lua with the engine in it."""

    def __init__(self, name: str) -> None:
        # Bytes pass through unchanged: captures hold any.
        self.runtime = importlib.import_module(f"lupa.{name}").LuaRuntime(encoding="latin-1")
        self.runtime.globals().package.path = f"{TEST_CHISELS}/?.lua;{CHISELS}/?.lua"
        self.engine = self.runtime.eval('(require("engine"))')

    @functools.cache  # noqa: B019 - there are three of these
    def read(self, text: str) -> Any:
        return self.engine.read(text.encode("utf-8", "surrogateescape").decode("latin-1"))

    def run(self, name: str, recorded: Any, *args: str, **options: Any) -> str:
        """Give what the chisel prints of the events."""
        arguments = self.runtime.table_from(list(args))
        printed, _ = self.engine.run(
            f"{CHISELS}/{name}.lua", recorded, self.runtime.table_from({**options, "args": arguments})
        )
        return str(printed).encode("latin-1").decode()


def available(name: str) -> bool:
    try:
        importlib.import_module(f"lupa.{name}")
    except ImportError:
        return False
    return True


@pytest.fixture(scope="module", params=[names[0] for names in LUAS])
def lua(request: pytest.FixtureRequest) -> Lua:
    (names,) = [names for names in LUAS if names[0] == request.param]
    found = [name for name in names if available(name)]
    assert found, f"this lupa has none of {names}"
    return Lua(found[0])


@pytest.mark.parametrize("capture", SMALL)
def test_every_lua_prints_what_sysdig_prints(lua: Lua, capture: str, traces: Path) -> None:
    path = traces / f"{capture}.scap"
    recorded = lua.read(recording(path))
    for name in NAMES:
        for flags, options in ((), {}), (("-j",), {"json": True}), (("-pc",), {"containers": True}):
            assert lua.run(name, recorded, source=str(path), **options) == chisel(path, name, flags=flags)
    assert lua.run("vsyscall_diag", recorded, "1", "table") == chisel(path, "vsyscall_diag", "1 table")
    assert lua.run("time_calls", recorded, "1") == chisel(path, "time_calls", "1")
    assert lua.run("syscall_summary", recorded, "process") == chisel(path, "syscall_summary", "process")


@pytest.mark.parametrize("capture", LARGE)
def test_every_lua_reads_large_captures_as_sysdig_does(lua: Lua, capture: str, traces: Path) -> None:
    path = traces / f"{capture}.scap"
    recorded = lua.read(recording(path))
    for name in NAMES:
        assert lua.run(name, recorded, json=True) == chisel(path, name, flags=("-j",))


def cells_changed(text: str, change: Callable[[list[str], list[str]], list[str]]) -> str:
    """Change the cells of each event: `change` gets the names of the fields and the cells."""
    lines = text.splitlines()
    fields = lines[0].split("\t")[1:]
    changed = []
    for line in lines[1:]:
        cells = line.split("\t")
        changed.append(
            line if cells[0] in ("section", "container", "end") else "\t".join(change(fields, cells))
        )
    return "\n".join([lines[0], *changed])


def without(field: str, text: str) -> str:
    def drop(fields: list[str], cells: list[str]) -> list[str]:
        place = 4 + fields.index(field)
        return [*cells[:place], "-", *cells[place + 1 :]]

    return cells_changed(text, drop)


@pytest.mark.parametrize("capture", ["none-gtod", "none-handled"])
def test_a_field_that_is_never_there_is_no_reason_to_stop_or_to_accuse(
    lua: Lua, capture: str, traces: Path
) -> None:
    text = recording(traces / f"{capture}.scap")
    whole = {finding["id"] for finding in json_lines(lua.run("vsyscall_diag", lua.read(text), json=True))}
    for field in FIELDS:
        recorded = lua.read(without(field, text))
        for name in NAMES:
            lua.run(name, recorded)
        found = json_lines(lua.run("vsyscall_diag", recorded, json=True))
        new = {(finding["id"], finding["confidence"]) for finding in found if finding["id"] not in whole}
        # What is missing may hide a verdict or make it less sure. It adds none, save that nothing more is
        # seen of a thread behind its call, or that there are no page faults; and an end without a status
        # counts as an exit.
        allowed = {("vsyscall-none-crash", "possible"), ("page-faults-not-captured", "certain")}
        if field == "evt.rawarg.status":
            allowed.add(("vsyscall-sigsegv-handled", "certain"))
        assert new <= allowed, field


def test_event_types_of_the_future_are_calls_like_any_other(lua: Lua, traces: Path) -> None:
    text = recording(traces / "none-gtod.scap")

    def rename(_: list[str], cells: list[str]) -> list[str]:
        known = {"spage_fault", "ssignaldeliver", "sprocexit", "sswitch"}
        return cells if cells[3] in known else [*cells[:3], "sof_the_future", *cells[4:]]

    later = lua.read(cells_changed(text, rename))
    for name in NAMES:
        lua.run(name, later)
    assert lua.run("vsyscall_diag", later, json=True) == lua.run("vsyscall_diag", lua.read(text), json=True)


def test_events_that_say_nothing_change_nothing(lua: Lua, traces: Path) -> None:
    text = recording(traces / "none-handled.scap")
    lines = text.splitlines()
    empty = ["7", "1795176593", "0", "s<unknown>", *["-"] * len(FIELDS)]
    padded = [lines[0], *[line for event in lines[1:] for line in ("\t".join(empty), event)]]
    more = lua.read("\n".join(padded))
    assert lua.run("vsyscall_diag", more, json=True) == lua.run("vsyscall_diag", lua.read(text), json=True)
    for name in NAMES:
        lua.run(name, more)


def test_without_a_container_table_the_events_name_the_container(lua: Lua, traces: Path) -> None:
    recorded = lua.read(recording(traces / "none-docker-redis.scap"))
    (found,) = json_lines(lua.run("vsyscall_diag", recorded, json=True, container_table_fails=True))
    assert (found["container"]["name"], found["container"]["image"]) == ("redis1", "redis:2.8.22")
    lua.run("time_calls", recorded, container_table_fails=True)
    lua.run("syscall_summary", recorded, container_table_fails=True)


def test_a_container_that_nobody_describes_keeps_its_id(lua: Lua, traces: Path) -> None:
    text = recording(traces / "none-docker-redis.scap")
    kept = [
        line
        for line in text.splitlines()
        if not line.startswith("container\t") and "\tscontainer\t" not in line
    ]
    recorded = lua.read("\n".join(kept))
    (found,) = json_lines(lua.run("vsyscall_diag", recorded, json=True))
    assert found["container"] == {"id": "7272f37ebc5c", "name": None, "image": None, "runtime": None}
    assert "Container:  name unknown, image unknown, id 7272f37ebc5c" in lua.run("vsyscall_diag", recorded)


HOSTILE = '\x1b]0;x\x07\x1b[2J\\n\\t"quoted\\\\" \udcff\udcc3\u00e9\u009b31m\u202etxt'


def test_a_name_cannot_break_the_output(lua: Lua, traces: Path) -> None:
    text = recording(traces / "none-gtod.scap")
    hostile = lua.read(text.replace("svscrash\t", f"s{HOSTILE}\t"))
    (found,) = json_lines(lua.run("vsyscall_diag", hostile, json=True))
    assert (
        found["process"]["comm"] == '\x1b]0;x\x07\x1b[2J\n\t"quoted\\" \ufffd\ufffd\u00e9\u009b31m\u202etxt'
    )
    for name in NAMES:
        for output in ("", "table", "process"):
            arguments = (
                {"vsyscall_diag": ("table",), "syscall_summary": ("process",)}.get(name, ()) if output else ()
            )
            shown = lua.run(name, hostile, *arguments)
            assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", shown)


@pytest.mark.parametrize(
    ("comm", "stops"),
    [("vsstress", True), ("and", True), ("with space", False), ('a"b', False), ("\udcff", False)],
)
def test_a_program_is_left_out_only_if_a_filter_can_name_it(
    lua: Lua, comm: str, stops: bool, traces: Path
) -> None:
    text = recording(traces / "emulate-stress-n3000.scap").replace("svsstress\t", f"s{comm}\t")
    state = lua.runtime.eval('(require("scapscope.state"))')
    enough, state.ENOUGH = state.ENOUGH, 2000
    (found,) = json_lines(lua.run("vsyscall_diag", lua.read(text), json=True))
    state.ENOUGH = enough
    assert found["facts"]["count"] == (2000 if stops else 3000)
    assert found["facts"].get("count_is_minimum", False) == stops


def test_numbers_stay_whole(lua: Lua, traces: Path) -> None:
    """Beyond 32 bits, where a float would lose its last digits or show a point."""

    def enlarge(_: list[str], cells: list[str]) -> list[str]:
        return [str(int(cells[0]) + 5_000_000_000), *cells[1:]]

    recorded = lua.read(cells_changed(recording(traces / "none-gtod.scap"), enlarge))
    printed = lua.run("vsyscall_diag", recorded, json=True)
    (found,) = json_lines(printed)
    assert [event["event"] for event in found["evidence"]] == [5_000_000_695, 5_000_000_696, 5_000_000_699]
    assert [event["timestamp_ns"] % 1000 for event in found["evidence"]] == [477, 658, 330]
    assert "." not in re.sub(r'"[^"]*"', "", printed)
    assert "5000000695 page_fault" in lua.run("vsyscall_diag", recorded)


def written(lua: Lua, capture: Capture, folder: Path) -> Any:
    path = folder / "written.scap"
    path.write_bytes(capture.bytes())
    return lua.read(recording(path))


def test_a_live_capture_is_reported_in_intervals(lua: Lua, tmp_path: Path) -> None:
    capture = Capture()
    for _ in range(3):
        for _ in range(2000):
            capture.fault(173, TIME, PRESENT)
        capture.call(173)
        capture.time_ns += 5_000_000_000
    capture.fault(193, PAGE + 0x402, PRESENT)
    capture.signal(193, SIGSEGV)
    capture.exit(193, SIGSEGV)
    recorded = written(lua, capture, tmp_path)
    story = lua.run("vsyscall_diag", recorded, live=True)
    assert re.findall(r"^2026-11-20 (.*) UTC$", story, re.MULTILINE) == ["12:15:50", "12:15:55", "12:16:00"]
    assert story.count("called the vsyscall page 2,000 times") == 3
    assert "Look it up" not in story
    found = json_lines(lua.run("vsyscall_diag", recorded, live=True, json=True))
    assert [(finding["id"], finding["facts"]["count"]) for finding in found] == [
        ("vsyscall-emulated-hot", 2000),
        ("vsyscall-emulated-hot", 2000),
        ("vsyscall-emulated-hot", 2000),
        ("vsyscall-misaligned-jump", 1),
    ]


def test_a_live_capture_without_page_faults_says_so_once(lua: Lua, traces: Path) -> None:
    recorded = lua.read(recording(traces / "none-bash-nopf.scap"))
    story = lua.run("vsyscall_diag", recorded, live=True)
    assert story.count("page faults were not recorded") == 1


def test_live_tables_of_time_calls_come_every_second(lua: Lua, traces: Path) -> None:
    recorded = lua.read(recording(traces / "clk-hpet-vdso-cgt-n3000.scap"))
    ticks = json_lines(lua.run("time_calls", recorded, live=True, json=True))
    assert json.dumps(ticks) == json.dumps(json_lines(lua.run("time_calls", recorded, "1", json=True)))
    assert any("timestamp" in row for row in ticks)


def test_a_read_error_at_the_end_is_not_reported_twice(lua: Lua, traces: Path) -> None:
    recorded = lua.read(recording(traces / "none-gtod.scap"))
    for name in NAMES:
        assert lua.run(name, recorded, cut_off=True) == lua.run(name, recorded)


def test_luacheck_is_content() -> None:
    if shutil.which("luacheck") is None:
        pytest.skip("needs luacheck (apt-get install lua-check)")
    done = subprocess.run(
        ["luacheck", "--config", CHISELS / ".luacheckrc", CHISELS, TEST_CHISELS],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    ("ns", "text"),
    [
        (512.5, "512 ns"),
        (999.4, "999 ns"),
        (999_999, "1 ms"),
        (7_177_253, "7.18 ms"),
        (59_900_000_000, "59.9 s"),
        (93_000_000_000, "1 min 33 s"),
        (3_599_700_000_000, "1 h 0 min"),
        (90_061_000_000_000, "25 h 1 min"),
    ],
)
def test_durations_read_as_people_say_them(lua: Lua, ns: float, text: str) -> None:
    assert lua.runtime.eval('require("scapscope.words").duration')(ns) == text


def test_a_mean_below_a_microsecond_is_no_reason_to_stop(lua: Lua, traces: Path) -> None:
    def hasten(_: list[str], cells: list[str]) -> list[str]:
        return [cells[0], cells[1], str(int(cells[2]) // 10), *cells[3:]]

    recorded = lua.read(cells_changed(recording(traces / "clk-hpet-vdso-cgt-n3000.scap"), hasten))
    (row,) = [line for line in lua.run("time_calls", recorded).splitlines() if line.startswith("vsstress")]
    assert re.search(r" \d+ ns ", row)


def test_processes_beyond_those_kept_are_counted_in_one_row(lua: Lua, traces: Path) -> None:
    path = traces / "docker-hpet-vdso-cgt-n3000.scap"
    recorded = lua.read(recording(path))
    whole = json_lines(lua.run("time_calls", recorded, json=True))
    times = lua.runtime.eval('(require("scapscope.call_times"))')
    kept, times.ENDED = times.ENDED, 2
    few = json_lines(lua.run("time_calls", recorded, json=True))
    table = lua.run("time_calls", recorded, containers=True)
    times.ENDED = kept
    *named, others = few
    assert (others["process"], others["call"]) == (None, None)
    assert len(named) + others["rows"] == len(whole)
    assert sum(row["calls"] for row in few) == sum(row["calls"] for row in whole)
    assert "process_syscalls" not in others
    assert f"{others['rows']} rows of ended processes" in table


def test_failures_that_find_no_place_are_counted(lua: Lua, traces: Path) -> None:
    recorded = lua.read(recording(traces / "docker-hpet-vdso-cgt-n3000.scap"))
    failures = [
        row["count"]
        for row in json_lines(lua.run("syscall_summary", recorded, json=True))
        if "failed_path" in row
    ]
    more = re.search(
        r"^\.\.\. and ([\d,]+) more failures", lua.run("syscall_summary", recorded), re.MULTILINE
    )
    assert more is not None
    assert int(more[1].replace(",", "")) == sum(failures[10:]) > 0


def test_containers_learnt_lately_are_known(lua: Lua) -> None:
    containers = lua.runtime.eval('require("scapscope.containers").new()')
    for number in range(20_000):
        containers.learn(containers, f"id{number}", f"name{number}", "image", "docker")
    assert containers.show(containers, "id19999").name == "name19999"
    assert containers.show(containers, "id17000").name == "name17000"
    assert containers.show(containers, "id0").name is None
    assert containers.count < 5000
