"""Turns what is known about a finding into a story without a capture: facts stay open, as <call>."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from scapscope.knowledge import Fix, Knowledge, Story
from scapscope.knowledge.sentence import PLACEHOLDER, Text


def outline(known: Knowledge) -> Story:
    """Every sentence there is, with the condition under which it is said in front of it."""
    return Story(
        verdict=_open(known.verdict[0]),
        remedy=" ".join(outlined(known.remedy)),
        what=outlined(known.what),
        why=outlined(known.why),
        fixes=tuple(
            Fix(
                do=_if(fix.get("when", {}), " ".join(outlined(fix["do"]))),
                run=outlined(fix.get("run", ())),
                risk=" ".join(outlined(fix["risk"])),
            )
            for fix in known.fixes
        ),
        sure=outlined(known.sure),
        surer=outlined(known.surer),
    )


def outlined(texts: Sequence[Text]) -> tuple[str, ...]:
    """The same for sentences of any part of what is known."""
    return tuple(_open(text) for text in texts)


def _open(text: Text) -> str:
    if isinstance(text, Mapping):
        return _if(text.get("when", {}), _open(text["text"]))
    return PLACEHOLDER.sub(lambda found: f"<{_words(found[1])}>", text)


def _if(condition: Mapping[str, Any], text: str) -> str:
    if not condition:
        return text
    clauses = " and ".join(f"{_words(name)} is {_alternatives(wanted)}" for name, wanted in condition.items())
    return f"(if {clauses}) {text}"


def _alternatives(wanted: Any) -> str:
    return " or ".join(str(value) for value in (wanted if isinstance(wanted, list) else [wanted]))


def _words(name: str) -> str:
    return name.removesuffix("_ns").replace(".", " ").replace("_", " ")
