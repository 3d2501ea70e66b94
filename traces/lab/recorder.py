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
from traces.lab.expected import differences
from traces.lab.places import CACHE, LAB, RECORDED, LabError, run_logged, say
from traces.lab.scenario import Scenario, boots

# Software emulation boots in about 15 s, Docker takes 20 s more, a recording some seconds more.
BOOT_SECONDS = 180
DOCKER_SECONDS = 180
RECORDING_SECONDS = 60
# An emulated guest is stuck now and then, on a busy machine rather than an idle one.
ATTEMPTS = 3


@dataclass(frozen=True)
class Recording:
    """What came out of the guest for one scenario."""

    scenario: Scenario
    machine: dict[str, str]
    result: dict[str, Any]
    capture: Path | None
    failure: str | None = None

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
    programs = _programs()
    disk = guest.build()
    accel = machine.accelerator(disk)
    RECORDED.mkdir(parents=True, exist_ok=True)
    for number, (parameters, group) in enumerate(boots(scenarios).items()):
        left = group
        for attempt in range(1, ATTEMPTS + 1):
            shared = _share(left, programs)
            console = RECORDED / f"boot-{number}-{attempt}.console"
            say(f"Booting with {parameters}: {len(left)} scenarios ...")
            problem = _boot(disk, accel, parameters, shared, console, left)
            recorded = [one for one in left if (shared / f"{one.name}.json").exists()]
            for one in recorded:
                yield _collect(one, _describe(accel), shared, console)
            left = [one for one in left if one not in recorded]
            if not left:
                break
            problem = problem or f"the guest's agent ended early:\n{_agent_log(shared)}"
            say(f"  {problem}")
        else:
            for one in left:
                yield Recording(one, {}, {"run": []}, None, problem)


def _boot(
    disk: guest.Guest,
    accel: tuple[str, ...],
    parameters: str,
    shared: Path,
    console: Path,
    group: list[Scenario],
) -> str | None:
    """Boot for a group of scenarios; return what went wrong."""
    seconds: float = BOOT_SECONDS + DOCKER_SECONDS * any(scenario.docker for scenario in group)
    seconds += sum(RECORDING_SECONDS + scenario.seconds for scenario in group)
    started = time.monotonic()
    try:
        machine.boot(disk, accel, parameters, shared, console, seconds)
    except LabError as error:
        return str(error)
    say(f"  ran {time.monotonic() - started:.0f} s")
    return None


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


def _agent_log(shared: Path) -> str:
    log = shared / "agent.log"
    return log.read_text(errors="replace")[-2000:] if log.exists() else "it never started"


def _describe(accel: tuple[str, ...]) -> str:
    how = "KVM" if "kvm" in accel else "software emulation (tcg, -cpu max,la57=off)"
    return f"QEMU {machine.version()}, {how}, 2 processors, Debian 12 guest"


def _collect(scenario: Scenario, emulator: str, shared: Path, console: Path) -> Recording:
    told = json.loads((shared / "machine.json").read_text()) | {"machine": emulator}
    result = json.loads((shared / f"{scenario.name}.json").read_text())
    capture = None
    if scenario.capture:
        capture = RECORDED / f"{scenario.name}.scap"
        # sysdig -z would lose events while it compresses. Without name and time: the same bytes again.
        with (
            (shared / capture.name).open("rb") as plain,
            capture.open("wb") as file,
            gzip.GzipFile("", "wb", 9, file, 0) as packed,
        ):
            shutil.copyfileobj(plain, packed, 1 << 20)
    recording = Recording(scenario, told, result, capture)
    (RECORDED / f"{scenario.name}.txt").write_text(recording.log())
    shutil.copy(console, RECORDED / f"{scenario.name}.console")
    return recording


def check(recording: Recording) -> list[str]:
    """Run the analyzer on a recording and say what is not as its scenario expects."""
    scenario = recording.scenario
    if recording.failure is not None:
        return [recording.failure]
    others = [*recording.result.get("before", []), *recording.result["run"][:-1]]
    problems = [f"{ran['command']}: exit status {ran['status']}" for ran in others if ran["status"] != 0]
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
