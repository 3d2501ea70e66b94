"""What is built from this tree works where the tree is not."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow


def run(*command: str | Path, **environment: str) -> str:
    """Run a command outside the tree; return what it printed, or fail with all of it."""
    inherited = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        [str(word) for word in command],
        cwd="/",
        env=inherited | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory, repository: Path) -> Path:
    """A wheel of this tree, built from scratch but for what cargo has compiled already."""
    folder = tmp_path_factory.mktemp("wheel")
    extra = folder / "setup.cfg"
    extra.write_text(f"[build]\nbuild_base = {folder / 'build'}\n", encoding="utf-8")
    run(
        *(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"),
        *("--wheel-dir", folder, repository),
        DIST_EXTRA_CONFIG=str(extra),
        CARGO_TARGET_DIR=os.environ.get("CARGO_TARGET_DIR", str(repository / "target")),
        PYO3_PYTHON=os.environ.get("PYO3_PYTHON", sys.executable),
    )
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory, repository: Path, wheel: Path) -> Path:
    """The programs of a fresh environment into which the wheel was installed."""
    environment = tmp_path_factory.mktemp("installed") / "venv"
    run(sys.executable, "-m", "venv", "--without-pip", environment)
    run(
        *(sys.executable, "-m", "pip", "--python", environment / "bin/python", "install", "--quiet"),
        *("--constraint", repository / "constraints.txt", wheel),
    )
    return environment / "bin"


def test_one_wheel_serves_every_python(wheel: Path) -> None:
    assert wheel.name.startswith("scapscope-0.1.0-cp311-abi3-")


def test_the_wheel_holds_the_whole_package(wheel: Path, repository: Path) -> None:
    source = repository / "analyzer"
    package = {
        str(file.relative_to(source))
        for pattern in ("*.py", "*.pyi", "*.yaml", "*.json", "py.typed")
        for file in (source / "scapscope").rglob(pattern)
    }
    with zipfile.ZipFile(wheel) as archive:
        held = {name for name in archive.namelist() if name.startswith("scapscope/")}
    assert held == package | {"scapscope/_native.abi3.so"}


def test_the_installed_command_finds_the_cause(installed: Path, redis_capture: Path) -> None:
    report = json.loads(run(installed / "scapscope", "explain", "--json", redis_capture))
    assert [finding["id"] for finding in report["findings"]] == ["vsyscall-none-crash"]
    assert report["findings"][0]["container"]["image"] == "redis:2.8.22"


def test_the_installed_module_is_the_same_command(installed: Path, redis_capture: Path) -> None:
    by_command = run(installed / "scapscope", "explain", redis_capture)
    assert "redis:2.8.22" in by_command
    assert run(installed / "python", "-m", "scapscope", "explain", redis_capture) == by_command


@pytest.fixture(scope="module")
def source_archive(tmp_path_factory: pytest.TempPathFactory, repository: Path) -> Path:
    """What a package index would offer to those for whom there is no wheel."""
    folder = tmp_path_factory.mktemp("source")
    build = "import os, sys, setuptools.build_meta as b; os.chdir(sys.argv[1]); b.build_sdist(sys.argv[2])"
    run(sys.executable, "-c", build, repository, folder)
    (archive,) = folder.glob("*.tar.gz")
    return archive


def test_the_source_archive_holds_what_is_built(source_archive: Path, repository: Path) -> None:
    needed = {
        str(file.relative_to(repository))
        for pattern in ("crates/**/Cargo.toml", "crates/**/*.rs", "analyzer/**/*.py", "analyzer/**/*.yaml")
        for file in repository.glob(pattern)
    }
    with tarfile.open(source_archive) as sources:
        held = {name.partition("/")[2] for name in sources.getnames()}
    assert held >= needed | {"Cargo.toml", "Cargo.lock", "LICENSE", "NOTICE", "README.md", "pyproject.toml"}
    assert not [name for name in held if name.endswith((".scap", ".so")) or "target" in name.split("/")]


def test_cargo_accepts_the_source_archive(source_archive: Path, tmp_path: Path) -> None:
    with tarfile.open(source_archive) as sources:
        sources.extractall(tmp_path, filter="data")
    (manifest,) = tmp_path.glob("*/crates/native/Cargo.toml")
    metadata = run(
        *("cargo", "metadata", "--locked", "--no-deps", "--format-version", "1"),
        *("--manifest-path", manifest),
    )
    assert "native" in [package["name"] for package in json.loads(metadata)["packages"]]
