"""Turns verdicts, paragraphs, lists and tables into lines for a terminal.

This is the one place where strings meet a terminal. Process names, arguments, paths and container
names come from a machine that may have been attacked, so whatever is not a printable character is
escaped here, and no line reaches a reader any other way.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence

INDENT = "  "
# Where the last column of a table stands if a word of it does not fit beside the others.
_HANGING = " " * 6
# Where lines break: at spaces; between flags such as PAGE_NOT_PRESENT|READ_ACCESS if there is no other way.
_SPACES = re.compile(r"(\s+)")
_SPACES_AND_FLAGS = re.compile(r"(\s+|(?<=\|))")
_STYLES = {
    "critical": "1;31",
    "error": "31",
    "warning": "33",
    "info": "36",
    "heading": "1",
    "quiet": "2",
}


def printable(text: str) -> str:
    """`text` with every character escaped that could steer a terminal or hide what is there.

    Control characters (ESC and newline too), bidirectional overrides, zero-width characters,
    surrogates and unassigned code points come out as ``\\x1b``, ``\\u202e`` and so on.
    """
    if text.isprintable():
        return text
    return "".join(
        c if c.isprintable() else c.encode("unicode_escape", "surrogatepass").decode() for c in text
    )


class Page:
    """Collects lines; `width` in columns, ANSI colours only with `colour`."""

    def __init__(self, width: int = 100, *, colour: bool = False) -> None:
        self._width = width
        self._colour = colour
        self._lines: list[str] = []

    def __str__(self) -> str:
        return "".join(f"{line}\n" for line in self._lines)

    def gap(self) -> None:
        """An empty line, unless there is one or the page has just begun."""
        if self._lines and self._lines[-1]:
            self._lines.append("")

    def heading(self, text: str, style: str = "heading") -> None:
        """A line that stands out."""
        self._lines += [self._styled(line, style) for line in self._wrapped(text, "", INDENT)]

    def verdict(self, label: str, text: str, style: str) -> None:
        """A sentence behind a coloured label; its further lines hang under the first."""
        first, *further = self._wrapped(text, f"{printable(label)}: ", INDENT)
        self._lines.append(first.replace(printable(label), self._styled(printable(label), style), 1))
        self._lines += further

    def paragraph(self, text: str, indent: str = INDENT, style: str | None = None) -> None:
        """`text`, wrapped."""
        self._lines += [self._styled(line, style) for line in self._wrapped(text, indent, indent)]

    def item(self, mark: str, text: str, indent: str = INDENT) -> None:
        """`text` behind a mark ("1.", "-"), wrapped under itself."""
        self._lines += self._wrapped(text, f"{indent}{printable(mark)} ", indent + " " * (len(mark) + 1))

    def verbatim(self, text: str, indent: str = " " * 7) -> None:
        """A command to copy: one line, never wrapped."""
        self._lines.append(indent + printable(text))

    def table(
        self, rows: Sequence[Sequence[str]], header: Sequence[str] = (), right: Sequence[int] = ()
    ) -> None:
        """Aligned columns, those in `right` flush right; the last column wraps under itself.

        Where a word of it does not fit there, it stands under its row.
        """
        cells = [[printable(cell) for cell in row] for row in ([header, *rows] if header else rows)]
        widths = [max(len(cell) for cell in column) for column in zip(*cells, strict=True)][:-1]
        for number, row in enumerate(cells):
            padded = [
                cell.rjust(width) if column in right else cell.ljust(width)
                for column, (cell, width) in enumerate(zip(row, widths, strict=False))
            ]
            start = INDENT + "".join(f"{cell}  " for cell in padded)
            style = "quiet" if header and number == 0 else None
            longest = max(map(len, _SPACES_AND_FLAGS.split(row[-1])))
            if self._width - len(start) < longest <= self._width - len(_HANGING):
                lines = [start.rstrip(), *self._wrapped(row[-1], _HANGING, _HANGING)]
            else:
                lines = self._wrapped(row[-1], start, " " * len(start))
            self._lines += [self._styled(line, style) for line in lines]

    def _wrapped(self, text: str, first: str, rest: str) -> list[str]:
        text = printable(text)
        wrapper = textwrap.TextWrapper(
            self._width,
            initial_indent=first,
            subsequent_indent=rest,
            break_long_words=False,
            break_on_hyphens=False,
        )
        fits = all(len(word) <= self._width - len(rest) for word in text.split())
        wrapper.wordsep_simple_re = _SPACES if fits else _SPACES_AND_FLAGS
        return wrapper.wrap(text) or [first.rstrip()]

    def _styled(self, text: str, style: str | None) -> str:
        return f"\x1b[{_STYLES[style]}m{text}\x1b[0m" if self._colour and style else text
