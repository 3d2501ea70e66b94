"""Runs scenarios in the guest, boot by boot, and brings out a capture and a log of each."""

import gzip
import json
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from traces.lab import guest, machine
from traces.lab.places import CACHE, LAB, RECORDED, LabError, run_logged
from traces.lab.scenario import Scenario, boots

# Software emulation boots in about 15 s, Docker takes 20 s more, a recording some seconds more.
BOOT_SECONDS = 180
DOCKER_SECONDS = 180
RECORDING_SECONDS = 60


@dataclass(frozen=True)
class Recording:
    """What came out of the guest for one scenario."""

    scenario: Scenario
    machine: dict[str, str]
    result: dict[str, Any]
    capture: Path | None

    @property
    def exit_status(self) -> int | None:
        """How the last program ended, 128 + N for signal N; None: it had to be stopped."""
        status: int | None = self.result["run"][-1]["status"]
        return status

    def log(self) -> str:
        """Everything worth reading beside the capture, as text."""
        parts = [f"{name}: {value}" for name, value in self.machine.items() if name != "packages"]
        for phase in ("before", "run", "after"):
            for ran in self.result.get(phase, []):
                parts.append(f"--- {phase}: {ran['command']} (exit status {ran['status']})\n{ran['output']}")
        for name in ("sysdig", "sysdig_output", "kernel_log"):
            if name in self.result:
                parts.append(f"--- {name.replace('_', ' ')}\n{self.result[name]}")
        return "\n".join(parts) + "\n"


def record(scenarios: list[Scenario]) -> Iterator[Recording]:
    """Record each scenario; one boot serves all that want the same kernel parameters."""
    disk = guest.build()
    accel = machine.accelerator(disk)
    programs = _programs()
    RECORDED.mkdir(exist_ok=True)
    for parameters, group in boots(scenarios).items():
        print(f"Booting with {parameters}: {len(group)} scenarios ...", file=sys.stderr, flush=True)
        started = time.monotonic()
        shared = _share(group, programs)
        seconds: float = BOOT_SECONDS + DOCKER_SECONDS * any(scenario.docker for scenario in group)
        seconds += sum(RECORDING_SECONDS + scenario.seconds for scenario in group)
        machine.boot(disk, accel, parameters, shared, shared / "console.log", seconds)
        print(f"  ran {time.monotonic() - started:.0f} s", file=sys.stderr, flush=True)
        told = _read(shared / "machine.json", shared)
        told["machine"] = _describe(accel)
        for scenario in group:
            yield _collect(scenario, told, shared)


def _programs() -> Path:
    folder = CACHE / "programs"
    folder.mkdir(parents=True, exist_ok=True)
    run_logged(("make", "-C", LAB / "programs", f"OUT={folder}"), CACHE / "programs.log")
    return folder


def _share(group: list[Scenario], programs: Path) -> Path:
    shared = CACHE / "boot"
    shutil.rmtree(shared, ignore_errors=True)
    shutil.copytree(programs, shared / "programs")
    shutil.copytree(LAB / "image", shared / "image")
    shutil.copy(LAB / "guest/agent.py", shared)
    images = yaml.safe_load((LAB / "images.yaml").read_text(encoding="utf-8"))
    boot = {"scenarios": [scenario.job() for scenario in group], "images": images}
    (shared / "boot.json").write_text(json.dumps(boot))
    return shared


def _read(file: Path, shared: Path) -> dict[str, Any]:
    if not file.exists():
        log = shared / "agent.log"
        last = log.read_text(errors="replace")[-2000:] if log.exists() else "it never started"
        raise LabError(f"the guest's agent left no {file.name} (console: {shared / 'console.log'}):\n{last}")
    told: dict[str, Any] = json.loads(file.read_text())
    return told


def _describe(accel: tuple[str, ...]) -> str:
    how = "KVM" if "kvm" in accel else "software emulation (tcg, -cpu max)"
    return f"QEMU {machine.version()}, {how}, 2 processors, Debian 12 guest"


def _collect(scenario: Scenario, told: dict[str, str], shared: Path) -> Recording:
    result = _read(shared / f"{scenario.name}.json", shared)
    capture = None
    if scenario.capture:
        capture = RECORDED / f"{scenario.name}.scap"
        # sysdig -z would lose events while it compresses. Without name and time: the same bytes again.
        with (
            (shared / capture.name).open("rb") as plain,
            gzip.GzipFile("", "wb", 9, capture.open("wb"), 0) as packed,
        ):
            shutil.copyfileobj(plain, packed, 1 << 20)
    recording = Recording(scenario, told, result, capture)
    (RECORDED / f"{scenario.name}.txt").write_text(recording.log())
    shutil.copy(shared / "console.log", RECORDED / f"{scenario.name}.console")
    return recording


def check(recording: Recording) -> list[str]:
    """Run the analyzer on a recording and say what is not as its scenario expects."""
    from traces.lab.expected import differences

    scenario = recording.scenario
    problems = []
    if recording.exit_status != scenario.exit_status:
        problems.append(f"exit status {recording.exit_status}, not {scenario.exit_status}")
    if recording.capture is None:
        return problems
    command = (Path(sys.executable).parent / "scapscope", "explain", "--json", recording.capture)
    done = subprocess.run(command, capture_output=True, check=False)
    if done.returncode != 0:
        return [*problems, f"scapscope ended with status {done.returncode}: {done.stderr.decode().strip()}"]
    report = json.loads(done.stdout)
    mode = report["kernel"]["vsyscall_mode"]
    if mode != scenario.vsyscall_mode:
        problems.append(f"vsyscall mode {mode}, not {scenario.vsyscall_mode}")
    return problems + differences(scenario.expect, report["findings"])
