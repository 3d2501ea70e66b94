"""Logs of strace are read as captures are: real ones, recorded here, and those kept in crates/stracelog."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

import scapscope
from conftest import REPOSITORY
from running import run

LOGS = REPOSITORY / "crates/stracelog/tests/logs"
THREADS = """
import threading
lock = threading.Lock()
def work():
    for _ in range(20):
        with lock:
            open("/nonexistent/file") if False else None
            try: open("/srv/nonexistent/file")
            except OSError: pass
threads = [threading.Thread(target=work) for _ in range(4)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
"""


def record(log: Path, options: list[str], command: list[str], folder: Path | None = None) -> None:
    strace = shutil.which("strace")
    if strace is None:
        pytest.skip("no strace here to record a log with")
    done = subprocess.run(
        [strace, *options, "-o", log, *command], cwd=folder, capture_output=True, text=True, check=False
    )
    if "ptrace" in done.stderr and "not permitted" in done.stderr:
        pytest.skip("strace may not trace here")


def calls_of(log: Path) -> Counter[str]:
    """Calls by name that came back."""
    return Counter(event.type for event in scapscope.open(log) if event.direction == "<")


def counted(table: Path) -> dict[str, int]:
    """What strace -c counted."""
    rows = [line.split() for line in table.read_text().splitlines()]
    return {row[-1]: int(row[3]) for row in rows if len(row) in (5, 6) and row[0][0].isdigit() and row[-1] != "total"}


@pytest.mark.parametrize("options", [["-tt", "-T"], ["-ttt", "-T"], ["-r"], ["-t"]], ids=" ".join)
def test_a_log_has_the_calls_that_strace_counts(tmp_path: Path, options: list[str]) -> None:
    command = ["env", "-i", "/bin/ls", "/"]
    record(tmp_path / "ls.log", ["-f", *options], command)
    record(tmp_path / "table", ["-f", "-c"], command)
    calls = calls_of(tmp_path / "ls.log")
    expected = {{"pread64": "pread", "prlimit64": "prlimit"}.get(name, name): n for name, n in counted(tmp_path / "table").items()}
    assert calls == expected
    assert json.loads(run("info", str(tmp_path / "ls.log"), "--json").stdout)["capture"]["strace"]["damaged_lines"] == 0
