"""Runs in the guest, as the only child of its init: records the scenarios of /lab/boot.json, one by one.

/lab is the host's folder. It holds boot.json, programs/ (binaries) and image/ (files of the containers); for
each scenario the agent leaves NAME.scap and NAME.json there. Waiting is done in blocking calls, so that what
the agent itself does hardly shows in a capture.
"""

import json
import shlex
import shutil
import signal
import subprocess
import sys
import tarfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

LAB = Path("/lab")
# Memory: a slow disk would make sysdig lose events.
WORK = Path("/tmp")  # noqa: S108 - nobody else is in there
CAPTURE = WORK / "capture.scap"
SYSDIG_OUTPUT = WORK / "sysdig.log"
DOCKERD = ("dockerd", "--bridge=none", "--iptables=false", "--storage-driver=overlay2")
KERNEL_NAMES = ("ostype", "osrelease", "version")
PACKAGES = ("sysdig", "falcosecurity-scap-dkms", "docker.io")
START_SECONDS = 60
STOP_SECONDS = 120
# Between sysdig's first bytes in the file (the process list) and the program.
SETTLE_SECONDS = 1.0


def text_of(path: str) -> str:
    """The file's text, without the last newline."""
    return Path(path).read_text(errors="replace").rstrip("\n")


def run(command: str, seconds: float) -> dict[str, Any]:
    """Run one command line, without a shell in between, and say how it ended."""
    try:
        done = subprocess.run(
            shlex.split(command),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=seconds,
            check=False,
        )
    except subprocess.TimeoutExpired as late:
        return {"command": command, "status": None, "output": (late.stdout or b"").decode(errors="replace")}
    except OSError as error:
        return {"command": command, "status": None, "output": str(error)}
    # As a shell says it: 128 + the signal.
    status = done.returncode if done.returncode >= 0 else 128 - done.returncode
    return {"command": command, "status": status, "output": done.stdout.decode(errors="replace")}


def wait_for(what: str, ready: Callable[[], bool], seconds: float = START_SECONDS) -> None:
    """Wait until `ready()`; what never comes ends the agent."""
    end = time.monotonic() + seconds
    while not ready():
        if time.monotonic() > end:
            sys.exit(f"agent: waited {seconds} s for {what}")
        time.sleep(0.2)


def make_image() -> Path:
    """Make the root file system that all images have: busybox, the programs, and /lab/image over it."""
    path = WORK / "image.tar"
    applets = subprocess.run(("busybox", "--list"), capture_output=True, text=True, check=True).stdout.split()
    with tarfile.open(path, "w") as tar:
        for folder in ("bin", "etc", "proc", "sys", "dev", "tmp", "usr", "usr/local", "usr/local/bin"):
            entry = tarfile.TarInfo(folder)
            entry.type, entry.mode = tarfile.DIRTYPE, 0o1777 if folder == "tmp" else 0o755
            tar.addfile(entry)
        tar.add("/bin/busybox", "bin/busybox")
        for applet in set(applets) - {"bash", "busybox"}:
            entry = tarfile.TarInfo(f"bin/{applet}")
            entry.type, entry.linkname = tarfile.SYMTYPE, "busybox"
            tar.addfile(entry)
        for program in (LAB / "programs").iterdir():
            tar.add(program, f"usr/local/bin/{program.name}")
        tar.add(LAB / "programs/old-libc-shell", "bin/bash")
        for file in (LAB / "image").iterdir():
            tar.add(file, file.name)
    return path


def start_docker(images: dict[str, dict[str, Any]]) -> None:
    """Start Docker, which has no network here, and give it the scenarios' images."""
    with (WORK / "dockerd.log").open("wb") as log:
        subprocess.Popen(DOCKERD, stdout=log, stderr=log, start_new_session=True)
    wait_for("dockerd", lambda: run("docker info", START_SECONDS)["status"] == 0)
    root = make_image()
    for tag, image in images.items():
        changes = [f"--change={change}" for change in image["changes"]]
        subprocess.run(("docker", "import", *changes, root, tag), check=True, capture_output=True)


