"""Turns a finding into words: reads what knowledge/<finding id>.yaml says and fills in the facts.

The YAML files hold every sentence about a finding; docs/findings/ is generated from them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from scapscope.knowledge.sentence import Text, command, holds, say

HERE = Path(__file__).parent
_CASE = HERE / "case.yaml"
_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True, slots=True)
class Fix:
    """One remedy: what to do, the commands for it, what it may break."""

    do: str
    run: tuple[str, ...]
    risk: str


@dataclass(frozen=True, slots=True)
class Reference:
    """Where a claim comes from."""

    title: str
    url: str


@dataclass(frozen=True, slots=True)
class Story:
    """One finding told: every text is a finished sentence, in the order to be read."""

    verdict: str
    remedy: str
    what: tuple[str, ...]
    why: tuple[str, ...]
    fixes: tuple[Fix, ...]
    sure: tuple[str, ...]
    surer: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Knowledge:
    """What is known about one kind of finding; the texts still have their placeholders."""

    id: str
    title: str
    meaning: str
    verdict: Sequence[Text]
    remedy: Sequence[Text]
    what: Sequence[Text]
    why: Sequence[Text]
    fixes: Sequence[Mapping[str, Any]]
    sure: Sequence[Text]
    surer: Sequence[Text]
    references: tuple[Reference, ...]

    def tell(self, facts: Mapping[str, Any]) -> Story:
        """Fill in `facts`; what they do not allow to be said is left out."""
        return Story(
            verdict=_said(self.verdict, facts)[0],
            remedy=" ".join(_said(self.remedy, facts)),
            what=_said(self.what, facts),
            why=_said(self.why, facts),
            fixes=tuple(
                Fix(
                    do=" ".join(_said(fix["do"], facts)),
                    run=tuple(line for text in fix.get("run", ()) if (line := command(text, facts))),
                    risk=" ".join(_said(fix["risk"], facts)),
                )
                for fix in self.fixes
                if holds(fix.get("when", {}), facts)
            ),
            sure=_said(self.sure, facts),
            surer=_said(self.surer, facts),
        )


@cache
def load(finding_id: str) -> Knowledge:
    """What is known about a finding. Raises KeyError for an id that has no file."""
    if finding_id not in ids():
        raise KeyError(finding_id)
    data = _read(HERE / f"{finding_id}.yaml")
    references = tuple(Reference(**reference) for reference in data["references"])
    return Knowledge(**{**data, "id": finding_id, "references": references})


@cache
def ids() -> tuple[str, ...]:
    """Every finding id there is, in alphabetical order."""
    return tuple(sorted(path.stem for path in HERE.glob("*.yaml") if path != _CASE))


def case(facts: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The particulars of one finding as (label, words) rows: who, where, how it died."""
    rows = ((row["label"], ", ".join(_said(row["say"], facts))) for row in _read(_CASE))
    return [(label, words) for label, words in rows if words]


@cache
def _read(path: Path) -> Any:
    return yaml.load(path.read_text(encoding="utf-8"), Loader=_Loader)  # noqa: S506 (a safe loader)


def _said(texts: Sequence[Text], facts: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(said for text in texts if (said := say(text, facts)) is not None)
