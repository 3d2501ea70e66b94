"""What docs/chisels.md and the README show of the chisels is what sysdig prints."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from sysdig_runs import needs_sysdig, sysdig

pytestmark = needs_sysdig

BLOCK = re.compile(
    r"<!-- (output|(?:first|last) \d+ lines) of: (sysdig .+?) -->\n"
    r"```text\n(.*?)\n```\n<!-- end of output -->\n",
    re.DOTALL,
)


def shown(command: str, part: str) -> str:
    """What a block for this part of the command's output must hold."""
    done = sysdig(*shlex.split(command)[1:])
    assert done.returncode == 0, done.stderr
    lines = [line.rstrip() for line in done.stdout.strip("\n").splitlines()]
    number = re.search(r"\d+", part)
    if number is None:
        return "\n".join(lines)
    count = int(number[0])
    return "\n".join(lines[:count] if part.startswith("first") else lines[-count:])


def test_the_output_shown_is_the_real_one(repository: Path) -> None:
    text = (repository / "docs/chisels.md").read_text(encoding="utf-8")
    blocks = BLOCK.findall(text)
    assert len(blocks) == text.count(" of: sysdig ") == 6
    for part, command, block in blocks:
        assert block == shown(command, part), command


def test_the_readme_shows_it_too(repository: Path) -> None:
    command = "sysdig -r traces/none-docker-redis.scap -c vsyscall_diag"
    readme = (repository / "README.md").read_text(encoding="utf-8")
    assert command in readme
    assert shown(command, "output") in readme


@pytest.mark.parametrize("link", ["findings/", "../traces/README.md", "report.schema.json"])
def test_what_it_links_to_is_there(link: str, repository: Path) -> None:
    text = (repository / "docs/chisels.md").read_text(encoding="utf-8")
    targets = [target for target in re.findall(r"\]\(([^)]+)\)", text) if target.startswith(link)]
    assert targets
    assert [target for target in targets if not (repository / "docs" / target).exists()] == []
