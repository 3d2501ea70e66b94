"""Turns rows into comma-separated values, one line a row."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from typing import Any

from scapscope.reports.page import printable


def render(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """The rows below their header; what is None is left empty, what could steer a terminal is escaped."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows([printable(cell) if isinstance(cell, str) else cell for cell in row] for row in rows)
    return text.getvalue()
