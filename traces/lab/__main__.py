"""The command line: `python -m traces.lab`, which `make lab` and `make lab-smoke` run."""

import argparse
import sys

from traces.lab import manifest, recorder, scenario
from traces.lab.places import RECORDED, LabError


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m traces.lab", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="SCENARIO", help="record this scenario (all of them)")
    parser.add_argument(
        "--smoke", action="store_true", help="only the scenarios marked smoke: a crash and a healthy program"
    )
    parser.add_argument("--list", action="store_true", help="list the scenarios and leave")
    parser.add_argument(
        "--keep",
        action="store_true",
        help="put the captures that are as expected into traces/ and its manifest",
    )
    return parser.parse_args()


def main() -> int:
    """Record, compare, and say what is not as expected."""
    options = arguments()
    try:
        scenarios = scenario.choose(scenario.load(), options.names)
        if options.smoke:
            scenarios = [one for one in scenarios if one.smoke]
        if options.list:
            for one in scenarios:
                print(f"{one.name:32} {one.kernel:40} {one.shows}")
            return 0
        failed = 0
        for recording in recorder.record(scenarios):
            failed += report(recording, options.keep)
    except LabError as error:
        print(f"lab: {error}", file=sys.stderr)
        return 3
    except KeyboardInterrupt:
        print("lab: interrupted", file=sys.stderr)
        return 130
    print(
        f"{len(scenarios) - failed} scenarios as expected, {failed} not; captures and logs are in {RECORDED}"
    )
    return 1 if failed else 0


def report(recording: recorder.Recording, keep: bool) -> bool:
    """Print how a recording compares with its scenario; return whether it failed."""
    problems = recorder.check(recording)
    name = recording.scenario.name
    size = f"{recording.capture.stat().st_size / 1000:.0f} kB" if recording.capture else "no capture"
    print(f"{'FAILED' if problems else 'ok':6} {name} ({size})", flush=True)
    for problem in problems:
        print(f"         {problem}", flush=True)
    if keep and not problems and recording.capture:
        manifest.keep(recording)
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())
