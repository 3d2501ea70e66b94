"""Has engines judge rule tests: each capture of a case gives one verdict per engine."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import repeat
from pathlib import Path

from scapscope.rules import plugin
from scapscope.rules.cases import Case, Expectation
from scapscope.rules.definitions import Rule, RuleSet
from scapscope.rules.engine import Alert, Engine, EngineError, UnableError
from scapscope.rules.loader import load
from scapscope.rules.output import printed


@dataclass(frozen=True, slots=True)
class Verdict:
    """What one engine made of one capture; `faults` is empty where that is what was expected.

    `unable` says why the engine could not run the rule at all, as it is installed here.
    """

    case: Case
    expectation: Expectation
    engine: str
    alerts: int | None
    faults: tuple[str, ...]
    unable: str | None = None

    @property
    def passed(self) -> bool:
        """Whether the engine ran the rule, and the rule did what it must."""
        return not self.faults and self.unable is None


def judge(cases: Iterable[Case], engines: Iterable[Engine]) -> Iterator[Verdict]:
    """The verdicts, in the order of cases, engines and captures.

    Engines run side by side, as many as there are processors. Raises OSError for a missing rules file.
    """
    engines = list(engines)
    with ThreadPoolExecutor(max_workers=os.cpu_count() or 1) as pool:
        pending = [
            pool.submit(_one(case, expectation, engine, rules))
            for case in cases
            for rules in [load(case.rules)]
            for engine in engines
            for expectation in (*case.alerting, *case.silent)
        ]
        for verdict in pending:
            yield verdict.result()


def unjudged(verdicts: Iterable[Verdict]) -> list[Case]:
    """The cases that no engine was able to run: nobody knows whether their rules work.

    Rules that need the plugin scapscope are left out: only a Falco that has it can run them.
    """
    able: dict[Path, bool] = {}
    cases = {}
    for one in verdicts:
        cases[one.case.file] = one.case
        able[one.case.file] = able.get(one.case.file, False) or one.unable is None
    return [case for file, case in cases.items() if not able[file] and not plugin.required(load(case.rules))]


def _one(case: Case, expectation: Expectation, engine: Engine, rules: RuleSet) -> Callable[[], Verdict]:
    def run() -> Verdict:
        rule = rules.rules.get(case.rule)
        if rule is None:
            defined = ", ".join(rules.rules) or "none"
            return Verdict(
                case, expectation, engine.name, None, (f"no rule {case.rule!r} is defined: {defined}",)
            )
        try:
            alerts = _alerts(expectation, engine, rules, rule)
        except UnableError as reason:
            return Verdict(case, expectation, engine.name, None, (), str(reason))
        except (EngineError, OSError) as problem:
            return Verdict(case, expectation, engine.name, None, (str(problem),))
        return Verdict(case, expectation, engine.name, len(alerts), tuple(_faults(expectation, rule, alerts)))

    return run


def _alerts(expectation: Expectation, engine: Engine, rules: RuleSet, rule: Rule) -> list[Alert]:
    if not expectation.capture.is_file():
        raise EngineError(f"there is no capture {expectation.capture}")
    return engine.alerts(rules, rule, expectation.capture)


def _faults(expectation: Expectation, rule: Rule, alerts: list[Alert]) -> Iterator[str]:
    if len(alerts) != expectation.count:
        yield f"{len(alerts)} alerts, expected {expectation.count or 'none'}"
    output = {field.field for field in printed(rule.output.value)}
    for name in expectation.fields.keys() - output:
        yield f"the rule's output has no %{name}"
    for name, values in expectation.fields.items():
        each = repeat(values[0]) if len(values) == 1 else values
        for number, (alert, wanted) in enumerate(zip(alerts, each, strict=False), start=1):
            if name in alert.fields and (found := _text(alert.fields[name])) != wanted:
                yield f"alert {number}: {name} is {found}, expected {wanted}"


def _text(value: object) -> str | None:
    return None if value is None else str(value)
