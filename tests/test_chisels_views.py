"""The views in a real csysdig, in a real terminal: tmux plays the terminal and tells what is on it."""

from __future__ import annotations

import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from conftest import REPOSITORY
from sysdig_runs import CHISELS

MISSING = [program for program in ("csysdig", "tmux") if shutil.which(program) is None]

pytestmark = pytest.mark.skipif(
    bool(MISSING), reason=f"needs {' and '.join(MISSING)} (apt-get install sysdig tmux)"
)

PATIENCE_S = 30


class Terminal:
    """A terminal of its own server, so that no other tmux is concerned."""

    def __init__(self, socket: Path) -> None:
        self.socket = socket

    def tmux(self, *words: str) -> str:
        return subprocess.run(
            ["tmux", "-S", self.socket, *words],
            capture_output=True,
            text=True,
            check=True,
            timeout=PATIENCE_S,
        ).stdout

    def start(self, *words: str | Path, cwd: Path = REPOSITORY) -> None:
        # Variables would go before the terminal's own size. What the program leaves behind stays to be seen.
        command = "unset COLUMNS LINES; " + " ".join(f"'{word}'" for word in words) + "; cat"
        size = ("-x", "220", "-y", "40")
        self.tmux("-f", "/dev/null", "new-session", "-d", *size, "-c", str(cwd), command)

    def keys(self, *keys: str) -> None:
        self.tmux("send-keys", *keys)

    def wait_for(self, pattern: str) -> str:
        """Give the screen once it shows this."""
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            screen = self.tmux("capture-pane", "-p")
            if re.search(pattern, screen, re.MULTILINE):
                return screen
            time.sleep(0.1)
        pytest.fail(f"{pattern!r} does not come; the screen:\n{screen}")


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    terminal = Terminal(tmp_path / "tmux")
    yield terminal
    subprocess.run(["tmux", "-S", terminal.socket, "kill-server"], capture_output=True, check=False)


def row_of(screen: str, command: str) -> list[str]:
    (line,) = [line for line in screen.splitlines() if command in line]
    return line.split()


def test_the_vsyscall_view_shows_who_faults_in_the_page(terminal: Terminal, redis_capture: Path) -> None:
    terminal.start("csysdig", "-r", redis_capture, "-v", "vsyscall")
    screen = terminal.wait_for(r"entrypoint\.sh redis-server")
    assert "Viewing: Vsyscall Page" in screen
    heads = next(line for line in screen.splitlines() if "FAULTS" in line).split()
    assert heads == ["FAULTS", "FAULTS/S", "PID", "ADDRESS", "ERROR", "Command"]
    row = row_of(screen, "entrypoint.sh redis-server")
    assert row[0] == "1"
    assert row[2:4] == ["308", "FFFFFFFFFF600400"]
    assert row[4].endswith("INSTRUCTION_FETCH")


def test_the_vsyscall_view_counts_a_storm_and_nothing_else(terminal: Terminal, traces: Path) -> None:
    terminal.start("csysdig", "-r", traces / "emulate-stress-n3000.scap", "-v", "vsyscall")
    screen = terminal.wait_for(r"vsstress -m vtime")
    # csysdig writes thousands as K.
    assert row_of(screen, "vsstress -m vtime")[0] == "3K"
    assert len([line for line in screen.splitlines() if "FFFFFFFFFF600" in line]) == 2, (
        "the filter and one process"
    )


def test_the_time_view_shows_who_asks_the_kernel(terminal: Terminal, traces: Path) -> None:
    terminal.start("csysdig", "-pc", "-r", traces / "docker-hpet-vdso-cgt-n3000.scap", "-v", "time_calls")
    screen = terminal.wait_for(r"vsstress -m vdso_cgt -n 3000$")
    heads = next(line for line in screen.splitlines() if "CALLS/S" in line)
    assert heads.split()[:7] == ["CALLS", "CALLS/S", "PID", "AVG", "TIME", "MAX", "TIME"]
    assert "Container ID" in heads
    row = row_of(screen, "vsstress -m vdso_cgt -n 3000")
    assert row[0] == "4K"
    assert row[2] == "1282"
    assert row[3].endswith("us")
    assert row[5] == "9ccdf64f987b"


def test_the_views_are_found_from_elsewhere(terminal: Terminal, traces: Path, tmp_path: Path) -> None:
    where = f"SYSDIG_CHISEL_DIR={CHISELS}"
    terminal.start("env", where, "csysdig", "-r", traces / "none-gtod.scap", "-v", "vsyscall", cwd=tmp_path)
    row = row_of(terminal.wait_for(r"vscrash gtod"), "vscrash gtod")
    assert row[2:4] == ["225", "FFFFFFFFFF600000"]


def test_the_views_are_on_the_menu(terminal: Terminal, traces: Path) -> None:
    terminal.start("csysdig", "-r", traces / "none-gtod.scap")
    terminal.wait_for(r"Viewing: Processes")
    terminal.keys("F2")
    screen = terminal.wait_for(r"Select View")
    for _ in range(60):
        if "Vsyscall Page" in screen:
            break
        terminal.keys("Down")
        screen = terminal.wait_for(r"Select View")
    assert "Vsyscall Page" in screen
    assert "Time System Calls" in screen
