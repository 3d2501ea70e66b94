"""Runs chisels in a real sysdig, and records what its chisel API gives."""

from __future__ import annotations

import functools
import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from conftest import REPOSITORY

CHISELS = REPOSITORY / "chisels"
TEST_CHISELS = REPOSITORY / "tests/lua"

# The findings that vsyscall_diag yields; all others are the analyzer's.
COVERED = frozenset(
    {
        "vsyscall-none-crash",
        "vsyscall-sigsegv-handled",
        "vsyscall-emulated-hot",
        "vsyscall-misaligned-jump",
        "vsyscall-read",
        "page-faults-not-captured",
    }
)

# Every field that a chisel here asks for or filters by.
FIELDS = (
    "evt.type",
    "evt.dir",
    "evt.res",
    "evt.rawres",
    "syscall.type",
    "thread.tid",
    "proc.pid",
    "proc.name",
    "proc.exe",
    "proc.vpid",
    "container.id",
    "container.name",
    "container.image",
    "container.type",
    "evt.arg.addr",
    "evt.arg.sig",
    "evt.arg.name",
    "evt.arg.path",
    "evt.arg.pathname",
    "evt.arg.filename",
    "evt.arg.oldpath",
    "evt.arg.target",
    "evt.rawarg.error",
    "evt.rawarg.pid",
    "evt.rawarg.spid",
    "evt.rawarg.status",
    "evt.rawarg.tid",
)

needs_sysdig = pytest.mark.skipif(
    shutil.which("sysdig") is None, reason="needs sysdig (apt-get install sysdig)"
)


def sysdig(
    *words: str | Path, cwd: Path = REPOSITORY, chisel_dir: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """Run sysdig with these words, by default from the root of the repository, where it finds ./chisels."""
    environment = {name: value for name, value in os.environ.items() if name != "SYSDIG_CHISEL_DIR"}
    if chisel_dir is not None:
        environment["SYSDIG_CHISEL_DIR"] = str(chisel_dir)
    return subprocess.run(
        ["sysdig", *(str(word) for word in words)],
        capture_output=True,
        encoding="utf-8",
        errors="surrogateescape",
        cwd=cwd,
        env=environment,
        check=False,
        timeout=120,
    )


def chisel(trace: Path, *words: str, flags: tuple[str, ...] = ()) -> str:
    """Give what a chisel (the first word, then its argument and a filter) prints of a capture."""
    done = sysdig(*flags, "-r", trace, "-c", *words)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return done.stdout


def told(trace: Path, *words: str, flags: tuple[str, ...] = ()) -> str:
    """Give what a chisel prints with its lines joined: it breaks sentences to fit a terminal."""
    return " ".join(chisel(trace, *words, flags=flags).split())


def json_lines(text: str) -> list[dict[str, Any]]:
    """Read one JSON object per line."""
    return [json.loads(line) for line in text.splitlines()]


@functools.cache
def recording(trace: Path) -> str:
    """Record all events of a capture as the chisel API gives them: see tests/lua/record.lua."""
    done = sysdig("-r", trace, "-c", "record", ",".join(FIELDS), chisel_dir=TEST_CHISELS)
    assert done.returncode == 0, done.stderr
    return done.stdout
