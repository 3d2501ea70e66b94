"""Finds what engines load without a word and then never match, or pay dearly for: see checks.TRAPS."""

from __future__ import annotations

import re
from collections.abc import Iterator

from scapscope.rules.condition import (
    LISTS,
    NUMERIC,
    TEXTUAL,
    Check,
    Expression,
    Field,
    Word,
    fields_of,
    walk,
)
from scapscope.rules.definitions import SYSCALL, Rule
from scapscope.rules.eventtypes import event_types
from scapscope.rules.output import printed, without_percent
from scapscope.rules.problem import Problem, Severity
from scapscope.rules.source import Passage

HIGH_VOLUME = frozenset({"page_fault", "gettimeofday", "time", "clock_gettime", "getcpu", "switch"})
"""Each can come 100,000 times a second and more from one busy program."""

_ENDS_FALCO = frozenset({"evt.rawarg.sig", "evt.rawarg.ID"})
"""Those that were seen to do it, by Falco of July 2026; others of the kind may."""

_ADDRESS = re.compile(r"(?:0[xX])?[0-9a-fA-F]{4,16}")
_RENDERED_ADDRESS = re.compile(r"[0-9A-F]+")
_SIGNAL = re.compile(r"SIG[A-Z0-9+]+")
_DECIMAL = re.compile(r"[0-9]+")
_ANY_CASE = frozenset({"icontains", "iglob"})
_EQUALITY = frozenset({"=", "==", "in"})
_LATE = ("container.image", "container.name", "container.label", "k8s.")


def in_condition(expression: Expression, passage: Passage) -> Iterator[Problem]:
    """The traps in a condition as it is written, before macros and lists are expanded."""
    for check in walk(expression):
        if isinstance(check, Check):
            for name, message, severity in _in_check(check):
                yield Problem(passage.spot_of(check.at), name, message, severity)


def in_output(output: Passage) -> Iterator[Problem]:
    """The traps in an output."""
    for field in printed(output.value):
        if field.field.startswith("evt.rawarg"):
            severity: Severity = "error" if field.field in _ENDS_FALCO else "warning"
            message = f"%{field.field} in an output"
            yield Problem(output.spot_of(field.at), "output-ends-falco", message, severity)
        elif field.field == "evt.dir":
            yield Problem(output.spot_of(field.at), "event-direction", "%evt.dir in an output")
        elif field.field == "container.info":
            spot = output.spot_of(field.at)
            yield Problem(spot, "container-info", "%container.info in an output", "warning")
    for name, at in without_percent(output.value):
        yield Problem(output.spot_of(at), "missing-percent", f"{name} without a %", "warning")


def in_rule(rule: Rule, expanded: Expression) -> Iterator[Problem]:
    """The traps in what a rule's whole condition amounts to."""
    if rule.source != SYSCALL:
        return
    types = event_types(expanded)
    if types.others:
        but = f" but {', '.join(sorted(types.names))}" if types.names else ""
        accepted: Severity = "error" if rule.warn_evttypes else "warning"
        message = f"rule {rule.name!r} can match every event type{but}"
        yield Problem(rule.condition.spot, "no-event-type", message, accepted)
    elif rule.enabled and (costly := types.names & HIGH_VOLUME):
        message = f"rule {rule.name!r} is enabled and names {', '.join(sorted(costly))}"
        yield Problem(rule.condition.spot, "high-volume", message)


def _in_check(check: Check) -> Iterator[tuple[str, str, Severity]]:
    for field in (*fields_of(check.left), *fields_of(check.right)):
        if field.name == "evt.dir":
            yield "event-direction", str(check), "error"
        elif field.name == "evt.rawarg.addr":
            yield "raw-address", str(check), "error"
        elif field.name == "evt.arg.ip":
            yield "fault-ip", str(check), "error"
    if isinstance(check.left, Field):
        yield from _compared(check.left, check)


def _compared(field: Field, check: Check) -> Iterator[tuple[str, str, Severity]]:
    wrong = [word for word in check.words() if _never_matches(field.name, check.operator, word)]
    shown = ", ".join(word.text for word in wrong)
    match field.name:
        case "evt.arg.addr" if wrong:
            right = ", ".join(_rendered(word) for word in wrong)
            yield "address-case", f"{field} {check.operator} {shown}: write {right}", "error"
        case "evt.arg.error" if wrong:
            yield "fault-error", f"{field} {check.operator} {shown} never matches", "error"
        case "evt.rawarg.error" if wrong:
            yield "raw-number", f"{field} {check.operator} {shown} is no decimal number", "error"
        case "evt.arg.sig" if wrong:
            yield "signal-name", f"{field} {check.operator} {shown} never matches", "error"
        case name if check.operator == "!=" and name.startswith(_LATE):
            yield "late-image", str(check), "warning"


def _never_matches(field: str, operator: str, word: Word) -> bool:
    """Whether no value that the engines render for `field` can compare so with `word`."""
    match field:
        case "evt.arg.addr":
            text = word.text.upper() if operator in _ANY_CASE else word.text
            return bool(_ADDRESS.fullmatch(word.text)) and not _RENDERED_ADDRESS.fullmatch(text)
        case "evt.arg.error":
            return operator in _EQUALITY and "|" not in word.text
        case "evt.rawarg.error":
            return not _DECIMAL.fullmatch(word.text)
        case "evt.arg.sig" if operator in {"=", "==", "!=", "in"}:
            return not _SIGNAL.fullmatch(word.text)
        case "evt.arg.sig":
            return operator in NUMERIC | TEXTUAL | LISTS and word.text.isdigit()
    return False


def _rendered(word: Word) -> str:
    return word.text.lower().removeprefix("0x").lstrip("0").upper() or "0"
