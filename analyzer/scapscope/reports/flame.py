"""Turns the tree of callers and their calls into folded stacks, and into a speedscope file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Literal

from scapscope.reports.page import printable
from scapscope.reports.who import container

Weight = Literal["time", "calls"]
UNITS: dict[Weight, str] = {"time": "ns", "calls": "calls"}
Told = Mapping[str, Any]


def folded(told: Told, weight: Weight) -> list[tuple[str, int]]:
    """Each stack as flame graph tools take it, its frames joined by semicolons; none that weighs nothing."""
    paths: list[str] = []
    for node in told["nodes"]:
        frame = _frame(node).replace(";", "\\x3b")
        paths.append(frame if node["parent"] is None else f"{paths[node['parent']]};{frame}")
    return [(f"{paths[node]};{call}", heavy) for node, call, heavy in _rows(told, weight)]


def render_folded(told: Told, weight: Weight) -> str:
    """A line a stack: the frames, a space, the weight."""
    return "".join([f"{path} {heavy}\n" for path, heavy in folded(told, weight)])


def render_speedscope(told: Told, weight: Weight, name: str) -> str:
    """A sampled profile, as https://www.speedscope.app/file-format-schema.json describes it."""
    from importlib.metadata import version

    numbers: dict[str, int] = {}
    paths: list[list[int]] = []
    for node in told["nodes"]:
        above = [] if node["parent"] is None else paths[node["parent"]]
        paths.append([*above, numbers.setdefault(_frame(node), len(numbers))])
    rows = _rows(told, weight)
    profile = {
        "type": "sampled",
        "name": name,
        "unit": "nanoseconds" if weight == "time" else "none",
        "startValue": 0,
        "endValue": sum(heavy for _, _, heavy in rows),
        "samples": [[*paths[node], numbers.setdefault(call, len(numbers))] for node, call, _ in rows],
        "weights": [heavy for _, _, heavy in rows],
    }
    file = {
        "$schema": "https://www.speedscope.app/file-format-schema.json",
        "exporter": f"scapscope {version('scapscope')}",
        "name": name,
        "activeProfileIndex": 0,
        "shared": {"frames": [{"name": frame} for frame in numbers]},
        "profiles": [profile],
    }
    return json.dumps(file) + "\n"


def _rows(told: Told, weight: Weight) -> list[tuple[int, str, int]]:
    """Whose calls, which, and what they weigh."""
    weights = told["time_ns" if weight == "time" else "calls"]
    return [row for row in zip(told["node"], told["syscall"], weights, strict=True) if row[2]]


def _frame(node: Mapping[str, Any]) -> str:
    match node["kind"]:
        case "host":
            text = "host"
        case "container":
            text = f"container {container(node['container'])}"
        case "process":
            text = f"{node['comm'] or 'name unknown'} (pid {node['pid']})"
        case "thread":
            text = f"tid {node['tid']}"
        case _:
            text = "others, told apart no more"
    return printable(text)
