"""Writes the captures to be measured, plain and gzipped, and keeps them for the next run."""

import fcntl
import hashlib
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

LOADS = ("fault-storm", "mixed")
# What a gzipped capture takes of the plain one's size, at most (0.17 is usual).
GZIP_SHARE = 0.4


class Unprepared(Exception):  # noqa: N818 - says what is so
    """The captures cannot be written."""


@dataclass(frozen=True)
class Capture:
    """A capture in the cache, plain and gzipped."""

    load: str
    plain: Path
    gzipped: Path
    events: int

    @property
    def size(self) -> int:
        """Bytes of the plain file."""
        return self.plain.stat().st_size


@contextmanager
def reserved(repository: Path) -> Iterator[Path]:
    """Give the cache to one benchmark at a time: two would spoil each other's files and figures."""
    cache = repository / "benchmarks/.cache"
    cache.mkdir(exist_ok=True)
    (cache / ".gitignore").write_text("*\n", encoding="utf-8")
    with (cache / ".lock").open("w", encoding="ascii") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Unprepared("another benchmark is running") from None
        yield cache


def prepare(repository: Path, cache: Path, loads: list[str], size: int) -> list[Capture]:
    """Give the captures of these loads, about `size` bytes each; write what is not there yet."""
    stamp = fingerprint(repository)
    names = {load: f"{load}-{size}-{stamp}" for load in loads}
    for old in cache.glob("*.scap*"):
        if not old.name.startswith(tuple(names.values())):
            old.unlink()
    wanted = {
        load: [cache / f"{name}.scap", cache / f"{name}.scap.gz", cache / f"{name}.scap.events"]
        for load, name in names.items()
    }
    absent = [load for load, files in wanted.items() if not all(file.exists() for file in files)]
    if absent:
        make_room(cache, int(len(absent) * size * (1 + GZIP_SHARE)))
        generator = build_generator(repository)
        for load in absent:
            write([*generator, load, str(size), str(repository / "traces")], *wanted[load])
    return [
        Capture(load, plain, gzipped, int(events.read_text(encoding="ascii")))
        for load, (plain, gzipped, events) in wanted.items()
    ]


def fingerprint(repository: Path) -> str:
    """Tell the generator and what it replays from other versions of them."""
    digest = hashlib.sha256()
    sources = sorted((repository / "benchmarks/generator/src").glob("*.rs"))
    for file in sources + sorted((repository / "traces").glob("*.scap")):
        digest.update(file.read_bytes())
    return digest.hexdigest()[:12]


def make_room(cache: Path, needed: int) -> None:
    """Say how much disk space is taken; refuse where it is not there."""
    free = shutil.disk_usage(cache).free
    print(f"Writing captures: up to {needed / 1e9:.1f} GB in benchmarks/.cache ...", file=sys.stderr)
    if free < needed + 1_000_000_000:
        raise Unprepared(
            f"{needed / 1e9:.1f} GB of captures are to be written and {free / 1e9:.1f} GB are free; "
            "--size 2e8 writes less"
        )


def build_generator(repository: Path) -> list[str]:
    """Build the generator; give the command that runs it."""
    run = ["cargo", "run", "--release", "--quiet", "--locked", "--package", "capture-generator"]
    command = [*run, "--manifest-path", str(repository / "Cargo.toml"), "--"]
    if shutil.which("cargo") is None:
        raise Unprepared("no Rust compiler (cargo), which builds the generator of the captures")
    return command


def write(generator: list[str], plain: Path, gzipped: Path, events: Path) -> None:
    """Write one capture, plain and gzipped, and how many events it has."""
    part = plain.with_suffix(".part")
    said = subprocess.run([*generator, str(part)], capture_output=True, text=True, check=False)
    if said.returncode != 0:
        raise Unprepared(said.stderr.strip())
    compressor = "pigz" if shutil.which("pigz") else "gzip"
    with gzipped.open("wb") as file:
        subprocess.run([compressor, "-c", str(part)], stdout=file, check=True)
    events.write_text(said.stdout.split(" events")[0].split()[-1], encoding="ascii")
    # Last: what is there under its name is whole, and so is what goes with it.
    part.rename(plain)
