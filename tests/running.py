"""Runs the command line as a user does: in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree


def scapscope(
    *words: str | Path, stdin: bytes = b"", cwd: Path | None = None, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run `scapscope` with these words; its output is text, whatever bytes it had."""
    done = subprocess.run(
        [sys.executable, "-m", "scapscope", *(str(word) for word in words)],
        input=stdin,
        capture_output=True,
        cwd=cwd,
        env={**os.environ, **environment},
        check=False,
        timeout=120,
    )
    out, err = (stream.decode("utf-8", "surrogateescape") for stream in (done.stdout, done.stderr))
    return subprocess.CompletedProcess(done.args, done.returncode, out, err)


def parse_xml(text: str) -> ElementTree.Element:
    """The root of a picture that scapscope drew; fails if it is not well-formed."""
    return ElementTree.fromstring(text)  # noqa: S314 (what it drew itself)
