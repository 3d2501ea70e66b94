"""The expression that a Falco condition is, and its text in the filter language.

The grammar is that of libs, userspace/libsinsp/filter/parser.h. `at` is the offset in the text an
expression was read from; two expressions are equal whatever their offsets.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

BARE_WORD = re.compile(r"[^\s()\"'=,]+")
FUNCTIONS = frozenset({"tolower", "toupper", "b64", "basename", "len", "join", "concat", "val"})
UNARY = frozenset({"exists"})
NUMERIC = frozenset({"<", "<=", ">", ">="})
LISTS = frozenset({"in", "intersects", "pmatch"})
TEXTUAL = frozenset(
    {"=", "==", "!=", "glob", "iglob", "contains", "icontains", "bcontains", "startswith", "bstartswith"}
    | {"endswith", "regex"}
)
OPERATORS = UNARY | NUMERIC | LISTS | TEXTUAL


@dataclass(frozen=True, slots=True)
class Field:
    """A field of an event: `proc.name`, `proc.aname[2]`."""

    name: str
    argument: str | None = None
    at: int = field(default=0, compare=False)

    def __str__(self) -> str:
        return self.name if self.argument is None else f"{self.name}[{self.argument}]"


@dataclass(frozen=True, slots=True)
class Word:
    """A literal value, as the engine sees it: without its quotes."""

    text: str
    quoted: bool = False
    at: int = field(default=0, compare=False)

    def __str__(self) -> str:
        if not self.quoted and BARE_WORD.fullmatch(self.text):
            return self.text
        return '"' + self.text.replace("\\", "\\\\").replace('"', '\\"') + '"'


@dataclass(frozen=True, slots=True)
class Call:
    """A function of fields, which Falco has and sysdig 0.29.3 has not: `tolower(proc.name)`."""

    function: str
    arguments: tuple[Operand, ...]
    at: int = field(default=0, compare=False)

    def __str__(self) -> str:
        return f"{self.function}({', '.join(str(argument) for argument in self.arguments)})"


@dataclass(frozen=True, slots=True)
class Words:
    """What stands in parentheses after `in`, `intersects` and `pmatch`."""

    words: tuple[Operand, ...]
    at: int = field(default=0, compare=False)

    def __str__(self) -> str:
        return f"({', '.join(str(word) for word in self.words)})"


Operand = Field | Word | Call | Words


@dataclass(frozen=True, slots=True)
class Check:
    """One comparison; `right` is None after `exists`."""

    left: Field | Call
    operator: str
    right: Operand | None = None
    at: int = field(default=0, compare=False)

    def __str__(self) -> str:
        return f"{self.left} {self.operator}" + ("" if self.right is None else f" {self.right}")

    def words(self) -> tuple[Word, ...]:
        """The literal values it compares with."""
        right = self.right.words if isinstance(self.right, Words) else (self.right,)
        return tuple(word for word in right if isinstance(word, Word))


@dataclass(frozen=True, slots=True)
class Macro:
    """The name of a macro."""

    name: str
    at: int = field(default=0, compare=False)

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Not:
    """True where `inner` is not."""

    inner: Expression
    at: int = field(default=0, compare=False)

    def __str__(self) -> str:
        return f"not {_grouped(self.inner)}"


@dataclass(frozen=True, slots=True)
class And:
    """True where every part is."""

    parts: tuple[Expression, ...]
    at: int = field(default=0, compare=False)

    def __str__(self) -> str:
        return " and ".join(_grouped(part) for part in self.parts)


@dataclass(frozen=True, slots=True)
class Or:
    """True where a part is."""

    parts: tuple[Expression, ...]
    at: int = field(default=0, compare=False)

    def __str__(self) -> str:
        return " or ".join(_grouped(part) for part in self.parts)


Expression = Check | Macro | Not | And | Or


def conjunction(*parts: Expression) -> Expression:
    """All of `parts`, in one level."""
    flat = [inner for part in parts for inner in (part.parts if isinstance(part, And) else (part,))]
    return flat[0] if len(flat) == 1 else And(tuple(flat), flat[0].at)


def walk(expression: Expression) -> Iterator[Check | Macro]:
    """Every check and macro of an expression, from left to right."""
    match expression:
        case Check() | Macro():
            yield expression
        case Not(inner):
            yield from walk(inner)
        case And(parts) | Or(parts):
            for part in parts:
                yield from walk(part)


def fields_of(operand: Operand | None) -> Iterator[Field]:
    """Every field in an operand, those in function calls included."""
    match operand:
        case Field():
            yield operand
        case Call(arguments=inner) | Words(words=inner):
            for argument in inner:
                yield from fields_of(argument)


def _grouped(expression: Expression) -> str:
    """In parentheses unless it is one check: sysdig wants every mixture of and, or and not spelled out."""
    return str(expression) if isinstance(expression, Check | Macro) else f"({expression})"
