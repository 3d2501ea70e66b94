"""Turns the output of a rule into the fields it prints."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

_NAME = r"[a-zA-Z]\w*(?:\.[a-zA-Z]\w*)+(?:\[[^\]]*\])?"
_FIELD = re.compile(rf"(?:(?P<label>\w[\w.]*)=)?%\*?(?:[a-z]\w*\()*(?P<field>{_NAME})", re.ASCII)
_NO_PERCENT = re.compile(
    r"=(?P<field>(?:evt|proc|fd|user|group|container|thread|k8s)(?:\.[a-z]\w*)+)", re.ASCII
)


@dataclass(frozen=True, slots=True)
class Printed:
    """A field in an output, with the label before its '=' if it has one."""

    field: str
    label: str | None
    at: int


def printed(output: str) -> list[Printed]:
    """The fields of an output, in order; %tolower(proc.name) prints proc.name."""
    return [Printed(one["field"], one["label"], one.start("field")) for one in _FIELD.finditer(output)]


def rendered(output: str, fields: Mapping[str, Any]) -> str:
    """An output with the values of its fields, <NA> for what has none, as the engines render it."""
    one_line = " ".join(output.split())
    return _FIELD.sub(lambda one: _filled(one, fields.get(one["field"])), one_line)


def _filled(found: re.Match[str], value: Any) -> str:
    label = f"{found['label']}=" if found["label"] else ""
    return f"{label}{'<NA>' if value is None else value}"


def without_percent(output: str) -> list[tuple[str, int]]:
    """What looks like a field but lacks its %, with its offset."""
    return [(one["field"], one.start("field")) for one in _NO_PERCENT.finditer(output)]
