"""Holds our own rules to the house style: see checks.HOUSE."""

from __future__ import annotations

import re
from collections.abc import Iterator

from scapscope.rules.condition import Expression
from scapscope.rules.definitions import Rule, RuleSet
from scapscope.rules.eventtypes import event_types
from scapscope.rules.output import printed
from scapscope.rules.problem import Problem
from scapscope.rules.source import Spot, Text
from scapscope.rules.traps import HIGH_VOLUME

MATURITIES = ("maturity_stable", "maturity_incubating", "maturity_sandbox", "maturity_deprecated")
WHY, DO, COST = "Why it matters:", "What to do:", "Cost:"
_KEYS = ("rule", "desc", "condition", "exceptions", "enabled", "output", "priority", "tags")
_SMALL_WORDS = frozenset(
    {"a", "an", "and", "at", "by", "for", "from", "in", "of", "off", "on", "or", "the", "to", "with"}
)
_NAME = re.compile(r"[a-z][a-z0-9]*(?:_[a-z0-9]+)+")
_TACTIC = re.compile(
    r"mitre_(?:reconnaissance|resource_development|initial_access|execution|persistence|privilege_escalation"
    r"|defense_evasion|credential_access|discovery|lateral_movement|collection|command_and_control|exfiltration|impact)"
)
_TECHNIQUE = re.compile(r"T\d{4}(?:\.\d{3})?")
_OUTPUT = re.compile(r"[A-Z][^%|]*[^%|\s.] \| \w+=%\S+(?: \w+=%\S+)*")
_ALWAYS_PRINTED = (
    "container.id",
    "container.name",
    "container.image.repository",
    "container.image.tag",
    "proc.name",
    "proc.pid",
    "proc.exepath",
    "proc.cmdline",
    "proc.pname",
)

_ADDRESSES = ("evt.arg.addr", "vsyscall.fault.addr")


def in_files(rules: RuleSet, tested: frozenset[str]) -> Iterator[Problem]:
    """What is wrong with the files as such; `tested` names the rules that have a test."""
    for file, kind in rules.first_items.items():
        if kind != "required_engine_version":
            yield Problem(Spot(file, 1, 1), "engine-version", "the first item is not required_engine_version")
    for name, spot in rules.names():
        if not _NAME.fullmatch(name):
            yield Problem(spot, "names", f"{name!r}")
    for rule in rules.rules.values():
        if rule.name not in tested:
            yield Problem(rule.spot, "untested", f"rule {rule.name!r} has no test")


def in_rule(rule: Rule, expanded: Expression | None) -> Iterator[Problem]:
    """What is wrong with one rule; `expanded` is its condition, if that could be read."""
    yield from _name(rule)
    yield from _keys(rule)
    costly = bool(expanded is not None and event_types(expanded).names & HIGH_VOLUME)
    yield from _description(rule, costly)
    yield from _tags(rule)
    yield from _output(rule, faults=expanded is not None and "page_fault" in event_types(expanded).names)


def _name(rule: Rule) -> Iterator[Problem]:
    words = rule.name.split()
    for place, word in enumerate(words):
        small = word in _SMALL_WORDS and 0 < place < len(words) - 1
        if not small and not word[0].isupper() and not word[0].isdigit():
            yield Problem(
                rule.spot, "rule-name", f"{rule.name!r}: {word!r} should begin with a capital letter"
            )


def _keys(rule: Rule) -> Iterator[Problem]:
    given = [key for key in rule.keys if key in _KEYS]
    if given != sorted(given, key=_KEYS.index):
        yield Problem(rule.spot, "key-order", f"rule {rule.name!r} has {', '.join(given)}")
    if "enabled" not in rule.keys:
        yield Problem(rule.spot, "explicit-enabled", f"rule {rule.name!r}")
    if not rule.exceptions:
        yield Problem(rule.spot, "no-exceptions", f"rule {rule.name!r}")


def _description(rule: Rule, costly: bool) -> Iterator[Problem]:
    paragraphs = [line.strip() for line in rule.desc.value.splitlines() if line.strip()]
    for label in (WHY, DO):
        if not any(paragraph.startswith(label) and len(paragraph) > len(label) for paragraph in paragraphs):
            yield Problem(rule.desc.spot, "description", f"rule {rule.name!r} has no paragraph {label!r}")
    cost = [paragraph for paragraph in paragraphs if paragraph.startswith(COST)]
    if costly and not any("enable" in paragraph for paragraph in cost):
        yield Problem(
            rule.desc.spot, "cost", f"rule {rule.name!r} has no {COST!r} that says how to enable it"
        )


def _tags(rule: Rule) -> Iterator[Problem]:
    tags = [tag.value for tag in rule.tags]
    spot = rule.tags[0].spot if rule.tags else rule.spot
    maturities = [tag for tag in tags if tag.startswith("maturity_")]
    if tags[:1] != maturities or len(maturities) != 1 or maturities[0] not in MATURITIES:
        yield Problem(spot, "maturity", f"rule {rule.name!r} has the tags {', '.join(tags) or '(none)'}")
    tactics = [tag for tag in rule.tags if tag.value.startswith("mitre_")]
    techniques = [tag for tag in tags if _TECHNIQUE.fullmatch(tag)]
    yield from _mitre(rule, tactics, techniques, spot)


def _mitre(rule: Rule, tactics: list[Text], techniques: list[str], spot: Spot) -> Iterator[Problem]:
    for tactic in tactics:
        if not _TACTIC.fullmatch(tactic.value):
            yield Problem(tactic.spot, "mitre", f"{tactic.value!r} is no tactic of MITRE ATT&CK")
    if bool(tactics) != bool(techniques):
        missing = "technique" if tactics else "tactic"
        yield Problem(spot, "mitre", f"rule {rule.name!r} has no {missing}")


def _output(rule: Rule, *, faults: bool) -> Iterator[Problem]:
    text = rule.output.value.strip()
    if not _OUTPUT.fullmatch(text):
        yield Problem(rule.output.spot, "output-form", f"rule {rule.name!r}: {text[:60]}...")
    fields = printed(text)
    labels = [field.label for field in fields]
    for label in sorted({str(label) for label in labels if labels.count(label) > 1}):
        yield Problem(rule.output.spot, "output-form", f"rule {rule.name!r} has two {label}=")
    shown = {field.field for field in fields}
    missing = [f"%{name}" for name in _ALWAYS_PRINTED if name not in shown]
    if faults and shown.isdisjoint(_ADDRESSES):
        missing.append(" or ".join(f"%{name}" for name in _ADDRESSES))
    if missing:
        yield Problem(rule.output.spot, "output-fields", f"rule {rule.name!r} lacks {' '.join(missing)}")
