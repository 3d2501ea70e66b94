"""Turns a command line into one of the commands, and whatever goes wrong into an exit status.

0 analysed, 1 --fail-on was reached, 2 usage, 3 unreadable input, 4 the answer could not be written,
130 interrupted, 141 the reader of the output went away.
"""

from __future__ import annotations

import sys

import click

from scapscope.cli.events import events
from scapscope.cli.explain import explain
from scapscope.cli.failure import Unwritable
from scapscope.cli.findings import findings
from scapscope.cli.flame import flame
from scapscope.cli.info import info
from scapscope.cli.rates import rates
from scapscope.cli.rules import rules
from scapscope.cli.syscalls import syscalls

INTERRUPTED = 130
_EPILOG = """
\b
Examples:
  scapscope explain redis.scap            why did it die, and what to do about it
  scapscope syscalls redis.scap           what its system calls cost, as strace -c shows it
  sysdig --page-faults -w crash.scap      record such a capture (end it with Ctrl-C)

\b
Exit status:
  0  analysed                     3  an input could not be read
  1  --fail-on was reached, or    4  the answer could not be written
     a rule did not pass        130  interrupted
  2  wrong usage
"""


@click.group(epilog=_EPILOG, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="scapscope", message="%(prog)s %(version)s")
def cli() -> None:
    """Explain why a container crashed, or why it is slow, from a system-call capture (.scap)."""


for _command in (explain, syscalls, rates, flame, events, info, findings, rules):
    cli.add_command(_command)


def main(args: list[str] | None = None) -> None:
    """Run the command line `args` (the process's own by default) and leave with its exit status."""
    try:
        status = cli.main(args, prog_name="scapscope", standalone_mode=False)
    except click.ClickException as problem:
        problem.show()
        status = problem.exit_code
    except (click.Abort, KeyboardInterrupt):
        click.echo("scapscope: interrupted", err=True)
        status = INTERRUPTED
    except OSError as problem:
        # What a command writes goes through Output; this is click's own: --help to a full disk.
        unwritable = Unwritable("standard output", problem)
        unwritable.show()
        status = unwritable.exit_code
    sys.exit(status)
