"""The command line: `python -m benchmarks`, which `make bench` runs."""

import argparse
import os
import shutil
import sys
from pathlib import Path

from benchmarks import captures, report, rounds

REPOSITORY = Path(__file__).resolve().parent.parent
FULL_SIZE = 1_000_000_000


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--size", type=float, default=FULL_SIZE, help="bytes of each capture (1e9)")
    parser.add_argument("--runs", type=int, default=5, help="runs of each program (5)")
    parser.add_argument("--load", choices=captures.LOADS, action="append", help="measure this load only")
    parser.add_argument(
        "--output",
        type=Path,
        help="write the report here too (docs/benchmarks.md for a full run, nowhere for a smaller one)",
    )
    options = parser.parse_args()
    if options.runs < 1 or options.size < 1e6:
        parser.error("at least one run, and a million bytes")
    return options


def missing_programs() -> list[str]:
    """Say what cannot be measured here, and which Debian package would change that."""
    wanted = {"sysdig": "sysdig", "pigz": "pigz", "igzip": "isal"}
    return [
        f"{program} is not installed: what needs it is left out (apt-get install {package})"
        for program, package in wanted.items()
        if shutil.which(program) is None
    ]


def main() -> int:
    """Measure, print the report, and keep it if it is a full one."""
    options = arguments()
    size = int(options.size)
    loads = options.load or list(captures.LOADS)
    command = Path(sys.executable).parent / "scapscope"
    if not command.exists():
        print(f"benchmarks: no scapscope beside {sys.executable}: run `make demo` first", file=sys.stderr)
        return 1
    for message in missing_programs():
        print(f"*** {message}", file=sys.stderr)

    small = REPOSITORY / "traces/none-docker-redis.scap"
    try:
        with captures.reserved(REPOSITORY) as cache:
            files = captures.prepare(REPOSITORY, cache, loads, size)
            results = rounds.measure(files, os.fspath(command), small, options.runs)
    except (captures.Unprepared, rounds.WrongAnswer) as error:
        print(f"benchmarks: {error}", file=sys.stderr)
        return 1
    text = report.markdown(results)
    print(text)
    full = (
        size >= FULL_SIZE and options.runs >= 5 and loads == list(captures.LOADS) and not missing_programs()
    )
    output = options.output or (REPOSITORY / "docs/benchmarks.md" if full else None)
    if output is not None:
        output.write_text(text + "\n", encoding="utf-8")
        print(f"Written to {output}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
