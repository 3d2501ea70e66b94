"""Keeps a recording: the capture in traces/, its entry in the manifest, its row in the README."""

import hashlib
import re
import shutil
from typing import Any

import yaml

from traces.lab.places import MANIFEST, TRACES, LabError
from traces.lab.recorder import Recording

README = TRACES / "README.md"
SOURCE = "recorded by the trace lab: make lab SCENARIO="
_ENTRY = re.compile(r"^  - file: (.+?)\n(?:(?!  - file: ).*\n|\n)*", re.MULTILINE)
_ROWS = re.compile(r"(?:^\| \[.*\n)+", re.MULTILINE)


class _Indented(yaml.SafeDumper):
    """Lists indented under their key, as in the rest of the manifest; no references."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:  # noqa: ARG002
        super().increase_indent(flow, indentless=False)

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002
        return True


def keep(recording: Recording) -> None:
    """Put the capture into traces/, and what is known of it into the manifest, in place of an older one."""
    if recording.capture is None:
        raise LabError(f"{recording.scenario.name} records no capture")
    text = MANIFEST.read_text(encoding="utf-8")
    for old in yaml.safe_load(text)["captures"]:
        if old["file"] == recording.capture.name and SOURCE not in old["provenance"]["source"]:
            raise LabError(f"{recording.capture.name} is in the manifest, and not from the lab: not replaced")
    kept = TRACES / recording.capture.name
    shutil.copy(recording.capture, kept)
    entry = entry_of(recording)
    text = with_entry(text, entry)
    MANIFEST.write_text(text, encoding="utf-8")
    README.write_text(with_rows(README.read_text(encoding="utf-8"), yaml.safe_load(text)), encoding="utf-8")


def entry_of(recording: Recording) -> dict[str, Any]:
    """The manifest's entry for a recording."""
    assert recording.capture is not None  # noqa: S101 - keep() has looked
    scenario, told = recording.scenario, recording.machine
    packages = dict(line.split() for line in told["packages"].splitlines())
    entry: dict[str, Any] = {
        "file": recording.capture.name,
        "sha256": hashlib.sha256(recording.capture.read_bytes()).hexdigest(),
        "shows": scenario.shows,
        "vsyscall_mode": scenario.vsyscall_mode,
    }
    if scenario.notes:
        entry["notes"] = scenario.notes
    entry["provenance"] = {
        "source": f"{SOURCE}{scenario.name}",
        "machine": told["machine"],
        "kernel": told["kernel"],
        "kernel_command_line": told["kernel_command_line"],
        "clocksource": told["clocksource"],
        "program": "; ".join([*scenario.before, *scenario.run]),
        "exit_status": recording.exit_status,
        "recorder": ", ".join(f"{name} {packages[name]}" for name in ("sysdig", "falcosecurity-scap-dkms")),
        "recorded_with": f"{recording.result['sysdig']} {recording.capture.name}",
    }
    return entry | {"expect": scenario.expect, "forbid": scenario.forbid}


def with_entry(manifest: str, entry: dict[str, Any]) -> str:
    """Return the manifest's text with `entry` in the place of the one of the same file, or at the end."""
    block = yaml.dump([entry], Dumper=_Indented, sort_keys=False, width=95, allow_unicode=True)
    block = "".join(f"  {line}" if line.strip() else line for line in block.splitlines(keepends=True)) + "\n"
    for found in _ENTRY.finditer(manifest):
        if found[1] == entry["file"]:
            changed = manifest[: found.start()] + block + manifest[found.end() :]
            break
    else:
        changed = manifest.rstrip("\n") + "\n\n" + block
    changed = changed.rstrip("\n") + "\n"
    _only_this_changed(manifest, changed, entry)
    return changed


def _only_this_changed(before: str, after: str, entry: dict[str, Any]) -> None:
    """The text was edited, not written anew: make sure that it says the same of all other captures."""
    old, new = ({one["file"]: one for one in yaml.safe_load(text)["captures"]} for text in (before, after))
    if new != old | {entry["file"]: entry}:
        raise LabError(
            f"{MANIFEST} is laid out in a way that the entry of {entry['file']} cannot be put into"
        )


def with_rows(readme: str, manifest: dict[str, Any]) -> str:
    """Return the README's text with the table of the manifest's captures."""
    rows = "".join(
        f"| [{one['file']}]({one['file']}) | {one['shows']} | "
        f"{', '.join(finding['id'] for finding in one['expect']) or 'nothing'} |\n"
        for one in manifest["captures"]
    )
    return _ROWS.sub(lambda _: rows, readme, count=1)
