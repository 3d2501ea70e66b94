"""Turns rules files into everything that is wrong with them, in the order of the files' lines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from scapscope.rules import house, plugin, traps
from scapscope.rules.condition import Expression
from scapscope.rules.definitions import Rule, RuleSet
from scapscope.rules.entry import RefusedError
from scapscope.rules.expansion import Expander, parsed
from scapscope.rules.loader import load
from scapscope.rules.problem import Problem
from scapscope.rules.source import Passage
from scapscope.rules.usage import unused


def lint(paths: Iterable[Path], *, ours: bool = False, tested: frozenset[str] = frozenset()) -> list[Problem]:
    """The problems of the rules files at `paths`, read in this order.

    `ours`: hold them to the house style, too; then `tested` names the rules that have a test.
    Raises OSError.
    """
    rules = load(paths)
    problems = [*rules.problems, *_in_definitions(rules), *_in_rules(rules, ours=ours)]
    if ours:
        problems += house.in_files(rules, tested)
    order = {str(path): place for place, path in enumerate(rules.files)}
    unique = dict.fromkeys(problems)
    return sorted(unique, key=lambda one: (order.get(one.spot.file, -1), one.spot.line, one.spot.column))


def _in_definitions(rules: RuleSet) -> Iterator[Problem]:
    expander = Expander(rules)
    for named in rules.lists.values():
        try:
            words = expander.words(named)
        except RefusedError as refused:
            yield refused.problem
            continue
        for word in words:
            if not word.quoted and word.text in rules.lists and word.text != named.name:
                message = f"list {named.name!r} compares with the name {word.text!r}"
                yield Problem(named.spot, "nested-list", message)
    for macro in rules.macros.values():
        yield from _in_condition(macro.condition)
        try:
            expander.macro(macro)
        except RefusedError as refused:
            yield refused.problem
    if rules.rules:
        for name, spot in unused(rules):
            yield Problem(spot, "unused", f"no rule uses {name!r}", "warning")


def _in_rules(rules: RuleSet, *, ours: bool) -> Iterator[Problem]:
    expander = Expander(rules)
    for rule in rules.rules.values():
        yield from _in_condition(rule.condition)
        yield from traps.in_output(rule.output)
        expanded, refused = _expanded(rule, expander)
        yield from refused
        if expanded is not None:
            yield from traps.in_rule(rule, expanded)
            yield from plugin.in_rule(rule, expanded, rules)
        if ours:
            yield from house.in_rule(rule, expanded)


def _in_condition(passage: Passage) -> Iterator[Problem]:
    try:
        expression = parsed(passage)
    except RefusedError as refused:
        yield refused.problem
    else:
        yield from traps.in_condition(expression, passage)


def _expanded(rule: Rule, expander: Expander) -> tuple[Expression | None, list[Problem]]:
    try:
        return expander.rule(rule), []
    except RefusedError as refused:
        return None, [refused.problem]
