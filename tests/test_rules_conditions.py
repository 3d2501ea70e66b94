"""Conditions of the Falco filter language: read, written, expanded, and understood as the engines do."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import pytest

from scapscope.rules.condition import (
    LISTS,
    NUMERIC,
    OPERATORS,
    TEXTUAL,
    UNARY,
    And,
    Call,
    Check,
    Expression,
    Field,
    Macro,
    Not,
    Operand,
    Or,
    Word,
    Words,
)
from scapscope.rules.eventtypes import ANY, EventTypes, event_types
from scapscope.rules.parser import ConditionError, parse, parse_words
from scapscope.rules.sysdig import Sysdig, dialect

TEXTS = [
    "a",
    "redis-server",
    "/etc/shadow",
    "a b",
    'say "hi"',
    "it's",
    "back\\slash",
    "(x)",
    "1,2",
    "=",
    "",
    "é",
    "not",
]


class Maker:
    """Makes expressions at random, the same ones for the same seed."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)  # noqa: S311

    def expression(self, depth: int = 4) -> Expression:
        match self._random.randrange(6 if depth else 3):
            case 0 | 1:
                return self._check()
            case 2:
                return Macro(
                    self._random.choice(["container", "never_true", "orange", "android2", "notable"])
                )
            case 3:
                return Not(self.expression(depth - 1))
            case 4:
                return And(self._parts(depth))
        return Or(self._parts(depth))

    def _parts(self, depth: int) -> tuple[Expression, ...]:
        wanted = self._random.randint(2, 4)
        return tuple(self.expression(depth - 1) for _ in range(wanted))

    def _check(self) -> Check:
        operator = self._random.choice(sorted(OPERATORS))
        left: Field | Call = self._field()
        if self._random.random() < 0.2:
            left = Call(self._random.choice(["tolower", "basename"]), (left,))
        right: Operand | None
        if operator in UNARY:
            right = None
        elif operator in NUMERIC:
            right = Word(self._random.choice(["0", "-1", "+5", "0x1F", "5000000000", "1.5"]))
        elif operator in LISTS:
            right = Words(tuple(self._word() for _ in range(self._random.randrange(4))))
        else:
            right = Call("val", (self._field(),)) if self._random.random() < 0.1 else self._word()
        return Check(left, operator, right)

    def _field(self) -> Field:
        name = self._random.choice(["evt.type", "proc.aname", "evt.arg.addr", "container.image.repository"])
        return Field(name, self._random.choice([None, None, "2", "/a/b", "name"]))

    def _word(self) -> Word:
        text = self._random.choice(TEXTS)
        bare = text in {"a", "redis-server", "/etc/shadow", "é", "not"}
        return Word(text, quoted=not bare or self._random.random() < 0.3)


@pytest.mark.parametrize("seed", range(300))
def test_what_is_written_is_read_back(seed: int) -> None:
    expression = Maker(seed).expression()
    assert parse(str(expression)) == expression


@pytest.mark.parametrize("seed", range(100))
def test_blanks_and_line_breaks_do_not_matter(seed: int) -> None:
    expression = Maker(seed).expression()
    text = str(expression)
    assert parse(f"\n  ({text})\t ") == expression


