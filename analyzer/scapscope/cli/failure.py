"""Turns what can go wrong with an input or an output into a message and an exit status."""

from __future__ import annotations

from typing import IO, TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from scapscope.report import Damage

UNREADABLE = 3
UNWRITABLE = 4
_TRY = (
    "Nothing could be read from it. A capture is what `sysdig -w FILE.scap` or a Falco capture writes, "
    "as it is or gzipped. A log of `strace -f -tt -T -o FILE` is read as one."
)


def unreadable(path: str, problem: Exception) -> None:
    """Say on standard error that `path` is not an input, why, and what to try."""
    from scapscope.reports.page import printable

    message = str(problem)
    named = message if path == "-" or path in message else f"{path}: {message}"
    click.echo(f"scapscope: {printable(named)}\n{_TRY}", err=True)


def damaged(damage: Damage, saved: str) -> None:
    """Say on standard error where a capture stops making sense, and what of it was `saved`."""
    from scapscope.reports.page import printable

    where = f"{damage.kind} at byte {damage.offset} of the uncompressed stream"
    expected = f"expected {damage.expected}, found {damage.found}"
    click.echo(printable(f"scapscope: the capture is {where}: {expected}. {saved}"), err=True)


class Unwritable(click.ClickException):
    """The answer could not be written: a full disk, a folder that is not there."""

    exit_code = UNWRITABLE

    def __init__(self, where: str, problem: OSError) -> None:
        from scapscope.reports.page import printable

        reason = problem.strerror or str(problem)
        super().__init__(printable(f"the answer could not be written to {where}: {reason}"))

    def show(self, file: IO[Any] | None = None) -> None:
        """Print the message as this program prints every other."""
        click.echo(f"scapscope: {self.message}", file=file, err=True)