def has_begun() -> bool:
    """Whether sysdig has written its first bytes, the process list."""
    return CAPTURE.exists() and CAPTURE.stat().st_size > 0


def record(scenario: dict[str, Any]) -> dict[str, Any]:
    """Run a scenario's programs under sysdig and say everything that the capture does not."""
    seconds = float(scenario["seconds"])
    before = [run(command, seconds) for command in scenario["before"]]
    subprocess.run(("dmesg", "--clear"), check=True)
    CAPTURE.unlink(missing_ok=True)
    with SYSDIG_OUTPUT.open("wb") as log:
        command = ("sysdig", "-v", *scenario["sysdig"], "-w", str(CAPTURE))
        recorder = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    wait_for("sysdig's first bytes", lambda: recorder.poll() is not None or has_begun())
    if recorder.poll() is not None:
        sys.exit(f"agent: sysdig ended with status {recorder.returncode}: {SYSDIG_OUTPUT.read_text()}")
    time.sleep(SETTLE_SECONDS)
    ran = [run(command, seconds) for command in scenario["run"]]
    time.sleep(float(scenario["linger"]))
    recorder.send_signal(signal.SIGINT)
    recorder.wait(STOP_SECONDS)
    kernel_log = subprocess.run(("dmesg",), capture_output=True, check=True).stdout.decode(errors="replace")
    after = [run(command, seconds) for command in scenario["after"]]
    if scenario["capture"]:
        shutil.move(CAPTURE, LAB / f"{scenario['name']}.scap")
    CAPTURE.unlink(missing_ok=True)
    return {
        "before": before,
        "run": ran,
        "after": after,
        "sysdig": " ".join(command[:-1]),
        "sysdig_output": SYSDIG_OUTPUT.read_text(errors="replace"),
        "kernel_log": kernel_log,
    }


def unwatched(scenario: dict[str, Any]) -> dict[str, Any]:
    """Run a scenario's programs without a recorder."""
    return {"run": [run(command, float(scenario["seconds"])) for command in scenario["run"]]}


def machine() -> dict[str, str]:
    """What the kernel says of itself."""
    maps = text_of("/proc/self/maps").splitlines()
    page = [line for line in maps if line.endswith("[vsyscall]")]
    return {
        "kernel": " ".join(text_of(f"/proc/sys/kernel/{what}") for what in KERNEL_NAMES),
        "kernel_command_line": text_of("/proc/cmdline"),
        "clocksource": text_of("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
        "vsyscall_page": page[0] if page else "not mapped",
        "packages": subprocess.run(
            (
                "dpkg-query",
                "-W",
                "-f",
                "${Package} ${Version}\n",
                *PACKAGES,
            ),
            capture_output=True,
            text=True,
            check=True,
        ).stdout,
    }


def main() -> None:
    """Record what the boot is for; each result is there as soon as it is known."""
    boot = json.loads((LAB / "boot.json").read_text())
    for file in (*(LAB / "programs").iterdir(), *(LAB / "image").iterdir()):
        shutil.copy(file, Path("/usr/local/bin") / file.name)
    # The guest's disk is forgotten at its end, and nothing in here needs a real bash.
    shutil.copy(LAB / "programs/old-libc-shell", "/bin/bash")
    subprocess.run(("modprobe", "scap"), check=True)
    subprocess.run(("sysctl", "-q", "kernel.print-fatal-signals=1"), check=True)
    (LAB / "machine.json").write_text(json.dumps(machine()))
    docker = False
    for scenario in boot["scenarios"]:
        if scenario["docker"] and not docker:
            start_docker(boot["images"])
            docker = True
        print(f"{time.monotonic():8.1f} {scenario['name']}", flush=True)
        result = unwatched(scenario) if scenario["sysdig"] is None else record(scenario)
        # In one step: whoever finds the file finds all of it.
        unfinished = LAB / "unfinished.json"
        unfinished.write_text(json.dumps(result))
        unfinished.rename(LAB / f"{scenario['name']}.json")
    print(f"{time.monotonic():8.1f} done", flush=True)


main()
