"""What the README shows is what a user gets."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.fixture(scope="module")
def readme(repository: Path) -> str:
    return (repository / "README.md").read_text(encoding="utf-8")


def test_the_output_shown_is_the_real_one(repository: Path, readme: str) -> None:
    assert "<!-- output of: scapscope explain traces/none-docker-redis.scap -->" in readme
    done = subprocess.run(
        [sys.executable, repository / "tools/readme.py", "--check"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_the_python_example_runs(readme: str, redis_capture: Path, tmp_path: Path) -> None:
    (example,) = re.findall(r"^```python\n(.*?)^```", readme, re.DOTALL | re.MULTILINE)
    shutil.copy(redis_capture, tmp_path / "crash.scap")
    done = subprocess.run(
        [sys.executable, "-c", example],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "critical vsyscall-none-crash 0xffffffffff600400" in done.stdout
    assert "entrypoint.sh" in done.stdout


def test_what_it_links_to_is_there(readme: str, repository: Path) -> None:
    links = [link for link in re.findall(r"\]\(([^)]+)\)", readme) if "://" not in link]
    assert links
    assert [link for link in links if not (repository / link).exists()] == []


def test_the_look_alike_is_called_one(readme: str) -> None:
    assert re.search(r"redis:2\.8\.22.*look-alike", readme, re.DOTALL)
