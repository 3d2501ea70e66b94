"""A scenario as data: which kernel, which programs, how recorded, what the capture must yield."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from traces.lab.places import LAB, LabError

SCENARIOS = LAB / "scenarios"


@dataclass(frozen=True)
class Scenario:
    """One file of scenarios/; README.md there says what each field means."""

    name: str
    shows: str
    run: list[str]
    kernel: str
    exit_status: int | None = 0
    before: list[str] = field(default_factory=list)
    after: list[str] = field(default_factory=list)
    docker: bool = False
    capture: bool = True
    smoke: bool = False
    sysdig: list[str] | None = field(default_factory=lambda: ["--page-faults"])
    seconds: float = 120
    linger: float = 1
    vsyscall_mode: str = "unknown"
    notes: list[str] = field(default_factory=list)
    expect: list[dict[str, Any]] = field(default_factory=list)
    forbid: list[str] = field(default_factory=list)

    def job(self) -> dict[str, Any]:
        """What the guest's agent needs to know."""
        names = ("name", "run", "before", "after", "docker", "capture", "sysdig", "seconds", "linger")
        return {name: getattr(self, name) for name in names}


def load(folder: Path = SCENARIOS) -> dict[str, Scenario]:
    """Every scenario by its name, which is its file's."""
    return {file.stem: _read(file) for file in sorted(folder.glob("*.yaml"))}


def _read(file: Path) -> Scenario:
    fields = yaml.safe_load(file.read_text(encoding="utf-8"))
    if not isinstance(fields, dict):
        raise LabError(f"{file}: holds no fields")
    try:
        scenario = Scenario(name=file.stem, **fields)
    except TypeError as error:
        # Its message names the field that is missing or unknown.
        raise LabError(f"{file}: {str(error).replace('Scenario.__init__() ', '')}") from None
    if not isinstance(scenario.run, list) or not scenario.run:
        raise LabError(f"{file}: run is a list of command lines")
    if scenario.capture and scenario.sysdig is None:
        raise LabError(f"{file}: sysdig: null records nothing; say capture: false too")
    return scenario


def choose(scenarios: dict[str, Scenario], names: list[str]) -> list[Scenario]:
    """The scenarios called `names`; all of them for no name."""
    unknown = [name for name in names if name not in scenarios]
    if unknown:
        raise LabError(f"no scenario {', '.join(unknown)}; there are: {', '.join(scenarios)}")
    return [scenarios[name] for name in names] if names else list(scenarios.values())


def boots(scenarios: list[Scenario]) -> dict[str, list[Scenario]]:
    """The scenarios by kernel parameters: those of one kind share a boot, the ones without Docker first."""
    grouped: dict[str, list[Scenario]] = {}
    for scenario in sorted(scenarios, key=lambda scenario: scenario.docker):
        grouped.setdefault(scenario.kernel, []).append(scenario)
    return grouped
