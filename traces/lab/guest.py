"""Builds the guest, a Debian 12 disk with kernel, sysdig, kernel module and Docker, and keeps it."""

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from traces.lab.places import CACHE, LAB, LabError, find_missing, fingerprint, run_logged, say

RECIPE = LAB / "guest"
SUITE = "bookworm"
NEEDS = {"mmdebstrap": "mmdebstrap", "genext2fs": "genext2fs"}
# Who is not root gets a user namespace, with the ids that /etc/subuid grants.
NEEDS_OF_OTHERS = {"newuidmap": "uidmap"}
KEYRINGS = [Path(f"/usr/share/keyrings/debian-archive-keyring.{kind}") for kind in ("gpg", "pgp")]


@dataclass(frozen=True)
class Guest:
    """What QEMU boots."""

    disk: Path
    kernel: Path
    initrd: Path


def build() -> Guest:
    """Return the guest, built first if there is none of the present recipe."""
    folder = CACHE / "guest"
    guest = Guest(folder / "disk.ext2", folder / "vmlinuz", folder / "initrd.img")
    stamp = folder / "recipe"
    recipe = fingerprint([Path(__file__), *(RECIPE / name for name in ("packages", "customize", "init"))])
    files = (guest.disk, guest.kernel, guest.initrd, stamp)
    if all(file.exists() for file in files) and stamp.read_text() == recipe:
        return guest
    find_missing(NEEDS if os.geteuid() == 0 else NEEDS | NEEDS_OF_OTHERS)
    command = _mmdebstrap(guest, _keyring())
    say("Building the guest (Debian 12, about five minutes) ...")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    run_logged(command, folder / "mmdebstrap.log")
    stamp.write_text(recipe)
    return guest


def _keyring() -> Path:
    for keyring in KEYRINGS:
        if keyring.exists():
            return keyring
    raise LabError("not installed: debian-archive-keyring (apt-get install debian-archive-keyring)")


def _mmdebstrap(guest: Guest, keyring: Path) -> list[str]:
    lines = (RECIPE / "packages").read_text(encoding="utf-8").splitlines()
    packages = [line for line in lines if line and not line.startswith("#")]
    return [
        "mmdebstrap",
        "--variant=minbase",
        f"--keyring={keyring}",
        # Nobody reads documentation in there. The folder of manuals must stay: Java's packages link theirs.
        "--dpkgopt=path-exclude=/usr/share/doc/*",
        "--dpkgopt=path-exclude=/usr/share/locale/*",
        f"--include={','.join(packages)}",
        # In a user namespace a hook sees neither the user's folders nor a way to write there: files go in
        # and out through mmdebstrap.
        f"--customize-hook=upload '{RECIPE / 'init'}' /sbin/lab-init",
        f"--customize-hook=upload '{RECIPE / 'customize'}' /tmp/customize",
        '--customize-hook=chroot "$1" sh /tmp/customize',
        f"--customize-hook=download /boot/vmlinuz '{guest.kernel}'",
        f"--customize-hook=download /boot/initrd.img '{guest.initrd}'",
        SUITE,
        str(guest.disk),
    ]
