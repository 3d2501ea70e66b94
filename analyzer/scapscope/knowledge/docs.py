"""Turns knowledge/*.yaml into docs/findings/*.md: python -m scapscope.knowledge.docs docs/findings."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from scapscope import knowledge
from scapscope.knowledge import Knowledge
from scapscope.knowledge.outline import outline, outlined

_NOTE = (
    "<!-- Generated from the package's knowledge/*.yaml: python -m scapscope.knowledge.docs docs/findings -->"
)
_OPEN_FACT = re.compile(r"<([a-z ]+)>")


def pages() -> dict[str, str]:
    """Every page by its file name."""
    every = [knowledge.load(name) for name in knowledge.ids()]
    return {"README.md": _index(every), **{f"{known.id}.md": _page(known) for known in every}}


def write(folder: Path) -> None:
    """Write the pages to `folder`, and remove pages of findings that are gone."""
    folder.mkdir(parents=True, exist_ok=True)
    wanted = pages()
    for stale in {path.name for path in folder.glob("*.md")} - set(wanted):
        (folder / stale).unlink()
    for name, text in wanted.items():
        (folder / name).write_text(text, encoding="utf-8")


def _index(every: list[Knowledge]) -> str:
    rows = [f"| [{known.id}]({known.id}.md) | {known.meaning} |" for known in every]
    return _lines(
        _NOTE,
        "# Findings",
        "A report names each finding by its id. `scapscope findings ID` says the same as these pages.",
        "\n".join(["| id | what it means |", "|---|---|", *rows]),
    )


def _page(known: Knowledge) -> str:
    told = outline(known)
    fixes = [
        _lines(
            f"{number}. {_markdown(fix.do)}",
            *(["\n".join(["   ```sh", *(f"   {line}" for line in fix.run), "   ```"])] if fix.run else []),
            f"   *Risk:* {_markdown(fix.risk)}",
        )
        for number, fix in enumerate(told.fixes, start=1)
    ]
    return _lines(
        _NOTE,
        f"# {known.id}: {known.title}",
        known.meaning,
        "Words in *italics* are facts; a sentence whose facts are not known is left out of a report.",
        _section("Verdict", outlined(known.verdict)),
        _section("In short", outlined(known.remedy)),
        _section("What happened", told.what),
        _section("Why", told.why),
        "## Fix",
        "\n".join(fixes).rstrip("\n"),
        _section("How sure", told.sure),
        _section("What would make it surer", told.surer),
        "## References",
        "\n".join(f"- [{reference.title}]({reference.url})" for reference in known.references),
    )


def _section(heading: str, sentences: tuple[str, ...]) -> str:
    return f"## {heading}\n\n" + "\n".join(f"- {_markdown(sentence)}" for sentence in sentences)


def _markdown(sentence: str) -> str:
    """Open facts in italics, and nothing else taken for markup."""
    marked = re.sub(r"([*_`#|\\])", r"\\\1", sentence)
    return _OPEN_FACT.sub(r"*\1*", marked)


def _lines(*parts: str) -> str:
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="where the pages go: docs/findings")
    write(parser.parse_args().folder)
