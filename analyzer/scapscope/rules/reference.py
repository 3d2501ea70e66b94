"""Turns a rule set and its tests into docs/rules.md."""

from __future__ import annotations

import re
from collections.abc import Iterable

from scapscope.rules.cases import Case, Expectation
from scapscope.rules.checks import HOUSE, LOADING, TRAPS, Check
from scapscope.rules.definitions import Rule, RuleException, RuleSet
from scapscope.rules.engine import EngineError
from scapscope.rules.entry import RefusedError
from scapscope.rules.eventtypes import event_types
from scapscope.rules.expansion import Expander
from scapscope.rules.output import printed
from scapscope.rules.source import Sequence, Text

_NOTE = "<!-- Generated: scapscope rules doc -o docs/rules.md -->"
_LABEL = re.compile(r"^([A-Z][a-z ]+):")


def reference(rules: RuleSet, cases: Iterable[Case]) -> str:
    """The reference: overview, each rule, what a site can adapt, what lint looks for."""
    tests = {case.rule: case for case in cases}
    expander = Expander(rules)
    return (
        "\n\n".join(
            [
                _NOTE,
                "# Rules",
                _introduction(rules),
                _overview(rules),
                *(_rule(rule, expander, tests.get(rule.name)) for rule in rules.rules.values()),
                _adapting(rules),
                _lists_and_macros(rules),
                _checks(),
            ]
        )
        + "\n"
    )


def _introduction(rules: RuleSet) -> str:
    files = ", ".join(f"`{path.name}`" for path in rules.files)
    engine = max((text.value for text in rules.engine_versions), default=None)
    plugins = [" or ".join(f"{one.plugin} {one.version}" for one in choices) for choices in rules.plugins]
    needs = ([f"engine {engine}"] if engine else []) + [f"the plugin {plugin}" for plugin in plugins]
    said = f"From {files}."
    return said + (f" Falco needs {' and '.join(needs)}, or newer." if needs else "")


def _overview(rules: RuleSet) -> str:
    rows = [
        f"| [{rule.name}](#{_anchor(rule.name)}) | {rule.priority.value.lower()} | {_maturity(rule)} "
        f"| {'yes' if rule.enabled else 'no'} |"
        for rule in rules.rules.values()
    ]
    return "\n".join(["| rule | priority | maturity | enabled as shipped |", "|---|---|---|---|", *rows])


def _rule(rule: Rule, expander: Expander, case: Case | None) -> str:
    tags = [tag.value for tag in rule.tags if not tag.value.startswith("maturity_")]
    facts = [
        f"- Events: {_events(rule, expander)}",
        f"- Tags: {', '.join(tags) or 'none'}",
        f"- Exceptions: {'; '.join(_exception(one) for one in rule.exceptions) or 'none'}",
        f"- Prints: {' '.join(f'`%{field.field}`' for field in printed(rule.output.value))}",
    ]
    condition = " ".join(rule.condition.value.split())
    return "\n\n".join(
        [
            f"## {rule.name}",
            *(_LABEL.sub(r"**\1:**", line.strip()) for line in rule.desc.value.splitlines() if line.strip()),
            f"```\n{condition}\n```",
            "\n".join(facts),
            _tests(case),
        ]
    )


def _events(rule: Rule, expander: Expander) -> str:
    try:
        types = event_types(expander.rule(rule))
    except (RefusedError, EngineError):
        return "not known"
    return "every type" if types.others else ", ".join(f"`{name}`" for name in sorted(types.names))


def _exception(exception: RuleException) -> str:
    match exception.fields:
        case Text(value):
            fields = value
        case Sequence(items):
            fields = ", ".join(item.value for item in items if isinstance(item, Text))
        case _:
            fields = "?"
    return f"`{exception.name}` ({fields})"


def _tests(case: Case | None) -> str:
    if case is None:
        return "Not tested."
    look_alikes = [one for one in case.silent if one.why]
    rows = [f"| {_capture(one)} | {one.count or 'none'} |" for one in (*case.alerting, *look_alikes)]
    others = len(case.silent) - len(look_alikes)
    lines = ["| tested on | alerts |", "|---|---|", *rows]
    return "\n".join([*lines, f"| {others} other captures | none |"])


def _capture(one: Expectation) -> str:
    return f"{one.capture.stem}: {one.why}" if one.why else one.capture.stem


def _adapting(rules: RuleSet) -> str:
    rule = next((one for one in rules.rules.values() if not one.enabled), None)
    excepted = next((one for one in rules.rules.values() if one.exceptions), None)
    parts = ["## Adapting them", "Load a file of your own after these (`rules_files` in falco.yaml)."]
    lines = []
    if rule is not None:
        lines += ["# Enable a rule.", f"- rule: {rule.name}", "  enabled: true"]
        lines += ["  override:", "    enabled: replace"]
    if excepted is not None:
        one = excepted.exceptions[0]
        value = "/opt/old/bin/server" if isinstance(one.fields, Text) else "[...]"
        lines += [""] if lines else []
        lines += ["# Let a program pass.", f"- rule: {excepted.name}"]
        lines += ["  exceptions:", f"    - name: {one.name}", f"      values: [{value}]"]
        lines += ["  override:", "    exceptions: append"]
    if lines:
        parts.append("\n".join(["```yaml", *lines, "```"]))
    parts.append("`scapscope rules lint` takes your file as well: name it after these.")
    return "\n\n".join(parts)


def _lists_and_macros(rules: RuleSet) -> str:
    rows = [
        *(("list", one.name, ", ".join(item.value for item in one.items)) for one in rules.lists.values()),
        *(("macro", one.name, " ".join(one.condition.value.split())) for one in rules.macros.values()),
    ]
    table = [f"| {kind} | `{name}` | `{text}` |" for kind, name, text in rows]
    return "\n".join(["| | name | as shipped |", "|---|---|---|", *table])


def _checks() -> str:
    tables = [
        ("What lint finds in any rules file", "Things that load and do not work:", TRAPS),
        (None, "Things that Falco refuses or warns about:", LOADING),
        (None, "The house style, for the rules here:", HOUSE),
    ]
    parts = []
    for heading, said, checks in tables:
        parts += [f"## {heading}"] if heading else []
        parts += [said, _table(checks)]
    return "\n\n".join(parts)


def _table(checks: dict[str, Check]) -> str:
    rows = [
        f"| {name} | {_cell(check.finds)} | {_cell(check.why)} | {_cell(check.instead)} |"
        for name, check in checks.items()
    ]
    return "\n".join(["| check | finds | why | instead |", "|---|---|---|---|", *rows])


def _cell(text: str) -> str:
    return re.sub(r"([|*_<>])", r"\\\1", text)


def _maturity(rule: Rule) -> str:
    found = next((tag.value for tag in rule.tags if tag.value.startswith("maturity_")), "none")
    return found.removeprefix("maturity_")


def _anchor(name: str) -> str:
    return re.sub(r"[^a-z0-9 -]", "", name.lower()).replace(" ", "-")
