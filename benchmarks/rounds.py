"""Runs the programs in turn on the same files, and takes the medians of time and the peaks of memory."""

import json
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.captures import Capture

SYSDIG_FILTER = "evt.type=page_fault and evt.arg.addr startswith FFFFFFFFFF600"
# A finding that scapscope must make on a load, or it was fast at something else.
EXPECTED_FINDING = {"fault-storm": "vsyscall-emulated-hot", "mixed": "vsyscall-none-crash"}
SAMPLING_SECONDS = 0.001
# Times that vsyscall_diag may take as long as an empty chisel with the same filter.
CHISEL_LIMIT = 1.5
REPOSITORY = Path(__file__).resolve().parent.parent


class WrongAnswer(Exception):  # noqa: N818 - says what is so
    """A program failed, or did not find what is there."""


@dataclass
class Contender:
    """A program on a file, and what it took."""

    name: str
    command: Sequence[str]
    seconds: list[float] = field(default_factory=list)
    anonymous: int = 0
    resident: int = 0

    @property
    def median(self) -> float:
        """Seconds."""
        return statistics.median(self.seconds)

    def run(self) -> None:
        """Take the time of one run, its output thrown away."""
        started = time.perf_counter()
        done = subprocess.run(self.command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
        self.seconds.append(time.perf_counter() - started)
        if done.returncode != 0:
            raise WrongAnswer(
                f"{self.name} ended with status {done.returncode}: {done.stderr.decode()[:500]}"
            )

    def weigh(self) -> None:
        """Take the memory of one more run, untimed, for looking at it takes time.

        Linux keeps the peak of resident memory, file pages included (proc(5): `VmHWM`), but none of
        anonymous memory: `RssAnon`, that of now, is sampled every millisecond.
        """
        with subprocess.Popen(self.command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            while process.poll() is None:
                anonymous, resident = memory_of(process.pid)
                self.anonymous = max(self.anonymous, anonymous)
                self.resident = max(self.resident, resident)
                time.sleep(SAMPLING_SECONDS)


def memory_of(pid: int) -> tuple[int, int]:
    """Give a process's anonymous memory and its peak of resident memory, in bytes; 0 if it has ended."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text(encoding="ascii", errors="replace").splitlines()
    except OSError:
        return 0, 0
    kib = dict(line.split(":", 1) for line in lines if line.startswith(("RssAnon:", "VmHWM:")))
    anonymous, resident = (int(kib.get(key, "0 kB").split()[0]) * 1024 for key in ("RssAnon", "VmHWM"))
    return anonymous, resident


@dataclass
class Table:
    """What was measured on one file, scapscope first."""

    load: str
    gzipped: bool
    events: int
    plain_bytes: int
    file_bytes: int
    contenders: list[Contender]


@dataclass
class ChiselTable:
    """What a chisel took on one plain file, and an empty one with the same filter."""

    load: str
    chisel: Contender
    empty: Contender

    @property
    def ratio(self) -> float:
        """Times that the chisel took as long as the empty one."""
        return self.chisel.median / self.empty.median


@dataclass
class Results:
    """All that was measured."""

    tables: list[Table]
    chisels: list[ChiselTable]
    startup: list[Contender]
    runs: int
    versions: dict[str, str]


def measure(files: list[Capture], scapscope: str, small: Path, runs: int) -> Results:
    """Measure all programs on all files, and the start of scapscope on a small capture."""
    tables = []
    chisels = [measure_chisel(capture, runs) for capture in files] if shutil.which("sysdig") else []
    for capture in files:
        check_answer(scapscope, capture)
        for gzipped in (False, True):
            path = capture.gzipped if gzipped else capture.plain
            contenders = on_gzip(scapscope, path) if gzipped else on_plain(scapscope, path)
            take_turns(contenders, runs, f"{capture.load}, {'gzipped' if gzipped else 'plain'}")
            for contender in contenders:
                contender.weigh()
            tables.append(
                Table(capture.load, gzipped, capture.events, capture.size, path.stat().st_size, contenders)
            )
    startup = [
        Contender("scapscope explain none-docker-redis.scap", [scapscope, "explain", str(small)]),
        Contender("python -c pass", [sys.executable, "-c", "pass"]),
    ]
    take_turns(startup, max(runs, 5) * 4, "start")
    for contender in startup:
        contender.weigh()
    return Results(tables, chisels, startup, runs, versions(scapscope))


def measure_chisel(capture: Capture, runs: int) -> ChiselTable:
    """Measure vsyscall_diag on the plain file against an empty chisel with the same filter."""
    file = str(capture.plain)
    chisel = Contender("vsyscall_diag", run_chisel("vsyscall_diag", file))
    empty = Contender("an empty chisel, same filter", run_chisel("empty", file))
    said = subprocess.run(chisel.command, capture_output=True, text=True, check=False).stdout
    if EXPECTED_FINDING[capture.load] not in said:
        raise WrongAnswer(
            f"{capture.load}: vsyscall_diag should find {EXPECTED_FINDING[capture.load]}: {said[:500]}"
        )
    take_turns([chisel, empty], runs, f"{capture.load}, chisels")
    return ChiselTable(capture.load, chisel, empty)


def run_chisel(name: str, file: str) -> list[str]:
    """Give the command that runs a chisel of this repository."""
    folders = ";".join(str(REPOSITORY / folder) for folder in ("tests/lua", "chisels"))
    return ["env", f"SYSDIG_CHISEL_DIR={folders}", "sysdig", "-r", file, "-c", name]


def on_plain(scapscope: str, path: Path) -> list[Contender]:
    """Give what runs on a plain capture."""
    file = str(path)
    contenders = [Contender("scapscope explain --json", [scapscope, "explain", "--json", file])]
    if shutil.which("sysdig"):
        contenders.append(Contender("sysdig, one filter", ["sysdig", "-q", "-r", file, SYSDIG_FILTER]))
    contenders += [Contender("cksum", ["cksum", file]), Contender("cat", ["cat", file])]
    return contenders


def on_gzip(scapscope: str, path: Path) -> list[Contender]:
    """Give what runs on a gzipped capture."""
    file = str(path)
    contenders = [Contender("scapscope explain --json", [scapscope, "explain", "--json", file])]
    if shutil.which("sysdig"):
        contenders.append(Contender("sysdig, one filter", ["sysdig", "-q", "-r", file, SYSDIG_FILTER]))
    for program in ("pigz", "igzip", "gzip"):
        if shutil.which(program):
            contenders.append(Contender(f"{program} -dc", [program, "-dc", file]))
    return contenders


def take_turns(contenders: list[Contender], runs: int, what: str) -> None:
    """Run each program once, unmeasured, to have the file in memory; then all in turn, `runs` times."""
    for number in range(runs + 1):
        if sys.stderr.isatty():
            print(f"\r\x1b[K{what}: round {number} of {runs}", end="", file=sys.stderr, flush=True)
        for contender in contenders:
            contender.run()
        if number == 0:
            for contender in contenders:
                contender.seconds.clear()
    if sys.stderr.isatty():
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def check_answer(scapscope: str, capture: Capture) -> None:
    """Hold scapscope to the right answer before its time counts."""
    said = subprocess.run(
        [scapscope, "explain", "--json", str(capture.plain)], capture_output=True, check=False
    )
    if said.returncode != 0:
        raise WrongAnswer(f"scapscope ended with status {said.returncode}: {said.stderr.decode()[:500]}")
    answer = json.loads(said.stdout)
    ids = {finding["id"] for finding in answer["findings"]}
    events = answer["capture"]["events"]
    if EXPECTED_FINDING[capture.load] not in ids or events != capture.events:
        raise WrongAnswer(
            f"{capture.load}: scapscope read {events} of {capture.events} events and found {sorted(ids)}, "
            f"which should have {EXPECTED_FINDING[capture.load]}"
        )


def versions(scapscope: str) -> dict[str, str]:
    """Say which versions were measured."""
    asked = {"scapscope": [scapscope, "--version"], "sysdig": ["sysdig", "--version"]}
    asked |= {"pigz": ["pigz", "--version"], "igzip": ["igzip", "--version"]}
    found = {}
    for program, command in asked.items():
        if shutil.which(command[0]):
            said = subprocess.run(command, capture_output=True, text=True, check=False)
            found[program] = (said.stdout + said.stderr).split("\n")[0].split()[-1]
    return found
