"""What rules files define: lists, macros, rules, and what they require."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from scapscope.rules.problem import Problem
from scapscope.rules.source import Node, Passage, Sequence, Spot, Text

SYSCALL = "syscall"


@dataclass(frozen=True)
class List:
    """A named list. `index` is its place among all definitions, `visible` that of its last change."""

    name: str
    items: tuple[Text, ...]
    spot: Spot
    index: int
    visible: int


@dataclass(frozen=True)
class MacroDefinition:
    """A named condition; `index` and `visible` as in List."""

    name: str
    condition: Passage
    spot: Spot
    index: int
    visible: int


@dataclass(frozen=True)
class RuleException:
    """What a rule lets pass: `fields` and `comps` are one text or a sequence, `values` what users add."""

    name: str
    spot: Spot
    fields: Text | Sequence | None
    comps: Text | Sequence | None
    values: tuple[Node, ...]


@dataclass(frozen=True)
class Rule:
    """One rule with everything appended and overridden; `keys` are those it was first written with."""

    name: str
    spot: Spot
    condition: Passage
    output: Passage
    desc: Passage
    priority: Text
    source: str
    enabled: bool
    warn_evttypes: bool
    tags: tuple[Text, ...]
    exceptions: tuple[RuleException, ...]
    keys: dict[str, Spot]


@dataclass(frozen=True)
class Requirement:
    """A plugin that must be loaded, or one of its alternatives."""

    plugin: str
    version: str
    spot: Spot


@dataclass
class RuleSet:
    """All that one or more rules files define together."""

    files: list[Path] = field(default_factory=list)
    lists: dict[str, List] = field(default_factory=dict)
    macros: dict[str, MacroDefinition] = field(default_factory=dict)
    rules: dict[str, Rule] = field(default_factory=dict)
    engine_versions: list[Text] = field(default_factory=list)
    plugins: list[tuple[Requirement, ...]] = field(default_factory=list)
    first_items: dict[str, str] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)

    def names(self) -> list[tuple[str, Spot]]:
        """The names of all lists and macros, with their places."""
        lists = [(one.name, one.spot) for one in self.lists.values()]
        return lists + [(one.name, one.spot) for one in self.macros.values()]
