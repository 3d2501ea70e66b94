"""scapscope findings: turns a finding id into what it means, without any capture."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from scapscope.cli.output import Output, colour_option, wants_colour, width

if TYPE_CHECKING:
    from scapscope.knowledge import Knowledge
    from scapscope.reports.page import Page


@click.command()
@click.argument("finding_id", metavar="[ID]", required=False)
@click.option("--json", "as_json", is_flag=True, help="JSON: a list of ids and meanings, or one in full.")
@colour_option
def findings(finding_id: str | None, as_json: bool, colour: bool | None) -> None:
    """List the findings there are, or explain one.

    Words in angle brackets are facts that a report fills in.

    \b
    Examples:
      scapscope findings
      scapscope findings vsyscall-none-crash
    """
    from scapscope import knowledge
    from scapscope.reports.json import dump
    from scapscope.reports.page import Page

    if finding_id is not None and finding_id not in knowledge.ids():
        raise click.UsageError(f"there is no finding {finding_id!r}; `scapscope findings` lists them")
    page = Page(width(), colour=wants_colour(colour))
    known = [knowledge.load(name) for name in knowledge.ids()]
    if finding_id is not None:
        one = knowledge.load(finding_id)
        text = dump(asdict(one)) if as_json else _in_full(page, one)
    elif as_json:
        text = dump(
            {"findings": [{"id": one.id, "title": one.title, "meaning": one.meaning} for one in known]}
        )
    else:
        page.table([(one.id, one.meaning) for one in known])
        text = str(page)
    with Output() as out:
        out.write(text)


def _in_full(page: Page, one: Knowledge) -> str:
    from scapscope.knowledge.outline import outline
    from scapscope.reports import story

    told = outline(one)
    page.heading(f"{one.id}: {one.title}")
    page.paragraph(one.meaning)
    story.sentences(page, "What happened", told.what)
    story.sentences(page, "Why", told.why)
    story.fixes(page, told.fixes)
    story.sentences(page, "How sure", told.sure)
    story.sentences(page, "What would make it surer", told.surer)
    story.references(page, one.references)
    return str(page)
