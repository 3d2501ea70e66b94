"""Turns the tree of callers and their calls into folded stacks, and into a speedscope file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Literal

from scapscope.reports.page import printable
from scapscope.reports.who import container

Weight = Literal["time", "calls"]
UNITS: dict[Weight, str] = {"time": "ns", "calls": "calls"}
Stack = tuple[tuple[str, ...], int]


def stacks(told: Mapping[str, Any], weight: Weight) -> list[Stack]:
    """Each stack, its frames from the container to the call, and its weight; none that weighs nothing."""
    paths: list[tuple[str, ...]] = []
    for node in told["nodes"]:
        above = () if node["parent"] is None else paths[node["parent"]]
        paths.append((*above, _frame(node)))
    weights = told["time_ns" if weight == "time" else "calls"]
    return [
        ((*paths[node], syscall), heavy)
        for node, syscall, heavy in zip(told["node"], told["syscall"], weights, strict=True)
        if heavy
    ]


def folded(stack: Stack) -> tuple[str, int]:
    """The stack as flame graph tools take it: its frames joined by semicolons."""
    frames, weight = stack
    return ";".join(frame.replace(";", "\\x3b") for frame in frames), weight


def render_folded(all_stacks: list[Stack]) -> str:
    """A line a stack: the frames, a space, the weight."""
    return "".join(f"{path} {weight}\n" for path, weight in map(folded, all_stacks))


def render_speedscope(all_stacks: list[Stack], name: str, weight: Weight) -> str:
    """A sampled profile, as https://www.speedscope.app/file-format-schema.json describes it."""
    from importlib.metadata import version

    numbers: dict[str, int] = {}
    samples = [[numbers.setdefault(frame, len(numbers)) for frame in frames] for frames, _ in all_stacks]
    weights = [heavy for _, heavy in all_stacks]
    profile = {
        "type": "sampled",
        "name": name,
        "unit": "nanoseconds" if weight == "time" else "none",
        "startValue": 0,
        "endValue": sum(weights),
        "samples": samples,
        "weights": weights,
    }
    return (
        json.dumps(
            {
                "$schema": "https://www.speedscope.app/file-format-schema.json",
                "exporter": f"scapscope {version('scapscope')}",
                "name": name,
                "activeProfileIndex": 0,
                "shared": {"frames": [{"name": frame} for frame in numbers]},
                "profiles": [profile],
            }
        )
        + "\n"
    )


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
