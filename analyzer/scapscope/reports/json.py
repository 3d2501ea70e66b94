"""Turns a Report into the JSON that docs/report.schema.json describes."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from scapscope.report import Report


def render(report: Report, *, one_line: bool = False) -> str:
    """The report as one JSON object: indented, or on one line for JSON Lines."""
    return dump(report.to_dict(), one_line=one_line)


def dump(value: dict[str, Any], *, one_line: bool = False) -> str:
    """Any answer as JSON, in ASCII: a name's control characters stay escaped on a terminal."""
    return json.dumps(value, indent=None if one_line else 2, ensure_ascii=True) + "\n"
