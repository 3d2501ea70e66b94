"""A damaged capture: what is before the damage is told, and what is missing is said."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import jsonschema
import pytest

import scapscope
from conftest import REPOSITORY
from running import scapscope as run

SCHEMA = jsonschema.Draft202012Validator(json.loads((REPOSITORY / "docs/report.schema.json").read_text()))
DEATH = 59663


@pytest.fixture(scope="module")
def plain(redis_capture: Path) -> bytes:
    return gzip.decompress(redis_capture.read_bytes())


def cut(content: bytes, part: float, folder: Path) -> Path:
    path = folder / "cut.scap"
    path.write_bytes(content[: int(len(content) * part)])
    return path


@pytest.mark.parametrize("part", [0.00001, 0.0005, 0.01, 0.1, 0.33, 0.5, 0.7, 0.8, 0.85, 0.9, 0.99, 0.999999])
@pytest.mark.parametrize("compressed", [False, True])
def test_a_cut_off_capture_is_told_up_to_the_cut(
    part: float, compressed: bool, plain: bytes, redis_capture: Path, tmp_path: Path
) -> None:
    path = cut(redis_capture.read_bytes() if compressed else plain, part, tmp_path)
    done = run("explain", "--json", path)
    if done.returncode == 3:
        assert path.stat().st_size < 100, "all but the very first bytes are a capture"
        assert done.stderr.startswith("scapscope: ")
        return
    assert done.returncode == 0
    assert "Traceback" not in done.stderr
    told = json.loads(done.stdout)
    SCHEMA.validate(told)
    found = {finding["id"]: finding for finding in told["findings"]}
    damage = told["capture"]["damage"]
    assert damage["kind"] == "cut-off"
    cut_short = found["capture-truncated"]["facts"]
    assert (cut_short["offset"], cut_short["events"]) == (damage["offset"], told["capture"]["events"])
    if told["capture"]["events"] >= DEATH:
        assert "vsyscall-none-crash" in found
    text = run("explain", path)
    assert text.returncode == 0
    assert "cut off at byte" in text.stdout.replace("\n  ", " ")
    if not told["capture"]["events"]:
        assert "holds no events" in text.stdout


def test_the_events_before_the_cut_are_the_same(plain: bytes, redis_capture: Path, tmp_path: Path) -> None:
    whole = [(event.number, event.timestamp_ns, event.type) for event in scapscope.open(redis_capture)]
    capture = scapscope.open(cut(plain, 0.5, tmp_path))
    kept = [(event.number, event.timestamp_ns, event.type) for event in capture]
    assert kept == whole[: len(kept)]
    assert len(kept) > 10000
    assert capture.damage is not None
    assert capture.damage.kind == "cut-off"
    assert capture.damage.offset <= len(plain) / 2


def test_a_crash_whose_container_was_cut_away_is_still_a_crash(plain: bytes, tmp_path: Path) -> None:
    """The image's name arrives in event 62029, after the death: without it the id is left."""
    whole = list(scapscope.open(cut(plain, 1, tmp_path)))
    for part in (0.8, 0.82, 0.84, 0.86, 0.88):
        report = scapscope.explain(cut(plain, part, tmp_path))
        if DEATH <= report.capture.events < 62029:
            break
    else:
        pytest.fail(f"no cut between the death and the name among {len(whole)} events")
    (crash,) = (finding for finding in report.findings if finding.id == "vsyscall-none-crash")
    assert crash.container is not None
    assert crash.container.id == "7272f37ebc5c"
    shown = run("explain", cut(plain, part, tmp_path)).stdout
    assert "7272f37ebc5c" in shown.partition("\n\n")[0]


def test_a_corrupted_capture_keeps_what_is_before(plain: bytes, redis_capture: Path, tmp_path: Path) -> None:
    broken = bytearray(plain)
    middle = len(broken) // 2
    broken[middle : middle + 4096] = bytes(4096)
    path = tmp_path / "corrupt.scap"
    path.write_bytes(broken)
    report = scapscope.explain(path)
    assert report.capture.damage is not None
    assert report.capture.damage.kind == "corrupt"
    assert abs(report.capture.damage.offset - middle) < 100_000
    assert 10000 < report.capture.events < scapscope.explain(redis_capture).capture.events
    assert "capture-truncated" in {finding.id for finding in report.findings}


def test_the_listing_of_a_damaged_capture_ends_with_a_warning(plain: bytes, tmp_path: Path) -> None:
    done = run("events", cut(plain, 0.3, tmp_path))
    assert done.returncode == 0
    assert done.stdout.startswith("1 ")
    assert "cut-off at byte" in done.stderr
    assert done.stdout.endswith("\n")


def test_info_tells_of_the_damage(plain: bytes, tmp_path: Path) -> None:
    done = run("info", cut(plain, 0.3, tmp_path))
    assert done.returncode == 0
    assert "cut-off at byte" in done.stdout


def test_a_healthy_capture_cut_off_is_not_called_healthy_without_a_warning(
    traces: Path, tmp_path: Path
) -> None:
    content = gzip.decompress((traces / "none-neg-normal.scap").read_bytes())
    shown = run("explain", cut(content, 0.9, tmp_path)).stdout
    assert shown.startswith(("warning: The capture is cut off", "error: The capture is cut off"))
    assert "No crash found in " in shown
