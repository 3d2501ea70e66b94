"""What rules can use of the Falco plugin scapscope: its fields, by the plugin's own list.

plugin_fields.json is that list; `cargo test -p falco-plugin` holds it to the plugin.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from importlib.resources import files

from scapscope.rules.condition import Check, Expression, fields_of, walk
from scapscope.rules.definitions import Rule, RuleSet
from scapscope.rules.output import printed
from scapscope.rules.problem import Problem

NAME = "scapscope"


@cache
def fields() -> frozenset[str]:
    """The names of the plugin's fields."""
    text = (files("scapscope.rules") / "plugin_fields.json").read_text(encoding="utf-8")
    return frozenset(field["name"] for field in json.loads(text))


def claims(field: str) -> bool:
    """Whether a field is of one of the plugin's families, be it in the list or not."""
    return field.partition(".")[0] in {name.partition(".")[0] for name in fields()}


def required(rules: RuleSet) -> bool:
    """Whether the rules files say that they need the plugin."""
    return any(one.plugin == NAME for choices in rules.plugins for one in choices)


def in_rule(rule: Rule, expanded: Expression, rules: RuleSet) -> Iterator[Problem]:
    """Fields that the plugin does not have, and fields of it that no file requires."""
    compared = [
        field.name
        for check in walk(expanded)
        if isinstance(check, Check)
        for operand in (check.left, check.right)
        for field in fields_of(operand)
    ]
    named = [(name, rule.condition.spot) for name in compared]
    named += [(field.field, rule.output.spot_of(field.at)) for field in printed(rule.output.value)]
    for name, spot in named:
        if claims(name) and name not in fields():
            yield Problem(spot, "plugin-field", f"the plugin {NAME} has no field {name}")
        elif claims(name) and not required(rules):
            yield Problem(spot, "plugin-field", f"{name} without {NAME} in required_plugin_versions")
