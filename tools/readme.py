"""Puts the real output of the commands that README.md shows into README.md; with --check only compares.

A block begins with `<!-- output of: COMMAND -->` and ends with `<!-- end of output -->`.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
README = REPOSITORY / "README.md"
BLOCK = re.compile(r"(<!-- output of: (.+?) -->\n).*?(<!-- end of output -->\n)", re.DOTALL)
COLUMNS = "100"


def output(command: str) -> str:
    """What `command` prints when run in the repository by the installed scapscope."""
    program, *arguments = shlex.split(command)
    done = subprocess.run(
        [Path(sys.executable).with_name(program), *arguments],
        cwd=REPOSITORY,
        env=os.environ | {"COLUMNS": COLUMNS, "NO_COLOR": "1"},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return "\n".join(line.rstrip() for line in done.stdout.strip().splitlines())


def renewed(text: str) -> str:
    """`text` with every block holding what its command prints now."""
    return BLOCK.sub(lambda block: f"{block[1]}```text\n{output(block[2])}\n```\n{block[3]}", text)


def main() -> None:
    """Rewrite README.md, or with --check end with status 1 if that would change it."""
    text = README.read_text(encoding="utf-8")
    new = renewed(text)
    if sys.argv[1:] == ["--check"]:
        sys.exit(0 if new == text else "README.md does not show what is printed now: run tools/readme.py")
    README.write_text(new, encoding="utf-8")


if __name__ == "__main__":
    main()
