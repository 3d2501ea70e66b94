"""The command line: exit statuses, messages, filters, outputs, interrupts."""

from __future__ import annotations

import gzip
import json
import os
import pty
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from running import scapscope

COMMANDS = ("explain", "events", "info", "syscalls", "rates", "flame")


def test_no_words_teach_the_words() -> None:
    done = scapscope()
    assert done.returncode == 2
    for command in (*COMMANDS, "findings"):
        assert f"  {command} " in done.stdout + done.stderr


@pytest.mark.parametrize("command", [*COMMANDS, "findings"])
def test_help_teaches_by_example(command: str) -> None:
    done = scapscope(command, "--help")
    assert done.returncode == 0
    assert "Examples:\n    scapscope " in done.stdout


def test_the_version_is_the_package_s() -> None:
    from importlib.metadata import version

    assert scapscope("--version").stdout == f"scapscope {version('scapscope')}\n"


@pytest.mark.parametrize(
    "words",
    [["explain"], ["explane", "x"], ["explain", "x", "--fail-on", "dire"], ["events", "x", "--tid", "a"]],
)
def test_wrong_usage(words: list[str]) -> None:
    done = scapscope(*words)
    assert done.returncode == 2
    assert done.stderr.startswith("Usage: scapscope")
    assert done.stdout == ""


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("missing.scap", None, "missing.scap"),
        ("empty.scap", b"", "empty"),
        ("notes.txt", b"it crashed at night\n" * 40, "text"),
        ("program", b"\x7fELF\x02\x01\x01" + bytes(100), "ELF"),
        ("net.pcap", b"\xd4\xc3\xb2\xa1\x02\x00\x04\x00" + bytes(100), "pcap"),
        ("zeros", bytes(4096), "zeros"),
        ("notes.gz", gzip.compress(b"it crashed at night\n" * 40), "text"),
    ],
)
def test_an_input_that_is_no_capture_is_named(
    command: str, name: str, content: bytes | None, says: str, tmp_path: Path
) -> None:
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    done = scapscope(command, path)
    assert done.returncode == 3
    assert done.stdout == ""
    assert done.stderr.startswith("scapscope: ")
    assert str(path) in done.stderr
    assert says in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("command", COMMANDS)
def test_a_folder_is_no_capture(command: str, tmp_path: Path) -> None:
    done = scapscope(command, tmp_path)
    assert done.returncode == 3
    assert "directory" in done.stderr or "folder" in done.stderr


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read(tmp_path: Path, redis_capture: Path) -> None:
    closed = Path(shutil.copy(redis_capture, tmp_path / "closed.scap"))
    closed.chmod(0)
    done = scapscope("explain", closed)
    assert done.returncode == 3
    assert "ermission" in done.stderr


def test_a_file_name_cannot_steer_the_terminal(tmp_path: Path) -> None:
    path = tmp_path / "\x1b[2J\u202e.scap"
    path.write_bytes(b"")
    done = scapscope("explain", path)
    assert done.returncode == 3
    assert "\x1b" not in done.stderr
    assert "\u202e" not in done.stderr


@pytest.mark.parametrize("command", COMMANDS)
def test_standard_input_is_as_good_as_a_file(command: str, redis_capture: Path) -> None:
    form = [] if command == "flame" else ["--json"]
    from_file = scapscope(command, redis_capture, *form)
    for content in (redis_capture.read_bytes(), gzip.decompress(redis_capture.read_bytes())):
        piped = scapscope(command, "-", *form, stdin=content)
        assert (piped.returncode, piped.stderr) == (0, "")
        if command == "explain":
            assert json.loads(piped.stdout)["findings"] == json.loads(from_file.stdout)["findings"]
            assert json.loads(piped.stdout)["capture"]["path"] == "-"
        if command in ("events", "flame"):
            assert piped.stdout == from_file.stdout
        if command in ("syscalls", "rates"):
            told = "groups" if command == "syscalls" else "series"
            assert json.loads(piped.stdout)[told] == json.loads(from_file.stdout)[told] != []


def test_nothing_on_standard_input() -> None:
    done = scapscope("explain", "-")
    assert done.returncode == 3
    assert "empty" in done.stderr


@pytest.mark.parametrize(
    ("severity", "status"), [("critical", 1), ("error", 1), ("warning", 1), ("info", 1), (None, 0)]
)
def test_fail_on_is_reached_by_a_crash(severity: str | None, status: int, redis_capture: Path) -> None:
    asked = ["--fail-on", severity] if severity else []
    done = scapscope("explain", redis_capture, *asked)
    assert done.returncode == status
    assert "vsyscall-none-crash" in done.stdout


def test_fail_on_is_not_reached_by_less(traces: Path) -> None:
    assert scapscope("explain", traces / "none-neg-normal.scap", "--fail-on", "info").returncode == 0
    hot = traces / "emulate-stress-n3000.scap"
    assert scapscope("explain", hot, "--fail-on", "warning").returncode == 1
    assert scapscope("explain", hot, "--fail-on", "error").returncode == 0


