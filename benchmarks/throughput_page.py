"""Turns measured rates into docs/throughput.md and the chart beside it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from benchmarks.throughput import Rate

# Million calls per second: Sysdig's article of 2018 on the crash of redis:2.8.22, on its author's machine.
ARTICLE = {"vdso-time": 266.77, "syscall-time": 8.4, "vsyscall-time": 1.4}
NAMES = {
    "vdso-time": "vDSO time",
    "vdso-clock_gettime": "vDSO clock_gettime",
    "syscall-time": "syscall time",
    "syscall-clock_gettime": "syscall clock_gettime",
    "vsyscall-time": "vsyscall time",
}
HEADER = """# How often a program gets the time

Written by `make throughput`. One program, `stress` of the trace lab, asks for the time in a loop for a
second; the figures are million calls per second, medians of {runs} runs.

- The guest: {guest}.
- This machine, which ran the guest: {host}.

**Where the guest's instructions are emulated, only ratios mean anything.**

- vDSO: the libc of today reads the clock in user space. syscall: it enters the kernel. vsyscall: it jumps
  into the page that old libcs use, which the kernel emulates after a page fault (or, with vsyscall=none,
  answers with SIGSEGV).
- The native vsyscall of old kernels, code in the page that made the system call itself, is gone since
  Linux 5.3. "syscall time" stands in for it: the same system call.
- seccomp: a filter of the size of Docker's default profile. Since Linux 5.11 the kernel remembers which
  calls a filter always allows; "uncached" defeats that, and shows what kernels before did at every call."""


def write(output: Path, rates: Sequence[Rate], guest: str, host: str, runs: int) -> None:
    """Write the page to `output` and the chart to the file of the same name that ends in .svg."""
    chart = output.with_suffix(".svg")
    parts = [
        HEADER.format(runs=runs, guest=guest, host=host),
        f"![Million calls per second by kernel, way and filter]({chart.name})",
        *throughput(rates),
        *against_the_article(rates),
        *watched(rates),
    ]
    output.write_text("\n\n".join(parts) + "\n", encoding="utf-8")
    draw(rates, chart)


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Give a Markdown table whose figures are right-aligned."""
    ruler = "|".join("---" if at < 2 else "--:" for at in range(len(head)))
    lines = ["| " + " | ".join(head) + " |", f"|{ruler}|"]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def shown(per_second: float | None) -> str:
    """Million calls per second, or what happened instead."""
    return "SIGSEGV" if per_second is None else f"{per_second / 1e6:.3g}"


def throughput(rates: Sequence[Rate]) -> list[str]:
    """Give the table by way and filter, a column for each kernel."""
    unwatched = [rate for rate in rates if rate.recorder == "nobody"]
    kernels = list(dict.fromkeys(rate.kernel for rate in unwatched))
    told = {(rate.way, rate.filter, rate.kernel): rate.per_second for rate in unwatched}
    keys = dict.fromkeys(
        (rate.way, rate.filter) for rate in sorted(unwatched, key=lambda r: list(NAMES).index(r.way))
    )
    rows = [[NAMES[way], name, *(shown(told[way, name, kernel]) for kernel in kernels)] for way, name in keys]
    return ["## Million calls per second", table(["call", "filter", *kernels], rows)]


