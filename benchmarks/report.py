"""Turns what was measured into a page that says how fast, against what, and how it was measured."""

import os
import platform

from benchmarks.rounds import CHISEL_LIMIT, SYSDIG_FILTER, ChiselTable, Contender, Results, Table

HEADER = """# Benchmarks

Written by `make bench`. All programs on a file ran in turn, in one session, with the file in memory
and their output thrown away; the figures are medians of {runs} rounds. Only the ratios mean anything
on another machine; this one has {cpus} processors ({architecture}).
Versions: {versions}.

- `scapscope explain --json` answers everything: processes, containers, crashes, the kernel's vsyscall mode.
- "sysdig, one filter" answers one question, whether there are page faults in the vsyscall page:
  `sysdig -q -r FILE "{filter}"`.
  With `-q` it decides about every event and prints none; printing what matches would take it many
  times longer on the fault storm.
- `cat` and `cksum` only move the bytes; the gzip programs only decompress.
- Memory is the peak of anonymous memory (sampled every millisecond) and of all resident memory (which
  has the program's own pages and mapped files too)."""


CHISELS = """## The chisel

`sysdig -r FILE -c vsyscall_diag` on the plain files, against a chisel that does nothing with the events
that the same filter lets through (`tests/lua/empty.lua`): what sysdig itself takes. The ratio is to stay
below {limit} on captures of 1 GB; of small ones, the first hundred thousand emulated calls, which are counted
one by one, are a larger part.

| load | vsyscall_diag | empty chisel | ratio |
|---|--:|--:|--:|
{rows}"""

LOADS = {"fault-storm": "Fault storm", "mixed": "Mixed load"}


def markdown(results: Results) -> str:
    """Give the whole report."""
    versions = ", ".join(f"{program} {version}" for program, version in results.versions.items())
    parts = [
        HEADER.format(
            runs=results.runs,
            cpus=os.cpu_count(),
            architecture=platform.machine(),
            versions=versions,
            filter=SYSDIG_FILTER,
        )
    ]
    parts += [section(table) for table in results.tables]
    if results.chisels:
        parts.append(chisels(results.chisels))
    parts.append(startup(results.startup))
    return "\n\n".join(parts)


def section(table: Table) -> str:
    """Give the table of one file."""
    size = f"{table.plain_bytes / 1e6:,.0f} MB, {table.events / 1e6:.1f} million events"
    if table.gzipped:
        size += f", gzipped to {table.file_bytes / 1e6:,.0f} MB"
    first = table.contenders[0].median
    rows = [
        f"| {contender.name} | {contender.median:.3f} s | {contender.median / first:.2f} | "
        f"{table.plain_bytes / 1e6 / contender.median:,.0f} MB/s | {memory(contender)} |"
        for contender in table.contenders
    ]
    head = "| program | time | times scapscope's | plain bytes | anonymous, resident memory |"
    return "\n".join(
        [
            f"## {LOADS[table.load]}, {'gzip' if table.gzipped else 'plain'} ({size})",
            "",
            head,
            "|---|--:|--:|--:|--:|",
            *rows,
        ]
    )


def memory(contender: Contender) -> str:
    """Give the peaks of memory in MB (of 1024 times 1024 bytes)."""
    return f"{contender.anonymous / 2**20:.0f}, {contender.resident / 2**20:.0f} MB"


def chisels(tables: list[ChiselTable]) -> str:
    """Give the chisel's times beside those of an empty one, and say where it is over its limit."""
    rows = []
    for table in tables:
        over = " (over the limit)" if table.ratio > CHISEL_LIMIT else ""
        times = f"{table.chisel.median:.3f} s | {table.empty.median:.3f} s"
        rows.append(f"| {LOADS[table.load]} | {times} | {table.ratio:.2f}{over} |")
    return CHISELS.format(limit=CHISEL_LIMIT, rows="\n".join(rows))


def startup(contenders: list[Contender]) -> str:
    """Give the time of a small capture beside that of an empty program."""
    whole, empty = contenders
    rows = [
        f"| `{contender.name}` | {contender.median:.3f} s | {memory(contender)} |" for contender in contenders
    ]
    difference = f"| difference | {whole.median - empty.median:.3f} s | |"
    return "\n".join(["## Start", "", "| command | time | memory |", "|---|--:|--:|", *rows, difference])
