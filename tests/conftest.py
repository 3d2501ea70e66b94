"""What every test may ask for: where the captures are and what the manifest says about each."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

REPOSITORY = Path(__file__).resolve().parent.parent
TRACES = REPOSITORY / "traces"


@dataclass(frozen=True)
class Trace:
    """One entry of traces/manifest.yaml."""

    path: Path
    entry: dict[str, Any]

    @property
    def name(self) -> str:
        """The manifest's name of the capture, e.g. `current-format/none-neg-null-modern.scap`."""
        return str(self.entry["file"])

    @property
    def expect(self) -> list[dict[str, Any]]:
        """The findings this capture must yield: all of them, and no other."""
        return list(self.entry["expect"])

    @property
    def forbid(self) -> list[str]:
        """Ids this capture is most easily mistaken for."""
        return list(self.entry["forbid"])


def load_manifest() -> list[Trace]:
    """Every capture of traces/manifest.yaml, in its order."""
    manifest = yaml.safe_load((TRACES / "manifest.yaml").read_text(encoding="utf-8"))
    return [Trace(TRACES / entry["file"], entry) for entry in manifest["captures"]]


MANIFEST = load_manifest()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test with an argument named `trace` runs once for each capture of the manifest."""
    if "trace" in metafunc.fixturenames:
        metafunc.parametrize("trace", MANIFEST, ids=[trace.name for trace in MANIFEST])


@pytest.fixture(scope="session")
def repository() -> Path:
    """The root of the working tree."""
    return REPOSITORY


@pytest.fixture(scope="session")
def traces() -> Path:
    """The folder of captures."""
    return TRACES


@pytest.fixture(scope="session")
def manifest() -> list[Trace]:
    """Every capture of traces/manifest.yaml."""
    return MANIFEST


@pytest.fixture(scope="session")
def redis_capture() -> Path:
    """The container that died at once: the capture the README and `make demo` explain."""
    return TRACES / "none-docker-redis.scap"
