"""scapscope rules: turns Falco rules files into problems, verdicts of real engines, and a reference."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import click

from scapscope.cli import failure
from scapscope.cli.output import Output, colour_option, wants_colour, width, write_file

if TYPE_CHECKING:
    from scapscope.reports.page import Page
    from scapscope.rules.cases import Case
    from scapscope.rules.definitions import Rule, RuleSet
    from scapscope.rules.engine import Alert, Engine

_FAILED = 1
_HOME = Path("rules")
_TESTS = "tests"
Command = TypeVar("Command", bound=Callable[..., Any])


@click.group()
def rules() -> None:
    """Check Falco rules, and have real engines judge them on captures.

    \b
    Examples:
      scapscope rules lint /etc/falco/falco_rules.yaml
      scapscope rules replay rules/vsyscall_rules.yaml --capture redis.scap
      scapscope rules test
    """


def _engine_option(command: Command) -> Command:
    return click.option(
        "--engine",
        "only",
        type=click.Choice(["sysdig", "falco"]),
        help="Only this engine. Without this: sysdig, and Falco where FALCO_BIN or PATH has it.",
    )(command)


@rules.command()
@click.argument("files", nargs=-1, metavar="[FILES]...")
@click.option(
    "--house/--no-house",
    default=None,
    help="Hold the rules to the house style too. Without this: only if no FILES are given.",
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object: a list of problems.")
@colour_option
def lint(files: tuple[str, ...], house: bool | None, as_json: bool, colour: bool | None) -> None:
    """Find what Falco would refuse, and what it would load without a word although it cannot work.

    FILES are Falco rules files, read in this order as one set, as Falco reads them: a later file may
    append to or override what an earlier one defines. Without FILES, rules/*.yaml.

    Addresses that never match, numbers for signals, fields that end Falco, conditions that switch
    every event on: each problem comes with its place, and each kind with its reason.

    \b
    Examples:
      scapscope rules lint
      scapscope rules lint falco_rules.yaml falco_rules.local.yaml
      scapscope rules lint --json my_rules.yaml | jq -r '.problems[].message'

    Exit status: 0 nothing to mend (warnings may be left), 1 errors, 2 usage, 3 a file could not be read.
    """
    from scapscope.reports.json import dump
    from scapscope.reports.page import Page
    from scapscope.rules import telling
    from scapscope.rules.lint import lint as problems_of

    paths = _rules_files(files)
    ours = house if house is not None else not files
    tested = frozenset(case.rule for case in _cases_beside(paths)) if ours else frozenset()
    found = _readable(lambda: problems_of(paths, ours=ours, tested=tested))
    errors = sum(one.fatal for one in found)
    if as_json:
        names, told = [str(path) for path in paths], [telling.problem(one) for one in found]
        text = dump({"files": names, "problems": told})
    else:
        page = Page(width(), colour=wants_colour(colour))
        telling.problems(page, found)
        counts = f"{telling.count(errors, 'error')}, {telling.count(len(found) - errors, 'warning')}"
        page.paragraph(f"{telling.count(len(paths), 'file')}: {counts}", indent="")
        text = str(page)
    with Output() as out:
        out.write(text)
    if errors:
        sys.exit(_FAILED)


@rules.command()
@click.argument("files", nargs=-1, metavar="[FILES]...")
@_engine_option
@click.option("--all", "every", is_flag=True, help="Every capture, not only those that failed.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object: engines and verdicts.")
@colour_option
def test(files: tuple[str, ...], only: str | None, every: bool, as_json: bool, colour: bool | None) -> None:
    """Run rule tests: each rule on real engines, over captures that must alert and that must not.

    FILES are rule tests, or folders of them; without FILES, rules/tests. A disabled rule is run, too.
    sysdig gets the condition as a filter, with macros and lists expanded; Falco gets the files themselves
    and replays the capture (engine.kind=replay).

    \b
    A rule test:
      rules: ../my_rules.yaml           # or a list: a later file adapts earlier ones
      rule: Shell in Database Container
      alerts:
        - capture: ../captures/shell.scap
          count: 1
          fields: {proc.name: sh}       # of every alert; null: no value; a list: one for each alert
      silent:
        - ../captures/*.scap            # those under alerts excepted

    An entry of silent may say what its capture only looks like, for the reference to tell:
    {capture: ../captures/backup.scap, why: a shell outside any container}

    Exit status: 0 all passed, 1 some failed or no engine could run their rule, 2 usage, 3 a test could not
    be read or there is no engine.
    """
    from scapscope.reports.json import dump
    from scapscope.reports.page import Page
    from scapscope.rules import telling
    from scapscope.rules.judge import judge, unjudged

    cases = _cases(files)
    engines, versions, absent = _engines(only)
    given = _readable(lambda: list(judge(cases, engines)))
    if as_json:
        told = [telling.verdict(one) for one in given]
        text = dump({"engines": versions, "absent": absent, "verdicts": told})
    else:
        page = Page(width(), colour=wants_colour(colour))
        _engine_lines(page, versions, absent)
        telling.verdicts(page, given, every=every)
        text = str(page)
    with Output() as out:
        out.write(text)
    if any(one.faults for one in given) or unjudged(given):
        sys.exit(_FAILED)


@rules.command()
@click.argument("files", nargs=-1, required=True, metavar="RULES...")
@click.option("--capture", required=True, metavar="TRACE", help="The capture to replay, plain or gzipped.")
@click.option("--rule", "names", multiple=True, metavar="NAME", help="Only this rule (repeat for more).")
@_engine_option
@click.option(
    "--limit", type=click.IntRange(min=0), default=3, show_default=True, metavar="N", help="Alerts to show."
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object, with every alert.")
@colour_option
def replay(
    files: tuple[str, ...],
    capture: str,
    names: tuple[str, ...],
    only: str | None,
    limit: int,
    as_json: bool,
    colour: bool | None,
) -> None:
    """Say which rules would have alerted on a capture, and how often.

    RULES are any Falco rules files, read in this order as one set. Disabled rules are run, too. A rule
    that an engine cannot run is listed with the engine's own reason.

    \b
    Examples:
      scapscope rules replay rules/vsyscall_rules.yaml --capture redis.scap
      scapscope rules replay falco_rules.yaml local.yaml --capture redis.scap --engine sysdig

    Exit status: 0 replayed, 2 usage, 3 a file could not be read or there is no engine.
    """
    from scapscope.reports.json import dump
    from scapscope.reports.page import Page

    ruleset = _loaded(_rules_files(files))
    _existing(Path(capture))
    for name in names:
        if name not in ruleset.rules:
            raise click.UsageError(f"no rule {name!r} is defined in {', '.join(files)}")
    chosen = [rule for rule in ruleset.rules.values() if not names or rule.name in names]
    engines, versions, absent = _engines(only)
    rows = [_replayed(engine, ruleset, rule, Path(capture)) for rule in chosen for engine in engines]
    if as_json:
        text = dump({"engines": versions, "absent": absent, "capture": capture, "rules": rows})
    else:
        page = Page(width(), colour=wants_colour(colour))
        _engine_lines(page, versions, absent)
        for row in rows:
            _replay_lines(page, row, limit)
        text = str(page)
    with Output() as out:
        out.write(text)


@rules.command()
@click.argument("files", nargs=-1, metavar="[FILES]...")
@click.option("-o", "--output", metavar="FILE", help="Write the reference to FILE.")
def doc(files: tuple[str, ...], output: str | None) -> None:
    """Write a reference of rules in Markdown: what each means, costs, and was tested on.

    FILES are Falco rules files; without FILES, rules/*.yaml. Their tests are taken from the folder tests
    beside them.

    \b
    Example:
      scapscope rules doc -o docs/rules.md
    """
    from scapscope.rules.reference import reference

    paths = _rules_files(files)
    text = reference(_loaded(paths), _cases_beside(paths))
    if output is None or output == "-":
        with Output() as out:
            out.write(text)
    else:
        write_file(output, text)


def _rules_files(files: tuple[str, ...]) -> list[Path]:
    paths = [Path(file) for file in files] or sorted(_HOME.glob("*.yaml"))
    if not paths:
        raise click.UsageError("there is no rules/*.yaml here; name the rules files")
    for path in paths:
        _existing(path)
    return paths


def _existing(path: Path) -> None:
    if not path.is_file():
        _unreadable(f"{path}: {'a folder' if path.is_dir() else 'no such file'}")


def _cases(files: tuple[str, ...]) -> list[Case]:
    named = [Path(file) for file in files] or [_HOME / _TESTS]
    if not files and not named[0].is_dir():
        raise click.UsageError("there is no rules/tests here; name the rule tests")
    paths = [test for path in named for test in (sorted(path.glob("*.yaml")) if path.is_dir() else [path])]
    if not paths:
        raise click.UsageError(f"there are no rule tests in {', '.join(str(path) for path in named)}")
    return _read_cases(paths)


def _cases_beside(paths: list[Path]) -> list[Case]:
    folders = dict.fromkeys(path.parent / _TESTS for path in paths)
    return _read_cases([test for folder in folders for test in sorted(folder.glob("*.yaml"))])


def _read_cases(paths: list[Path]) -> list[Case]:
    from scapscope.rules.cases import read

    return [_readable(lambda path=path: read(path)) for path in paths]  # type: ignore[misc]


def _loaded(paths: list[Path]) -> RuleSet:
    """The rule set; what Falco would refuse is said, and ends the command."""
    from scapscope.rules.loader import load

    ruleset = _readable(lambda: load(paths))
    for problem in ruleset.problems:
        if problem.fatal:
            _unreadable(f"{problem.spot}: {problem.message}")
    return ruleset


def _engines(only: str | None) -> tuple[list[Engine], dict[str, str], dict[str, str]]:
    """The engines that are here, their versions, and why others are not."""
    from scapscope.rules import falco
    from scapscope.rules.engine import EngineError
    from scapscope.rules.sysdig import Sysdig

    installed = falco.find() if only != "sysdig" else None
    candidates: list[Engine] = [] if only == "falco" else [Sysdig()]
    candidates += [falco.Falco(installed)] if installed else []
    versions: dict[str, str] = {}
    for engine in candidates:
        try:
            versions[engine.name] = engine.version()
        except EngineError as problem:
            _unreadable(str(problem))
    absent = {}
    if only != "sysdig" and installed is None:
        absent["falco"] = f"{falco.PROGRAM_VARIABLE} is not set, and no falco is on PATH"
    if only == "falco" and absent:
        _unreadable(f"falco: {absent['falco']}")
    return candidates, versions, absent


def _replayed(engine: Engine, ruleset: RuleSet, rule: Rule, capture: Path) -> dict[str, Any]:
    from scapscope.rules.engine import EngineError
    from scapscope.rules.output import rendered

    row: dict[str, Any] = {"rule": rule.name, "engine": engine.name, "enabled": rule.enabled}
    try:
        alerts: list[Alert] = engine.alerts(ruleset, rule, capture)
    except EngineError as problem:
        return {**row, "count": None, "alerts": [], "unable": str(problem)}
    told = [
        {
            "timestamp_ns": one.timestamp_ns,
            "output": rendered(rule.output.value, one.fields),
            "fields": dict(one.fields),
        }
        for one in alerts
    ]
    return {**row, "count": len(alerts), "alerts": told, "unable": None}


def _replay_lines(page: Page, row: dict[str, Any], limit: int) -> None:
    from scapscope.rules import telling

    who = f"{row['rule']} on {row['engine']}{'' if row['enabled'] else ' (disabled as shipped)'}"
    if row["unable"] is not None:
        page.verdict("not run", f"{who}: {row['unable']}", "warning")
        return
    page.verdict(telling.count(row["count"], "alert"), who, "error" if row["count"] else "info")
    for alert in row["alerts"][:limit]:
        page.paragraph(alert["output"])
    if row["count"] > limit > 0:
        page.paragraph(f"and {row['count'] - limit} more")


def _engine_lines(page: Page, versions: dict[str, str], absent: dict[str, str]) -> None:
    for name, version in versions.items():
        page.paragraph(f"{name} {version}", indent="")
    for name, why in absent.items():
        page.paragraph(f"{name} not run: {why}", indent="")
    page.gap()


Value = TypeVar("Value")


def _readable(read: Callable[[], Value]) -> Value:
    """What `read` gives; a file that cannot be read ends the command."""
    from scapscope.rules.source import SourceError

    try:
        return read()
    except SourceError as problem:
        _unreadable(f"{problem.spot}: {problem}")
    except OSError as problem:
        _unreadable(f"{problem.filename}: {problem.strerror}")


def _unreadable(message: str) -> NoReturn:
    from scapscope.reports.page import printable

    click.echo(f"scapscope: {printable(message)}", err=True)
    sys.exit(failure.UNREADABLE)
