"""Turns the parts of a Story into the lines of a Page: sentences, fixes, references."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scapscope.knowledge import Fix, Reference
    from scapscope.reports.page import Page


def sentences(page: Page, heading: str, texts: Iterable[str]) -> None:
    """A heading and its sentences, one to a mark; nothing when there are none."""
    if texts := list(texts):
        page.gap()
        page.heading(heading)
        for text in texts:
            page.item("-", text)


def fixes(page: Page, ranked: Iterable[Fix]) -> None:
    """The remedies in their order, each with its commands and its risk."""
    if ranked := list(ranked):
        page.gap()
        page.heading("Fix")
    for number, fix in enumerate(ranked, start=1):
        page.item(f"{number}.", fix.do)
        for line in fix.run:
            page.verbatim(line)
        page.paragraph(f"Risk: {fix.risk}", indent="     ")


def references(page: Page, sources: Iterable[Reference]) -> None:
    """Where the claims come from."""
    page.gap()
    page.heading("References")
    for source in sources:
        page.item("-", f"{source.title}: {source.url}")
