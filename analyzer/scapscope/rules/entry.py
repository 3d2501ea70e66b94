"""Reads one item of a rules file: each method gives a key's value, or refuses the item."""

from __future__ import annotations

from scapscope.rules.definitions import RuleException
from scapscope.rules.problem import Problem
from scapscope.rules.source import Mapping, Node, Sequence, Spot, Text

PRIORITIES = (
    "emergency",
    "alert",
    "critical",
    "error",
    "warning",
    "notice",
    "informational",
    "info",
    "debug",
)
_APPENDABLE = {
    "list": frozenset({"items"}),
    "macro": frozenset({"condition"}),
    "rule": frozenset({"condition", "output", "desc", "tags", "exceptions"}),
}
_REPLACEABLE = {
    "list": frozenset({"items"}),
    "macro": frozenset({"condition"}),
    "rule": _APPENDABLE["rule"]
    | {"priority", "enabled", "warn_evttypes", "skip-if-unknown-filter", "capture", "capture_duration"},
}


class RefusedError(Exception):
    """An item that Falco would not load."""

    def __init__(self, spot: Spot, check: str, message: str) -> None:
        super().__init__(message)
        self.problem = Problem(spot, check, message)


class Entry:
    """An item being read."""

    def __init__(self, node: Mapping, kind: str) -> None:
        self._node = node
        self.kind = kind
        self.spot = node.spot

    @property
    def keys(self) -> dict[str, Spot]:
        """The keys it has, with their places."""
        return self._node.keys

    def has(self, key: str) -> bool:
        """Whether it has this key."""
        return key in self._node.entries

    def text(self, key: str) -> Text:
        """The text under `key`, which must be there."""
        if not self.has(key):
            raise RefusedError(self.spot, "structure", f"a {self.kind} needs the key {key!r}")
        value = self._node.entries[key]
        if not isinstance(value, Text):
            raise RefusedError(value.spot, "structure", f"{key!r} must be a text")
        if value.null or not value.value:
            raise RefusedError(value.spot, "structure", f"{key!r} is empty")
        return value

    def truth(self, key: str, *, required: bool = False, default: bool = False) -> bool:
        """The truth value under `key`, `default` where it is not there."""
        if not required and not self.has(key):
            return default
        text = self.text(key)
        truth = text.truth()
        if truth is None:
            raise RefusedError(text.spot, "structure", f"{key!r} must be true or false, not {text.value!r}")
        return truth

    def sequence(self, key: str) -> Sequence:
        """The sequence under `key`, which must be there."""
        value = self._node.entries.get(key)
        if not isinstance(value, Sequence):
            raise RefusedError(value.spot if value else self.spot, "structure", f"{key!r} must be a sequence")
        return value

    def texts(self, key: str) -> tuple[Text, ...]:
        """The texts in the sequence under `key`, which must be there."""
        items = self.sequence(key).items
        for item in items:
            if not isinstance(item, Text):
                raise RefusedError(item.spot, "structure", f"what {key!r} holds must be texts")
        return tuple(item for item in items if isinstance(item, Text))

    def priority(self) -> Text:
        """The priority, one of those that Falco has."""
        priority = self.text("priority")
        if priority.value.lower() not in PRIORITIES:
            raise RefusedError(
                priority.spot,
                "structure",
                f"{priority.value!r} is no priority: one of {', '.join(PRIORITIES)}",
            )
        return priority

    def exceptions(self, *, complete: bool) -> tuple[RuleException, ...]:
        """The exceptions; `complete` ones must name their fields."""
        value = self._node.entries.get("exceptions")
        if value is None or (isinstance(value, Text) and value.null):
            return ()
        found: dict[str, RuleException] = {}
        for node in self.sequence("exceptions").items:
            one = Entry(mapping(node, "an exception"), "exception")
            name = one.text("name").value
            if name in found:
                raise RefusedError(one.spot, "exception", f"two exceptions of this rule are called {name!r}")
            if complete and not one.has("fields"):
                raise RefusedError(one.spot, "exception", f"exception {name!r} names no fields")
            values = one.sequence("values").items if one.has("values") else ()
            found[name] = RuleException(name, one.spot, one._columns("fields"), one._columns("comps"), values)
        return tuple(found.values())

    def _columns(self, key: str) -> Text | Sequence | None:
        value = self._node.entries.get(key)
        if isinstance(value, Mapping):
            raise RefusedError(value.spot, "exception", f"{key!r} must be a text or a sequence of texts")
        return value

    def appended(self) -> frozenset[str]:
        """The keys whose values are to be appended."""
        return self._overrides("append")

    def replaced(self) -> frozenset[str]:
        """The keys whose values are to replace others."""
        return self._overrides("replace")

    def changes(self) -> bool:
        """Whether the item changes an earlier one rather than being one."""
        return self.has("override") or self.truth("append")

    def _overrides(self, wanted: str) -> frozenset[str]:
        if not self.has("override"):
            may = {"condition", "items", "exceptions"} & self._node.keys.keys()
            return frozenset(may) if wanted == "append" and self.truth("append") else frozenset()
        if self.truth("append"):
            raise RefusedError(
                self.keys["append"], "override", "'append' and 'override' in one item: keep 'override'"
            )
        override = mapping(self._node.entries["override"], "override")
        for key, how in override.entries.items():
            self._check_override(key, how, override.keys[key])
        if self.kind == "rule":
            changeable = _REPLACEABLE["rule"]
            for key in changeable & self._node.keys.keys() - override.keys.keys():
                raise RefusedError(self.keys[key], "override", f"{key!r} is given, but not under 'override'")
        return frozenset(
            key for key, how in override.entries.items() if isinstance(how, Text) and how.value == wanted
        )

    def _check_override(self, key: str, how: Node, spot: Spot) -> None:
        allowed = {"append": _APPENDABLE, "replace": _REPLACEABLE}.get(
            how.value if isinstance(how, Text) else ""
        )
        if allowed is None:
            raise RefusedError(how.spot, "override", f"{key!r} can be overridden by append or replace only")
        if key not in allowed[self.kind]:
            raise RefusedError(spot, "override", f"{key!r} of a {self.kind} cannot be changed in this way")
        if not self.has(key):
            raise RefusedError(spot, "override", f"{key!r} is named under 'override', but not given")


def mapping(node: Node, what: str) -> Mapping:
    """`node`, if it is a mapping; else the item is refused as `what` must be one."""
    if not isinstance(node, Mapping):
        raise RefusedError(node.spot, "structure", f"{what} must be a mapping")
    return node
