"""docs/chisels.md shows real output (tools/readme.py, held by test_readme.py) and leads somewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

CHISELS = ("vsyscall_diag", "time_calls", "syscall_summary")


@pytest.fixture(scope="module")
def page(repository: Path) -> str:
    return (repository / "docs/chisels.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", CHISELS)
def test_it_shows_what_each_chisel_prints(name: str, page: str) -> None:
    shown = re.findall(r"^<!-- .*of: sysdig .*-c (\w+).* -->\n```text\n(?!```)", page, re.MULTILINE)
    assert name in shown


def test_the_readme_shows_the_verdict(repository: Path) -> None:
    readme = (repository / "README.md").read_text(encoding="utf-8")
    assert "<!-- output of: sysdig -r traces/none-docker-redis.scap -c vsyscall_diag -->" in readme
    assert "<!-- output of: scapscope rules replay " in readme


@pytest.mark.parametrize("link", ["findings/", "../traces/README.md", "report.schema.json"])
def test_what_it_links_to_is_there(link: str, repository: Path, page: str) -> None:
    targets = [target for target in re.findall(r"\]\(([^)]+)\)", page) if target.startswith(link)]
    assert targets
    assert [target for target in targets if not (repository / "docs" / target).exists()] == []
