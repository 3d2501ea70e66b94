"""Turns the condition of a macro or a rule into an expression without macros and lists, as Falco does.

A macro sees the macros defined before its own last change, a rule sees all. A list in a list is
expanded once only; what it does then is in checks.py under nested-list.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from scapscope.rules import exceptions
from scapscope.rules.condition import (
    LISTS,
    And,
    Check,
    Expression,
    Macro,
    Not,
    Operand,
    Or,
    Word,
    Words,
    conjunction,
)
from scapscope.rules.definitions import List, MacroDefinition, Rule, RuleSet
from scapscope.rules.entry import RefusedError
from scapscope.rules.parser import ConditionError, parse, parse_words
from scapscope.rules.source import Passage, Text


def parsed(passage: Passage) -> Expression:
    """The expression as it is written. Raises RefusedError where it cannot be one."""
    try:
        return parse(passage.value)
    except ConditionError as problem:
        raise RefusedError(passage.spot_of(problem.at), "condition", str(problem)) from None


class Expander:
    """Expands what one rule set defines; each macro is read once."""

    def __init__(self, rules: RuleSet) -> None:
        self._rules = rules
        self._macros: dict[str, Expression] = {}

    def rule(self, rule: Rule) -> Expression:
        """A rule's condition with its exceptions. Raises RefusedError."""
        condition = self._expanded(parsed(rule.condition), rule.condition, None, ())
        excluded = [
            Not(self._expanded(found, Passage((Text("", one.spot),)), None, ()))
            for one in rule.exceptions
            if (found := exceptions.expression(one)) is not None
        ]
        return conjunction(condition, *excluded)

    def macro(self, definition: MacroDefinition, above: tuple[str, ...] = ()) -> Expression:
        """A macro's condition. Raises RefusedError."""
        known = self._macros.get(definition.name)
        if known is None:
            condition = definition.condition
            known = self._expanded(
                parsed(condition), condition, definition.visible, (*above, definition.name)
            )
            self._macros[definition.name] = known
        return known

    def words(self, named: List, above: tuple[str, ...] = ()) -> tuple[Word, ...]:
        """The values of a list. Raises RefusedError."""
        if named.name in above:
            raise RefusedError(named.spot, "condition", f"list {named.name!r} contains itself")
        return tuple(self._listed(named, (*above, named.name)))

    def _listed(self, named: List, above: tuple[str, ...]) -> Iterator[Word]:
        for item in self._items(named):
            for word in _words_of(item):
                later = self._rules.lists.get(word.text)
                if later is not None and not word.quoted and later.index > named.index:
                    yield from self.words(later, above)
                else:
                    yield word

    def _items(self, named: List) -> Iterator[Text]:
        for item in named.items:
            inner = self._rules.lists.get(item.value)
            if inner is not None and inner.index < named.visible:
                yield from inner.items
            else:
                yield item

    def _expanded(
        self, expression: Expression, passage: Passage, visible: int | None, above: tuple[str, ...]
    ) -> Expression:
        match expression:
            case Macro():
                return self._named(expression, passage, visible, above)
            case Check(right=Word() | Words() as right):
                return replace(expression, right=self._operand(expression, right, passage))
            case Not(inner):
                return Not(self._expanded(inner, passage, visible, above), expression.at)
            case And(parts):
                return And(
                    tuple(self._expanded(part, passage, visible, above) for part in parts), expression.at
                )
            case Or(parts):
                return Or(
                    tuple(self._expanded(part, passage, visible, above) for part in parts), expression.at
                )
        return expression

    def _named(
        self, macro: Macro, passage: Passage, visible: int | None, above: tuple[str, ...]
    ) -> Expression:
        definition = self._rules.macros.get(macro.name)
        spot = passage.spot_of(macro.at)
        if definition is None:
            hint = (
                ": a list stands in parentheses, after a field and 'in'"
                if macro.name in self._rules.lists
                else ""
            )
            raise RefusedError(spot, "condition", f"no macro {macro.name!r} is defined{hint}")
        if visible is not None and definition.index >= visible:
            raise RefusedError(
                spot, "condition", f"macro {macro.name!r} is defined later: a macro sees earlier ones only"
            )
        if macro.name in above:
            raise RefusedError(spot, "condition", f"macro {macro.name!r} contains itself")
        return self.macro(definition, above)

    def _operand(self, check: Check, right: Word | Words, passage: Passage) -> Operand:
        if isinstance(right, Words):
            words = [inner for word in right.words for inner in self._values(word)]
            return replace(right, words=tuple(words))
        named = None if right.quoted else self._rules.lists.get(right.text)
        if named is None:
            return right
        words = list(self.words(named))
        if len(words) == 1 and check.operator not in LISTS:
            return words[0]
        raise RefusedError(
            passage.spot_of(right.at),
            "condition",
            f"a list stands in parentheses: {check.left} in ({named.name})",
        )

    def _values(self, word: Operand) -> tuple[Operand, ...]:
        if isinstance(word, Word) and not word.quoted and (named := self._rules.lists.get(word.text)):
            return self.words(named)
        return (word,)


def _words_of(item: Text) -> tuple[Word, ...]:
    text = item.value
    if " " in text and text[0] not in "\"'":
        return (Word(text, quoted=True),)
    try:
        words = parse_words(text)
    except ConditionError as problem:
        inner = "it needs quotes inside its quotes: '\"" + text + "\"'"
        raise RefusedError(
            item.spot, "list-item", f"{text!r} is no value of the filter language ({problem}); {inner}"
        ) from None
    if not words:
        raise RefusedError(item.spot, "list-item", "an empty value")
    return words
