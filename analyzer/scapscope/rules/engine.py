"""What an engine is, a program that turns a rule and a capture into alerts, and how its program is run."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from scapscope.rules.condition import Expression
from scapscope.rules.definitions import Rule, RuleSet
from scapscope.rules.entry import RefusedError
from scapscope.rules.expansion import Expander

_TIMEOUT_SECONDS = 600


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


def run(name: str, words: list[str]) -> subprocess.CompletedProcess[str]:
    """What an engine's program says, whatever its exit status. Raises EngineError if it does not run."""
    try:
        return subprocess.run(  # noqa: S603 (the user's own engine)
            words,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            timeout=_TIMEOUT_SECONDS,
        )
    except (OSError, subprocess.TimeoutExpired) as problem:
        raise EngineError(f"{name} did not run: {problem}") from None


def expanded(rules: RuleSet, rule: Rule) -> Expression:
    """The rule's condition without macros and lists. Raises EngineError where that cannot be had."""
    try:
        return Expander(rules).rule(rule)
    except RefusedError as refused:
        raise EngineError(f"{refused.problem.spot}: {refused}") from None


def known(value: Any) -> Any:
    """A field's value, None where an engine prints a stand-in for one that is not there."""
    return None if value in {"", "<NA>"} else value
