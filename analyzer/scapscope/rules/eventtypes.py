"""Which event types a condition can match: what Falco has to switch on for it.

Only evt.type decides, as in libs (userspace/libsinsp/filter/ppm_codes.cpp); every other check may be
true or false for any event.
"""

from __future__ import annotations

from dataclasses import dataclass

from scapscope.rules.condition import And, Check, Expression, Field, Macro, Not, Or


@dataclass(frozen=True, slots=True)
class EventTypes:
    """These types; or, if `others`, every type but these."""

    names: frozenset[str]
    others: bool = False

    def __and__(self, more: EventTypes) -> EventTypes:
        match self.others, more.others:
            case True, True:
                return EventTypes(self.names | more.names, others=True)
            case True, False:
                return EventTypes(more.names - self.names)
            case False, True:
                return EventTypes(self.names - more.names)
        return EventTypes(self.names & more.names)

    def __or__(self, more: EventTypes) -> EventTypes:
        return ~(~self & ~more)

    def __invert__(self) -> EventTypes:
        return EventTypes(self.names, not self.others)


ANY = EventTypes(frozenset(), others=True)


def event_types(expression: Expression) -> EventTypes:
    """The types of the events for which an expanded expression can be true."""
    return _both(expression)[0]


def _both(expression: Expression) -> tuple[EventTypes, EventTypes]:
    """The types for which it can be true, and those for which it can be false."""
    match expression:
        case Check(left=Field(name="evt.type"), operator="=" | "==" | "in" | "!=" as operator):
            named = EventTypes(frozenset(word.text for word in expression.words()))
            return (~named, named) if operator == "!=" else (named, ~named)
        case Not(inner):
            true, false = _both(inner)
            return false, true
        case And(parts):
            true, false = ANY, EventTypes(frozenset())
            for part in parts:
                one, other = _both(part)
                true, false = true & one, false | other
            return true, false
        case Or(parts):
            true, false = EventTypes(frozenset()), ANY
            for part in parts:
                one, other = _both(part)
                true, false = true | one, false & other
            return true, false
        case Check() | Macro():
            return ANY, ANY
