"""Puts the real output of commands into the pages that show it; with --check only compares.

A block begins with `<!-- output of: COMMAND -->`, or `first` or `last` so many `lines of`, and ends with
`<!-- end of output -->`. Blocks of a program that is not installed stay as they are.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
PAGES = ("README.md", "docs/chisels.md")
BLOCK = re.compile(
    r"(<!-- (?:output|(?P<end>first|last) (?P<count>\d+) lines) of: (?P<command>.+?) -->\n)"
    r".*?(<!-- end of output -->\n)",
    re.DOTALL,
)
COLUMNS = "100"


def found(program: str) -> str | None:
    """The program installed beside this Python, or else on PATH."""
    return shutil.which(program, path=str(Path(sys.executable).parent)) or shutil.which(program)


def output(program: str, arguments: list[str]) -> list[str]:
    """What a command prints when run in the repository, in lines."""
    done = subprocess.run(
        [program, *arguments],
        cwd=REPOSITORY,
        env=os.environ | {"COLUMNS": COLUMNS, "NO_COLOR": "1"},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return [line.rstrip() for line in done.stdout.strip("\n").splitlines()]


def renewed(block: re.Match[str]) -> str:
    """The block with what its command prints now."""
    name, *arguments = shlex.split(block["command"])
    program = found(name)
    if program is None:
        print(f"{name} is not installed: its blocks stay as they are", file=sys.stderr)
        return block[0]
    lines = output(program, arguments)
    if block["end"]:
        count = int(block["count"])
        lines = lines[:count] if block["end"] == "first" else lines[-count:]
    return "\n".join([block[1] + "```text", *lines, "```", block[5]])


def main() -> None:
    """Rewrite the pages, or with --check end with status 1 if that would change one."""
    outdated = []
    for page in PAGES:
        path = REPOSITORY / page
        text = path.read_text(encoding="utf-8")
        new = BLOCK.sub(renewed, text)
        if new != text:
            outdated.append(page)
            if sys.argv[1:] != ["--check"]:
                path.write_text(new, encoding="utf-8")
    if outdated and sys.argv[1:] == ["--check"]:
        sys.exit(f"{', '.join(outdated)}: not what is printed now; run tools/readme.py")


if __name__ == "__main__":
    main()