def test_fail_on_goes_by_the_container_and_not_by_what_is_shown(redis_capture: Path) -> None:
    asked = ("explain", redis_capture, "--fail-on", "error")
    assert scapscope(*asked, "--container", "redis1").returncode == 1
    assert scapscope(*asked, "--container", "postgres").returncode == 0
    hot = redis_capture.with_name("emulate-stress-n3000.scap")
    assert scapscope("explain", hot, "--fail-on", "warning", "--min-severity", "critical").returncode == 1


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["--container", "redis1"], True),
        (["--container", "redis:2.8.22"], True),
        (["--container", "redis"], True),
        (["--container", "7272f37e"], True),
        (["--container", "7272f37ebc5c" + 52 * "0"], True),
        (["--container", "redis:3"], False),
        (["--container", "edis1"], False),
        (["--container", ""], False),
        (["--pid", "308"], True),
        (["--pid", "1"], False),
        (["--pid", "308", "--container", "postgres"], False),
        (["--min-severity", "critical"], True),
        (["--min-severity", "info"], True),
    ],
)
def test_filters(words: list[str], found: bool, redis_capture: Path) -> None:
    told = json.loads(scapscope("explain", redis_capture, "--json", *words).stdout)
    assert [finding["id"] for finding in told["findings"]] == (["vsyscall-none-crash"] if found else [])
    shown = scapscope("explain", redis_capture, *words)
    assert ("vsyscall-none-crash" in shown.stdout) == found
    assert ("left out: 1" in shown.stdout) != found


def test_severity_filters(traces: Path) -> None:
    hot = traces / "emulate-stress-n3000.scap"
    assert "vsyscall-emulated-hot" in scapscope("explain", hot, "--min-severity", "warning").stdout
    shown = scapscope("explain", hot, "--min-severity", "error").stdout
    assert "vsyscall-emulated-hot" not in shown
    assert "No crash" not in shown


def test_the_user_says_how_many_time_calls_are_many(traces: Path) -> None:
    hot = traces / "emulate-stress-n3000.scap"
    for calls, found in (("3000", True), ("3001", False)):
        assert ("vsyscall-emulated-hot" in scapscope("explain", hot, "--hot-calls", calls).stdout) == found
    for calls in ("0", "-1", "many"):
        shown = scapscope("explain", hot, "--hot-calls", calls)
        assert (shown.returncode, "--hot-calls" in shown.stderr) == (2, True)
    assert "--hot-calls N" in scapscope("explain", "--help").stdout


def test_several_traces_as_text_and_as_json_lines(traces: Path) -> None:
    names = ["none-docker-redis.scap", "none-neg-normal.scap", "none-neg-null.scap"]
    shown = scapscope("explain", *names, cwd=traces).stdout
    assert [shown.count(f"\n{name}: ") for name in names] == [1, 1, 1]
    lines = scapscope("explain", "--json", *names, cwd=traces).stdout.splitlines()
    assert [json.loads(line)["capture"]["path"] for line in lines] == names


def test_one_unreadable_trace_does_not_keep_the_others_back(traces: Path) -> None:
    done = scapscope(
        "explain",
        "--json",
        "none-neg-null.scap",
        "manifest.yaml",
        "none-gtod.scap",
        "--fail-on",
        "info",
        cwd=traces,
    )
    assert done.returncode == 3
    assert "manifest.yaml" in done.stderr
    found = [json.loads(line)["findings"][0]["id"] for line in done.stdout.splitlines()]
    assert found == ["crash-null-deref", "vsyscall-none-crash"]


def test_a_report_goes_to_a_file(redis_capture: Path, tmp_path: Path) -> None:
    done = scapscope("explain", redis_capture, "-o", tmp_path / "report.txt", "--color")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert (tmp_path / "report.txt").read_text() == scapscope("explain", redis_capture).stdout
    scapscope("explain", redis_capture, "-o", tmp_path / "report.json")
    assert json.loads((tmp_path / "report.json").read_text())["schema_version"] == "1.0"


def test_a_report_never_overwrites_its_capture(redis_capture: Path, tmp_path: Path) -> None:
    capture = Path(shutil.copy(redis_capture, tmp_path / "crash.scap"))
    (tmp_path / "alias.json").symlink_to(capture)
    for target in ("crash.scap", "alias.json"):
        done = scapscope("explain", capture, "-o", tmp_path / target)
        assert done.returncode == 2
        assert "overwrite" in done.stderr
    assert capture.read_bytes() == redis_capture.read_bytes()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("command", COMMANDS)
