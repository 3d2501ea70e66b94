"""Compares the findings that a capture must yield with those it does yield."""

from collections.abc import Mapping, Sequence
from typing import Any


def differences(expect: Sequence[Mapping[str, Any]], findings: Sequence[Mapping[str, Any]]) -> list[str]:
    """Say what is missing, different or too much; nothing for findings that are as expected.

    Each expected finding has one of its own among `findings`, which may say more of it.
    """
    left = list(findings)
    told = []
    for wanted in expect:
        same_id = [finding for finding in left if finding["id"] == wanted["id"]]
        if not same_id:
            told.append(f"{wanted['id']}: not found")
            continue
        closest = min(same_id, key=lambda finding: len(_unlike(wanted, finding)))
        told += [f"{wanted['id']}: {problem}" for problem in _unlike(wanted, closest)]
        left.remove(closest)
    return told + [f"{finding['id']}: not expected" for finding in left]


def _unlike(wanted: Mapping[str, Any], found: Any, where: str = "") -> list[str]:
    """How `found` differs from `wanted` in what `wanted` says."""
    if not isinstance(found, Mapping):
        return [f"{where.rstrip('.')} is {found!r}"]
    told = []
    for name, value in wanted.items():
        if name not in found:
            told.append(f"{where}{name} is missing")
        elif isinstance(value, Mapping):
            told += _unlike(value, found[name], f"{where}{name}.")
        elif name == "evidence":
            shown = {event["event"]: event for event in found[name]}
            for event in value:
                told += _unlike(event, shown.get(event["event"]), f"evidence {event['event']}.")
        elif found[name] != value:
            told.append(f"{where}{name} is {found[name]!r}, not {value!r}")
    return told
