"""Writes a command's answer to standard output or to a file, and decides on colour and width."""

from __future__ import annotations

import errno
import os
import shutil
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from scapscope.cli.failure import Unwritable

PIPE_CLOSED = 141
_WIDEST = 100
_NARROWEST = 40
Command = TypeVar("Command", bound=Callable[..., Any])


def colour_option(command: Command) -> Command:
    """The option --color/--no-color."""
    return click.option(
        "--color/--no-color",
        "colour",
        default=None,
        help="Colour, or none. Without this: on a terminal, unless NO_COLOR is set.",
    )(command)


def wants_colour(choice: bool | None) -> bool:
    """Whether to colour: `choice` if made, else on a terminal, unless NO_COLOR says otherwise."""
    if choice is not None:
        return choice
    return (
        sys.stdout is not None
        and sys.stdout.isatty()
        and not os.environ.get("NO_COLOR")
        and os.environ.get("TERM") != "dumb"
    )


def width() -> int:
    """Columns to fill: the terminal's, within what reads well."""
    return max(_NARROWEST, min(_WIDEST, shutil.get_terminal_size((_WIDEST, 24)).columns))


class Output:
    """Standard output, for text in pieces; a context manager, so that nothing stays unwritten.

    When the reader has gone away (`scapscope events F | head`) the program ends without a word, with
    the status the shell shows for any program in that place: 141.
    """

    def __enter__(self) -> Output:
        if sys.stdout is None:
            raise Unwritable("standard output", OSError(errno.EBADF, os.strerror(errno.EBADF)))
        sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
        return self

    def write(self, text: str) -> None:
        """Write `text` as it is: what comes from a capture has gone through a Page or printable()."""
        self._guarded(lambda: sys.stdout.write(text))

    def __exit__(self, *_: object) -> None:
        self._guarded(sys.stdout.flush)

    def _guarded(self, write: Callable[[], object]) -> None:
        try:
            write()
        except BrokenPipeError:
            _let_go_of_stdout()
            raise SystemExit(PIPE_CLOSED) from None
        except OSError as problem:
            _let_go_of_stdout()
            raise Unwritable("standard output", problem) from None


def refuse_to_overwrite(output: str | None, traces: Sequence[str]) -> None:
    """A usage error if the file `output` is one of the captures."""
    if output is None or not Path(output).exists():
        return
    if any(Path(path).exists() and os.path.samefile(path, output) for path in traces):  # noqa: PTH121
        raise click.UsageError(f"-o {output} would overwrite the capture itself")


def write_file(path: str, content: str | bytes) -> None:
    """Write `content` to the file at `path`, replacing what was there."""
    try:
        with open(path, "wb") as file:  # noqa: PTH123 (a device is a file too)
            file.write(content.encode() if isinstance(content, str) else content)
    except OSError as problem:
        raise Unwritable(path, problem) from None


def write_answer(output: str | None, text: str) -> None:
    """Write `text` to the file `output`, or to standard output if there is none or it is ``-``."""
    if output is None or output == "-":
        with Output() as out:
            out.write(text)
    else:
        write_file(output, text)


def _let_go_of_stdout() -> None:
    """Keep the interpreter from trying once more, at its exit, to write what cannot be written."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
