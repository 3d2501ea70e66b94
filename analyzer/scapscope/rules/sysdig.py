"""Has sysdig judge a rule: its condition, macros and lists expanded, as a filter on a capture.

sysdig 0.29.3 knows neither rules nor `==`, compares with decimal numbers only, and refuses a mixture of
`and` and `or` without parentheses. It has no way to write a value with a single quote. What it lacks
besides, it says itself.
"""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

from scapscope.rules.condition import NUMERIC, And, Check, Expression, Not, Or, Word
from scapscope.rules.definitions import SYSCALL, Rule, RuleSet
from scapscope.rules.engine import Alert, EngineError, UnableError, expanded, known, run
from scapscope.rules.output import printed

_LISTED = re.compile(r"^([a-z][\w]*(?:\.\w+)+)", re.MULTILINE)
_LACKING = re.compile(r"unrecognized|unknown event type|syntax error in filter|filter error|formatting token")
_TIME = "evt.rawtime"


class Sysdig:
    """The sysdig on PATH, or the one given."""

    name = "sysdig"

    def __init__(self, program: str | None = None) -> None:
        self._program = program or shutil.which("sysdig")

    def version(self) -> str:
        """What `sysdig --version` prints. Raises EngineError where there is none."""
        return self._run("--version").split()[-1]

    def alerts(self, rules: RuleSet, rule: Rule, capture: Path) -> list[Alert]:
        """The events of `capture` that the rule's condition lets through."""
        if rule.source != SYSCALL:
            raise UnableError(f"sysdig has no events of source {rule.source}")
        condition = expanded(rules, rule)
        wanted = {field.field for field in printed(rule.output.value)}
        return self.matches(condition, capture, sorted(filter(self._has, wanted)))

    def matches(self, condition: Expression, capture: Path, fields: list[str]) -> list[Alert]:
        """The events of `capture` that an expanded condition lets through, with these fields of theirs."""
        lines = self._run(*arguments(capture, condition, [*fields, _TIME])).splitlines()
        return [alert(line) for line in lines if line.startswith("{")]

    def _has(self, field: str) -> bool:
        name = field.partition("[")[0]
        return name in self._fields or name.startswith(("evt.arg.", "evt.rawarg."))

    @cached_property
    def _fields(self) -> frozenset[str]:
        return frozenset(_LISTED.findall(self._run("-l")))

    def _run(self, *words: str) -> str:
        if self._program is None:
            raise EngineError("sysdig is not installed: Debian and Ubuntu have it as the package sysdig")
        done = run("sysdig", [self._program, *words])
        if done.returncode != 0:
            said = (
                done.stderr.strip() or done.stdout.strip() or f"exit status {done.returncode}"
            ).splitlines()
            lacking = _LACKING.search(said[-1]) is not None
            raise (UnableError if lacking else EngineError)(f"sysdig says: {said[-1]}")
        return done.stdout


def arguments(capture: Path, condition: Expression, fields: list[str]) -> list[str]:
    """The words after `sysdig` that print `fields` of the matching events, one JSON object a line.

    The leading * keeps lines in which a field has no value.
    """
    shown = "*" + " ".join(f"%{field}" for field in fields)
    return ["-r", str(capture), "-j", "-p", shown, str(dialect(condition))]


def alert(line: str) -> Alert:
    """The alert that one line of `sysdig -j -p` is. Raises EngineError."""
    try:
        printed_fields = json.loads(line, strict=False)
    except ValueError:
        raise EngineError(f"a line of sysdig's output is no JSON: {line[:80]!r}") from None
    fields: dict[str, Any] = {name: known(value) for name, value in printed_fields.items()}
    return Alert(fields.pop(_TIME, None), fields)


def dialect(expression: Expression) -> Expression:
    """The same expression in the words of sysdig 0.29.3. Raises UnableError where it has none."""
    match expression:
        case Check():
            return _check(expression)
        case Not(Not(inner)):
            return dialect(inner)
        case Not(inner):
            return Not(dialect(inner))
        case And(parts) | Or(parts):
            return replace(expression, parts=tuple(dialect(part) for part in parts))
    return expression


def _check(check: Check) -> Check:
    for word in check.words():
        if "'" in word.text:
            raise UnableError(f"sysdig has no way to write a value with a single quote: {word}")
    if check.operator == "==":
        return replace(check, operator="=")
    if check.operator in NUMERIC and isinstance(check.right, Word) and check.right.text[:2].lower() == "0x":
        return replace(check, right=Word(str(int(check.right.text, 16))))
    return check
