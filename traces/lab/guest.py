"""Builds the guest, a Debian 12 disk with kernel, sysdig, kernel module and Docker, and keeps it."""

import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from traces.lab.places import CACHE, LAB, LabError, find_missing, fingerprint, run_logged

RECIPE = LAB / "guest"
SUITE = "bookworm"
NEEDS = {"mmdebstrap": "mmdebstrap", "genext2fs": "genext2fs"}
KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")


@dataclass(frozen=True)
class Guest:
    """What QEMU boots."""

    disk: Path
    kernel: Path
    initrd: Path


def build() -> Guest:
    """Return the guest, built first if there is none for the present recipe."""
    folder = CACHE / "guest"
    guest = Guest(folder / "disk.ext2", folder / "vmlinuz", folder / "initrd.img")
    stamp = folder / "recipe"
    recipe = fingerprint(RECIPE / name for name in ("packages", "customize", "init"))
    if stamp.exists() and stamp.read_text() == recipe:
        return guest
    find_missing(NEEDS)
    if not KEYRING.exists():
        raise LabError("not installed: debian-archive-keyring (apt-get install debian-archive-keyring)")
    print("Building the guest (Debian 12, about five minutes) ...", file=sys.stderr, flush=True)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    run_logged(_mmdebstrap(guest), folder / "mmdebstrap.log")
    stamp.write_text(recipe)
    return guest


def _mmdebstrap(guest: Guest) -> list[str]:
    lines = (RECIPE / "packages").read_text(encoding="utf-8").splitlines()
    packages = [line for line in lines if line and not line.startswith("#")]
    return [
        "mmdebstrap",
        "--variant=minbase",
        f"--keyring={KEYRING}",
        # Nobody reads documentation in there. The folder of manuals must stay: Java's packages link theirs.
        "--dpkgopt=path-exclude=/usr/share/doc/*",
        "--dpkgopt=path-exclude=/usr/share/locale/*",
        f"--include={','.join(packages)}",
        # mmdebstrap runs a hook through a shell where its name is not that of a program file.
        f'--customize-hook="{RECIPE / "customize"}" "$1"',
        f'--customize-hook=cp "$1/boot/vmlinuz" "{guest.kernel}"',
        f'--customize-hook=cp "$1/boot/initrd.img" "{guest.initrd}"',
        SUITE,
        str(guest.disk),
    ]
