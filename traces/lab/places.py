"""Where things lie, and what goes wrong in plain words."""

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

LAB = Path(__file__).resolve().parent
TRACES = LAB.parent
REPOSITORY = TRACES.parent
# Not below traces/: whoever looks for captures there finds those of the manifest only.
CACHE = REPOSITORY / "build/lab"
RECORDED = CACHE / "recorded"
MANIFEST = TRACES / "manifest.yaml"


class LabError(Exception):
    """Something the lab cannot go on without; the message says what to do."""


def say(line: str) -> None:
    """Tell how far the lab is, beside its results on standard output."""
    print(line, file=sys.stderr, flush=True)


def find_missing(wanted: dict[str, str]) -> None:
    """Raise if one of the programs is not installed; `wanted`: program to Debian package."""
    missing = [package for program, package in wanted.items() if shutil.which(program) is None]
    if missing:
        raise LabError(f"not installed: {' '.join(missing)} (apt-get install {' '.join(missing)})")


def run_logged(command: Sequence[str | os.PathLike[str]], log: Path) -> None:
    """Run a program whose output only matters when it fails."""
    with log.open("wb") as output:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, check=False)
    if done.returncode != 0:
        last = "\n".join(log.read_text(errors="replace").splitlines()[-15:])
        raise LabError(
            f"{Path(command[0]).name} ended with status {done.returncode}; {log} ends with:\n{last}"
        )


def fingerprint(files: Iterable[Path]) -> str:
    """A checksum of all files' names and contents."""
    digest = hashlib.sha256()
    for file in sorted(files):
        digest.update(f"{file.name}\0{file.stat().st_size}\0".encode())
        digest.update(file.read_bytes())
    return digest.hexdigest()
