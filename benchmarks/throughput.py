"""Measures in the trace lab's guest how often a program gets the time, by which way, and watched by whom.

`python -m benchmarks.throughput`, which `make throughput` runs, writes docs/throughput.md and its chart.
"""

import argparse
import platform
import statistics
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from traces.lab import recorder
from traces.lab.places import CACHE, REPOSITORY, LabError
from traces.lab.scenario import Scenario

from benchmarks import throughput_page

TSC = "tsc=reliable"
KERNELS = {
    "none": f"vsyscall=none {TSC}",
    "emulate": f"vsyscall=emulate {TSC}",
    "xonly": f"vsyscall=xonly {TSC}",
    "emulate + hpet": f"vsyscall=emulate {TSC} clocksource=hpet",
}
WAYS = ("vdso-time", "vdso-clock_gettime", "syscall-time", "syscall-clock_gettime", "vsyscall-time")
FILTERS = {"no filter": "", "seccomp": "seccomp ", "seccomp, uncached": "seccomp --uncached "}
RECORDERS: dict[str, list[str] | None] = {
    "nobody": None,
    "sysdig": [],
    "sysdig --page-faults": ["--page-faults"],
}
# The vDSO makes no system call: no filter sees it.
UNFILTERED = {"vdso-time", "vdso-clock_gettime"}
SECONDS = 1
# What a shell says of death by signal 11.
SIGSEGV = 139


@dataclass(frozen=True)
class Rate:
    """Calls per second of one way to get the time, under one kernel, filter and recorder; None: it died."""

    kernel: str
    filter: str
    recorder: str
    way: str
    per_second: float | None


def command(way: str, prefix: str) -> str:
    """Return the command line that measures `way`."""
    return f"{prefix}stress {way} -s {SECONDS}"


def scenarios(runs: int) -> list[tuple[str, str, str, Scenario]]:
    """Every kernel and filter with nobody watching; and what watching costs, on one kernel."""
    told: list[tuple[str, str, str, Scenario]] = []
    for kernel, parameters in KERNELS.items():
        for name, prefix in FILTERS.items():
            ways = [way for way in WAYS if not (prefix and way in UNFILTERED)]
            told.append((kernel, name, "nobody", _scenario(parameters, ways, prefix, None, runs, len(told))))
    for watcher, options in RECORDERS.items():
        if options is not None:
            ways = ["syscall-time", "vsyscall-time", "vdso-time"]
            one = _scenario(KERNELS["emulate"], ways, "", options, runs, len(told))
            told.append(("emulate", "no filter", watcher, one))
    return told


def _scenario(
    kernel: str, ways: Iterable[str], prefix: str, sysdig: list[str] | None, runs: int, number: int
) -> Scenario:
    # In turn, not one after another: what disturbs the machine for a while disturbs all ways alike.
    run = [command(way, prefix) for _ in range(runs) for way in ways]
    return Scenario(
        name=f"throughput-{number}", shows="throughput", run=run, kernel=kernel, sysdig=sysdig, capture=False
    )


def rates_of(kernel: str, name: str, watcher: str, ran: list[dict[str, Any]]) -> list[Rate]:
    """Read what the programs printed: the median for each way."""
    printed: dict[str, list[float | None]] = {}
    for one in ran:
        way = one["command"].split("stress ")[1].split()[0]
        found = dict(word.split("=", 1) for word in one["output"].split() if "=" in word)
        if one["status"] not in (0, SIGSEGV):
            raise LabError(f"{one['command']} ended with status {one['status']}: {one['output'].strip()}")
        printed.setdefault(way, []).append(float(found["per_second"]) if one["status"] == 0 else None)
    return [Rate(kernel, name, watcher, way, _median(told)) for way, told in printed.items()]


def _median(told: list[float | None]) -> float | None:
    lived = [rate for rate in told if rate is not None]
    if lived and len(lived) < len(told):
        raise LabError("a program died in some runs only")
    return statistics.median(lived) if lived else None


def of_this_machine(runs: int) -> list[Rate]:
    """Measure the same programs outside the guest."""
    programs = CACHE / "programs"
    rates = []
    for name, prefix in FILTERS.items():
        ways = [way for way in WAYS if not (prefix and way in UNFILTERED)]
        ran = []
        for _ in range(runs):
            for way in ways:
                line = command(way, prefix)
                words = [
                    str(programs / word) if (programs / word).exists() else word for word in line.split()
                ]
                done = subprocess.run(words, capture_output=True, text=True, check=False)
                status = done.returncode if done.returncode >= 0 else 128 - done.returncode
                ran.append({"command": line, "status": status, "output": done.stdout})
        rates += rates_of("this machine", name, "nobody", ran)
    return rates


def _this_machine() -> str:
    clock = Path("/sys/devices/system/clocksource/clocksource0/current_clocksource").read_text().strip()
    maps = Path("/proc/self/maps").read_text().splitlines()
    page = [line.split()[1] for line in maps if line.endswith("[vsyscall]")]
    return (
        f"Linux {platform.release()}, clocksource {clock}, vsyscall page {page[0] if page else 'not mapped'}"
    )


def main() -> int:
    """Measure, print the page, and keep it."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.throughput", description=__doc__)
    parser.add_argument("--runs", type=int, default=3, help="runs of each program (3)")
    parser.add_argument("--output", type=Path, help="write the page here (docs/throughput.md)")
    options = parser.parse_args()
    asked = scenarios(options.runs)
    labels = {one.name: (kernel, name, watcher) for kernel, name, watcher, one in asked}
    rates: list[Rate] = []
    guest = ""
    try:
        for recording in recorder.record([one for *_, one in asked]):
            if recording.failure is not None:
                raise LabError(recording.failure)
            guest = f"{recording.machine['machine']}, {recording.machine['kernel']}"
            rates += rates_of(*labels[recording.scenario.name], recording.result["run"])
        rates += of_this_machine(options.runs)
    except LabError as error:
        print(f"throughput: {error}", file=sys.stderr)
        return 3
    output = options.output or REPOSITORY / "docs/throughput.md"
    throughput_page.write(output, rates, guest, _this_machine(), options.runs)
    print(f"Written to {output}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
