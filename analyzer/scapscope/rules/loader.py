"""Turns the nodes of rules files into lists, macros and rules, as Falco's loader does.

Files are read in order, so that a later one may append to or override what an earlier one defines.
What Falco would refuse becomes a problem, and reading goes on. The semantics are those of Falco's
userspace/engine/rule_loader_reader.cpp and rule_loader_collector.cpp.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from scapscope.rules import source
from scapscope.rules.condition import BARE_WORD
from scapscope.rules.definitions import (
    SYSCALL,
    List,
    MacroDefinition,
    Requirement,
    Rule,
    RuleException,
    RuleSet,
)
from scapscope.rules.entry import Entry, RefusedError, mapping
from scapscope.rules.problem import Problem, Severity
from scapscope.rules.source import Mapping, Node, Passage, Sequence, SourceError, Spot, Text

_KEYS = {
    "list": frozenset({"list", "items", "append", "override"}),
    "macro": frozenset({"macro", "condition", "append", "override"}),
    "rule": frozenset(
        {"rule", "desc", "condition", "output", "priority", "source", "enabled", "tags", "exceptions"}
        | {"warn_evttypes", "skip-if-unknown-filter", "append", "override", "capture", "capture_duration"}
    ),
    "required_engine_version": frozenset({"required_engine_version"}),
    "required_plugin_versions": frozenset({"required_plugin_versions"}),
}


def load(paths: Iterable[Path]) -> RuleSet:
    """The rule set of the files at `paths`, read in this order. Raises OSError."""
    loader = _Loader(RuleSet())
    for path in paths:
        loader.read(path)
    return loader.rules


class _Loader:
    def __init__(self, rules: RuleSet) -> None:
        self.rules = rules
        self._index = 0

    def read(self, path: Path) -> None:
        self.rules.files.append(path)
        try:
            documents = source.read(path)
        except SourceError as problem:
            self._say(problem.spot, "yaml", str(problem))
            return
        for document in documents:
            if isinstance(document, Text) and document.null:
                continue
            if not isinstance(document, Sequence):
                self._say(document.spot, "structure", "a rules file is a sequence: each item begins with '-'")
                continue
            for node in document.items:
                self._item(node)

    def _item(self, node: Node) -> None:
        if isinstance(node, Text) and node.null:
            return
        if not isinstance(node, Mapping):
            self._say(node.spot, "structure", "an item is a mapping: '- rule: ...', '- macro: ...'")
            return
        kind = next((kind for kind in _KEYS if kind in node.entries), None)
        self.rules.first_items.setdefault(node.spot.file, kind or "")
        if kind is None:
            self._say(
                node.spot,
                "structure",
                "Falco skips an item that is no rule, macro, list or requirement",
                "warning",
            )
            return
        for key, spot in node.repeated:
            self._say(spot, "structure", f"key {key!r} is given twice")
        for key in node.entries.keys() - _KEYS[kind]:
            self._say(node.keys[key], "structure", f"Falco knows no key {key!r} in a {kind}", "warning")
        try:
            getattr(self, f"_{kind}")(Entry(node, kind))
        except RefusedError as refused:
            self.rules.problems.append(refused.problem)
        self._index += 1

    def _required_engine_version(self, entry: Entry) -> None:
        self.rules.engine_versions.append(entry.text("required_engine_version"))

    def _required_plugin_versions(self, entry: Entry) -> None:
        for plugin in entry.sequence("required_plugin_versions").items:
            wanted = Entry(mapping(plugin, "a plugin requirement"), "required_plugin_versions")
            others = wanted.sequence("alternatives").items if wanted.has("alternatives") else ()
            choices = [wanted, *(Entry(mapping(other, "an alternative"), wanted.kind) for other in others)]
            self.rules.plugins.append(
                tuple(
                    Requirement(choice.text("name").value, choice.text("version").value, choice.spot)
                    for choice in choices
                )
            )

    def _list(self, entry: Entry) -> None:
        name = entry.text("list").value
        if not BARE_WORD.fullmatch(name):
            message = f"{name!r} cannot name a list: no blanks, quotes, parentheses, = or ,"
            raise RefusedError(entry.spot, "structure", message)
        items = entry.texts("items")
        known = self.rules.lists.get(name)
        if "items" in entry.appended():
            if known is None:
                raise RefusedError(entry.spot, "override", f"there is no list {name!r} yet to append to")
            self.rules.lists[name] = replace(known, items=known.items + items, visible=self._index)
        else:
            index = known.index if known else self._index
            self.rules.lists[name] = List(name, items, entry.spot, index, self._index)

    def _macro(self, entry: Entry) -> None:
        name = entry.text("macro").value
        if not name.isascii() or not name.isidentifier() or name.startswith("_"):
            message = f"{name!r} cannot name a macro: letters, digits and _ only, a letter first"
            raise RefusedError(entry.spot, "structure", message)
        condition = Passage((entry.text("condition"),))
        known = self.rules.macros.get(name)
        if "condition" in entry.appended():
            if known is None:
                raise RefusedError(entry.spot, "override", f"there is no macro {name!r} yet to append to")
            joined = Passage(known.condition.pieces + condition.pieces)
            self.rules.macros[name] = replace(known, condition=joined, visible=self._index)
        else:
            index = known.index if known else self._index
            self.rules.macros[name] = MacroDefinition(name, condition, entry.spot, index, self._index)

    def _rule(self, entry: Entry) -> None:
        name = entry.text("rule").value
        known = self.rules.rules.get(name)
        if entry.changes():
            if known is None:
                raise RefusedError(entry.spot, "override", f"there is no rule {name!r} yet to change")
            self.rules.rules[name] = _replaced(_appended(known, entry), entry)
        elif not any(entry.has(key) for key in ("condition", "output", "desc", "priority")):
            enabled = entry.truth("enabled", required=True)
            if known is None:
                raise RefusedError(
                    entry.spot, "override", f"there is no rule {name!r} yet to switch on or off"
                )
            self.rules.rules[name] = replace(known, enabled=enabled)
        else:
            rule = _defined(name, entry)
            if known is not None and known.source != rule.source:
                raise RefusedError(entry.spot, "override", f"rule {name!r} is redefined with another source")
            self.rules.rules[name] = rule

    def _say(self, spot: Spot, check: str, message: str, severity: Severity = "error") -> None:
        self.rules.problems.append(Problem(spot, check, message, severity))


def _defined(name: str, entry: Entry) -> Rule:
    return Rule(
        name=name,
        spot=entry.spot,
        condition=Passage((entry.text("condition"),)),
        output=Passage((entry.text("output"),)),
        desc=Passage((entry.text("desc"),)),
        priority=entry.priority(),
        source=entry.text("source").value if entry.has("source") else SYSCALL,
        enabled=entry.truth("enabled", default=True),
        warn_evttypes=entry.truth("warn_evttypes", default=True),
        tags=entry.texts("tags") if entry.has("tags") else (),
        exceptions=entry.exceptions(complete=True),
        keys=entry.keys,
    )


def _appended(rule: Rule, entry: Entry) -> Rule:
    for key in sorted(entry.appended()):
        match key:
            case "condition":
                rule = replace(rule, condition=Passage((*rule.condition.pieces, entry.text(key))))
            case "output":
                rule = replace(rule, output=Passage((*rule.output.pieces, entry.text(key))))
            case "desc":
                rule = replace(rule, desc=Passage((*rule.desc.pieces, entry.text(key))))
            case "tags":
                rule = replace(rule, tags=rule.tags + entry.texts("tags"))
            case "exceptions":
                rule = replace(rule, exceptions=_joined(rule.exceptions, entry.exceptions(complete=False)))
    return rule


def _replaced(rule: Rule, entry: Entry) -> Rule:
    for key in sorted(entry.replaced()):
        match key:
            case "condition":
                rule = replace(rule, condition=Passage((entry.text(key),)))
            case "output":
                rule = replace(rule, output=Passage((entry.text(key),)))
            case "desc":
                rule = replace(rule, desc=Passage((entry.text(key),)))
            case "tags":
                rule = replace(rule, tags=entry.texts("tags"))
            case "exceptions":
                rule = replace(rule, exceptions=entry.exceptions(complete=True))
            case "priority":
                rule = replace(rule, priority=entry.priority())
            case "enabled":
                rule = replace(rule, enabled=entry.truth("enabled", required=True))
            case "warn_evttypes":
                rule = replace(rule, warn_evttypes=entry.truth("warn_evttypes", required=True))
    return rule


def _joined(known: tuple[RuleException, ...], more: tuple[RuleException, ...]) -> tuple[RuleException, ...]:
    """The exceptions of a rule with the values of others of the same names, or whole new ones."""
    joined = {exception.name: exception for exception in known}
    for one in more:
        before = joined.get(one.name)
        if before is None:
            if one.fields is None:
                raise RefusedError(one.spot, "exception", f"exception {one.name!r} is new, and has no fields")
            joined[one.name] = one
        elif one.fields is not None or one.comps is not None:
            raise RefusedError(one.spot, "exception", f"exception {one.name!r} is there: append values only")
        else:
            joined[one.name] = replace(before, values=before.values + one.values)
    return tuple(joined.values())