@pytest.mark.parametrize("seed", range(200))
def test_no_damage_brings_the_reader_down(seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311
    text = str(Maker(seed).expression())
    cut = text[: chance.randrange(len(text) + 1)]
    at = chance.randrange(len(text) + 1)
    for damaged in (cut, text[:at] + chance.choice("()\"'=,[].\0") + text[at:]):
        assert 0 <= error_at(damaged) <= len(damaged)


def error_at(text: str) -> int:
    """Where the reader stops; 0 if it does not."""
    try:
        parse(text)
    except ConditionError as problem:
        return problem.at
    return 0


@pytest.mark.parametrize(
    ("text", "means"),
    [
        ("a or b and c", "a or (b and c)"),
        ("not a and b", "(not a) and b"),
        ("not a.b = c or d", "(not a.b = c) or d"),
        ("a and(b)or(c)", "(a and b) or c"),
        ("not(a)and not not b", "(not a) and (not (not b))"),
        ("evt.dir=> and evt.dir=<", "evt.dir = > and evt.dir = <"),
        ("fd.num>=0 and evt.rawres<0", "fd.num >= 0 and evt.rawres < 0"),
        ('proc.cmdline= "sh -s"', 'proc.cmdline = "sh -s"'),
        ("proc.name in(a,b ,c)", "proc.name in (a, b, c)"),
        ("proc.pname in (runc:[0:PARENT], exe)", "proc.pname in (runc:[0:PARENT], exe)"),
        ("evt.arg[0] contains AF_PACKET", "evt.arg[0] contains AF_PACKET"),
        ('proc.aexepath["^java"] exists', "proc.aexepath[^java] exists"),
        ("tolower( proc.name )=x", "tolower(proc.name) = x"),
        ('join(",", (proc.name, proc.pname)) = x', 'join(",", (proc.name, proc.pname)) = x'),
        ("proc.name in ()", "proc.name in ()"),
        ("container_entrypoint", "container_entrypoint"),
        ("android and orange or notable", "(android and orange) or notable"),
    ],
)
def test_precedence_and_spelling(text: str, means: str) -> None:
    assert str(parse(text)) == means


@pytest.mark.parametrize(
    ("text", "at", "says"),
    [
        ("", 0, "expected a field"),
        ("a and", 5, "found 'the end'"),
        ("a b", 2, "expected 'and', 'or' or the end"),
        ("proc.name", 9, "expected an operator"),
        ("proc.name is x", 10, "expected an operator, found 'is'"),
        ("proc.name = ", 12, "expected a value"),
        ("proc.name = 'x", 12, "does not end"),
        ("proc.name in (a b)", 16, "expected ',' or ')'"),
        ("proc.name in (a,)", 16, "expected a value"),
        ("(a", 2, "')'"),
        ("a)", 1, "found ')'"),
        ("pid = 3", 0, "a field's name has a dot"),
        ("proc.pid > x", 11, "expected a number"),
        ("a.b[c = 3", 0, "does not end in ']'"),
        ("and a", 0, "found 'and'"),
        ("a or or b", 5, "found 'or'"),
        ("(" * 200 + "a" + ")" * 200, 101, "nested deeper"),
        ("not " * 200 + "a", 404, "nested deeper"),
    ],
)
def test_an_error_says_where_and_what(text: str, at: int, says: str) -> None:
    with pytest.raises(ConditionError, match=says.replace(")", r"\)")) as problem:
        parse(text)
    assert problem.value.at == at


def test_list_items_are_read_as_values() -> None:
    assert [word.text for word in parse_words("a, 'b c', \"d\"")] == ["a", "b c", "d"]
    with pytest.raises(ConditionError):
        parse_words("(systemd)")


@pytest.mark.parametrize(
    ("condition", "types", "others"),
    [
        ("evt.type = open", {"open"}, False),
        ("evt.type in (open, openat) and proc.name = x", {"open", "openat"}, False),
        ("evt.type = open or evt.type = close", {"open", "close"}, False),
        ("evt.type = open and evt.type = close", set(), False),
        ("evt.type = open or proc.name = x", set(), True),
        ("evt.type != open", {"open"}, True),
        ("not evt.type = open", {"open"}, True),
        ("not (evt.type != open or proc.name = x)", {"open"}, False),
        ("not (evt.type != open and proc.name = x)", set(), True),
        ("evt.type in (open, close) and not evt.type = close", {"open"}, False),
        ("evt.type startswith op", set(), True),
        ("proc.name exists", set(), True),
    ],
)
def test_event_types(condition: str, types: set[str], others: bool) -> None:
    assert event_types(parse(condition)) == EventTypes(frozenset(types), others)


def holds(expression: Expression, event: str, name: str) -> bool:
    """Whether an expression over evt.type and proc.name is true for an event."""
    match expression:
        case Not(inner):
            return not holds(inner, event, name)
        case And(parts):
            return all(holds(part, event, name) for part in parts)
        case Or(parts):
            return any(holds(part, event, name) for part in parts)
        case Check(left, operator, Word(text)):
            value = event if str(left) == "evt.type" else name
            return (value == text) != (operator == "!=")
    raise AssertionError(expression)


@pytest.mark.parametrize("seed", range(200))
def test_no_event_is_lost(seed: int) -> None:
    """An event for which a condition can be true is among its event types."""
    chance = random.Random(seed)  # noqa: S311

    def made(depth: int) -> Expression:
        if depth == 0 or chance.random() < 0.3:
            field = chance.choice(["evt.type", "proc.name"])
            return Check(Field(field), chance.choice(["=", "!="]), Word(chance.choice("abc")))
        match chance.randrange(3):
            case 0:
                return Not(made(depth - 1))
            case 1:
                return And((made(depth - 1), made(depth - 1)))
        return Or((made(depth - 1), made(depth - 1)))

    expression = made(4)
    types = event_types(expression)
    for event in "abcd":
        possible = any(holds(expression, event, name) for name in "abcd")
        assert not possible or (event in types.names) != types.others


def test_any_type_is_neutral() -> None:
    some = EventTypes(frozenset({"open"}))
    assert some & ANY == some
    assert some | ANY == ANY


@pytest.mark.parametrize(
    ("condition", "sysdig"),
    [
        ("proc.name == x", "proc.name = x"),
        ("proc.pid >= 0x10", "proc.pid >= 16"),
        ("not not a.b = c", "a.b = c"),
        ("not (not (not a.b == c))", "not a.b = c"),
        ("a.b = c and d.e == f or g.h < 0xff", "(a.b = c and d.e = f) or g.h < 255"),
    ],
)
def test_the_dialect_of_an_old_sysdig(condition: str, sysdig: str) -> None:
    assert str(dialect(parse(condition))) == sysdig


@pytest.mark.skipif(shutil.which("sysdig") is None, reason="needs sysdig")
@pytest.mark.parametrize("seed", range(25))
def test_sysdig_understands_an_expression_as_we_do(seed: int, traces: Path) -> None:
    """Random and, or and not over event numbers let the same events through."""
    chance = random.Random(seed)  # noqa: S311
    numbers = range(1, 9)

    def made(depth: int) -> Expression:
        if depth == 0 or chance.random() < 0.25:
            some = chance.sample(numbers, chance.randint(1, 4))
            return Check(Field("evt.num"), "in", Words(tuple(Word(str(number)) for number in some)))
        parts = tuple(made(depth - 1) for _ in range(chance.randint(2, 3)))
        choices: list[Expression] = [Not(parts[0]), And(parts), Or(parts)]
        return chance.choice(choices)

    def among(expression: Expression, number: int) -> bool:
        match expression:
            case Not(inner):
                return not among(inner, number)
            case And(parts):
                return all(among(part, number) for part in parts)
            case Or(parts):
                return any(among(part, number) for part in parts)
            case Check():
                return str(number) in {word.text for word in expression.words()}
        raise AssertionError(expression)

    expression = parse(str(made(4)))
    few = And((expression, Check(Field("evt.num"), "<=", Word("0x8"))))
    seen = Sysdig().matches(few, traces / "none-neg-normal.scap", ["evt.num"])
    assert [alert.fields["evt.num"] for alert in seen] == [n for n in numbers if among(expression, n)]


def test_every_operator_is_of_one_kind() -> None:
    kinds = [UNARY, NUMERIC, LISTS, TEXTUAL]
    assert sum(len(kind) for kind in kinds) == len(OPERATORS)