def against_the_article(rates: Sequence[Rate]) -> list[str]:
    """Give the ratios that the two stories told, and ours."""
    told = {
        (rate.way, rate.filter, rate.kernel): rate.per_second for rate in rates if rate.recorder == "nobody"
    }
    kernels = ["emulate", "xonly", "this machine"]

    def factor(of: tuple[str, str], over: tuple[str, str], kernel: str) -> str:
        one, other = told.get((*of, kernel)), told.get((*over, kernel))
        return f"{other / one:.3g}" if one and other else "-"

    vdso, native, page = (
        ("vdso-time", "no filter"),
        ("syscall-time", "no filter"),
        ("vsyscall-time", "no filter"),
    )
    clock = "syscall-clock_gettime"
    of = ARTICLE
    asked = [
        (
            "syscall time, against the vDSO",
            f"{of['vdso-time'] / of['syscall-time']:.3g} (native)",
            native,
            vdso,
        ),
        (
            "vsyscall time, against the vDSO",
            f"{of['vdso-time'] / of['vsyscall-time']:.3g}",
            page,
            vdso,
        ),
        (
            "vsyscall time, against syscall time",
            f"{of['syscall-time'] / of['vsyscall-time']:.3g}",
            page,
            native,
        ),
        (
            "clock_gettime: syscall under seccomp, against no filter",
            "-",
            (clock, "seccomp"),
            (clock, "no filter"),
        ),
        (
            "the same, uncached as before Linux 5.11",
            "almost 6 (EC2, xen)",
            (clock, "seccomp, uncached"),
            (clock, "no filter"),
        ),
    ]
    rows = [
        [what, theirs, *(factor(one, other, kernel) for kernel in kernels)]
        for what, theirs, one, other in asked
    ]
    return [
        "## How many times slower, beside what the stories told",
        table(["what", "told", *kernels], rows),
        "The article had 266.77 million calls of the vDSO per second, 8.4 of the native vsyscall and 1.4 of\n"
        "the emulated one, on a machine of its own. The EC2 story compares System.nanoTime in and outside a\n"
        "container on a xen host, where the kernel also paid for reading xen's clock, and for mitigations\n"
        "that a seccomp filter switched on in those years.",
    ]


def watched(rates: Sequence[Rate]) -> list[str]:
    """Give what a recorder costs the program that it watches."""
    of = [rate for rate in rates if rate.kernel == "emulate" and rate.filter == "no filter"]
    told = {(rate.way, rate.recorder): rate.per_second for rate in of}
    watchers = list(dict.fromkeys(rate.recorder for rate in of))
    ways = [way for way in NAMES if (way, watchers[-1]) in told]
    rows = []
    for way in ways:
        alone = told[way, "nobody"]
        row = [NAMES[way], shown(alone)]
        for watcher in watchers[1:]:
            with_it = told[way, watcher]
            factor = f" ({alone / with_it:.2g} times slower)" if alone and with_it else ""
            row.append(shown(with_it) + factor)
        rows.append(row)
    return [
        "## What recording costs",
        "The same loops under vsyscall=emulate while sysdig records to memory, two processors for both. A\n"
        "call that the recorder does not see costs nothing more; one that it sees costs what two events\n"
        "(enter and exit), or one (page fault), take. These loops do nothing else: no ordinary program is\n"
        "slowed down so.",
        table(["call", "alone", *watchers[1:]], rows),
    ]


def draw(rates: Sequence[Rate], path: Path) -> None:
    """Draw the table as bars over a logarithmic axis."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    mpl.rcParams["svg.hashsalt"] = "scapscope"
    unwatched = [rate for rate in rates if rate.recorder == "nobody"]
    kernels = list(dict.fromkeys(rate.kernel for rate in unwatched))
    keys = list(dict.fromkeys((rate.way, rate.filter) for rate in unwatched if rate.kernel == kernels[0]))
    keys.sort(key=lambda key: list(NAMES).index(key[0]))
    told = {(rate.way, rate.filter, rate.kernel): rate.per_second for rate in unwatched}
    figure = Figure(figsize=(10, 7), layout="constrained")
    axes = figure.subplots()
    height = 0.8 / len(kernels)
    for row, kernel in enumerate(kernels):
        places = [place + row * height for place in range(len(keys))]
        values = [(told.get((*key, kernel)) or 0) / 1e6 for key in keys]
        axes.barh(places, values, height, label=kernel)
    axes.set_yticks([place + 0.4 for place in range(len(keys))])
    axes.set_yticklabels([f"{NAMES[way]}\n{name}" for way, name in keys])
    axes.invert_yaxis()
    axes.set_xscale("log")
    axes.set_xlabel("million calls per second (logarithmic; no bar: the program died)")
    axes.set_ylabel("call and seccomp filter")
    axes.set_title("How often a program gets the time in a second")
    axes.legend(title="kernel")
    axes.grid(visible=True, axis="x", alpha=0.4)
    figure.savefig(path, metadata={"Date": None})
