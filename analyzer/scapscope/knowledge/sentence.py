"""Turns a sentence with placeholders and a set of facts into words, or into nothing.

A placeholder is ``{fact}`` or ``{fact:format}``. A sentence one of whose facts is not known is not
said; that is all the logic the texts in knowledge/*.yaml need, but for an occasional ``when``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from scapscope.knowledge.formats import FORMATS

PLACEHOLDER = re.compile(r"\{([a-z_]+(?:\.[a-z_]+)*)(?::([a-z]+))?\}")
_PLAIN_WORD = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_./:@+=-]*")

Text = str | Mapping[str, Any]
"""A sentence, or {"text": a sentence, "when": {fact: value or list of values}}."""


def known(facts: Mapping[str, Any], name: str) -> Any:
    """The value of the fact `name` ("parent.comm" looks inside), or None: absent, null or empty."""
    value: Any = facts
    for part in name.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    return None if value in ("", [], (), {}) else value


def holds(condition: Mapping[str, Any], facts: Mapping[str, Any]) -> bool:
    """Whether each fact has the value, or one of the values, that `condition` asks for."""
    return all(
        known(facts, name) in (wanted if isinstance(wanted, list) else [wanted])
        for name, wanted in condition.items()
    )


def say(text: Text, facts: Mapping[str, Any]) -> str | None:
    """The sentence with its facts filled in; None when it cannot or should not be said."""
    if isinstance(text, Mapping):
        if not holds(text.get("when", {}), facts):
            return None
        return say(str(text["text"]), facts)
    if any(known(facts, name) is None for name, _ in placeholders(text)):
        return None
    return PLACEHOLDER.sub(lambda found: FORMATS[found[2] or "plain"](known(facts, found[1])), text)


def command(text: str, facts: Mapping[str, Any]) -> str | None:
    """A shell command to paste, or None when a value in it is anything but a plain word.

    Names in a capture may have been chosen by an attacker: one that would need quoting, or that
    could pass for an option, is never put into a command.
    """
    values = (known(facts, name) for name, _ in placeholders(text))
    if not all(_PLAIN_WORD.fullmatch(str(value)) for value in values if value is not None):
        return None
    return say(text, facts)


def placeholders(text: str) -> Iterator[tuple[str, str | None]]:
    """The (fact, format) pairs a sentence uses."""
    for found in PLACEHOLDER.finditer(text):
        yield found[1], found[2]
