"""Reads rule tests: for one rule, the captures on which it must alert, and those that must stay silent.

    rules: ../vsyscall_rules.yaml          # or a list: later files adapt earlier ones
    rule: Read of Vsyscall Page
    alerts:
      - capture: ../../traces/none-page-read.scap
        count: 1
        fields: {proc.name: page-read}     # of every alert; null: no value; a list: one for each alert
    silent:
      - ../../traces/**/*.scap             # those under `alerts` excepted
      - {capture: ../../traces/none-getcpu.scap, why: a call}    # only looks like it: told in the reference

Paths and patterns are relative to the test file.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from scapscope.rules import source
from scapscope.rules.source import Mapping, Node, Sequence, SourceError, Spot, Text


@dataclass(frozen=True, slots=True)
class Expectation:
    """What a rule must do on one capture: so many alerts; a field has one value in all, or one for each."""

    capture: Path
    count: int
    spot: Spot
    fields: dict[str, tuple[str | None, ...]] = field(default_factory=dict)
    why: str = ""


@dataclass(frozen=True, slots=True)
class Case:
    """One rule test."""

    file: Path
    rules: tuple[Path, ...]
    rule: str
    spot: Spot
    alerting: tuple[Expectation, ...]
    silent: tuple[Expectation, ...]


def read(path: Path) -> Case:
    """The rule test at `path`. Raises OSError, and SourceError for what is no rule test."""
    documents = source.read(path)
    if len(documents) != 1 or not isinstance(documents[0], Mapping):
        raise SourceError(
            "a rule test is one mapping with the keys rules, rule, alerts, silent", Spot(str(path), 1, 1)
        )
    node = documents[0]
    _only(node, {"rules", "rule", "alerts", "silent"})
    here = path.parent
    rules = _of(node, "rules")
    files = rules.items if isinstance(rules, Sequence) else (rules,)
    alerting = tuple(_alerting(one, here) for one in _items(node, "alerts"))
    named = {one.capture.resolve() for one in alerting}
    silent: dict[Path, Expectation] = {}
    for entry in _items(node, "silent"):
        for one in _silent(entry, here):
            capture = one.capture.resolve()
            if capture not in named and (one.why or capture not in silent):
                silent[capture] = one
    return Case(
        file=path,
        rules=tuple(here / _text(file).value for file in files),
        rule=_text(_of(node, "rule")).value,
        spot=node.keys["rule"],
        alerting=alerting,
        silent=tuple(silent.values()),
    )


def _alerting(node: Node, here: Path) -> Expectation:
    if not isinstance(node, Mapping):
        raise SourceError("an entry of alerts is a mapping: capture, count, fields", node.spot)
    _only(node, {"capture", "count", "fields"})
    count = _number(_of(node, "count"))
    if count < 1:
        raise SourceError("count is at least 1: captures without alerts go under silent", node.keys["count"])
    return Expectation(_capture(node, here), count, node.spot, fields=_fields(node, count))


def _silent(node: Node, here: Path) -> list[Expectation]:
    if isinstance(node, Mapping):
        _only(node, {"capture", "why"})
        return [Expectation(_capture(node, here), 0, node.spot, why=_text(_of(node, "why")).value)]
    return [Expectation(capture, 0, node.spot) for capture in _matching(here, node)]


def _capture(node: Mapping, here: Path) -> Path:
    return here / _text(_of(node, "capture")).value


def _fields(node: Mapping, count: int) -> dict[str, tuple[str | None, ...]]:
    fields = node.entries.get("fields")
    if fields is None:
        return {}
    if not isinstance(fields, Mapping):
        raise SourceError("fields is a mapping of names to values", fields.spot)
    return {name: _values(value, count) for name, value in fields.entries.items()}


def _values(node: Node, count: int) -> tuple[str | None, ...]:
    """One value for all alerts, or one for each of them."""
    if isinstance(node, Sequence) and len(node.items) != count:
        raise SourceError(f"{len(node.items)} values for {count} alerts", node.spot)
    texts = [_text(one) for one in (node.items if isinstance(node, Sequence) else (node,))]
    return tuple(None if text.null else text.value for text in texts)


def _matching(here: Path, pattern: Node) -> list[Path]:
    """The captures a path or pattern names, in order of name."""
    text = _text(pattern).value
    ups, rest = here, Path(text)
    while rest.parts[:1] == ("..",):
        ups, rest = ups / "..", Path(*rest.parts[1:])
    found = sorted(ups.glob(str(rest))) if rest.parts else []
    if not found:
        raise SourceError(f"no capture matches {text!r}", pattern.spot)
    return found


def _only(node: Mapping, keys: set[str]) -> None:
    for key in node.entries.keys() - keys:
        raise SourceError(f"no key {key!r} here: {', '.join(sorted(keys))}", node.keys[key])
    for key, spot in node.repeated:
        raise SourceError(f"key {key!r} is given twice", spot)


def _of(node: Mapping, key: str) -> Node:
    if key not in node.entries:
        raise SourceError(f"the key {key!r} is missing", node.spot)
    return node.entries[key]


def _items(node: Mapping, key: str) -> tuple[Node, ...]:
    value: Any = _of(node, key)
    if not isinstance(value, Sequence):
        raise SourceError(f"{key!r} is a list", value.spot)
    return value.items


def _text(node: Node) -> Text:
    if not isinstance(node, Text):
        raise SourceError("a text is wanted here", node.spot)
    return node


def _number(node: Node) -> int:
    text = _text(node)
    try:
        return int(text.value, 0)
    except ValueError:
        raise SourceError(f"{text.value!r} is no number", text.spot) from None
