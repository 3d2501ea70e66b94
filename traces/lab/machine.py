"""Boots the guest in QEMU with a kernel command line and a shared folder, and waits until it is off."""

import os
import subprocess
import time
from pathlib import Path

from traces.lab.guest import Guest
from traces.lab.places import CACHE, LabError, find_missing, say

NEEDS = {"qemu-system-x86_64": "qemu-system-x86"}
KVM = ("-accel", "kvm", "-cpu", "host")
# Without KVM: every instruction is translated. `max` offers all that QEMU can emulate, rdtscp among it.
# Without five-level paging, as most machines are: addresses end at 47 bits for programs.
EMULATED = ("-accel", "tcg,thread=multi", "-cpu", "max,la57=off")
KERNEL = "console=ttyS0 quiet panic=-1 net.ifnames=0 root=/dev/vda rw init=/sbin/lab-init"
PROBE_SECONDS = 30
LOOK_SECONDS = 2
# The kernel of a guest with two emulated processors may wait for one of them for ever. It says so after 22 s.
STUCK = b"soft lockup"
# A panic ends QEMU just as quietly.
POWERED_OFF = b"reboot: Power down"


def version() -> str:
    """QEMU's version, e.g. `7.2.22`."""
    find_missing(NEEDS)
    told = subprocess.run(
        ("qemu-system-x86_64", "--version"), capture_output=True, text=True, check=True
    ).stdout
    return told.split()[3].split("(")[0]


def accelerator(guest: Guest) -> tuple[str, ...]:
    """The fastest way to run the guest that works on this machine."""
    find_missing(NEEDS)
    kvm = Path("/dev/kvm")
    if kvm.exists() and not os.access(kvm, os.R_OK | os.W_OK):
        say("No permission for /dev/kvm (join the group kvm): software emulation instead.")
        return EMULATED
    if kvm.exists() and _boots(guest):
        return KVM
    say("KVM does not run the guest here: software emulation instead.")
    return EMULATED


def _boots(guest: Guest) -> bool:
    """/dev/kvm says little: it may be there and run no stock kernel. What was found holds for this boot."""
    this = f"{Path('/proc/sys/kernel/random/boot_id').read_text().strip()} {version()}"
    known = CACHE / "kvm"
    if known.exists() and known.read_text().startswith(this):
        return known.read_text().endswith("works")
    command = _qemu(guest, KVM, "", shared=None)
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, timeout=PROBE_SECONDS, check=False
        )
        works = done.returncode == 0 and POWERED_OFF in done.stdout
    except subprocess.TimeoutExpired:
        works = False
    CACHE.mkdir(parents=True, exist_ok=True)
    known.write_text(f"{this} {'works' if works else 'fails'}")
    return works


def boot(
    guest: Guest, accel: tuple[str, ...], parameters: str, shared: Path, console: Path, seconds: float
) -> None:
    """Boot with `parameters` added to the kernel's; `shared` is its /lab, `console` gets what it prints.

    Ends when the guest has powered off; raises LabError when it is stuck, as an emulated one sometimes is,
    or takes longer than `seconds`.
    """
    with console.open("wb") as output:
        command = _qemu(guest, accel, parameters, shared)
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT)
        try:
            wait(process, console, time.monotonic() + seconds)
        finally:
            process.kill()
            process.wait()
    if process.returncode != 0 or POWERED_OFF not in console.read_bytes():
        raise LabError(f"the guest did not power off but ended QEMU with {process.returncode}; see {console}")


def wait(process: subprocess.Popen[bytes], console: Path, end: float) -> None:
    """Wait until QEMU ends; raise when the guest is stuck, or at `end` of the monotonic clock."""
    while time.monotonic() < end:
        try:
            process.wait(LOOK_SECONDS)
        except subprocess.TimeoutExpired:
            if STUCK in console.read_bytes():
                raise LabError(f"the guest is stuck; see {console}") from None
        else:
            return
    raise LabError(f"the guest did not power off in time; see {console}")


def _qemu(guest: Guest, accel: tuple[str, ...], parameters: str, shared: Path | None) -> list[str]:
    command = [
        "qemu-system-x86_64",
        *accel,
        "-nodefaults",
        "-no-reboot",
        "-display",
        "none",
        "-serial",
        "stdio",
    ]
    command += ["-m", "3072", "-smp", "2", "-kernel", str(guest.kernel), "-initrd", str(guest.initrd)]
    # Whatever the guest writes to its disk is forgotten when it ends.
    command += ["-drive", f"file={guest.disk},format=raw,if=virtio,snapshot=on"]
    if shared is not None:
        command += ["-virtfs", f"local,path={shared},mount_tag=lab,security_model=none"]
    return [*command, "-append", f"{KERNEL} {parameters}"]
