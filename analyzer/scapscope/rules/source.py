"""Turns a YAML file into nodes that know where they stand, down to a character inside a folded condition."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import yaml

_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_TRUE = frozenset({"true", "yes", "on", "y"})
_FALSE = frozenset({"false", "no", "off", "n"})
_BLOCK = frozenset({"|", ">"})
_DEEPEST = 64


@dataclass(frozen=True, slots=True, order=True)
class Spot:
    """A place in a file; line and column count from 1."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


class SourceError(ValueError):
    """A file that cannot be read as what it should be."""

    def __init__(self, message: str, spot: Spot) -> None:
        super().__init__(message)
        self.spot = spot


@dataclass(frozen=True)
class Text:
    """A scalar. `value` is its text; numbers and booleans are texts too, as Falco reads them."""

    value: str
    spot: Spot
    null: bool = False
    style: str | None = field(default=None, repr=False, compare=False)
    lines: tuple[str, ...] = field(default=(), repr=False, compare=False)

    def truth(self) -> bool | None:
        """The boolean it stands for, None if it stands for none."""
        if self.value.lower() in _TRUE:
            return True
        return False if self.value.lower() in _FALSE else None

    def spot_of(self, offset: int) -> Spot:
        """Where the character of `value` at `offset` stands in the file.

        Folding only moves blanks about, so the n-th character that is not blank is the same one in
        the file. Escapes in double quotes break that: then it is where the scalar begins.
        """
        if self.style == '"' and "\\" in "".join(self.lines[self.spot.line - 1 :][:1]):
            return self.spot
        wanted = sum(not character.isspace() for character in self.value[:offset])
        at_end = not self.value[offset:].strip()
        last = self.spot
        for spot in self._characters():
            if wanted == 0 and not at_end:
                return spot
            if wanted == 0:
                break
            last = spot
            wanted -= 1
        return Spot(last.file, last.line, last.column + (1 if last is not self.spot else 0))

    def _characters(self) -> Iterator[Spot]:
        """The spots of the characters that are not blank, from the scalar's first on."""
        line, column = self.spot.line - 1, self.spot.column - 1
        if self.style in _BLOCK:
            line, column = line + 1, 0
        elif self.style is not None:
            column += 1
        while line < len(self.lines):
            text = self.lines[line]
            while column < len(text):
                if not text[column].isspace():
                    yield Spot(self.spot.file, line + 1, column + 1)
                    if self.style == "'" and text.startswith("''", column):
                        column += 1
                column += 1
            line, column = line + 1, 0


@dataclass(frozen=True)
class Sequence:
    """A YAML sequence."""

    items: tuple[Node, ...]
    spot: Spot


@dataclass(frozen=True)
class Mapping:
    """A YAML mapping; of a key given again, `entries` has the last value and `repeated` the place."""

    entries: dict[str, Node]
    keys: dict[str, Spot]
    repeated: tuple[tuple[str, Spot], ...]
    spot: Spot


Node = Text | Sequence | Mapping


@dataclass(frozen=True)
class Passage:
    """One or more texts read as one, with a blank between: what `append` makes of a condition."""

    pieces: tuple[Text, ...]

    @cached_property
    def value(self) -> str:
        """The texts in one."""
        return " ".join(piece.value for piece in self.pieces)

    @property
    def spot(self) -> Spot:
        """Where it begins."""
        return self.pieces[0].spot

    def spot_of(self, offset: int) -> Spot:
        """Where the character of `value` at `offset` stands."""
        for piece in self.pieces[:-1]:
            if offset <= len(piece.value):
                return piece.spot_of(offset)
            offset -= len(piece.value) + 1
        return self.pieces[-1].spot_of(offset)


def read(path: Path, name: str | None = None) -> list[Node]:
    """The documents of the YAML file at `path`, called `name` in messages.

    Raises OSError, and SourceError for what is not YAML.
    """
    name = str(path) if name is None else name
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        line = problem.object.count(b"\n", 0, problem.start) + 1
        raise SourceError("not UTF-8 text", Spot(name, line, 1)) from None
    return parse(text, name)


def parse(text: str, name: str) -> list[Node]:
    """The documents of a YAML text. Raises SourceError."""
    lines = tuple(line.rstrip("\r") for line in text.split("\n"))
    try:
        _refuse_depth(text, name)
        documents = list(yaml.compose_all(text, Loader=_Loader))
    except yaml.MarkedYAMLError as problem:
        mark = problem.problem_mark or problem.context_mark
        spot = Spot(name, mark.line + 1, mark.column + 1) if mark else Spot(name, 1, 1)
        raise SourceError(f"not YAML: {problem.problem or problem.context}", spot) from None
    except yaml.YAMLError as problem:
        raise SourceError(f"not YAML: {str(problem).splitlines()[0]}", Spot(name, 1, 1)) from None
    reading = _Reading(name, lines)
    return [reading.node(document) for document in documents if document is not None]


def _refuse_depth(text: str, name: str) -> None:
    """Say no to nesting that would exhaust the stack of whoever composes the nodes."""
    depth = 0
    for event in yaml.parse(text, Loader=_Loader):
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        if depth > _DEEPEST:
            line = event.start_mark.line + 1 if event.start_mark else 1
            raise SourceError("nested too deeply", Spot(name, line, 1))


class _Reading:
    """One file's nodes; what an alias repeats is read once."""

    def __init__(self, name: str, lines: tuple[str, ...]) -> None:
        self._name = name
        self._lines = lines
        self._done: dict[int, Node] = {}
        self._open: set[int] = set()

    def node(self, node: Any) -> Node:
        known = self._done.get(id(node))
        if known is not None:
            return known
        spot = self._spot(node)
        if id(node) in self._open:
            raise SourceError("a node that contains itself", spot)
        self._open.add(id(node))
        read = self._done[id(node)] = self._read(node, spot)
        self._open.discard(id(node))
        return read

    def _read(self, node: Any, spot: Spot) -> Node:
        match node:
            case yaml.ScalarNode():
                null = node.tag == "tag:yaml.org,2002:null"
                return Text(node.value, spot, null, node.style or None, self._lines)
            case yaml.SequenceNode():
                return Sequence(tuple(self.node(item) for item in node.value), spot)
        entries: dict[str, Node] = {}
        keys: dict[str, Spot] = {}
        repeated = []
        for key, value in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise SourceError("a key that is not a plain text", spot)
            if key.value in entries:
                repeated.append((key.value, self._spot(key)))
            keys[key.value] = self._spot(key)
            entries[key.value] = self.node(value)
        return Mapping(entries, keys, tuple(repeated), spot)

    def _spot(self, node: Any) -> Spot:
        return Spot(self._name, node.start_mark.line + 1, node.start_mark.column + 1)
