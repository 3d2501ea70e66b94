"""Turns whose calls are counted together into words, and into the columns of a CSV file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

By = Literal["capture", "container", "process", "thread", "syscall"]
_CONTAINER = ("container_id", "container_name", "container_image")
COLUMNS: dict[By, tuple[str, ...]] = {
    "capture": (),
    "container": _CONTAINER,
    "process": ("comm", "pid", *_CONTAINER),
    "thread": ("comm", "pid", "tid", *_CONTAINER),
    "syscall": (),
}
"""What is known of whom, by what calls are put together by."""


def title(who: Mapping[str, Any], by: By) -> str:
    """Whose calls: "redis-server (pid 5) in container redis1 (redis:2.8.22)"."""
    box = who["container"]
    within = f" in container {container(box)}" if box is not None and by in ("process", "thread") else ""
    return name(who, by) + within


def name(who: Mapping[str, Any], by: By) -> str:
    """The same, short: "redis-server (pid 5)"."""
    if who["others"]:
        return "others, told apart no more"
    if by == "container":
        return "host, outside containers" if who["container"] is None else container(who["container"])
    comm = who["comm"] or "name unknown"
    if by == "thread":
        return f"{comm} (tid {who['tid']})"
    return f"{comm} (pid {who['pid']})"


def container(box: Mapping[str, Any]) -> str:
    """A container by its name and image, or by what else is known of it."""
    return f"{box['name'] or box['id']} ({box['image'] or 'image unknown'})"


def columns(who: Mapping[str, Any], by: By) -> list[Any]:
    """The values of COLUMNS; None where nothing is known."""
    box = who["container"] or {}
    known = {
        "comm": "(others)" if who["others"] else who["comm"],
        "pid": who["pid"],
        "tid": who["tid"],
        "container_id": box.get("id"),
        "container_name": box.get("name"),
        "container_image": box.get("image"),
    }
    return [known[column] for column in COLUMNS[by]]
