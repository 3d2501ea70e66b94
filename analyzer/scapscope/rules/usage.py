"""Finds the macros and lists that no rule leads to."""

from __future__ import annotations

from collections.abc import Iterator

from scapscope.rules import exceptions
from scapscope.rules.condition import Expression, Macro, walk
from scapscope.rules.definitions import RuleException, RuleSet
from scapscope.rules.entry import RefusedError
from scapscope.rules.expansion import parsed
from scapscope.rules.source import Passage, Spot


def unused(rules: RuleSet) -> Iterator[tuple[str, Spot]]:
    """The lists and macros of a rule set that no rule uses, directly or through others."""
    reached: set[str] = set()
    todo = {name for rule in rules.rules.values() for name in _written(rule.condition)}
    todo |= {name for rule in rules.rules.values() for one in rule.exceptions for name in _excepted(one)}
    while todo:
        name = todo.pop()
        reached.add(name)
        if name in rules.macros:
            todo |= _written(rules.macros[name].condition) - reached
        if name in rules.lists:
            todo |= {item.value for item in rules.lists[name].items} - reached
    return ((name, spot) for name, spot in rules.names() if name not in reached)


def _written(passage: Passage) -> set[str]:
    try:
        return _names(parsed(passage))
    except RefusedError:
        return set()


def _excepted(exception: RuleException) -> set[str]:
    try:
        expression = exceptions.expression(exception)
    except RefusedError:
        return set()
    return _names(expression) if expression is not None else set()


def _names(expression: Expression) -> set[str]:
    """The macros, and the words that may be lists."""
    names: set[str] = set()
    for one in walk(expression):
        names |= {one.name} if isinstance(one, Macro) else {word.text for word in one.words()}
    return names
