"""Turns a rule's exceptions into the expressions that must not hold.

A single field is compared with all values at once (`in` unless comps says otherwise); a list of
fields with one row of values after the other. So does Falco (rule_loader_compiler.cpp).
"""

from __future__ import annotations

from scapscope.rules.condition import LISTS, OPERATORS, Expression
from scapscope.rules.definitions import RuleException
from scapscope.rules.entry import RefusedError
from scapscope.rules.parser import ConditionError, parse
from scapscope.rules.source import Node, Sequence, Text


def expression(exception: RuleException) -> Expression | None:
    """What the exception lets pass; None while it has no values. Raises RefusedError."""
    text = _columns(exception) if isinstance(exception.fields, Sequence) else _single(exception)
    if text is None:
        return None
    try:
        return parse(text)
    except ConditionError as problem:
        raise _refused(exception, f"makes no condition: {problem} in {text!r}") from None


def _single(exception: RuleException) -> str | None:
    field, comps = exception.fields, exception.comps
    operator = "in" if comps is None else comps.value if isinstance(comps, Text) else ""
    if not isinstance(field, Text) or operator not in LISTS:
        raise _refused(exception, "has one field: comps must be one of in, intersects, pmatch")
    values = [_quoted(_text(exception, value)) for value in exception.values]
    return f"{field.value} {operator} ({', '.join(values)})" if values else None


def _columns(exception: RuleException) -> str | None:
    fields = _texts(exception, exception.fields)
    operators = ["="] * len(fields) if exception.comps is None else _texts(exception, exception.comps)
    if len(fields) != len(operators):
        raise _refused(exception, f"has {len(fields)} fields, but {len(operators)} comps")
    for operator in operators:
        if operator not in OPERATORS:
            raise _refused(exception, f"compares by {operator!r}, which is no operator")
    rows = []
    for row in exception.values:
        if not isinstance(row, Sequence) or len(row.items) != len(fields):
            raise _refused(exception, f"has a row of values that is not a list of {len(fields)}", row)
        checks = [
            f"{field} {operator} {_value(exception, value, operator)}"
            for field, operator, value in zip(fields, operators, row.items, strict=True)
        ]
        rows.append(f"({' and '.join(checks)})")
    return " or ".join(rows) if rows else None


def _value(exception: RuleException, value: Node, operator: str) -> str:
    if isinstance(value, Sequence):
        return f"({', '.join(_quoted(_text(exception, item)) for item in value.items)})"
    text = _text(exception, value)
    if operator in LISTS:
        return text if text.startswith("(") else f"({text})"
    return _quoted(text)


def _texts(exception: RuleException, node: Node | None) -> list[str]:
    if not isinstance(node, Sequence):
        raise _refused(exception, "mixes a list and a single text in fields and comps")
    return [_text(exception, item) for item in node.items]


def _text(exception: RuleException, node: Node) -> str:
    if not isinstance(node, Text):
        raise _refused(exception, "has a value that is not a text", node)
    return node.value


def _quoted(text: str) -> str:
    return f'"{text}"' if " " in text and text[0] not in "\"'" else text


def _refused(exception: RuleException, message: str, node: Node | None = None) -> RefusedError:
    return RefusedError(
        node.spot if node else exception.spot, "exception", f"exception {exception.name!r} {message}"
    )
