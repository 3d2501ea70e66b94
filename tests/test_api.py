"""The Python API: cheap to import, typed, and honest about errors."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import scapscope


def test_importing_the_package_loads_next_to_nothing() -> None:
    listing = (
        "import sys; before = set(sys.modules); import scapscope; print(*sorted(set(sys.modules) - before))"
    )
    loaded = subprocess.run([sys.executable, "-c", listing], capture_output=True, text=True, check=True)
    names = set(loaded.stdout.split())
    assert {name for name in names if name.startswith("scapscope")} == {"scapscope"}
    assert not names & {"dataclasses", "json", "inspect", "yaml", "click", "rich"}


def test_explaining_does_not_load_what_it_does_not_need(redis_capture: Path) -> None:
    listing = (
        "import sys; from scapscope.cli import main\n"
        "try: main(['explain', sys.argv[1]])\n"
        "finally: print(*sorted(sys.modules), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", listing, redis_capture], capture_output=True, text=True, check=True
    )
    assert not {"rich", "jsonschema", "pyarrow", "polars", "asyncio"} & set(done.stderr.split())


def test_every_public_name_is_there() -> None:
    for name in scapscope.__all__:
        assert getattr(scapscope, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        scapscope.nothing  # noqa: B018


def test_explain_gives_typed_objects(redis_capture: Path) -> None:
    report = scapscope.explain(str(redis_capture))
    (crash,) = report.findings
    assert isinstance(crash, scapscope.Finding)
    assert isinstance(crash.evidence[0], scapscope.Evidence)
    assert crash.container == scapscope.Container("7272f37ebc5c", "redis1", "redis:2.8.22", "docker")
    assert crash.process is not None
    assert crash.process.pid == 308
    assert crash.facts["call"] == "time"
    assert report.kernel.vsyscall_mode == "none"


def test_what_cannot_be_read_raises(tmp_path: Path) -> None:
    for use in (scapscope.explain, scapscope.open):
        with pytest.raises(scapscope.CaptureError, match=r"nothing\.scap"):
            use(tmp_path / "nothing.scap")
        (tmp_path / "notes.scap").write_text("it crashed at night\n")
        with pytest.raises(scapscope.CaptureError, match="text"):
            use(tmp_path / "notes.scap")


def test_progress_is_told_of_the_bytes_and_can_stop_the_run(redis_capture: Path) -> None:
    seen: list[tuple[int, int | None]] = []
    scapscope.explain(redis_capture, lambda done, total: seen.append((done, total)))
    assert all(0 <= done <= (total or done) for done, total in seen)

    class StopHereError(Exception):
        pass

    def stop(*_: int | None) -> None:
        raise StopHereError

    if seen:
        with pytest.raises(StopHereError):
            scapscope.explain(redis_capture, stop)


def test_the_api_reads_what_the_json_says(redis_capture: Path) -> None:
    with pytest.raises(ValueError, match="Expecting value"):
        scapscope.Report.from_json(b"not json")
    with pytest.raises(KeyError):
        scapscope.Report.from_json(b"{}")
    report = scapscope.explain(redis_capture)
    assert report.with_findings([]).findings == ()
    assert report.findings != ()