def test_a_full_disk_is_reported(command: str, redis_capture: Path) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "scapscope", command, redis_capture],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 4
    assert (
        done.stderr
        == "scapscope: the answer could not be written to standard output: No space left on device\n"
    )
    if command == "explain":
        done = scapscope(command, redis_capture, "-o", "/dev/full")
        assert done.returncode == 4
        assert "/dev/full: No space left on device" in done.stderr


def test_a_report_for_a_folder_that_is_not_there(redis_capture: Path, tmp_path: Path) -> None:
    done = scapscope("explain", redis_capture, "-o", tmp_path / "no/report.txt")
    assert done.returncode == 4
    assert "no/report.txt: No such file or directory" in done.stderr


@pytest.mark.parametrize("command", [c for c in COMMANDS if c != "info"])
def test_a_reader_that_goes_away_is_no_error(command: str, redis_capture: Path) -> None:
    with subprocess.Popen(
        [
            sys.executable,
            "-m",
            "scapscope",
            command,
            redis_capture,
            *([] if command == "flame" else ["--json"]),
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as running:
        assert running.stdout is not None
        assert running.stderr is not None
        if command == "events":
            running.stdout.readline()
        running.stdout.close()
        assert running.stderr.read() == b""
        assert running.wait(timeout=60) == 141


def test_closed_standard_output(redis_capture: Path) -> None:
    done = subprocess.run(
        ["sh", "-c", '"$0" -m scapscope explain "$1" >&-', sys.executable, redis_capture],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 4
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("command", COMMANDS)
def test_an_interrupt_ends_it_quietly(command: str) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "scapscope", command, "-"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as running:
        time.sleep(1.5)  # it waits for input that does not come
        running.send_signal(signal.SIGINT)
        out, err = running.communicate(timeout=20)
    assert running.returncode == 130
    assert out == b""
    assert err.strip() == b"scapscope: interrupted"


def on_terminal(*words: str | Path, **environment: str) -> str:
    """What a terminal receives; both outputs are the terminal."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "scapscope", *map(str, words)],
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=theirs,
        env={**os.environ, "TERM": "xterm", "NO_COLOR": "", **environment},
    ):
        os.close(theirs)
        received = b""
        try:
            while piece := os.read(ours, 65536):
                received += piece
        except OSError:  # the other side is closed
            pass
    os.close(ours)
    return received.decode().replace("\r\n", "\n")


def test_a_terminal_gets_colour_unless_it_does_not_want_it(traces: Path) -> None:
    capture = traces / "none-neg-null.scap"
    assert "\x1b[31m" in on_terminal("explain", capture)
    plain = scapscope("explain", capture, COLUMNS="80").stdout
    assert on_terminal("explain", capture, NO_COLOR="1", COLUMNS="80") == plain
    assert on_terminal("explain", capture, TERM="dumb", COLUMNS="80") == plain
    assert on_terminal("explain", capture, "--no-color", COLUMNS="80") == plain


def test_a_short_capture_shows_no_progress_bar(redis_capture: Path) -> None:
    assert "\x1b[?25l" not in on_terminal("explain", redis_capture)


@pytest.mark.parametrize("terminal", [True, False])
def test_a_slow_input_shows_a_progress_bar_on_a_terminal_only(terminal: bool, traces: Path) -> None:
    content = (traces / "none-neg-null-plain.scap").read_bytes()
    ours, theirs = pty.openpty() if terminal else os.pipe()
    with subprocess.Popen(
        [sys.executable, "-m", "scapscope", "explain", "-"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=theirs,
        env={**os.environ, "TERM": "xterm"},
    ) as running:
        assert running.stdin is not None
        assert running.stdout is not None
        for start in range(0, len(content), len(content) // 10):
            running.stdin.write(content[start : start + len(content) // 10])
            running.stdin.flush()
            time.sleep(0.15)
        running.stdin.close()
        told = running.stdout.read().decode()
    os.set_blocking(ours, False)
    try:
        drawn = os.read(ours, 1 << 20)
    except BlockingIOError:
        drawn = b""
    os.close(ours)
    os.close(theirs)
    assert told.startswith("error: segv was killed by SIGSEGV")
    assert (b"Reading standard input" in drawn) == terminal


def test_an_ascii_terminal_is_no_error(redis_capture: Path) -> None:
    assert scapscope("explain", redis_capture, PYTHONIOENCODING="ascii").returncode == 0


@pytest.mark.parametrize("command", ["syscalls", "rates", "flame", "events"])
def test_what_nothing_can_be_is_wrong_usage(redis_capture: Path, command: str) -> None:
    nobody = "--tid" if command == "events" else "--pid"
    for words in ([nobody, "-5"], ["--since", "5s", "--until", "1s"]):
        done = scapscope(command, redis_capture, *words)
        assert (done.returncode, done.stdout) == (2, "")
        assert words[-2] in done.stderr
    assert scapscope(command, redis_capture, "--since", "1s", "--until", "1s").returncode == 0
