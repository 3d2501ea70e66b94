"""What lint says: where, what is wrong, and why that matters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from scapscope.rules.source import Spot

Severity = Literal["error", "warning"]


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong with a rules file.

    `check` is the stable name of what found it; checks.py holds the reason behind each.
    """

    spot: Spot
    check: str
    message: str
    severity: Severity = "error"

    @property
    def fatal(self) -> bool:
        """Whether lint fails because of it."""
        return self.severity == "error"
