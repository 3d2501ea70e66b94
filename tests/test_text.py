"""The text a person reads: what it says first, what it leaves out, and that it cannot bite."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from reports import about_capture, container, evidence, finding, process, report
from running import scapscope
from scapscope import Damage, Machine, Relative
from scapscope.reports import text
from scapscope.reports.json import render as render_json
from scapscope.reports.page import Page, printable

HOSTILE = "\x1b]0;owned\x07\x1b[2J\u202egpj.exe\u2066\nroot # \x9b31m\x7f\u200b\ud800\r"
SNAPSHOTS = [
    "none-docker-redis.scap",
    "none-handled.scap",
    "none-neg-null.scap",
    "none-neg-jump.scap",
    "none-neg-normal.scap",
    "none-bash-nopf.scap",
    "emulate-stress-n3000.scap",
    "current-format/none-neg-null-modern.scap",
]

each_snapshot = pytest.mark.parametrize("name", SNAPSHOTS)


@each_snapshot
def test_the_story_stays_as_it_is(name: str, traces: Path, snapshot: SnapshotAssertion) -> None:
    shown = scapscope("explain", name, cwd=traces)
    assert shown.stderr == ""
    assert shown.stdout == snapshot


@each_snapshot
def test_the_json_stays_as_it_is(name: str, traces: Path, snapshot: SnapshotAssertion) -> None:
    assert scapscope("explain", "--json", name, cwd=traces).stdout == snapshot


def test_the_verdict_comes_first(redis_capture: Path) -> None:
    shown = scapscope("explain", redis_capture).stdout
    verdict = " ".join(shown.partition("\n\n")[0].split())
    for part in ("critical", "entrypoint.sh", "redis1", "redis:2.8.22", "time()", "vsyscall=none", "glibc"):
        assert part in verdict
    assert shown.index("Why") < shown.index("Fix\n") < shown.index("How sure") < shown.index("Evidence")


@pytest.mark.parametrize("columns", [50, 60, 80, 100, 120])
def test_lines_fit_the_terminal(columns: int, redis_capture: Path) -> None:
    shown = scapscope("explain", redis_capture, COLUMNS=str(columns)).stdout
    too_long = [line for line in shown.splitlines() if len(line) > columns]
    # Nothing that is meant to be copied is broken: commands, addresses on the web.
    assert [line for line in too_long if not re.match(r"^ +\S*$|^ {7}\w|^  (sysdig|scapscope) ", line)] == []
    assert (
        "".join(shown.split()).count("error=154(PAGE_NOT_PRESENT|READ_ACCESS|USER_FAULT|INSTRUCTION_FETCH)")
        == 1
    )


def test_colour_changes_nothing_but_colour() -> None:
    crash = report(finding())
    coloured = text.render(crash, colour=True)
    assert "\x1b[" in coloured
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == text.render(crash, colour=False)


def test_a_pipe_gets_no_colour(redis_capture: Path) -> None:
    assert "\x1b" not in scapscope("explain", redis_capture).stdout
    assert "\x1b[1;31m" in scapscope("explain", redis_capture, "--color").stdout
    assert "\x1b" not in scapscope("explain", redis_capture, "--no-color").stdout


HEALTHY = "No crash found, and none of the causes of slowness scapscope knows, in 1,000 events over 1 s.\n"


def test_a_healthy_capture_says_so_and_what_it_cannot_tell() -> None:
    shown = text.render(report())
    assert shown.startswith(HEALTHY)
    assert "vsyscall mode" in shown
    blind = about_capture(id="page-faults-not-captured", severity="info", facts={"segfaults": 0}, evidence=())
    shown = text.render(report(blind, page_faults_recorded=False))
    assert shown.startswith(HEALTHY)
    assert "\ninfo: Page faults were not recorded" in shown


def test_findings_about_the_capture_alone_leave_it_healthy() -> None:
    shown = text.render(report(about_capture()))
    assert shown.startswith("warning: Events are missing from this capture")
    assert "\nNo crash found in 1,000 events over 1 s.\n" in shown
    assert "slowness scapscope knows" not in shown
    assert "No crash" not in text.render(report(finding(), about_capture()))


def test_an_empty_capture_is_not_called_healthy() -> None:
    damage = Damage(kind="cut-off", offset=28, expected="a block", found="the end of the file")
    shown = text.render(
        report(events=0, first_timestamp_ns=None, last_timestamp_ns=None, duration_ns=0, damage=damage)
    )
    assert "holds no events" in shown
    assert "No crash" not in shown


def test_filters_are_owned_up_to() -> None:
    assert "Findings left out: 3." in text.render(report(), left_out=3)
    assert "No crash" not in text.render(report(), left_out=3)
    assert "left out by the filters: 3." in text.render(report(finding()), left_out=3)


def test_a_second_finding_of_a_kind_does_not_repeat_the_reasons() -> None:
    shown = text.render(report(finding(), finding(process=process(comm="nginx", pid=9, tid=9))))
    assert shown.count("\nWhy\n") == 1
    assert "as for the first crash-null-deref above" in shown
    assert "nginx (pid 9)" in shown


def test_many_findings_have_their_verdicts_counted() -> None:
    assert "\nand 5 more\n" in text.render(report(*[finding()] * 15))


def test_what_is_not_known_is_not_said() -> None:
    bare = finding(process=None, container=None, facts={}, evidence=())
    shown = text.render(report(bare))
    assert shown.startswith("error: A process was killed: it used a NULL pointer.")
    assert "None" not in shown
    assert "Evidence" not in shown
    nameless = finding(process=process(comm=None, exe=None, parent=Relative(None, 5, ())))
    assert "process 308 in container web (httpd:2.4) was killed" in text.render(report(nameless)).replace(
        "\n  ", " "
    )


def test_the_look_up_line_survives_any_path() -> None:
    def shown(path: str) -> str:
        return text.render(report(finding(), path=path))

    assert 'sysdig -r crash.scap "evt.num in (100)"' in shown("crash.scap")
    assert "sysdig -r 'it'\"'\"'s; rm -rf.scap'" in shown("it's; rm -rf.scap")
    assert "sysdig -r ./-w.scap" in shown("-w.scap")
    assert "sysdig -r FILE.scap" in shown("-")


def test_a_current_capture_is_not_looked_up_in_an_old_sysdig() -> None:
    shown = text.render(report(finding(), enter_events=False))
    assert "sysdig -r" not in shown
    assert "scapscope events crash.scap --tid 308" in shown


def test_no_name_can_steer_the_terminal() -> None:
    nasty = finding(
        process=process(
            comm=HOSTILE,
            exe=HOSTILE,
            exepath=HOSTILE,
            filename=f"/{HOSTILE}",
            args=(HOSTILE, HOSTILE),
            parent=Relative(HOSTILE, 1, (HOSTILE,)),
            entry_point=Relative(HOSTILE, 2, (HOSTILE,)),
        ),
        container=container(id=HOSTILE, name=HOSTILE, image=HOSTILE, runtime=HOSTILE),
        facts={
            **finding().facts,
            "libraries": [HOSTILE],
            "sent_by": {"comm": HOSTILE, "pid": 1},
            "last_syscalls": [{"event": 1, "name": HOSTILE, "before_death_ns": 5}],
        },
        evidence=(evidence(type=HOSTILE, detail=HOSTILE),),
    )
    cut = about_capture(
        id="capture-truncated",
        facts={"kind": "corrupt", "offset": 1, "expected": HOSTILE, "found": HOSTILE, "events": 5},
    )
    whole = report(nasty, cut, path=HOSTILE, machine=Machine(HOSTILE, 2, 10**9, None))
    for colour in (False, True):
        shown = (
            re.sub(r"\x1b\[(\d;)?\d+m", "", text.render(whole, colour=colour))
            if colour
            else text.render(whole)
        )
        assert all(character == "\n" or character.isprintable() for character in shown)
        assert r"\x1b]0;owned\x07" in shown
        assert r"\u202egpj.exe" in shown
    # A name's own newline makes no line of its own, so nobody can write a verdict into the report.
    assert not [line for line in text.render(whole).splitlines() if line.startswith("root #")]
    assert render_json(whole).isascii()
    assert "\x7f" not in render_json(whole)


def test_a_hostile_image_is_in_no_command() -> None:
    image = finding(id="vsyscall-none-crash", container=container(image="-v/:/host"))
    shown = text.render(report(image, mode="none"))
    assert "docker run" not in shown
    assert "libc.so.6 httpd:2.4" in text.render(report(finding(id="vsyscall-none-crash"), mode="none"))


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("bash", "bash"),
        ("naïve café", "naïve café"),
        ("a\x1bb", r"a\x1bb"),
        ("a\nb\tc", r"a\nb\tc"),
        ("\u202eabc", r"\u202eabc"),
        ("\x9b", r"\x9b"),
        ("\U000e0041", r"\U000e0041"),
        ("\udcff", r"\udcff"),
        ("", ""),
    ],
)
def test_only_printable_characters_pass(raw: str, shown: str) -> None:
    assert printable(raw) == shown


def test_tables_align_and_wrap_under_their_last_column() -> None:
    page = Page(width=30)
    page.table(
        [("1", "page_fault", "one two three four five")], header=("event", "type", "detail"), right=(0,)
    )
    assert str(page).splitlines() == [
        "  event  type        detail",
        "      1  page_fault  one two",
        "                     three",
        "                     four five",
    ]


def test_json_is_the_report_and_nothing_else(redis_capture: Path) -> None:
    from scapscope import _native

    told = json.loads(_native.explain(str(redis_capture)))
    assert json.loads(scapscope("explain", "--json", redis_capture).stdout) == told
