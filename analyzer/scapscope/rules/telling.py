"""Turns problems, verdicts and alerts into JSON values and into lines for a reader."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scapscope.reports.page import printable
from scapscope.rules.checks import CHECKS

if TYPE_CHECKING:
    from scapscope.reports.page import Page
    from scapscope.rules.judge import Verdict
    from scapscope.rules.problem import Problem


def problem(one: Problem) -> dict[str, Any]:
    """One problem with its reason."""
    check = CHECKS[one.check]
    return {
        "file": one.spot.file,
        "line": one.spot.line,
        "column": one.spot.column,
        "severity": one.severity,
        "check": one.check,
        "message": one.message,
        "why": check.why,
        "instead": check.instead,
    }


def problems(page: Page, found: Sequence[Problem]) -> None:
    """Every problem with its place, then the reason behind each kind of them, once."""
    for one in found:
        page.verdict(f"{one.spot}: {one.severity}", f"{one.message} [{one.check}]", one.severity)
    for name in sorted({one.check for one in found}):
        page.gap()
        page.heading(f"{name}: {CHECKS[name].finds}")
        page.paragraph(f"Why: {CHECKS[name].why}")
        page.paragraph(f"Instead: {CHECKS[name].instead}")
    if found:
        page.gap()


def count(number: int, what: str) -> str:
    """How many, in words: 1 error, 2 errors."""
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def verdict(one: Verdict) -> dict[str, Any]:
    """One verdict."""
    wanted = one.expectation
    return {
        "test": str(one.case.file),
        "rule": one.case.rule,
        "engine": one.engine,
        "capture": str(wanted.capture),
        "expected": wanted.count,
        "alerts": one.alerts,
        "passed": one.passed,
        "faults": list(one.faults),
        "unable": one.unable,
    }


def verdicts(page: Page, given: Iterable[Verdict], *, every: bool) -> None:
    """For each rule and engine one line, and under it what failed (or, if `every`, each capture)."""
    groups: dict[tuple[Path, str], list[Verdict]] = {}
    for one in given:
        groups.setdefault((one.case.file, one.engine), []).append(one)
    for ones in groups.values():
        _group(page, ones)
        for one in ones:
            if every or one.faults:
                page.item("-" if one.passed else "!", f"{_name(one)}: {_result(one)}")


def _group(page: Page, ones: list[Verdict]) -> None:
    first = ones[0]
    unable = next((one.unable for one in ones if one.unable is not None), None)
    failed = [one for one in ones if one.faults]
    alerting = [one for one in ones if one.expectation.count]
    told = f"{count(len(alerting), 'capture')} with alerts, {len(ones) - len(alerting)} silent"
    if failed:
        page.verdict("FAILED", f"{first.case.rule} on {first.engine}: {len(failed)} of {told}", "error")
    elif unable is not None:
        page.verdict("not run", f"{first.case.rule} on {first.engine}: {unable}", "warning")
    else:
        page.verdict("passed", f"{first.case.rule} on {first.engine}: {told}", "info")


def _name(one: Verdict) -> str:
    where = f"{one.expectation.spot.file}:{one.expectation.spot.line}: " if one.faults else ""
    return f"{where}{one.expectation.capture.name}"


def _result(one: Verdict) -> str:
    if one.unable is not None:
        return one.unable
    if not one.faults:
        return count(one.alerts or 0, "alert")
    more = f", and {len(one.faults) - 3} more" if len(one.faults) > 3 else ""
    return "; ".join(printable(fault) for fault in one.faults[:3]) + more
