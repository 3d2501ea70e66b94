"""What an engine is: it turns a rule and a capture into alerts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from scapscope.rules.definitions import Rule, RuleSet


@dataclass(frozen=True, slots=True)
class Alert:
    """One match; a field that the event has no value for is None, one that the engine lacks is not there."""

    timestamp_ns: int | None
    fields: Mapping[str, Any]


class EngineError(Exception):
    """The engine did not run the rule; the message is the engine's own, or says what is missing."""


class UnableError(EngineError):
    """The engine, as it is installed here, cannot run this rule: neither the rule's fault nor a verdict."""


class Engine(Protocol):
    """sysdig or Falco."""

    name: str

    def version(self) -> str:
        """The engine's version, as it prints it. Raises EngineError."""
        ...

    def alerts(self, rules: RuleSet, rule: Rule, capture: Path) -> list[Alert]:
        """The alerts of one rule of a set on a capture, enabled or not, in the capture's order.

        They have the fields of the rule's output. Raises EngineError.
        """
        ...


def known(value: Any) -> Any:
    """A field's value, None where an engine prints a stand-in for one that is not there."""
    return None if value in {"", "<NA>"} else value
