"""Turns the text of a Falco condition into an expression, or says at which offset it cannot be one."""

from __future__ import annotations

import re

from scapscope.rules.condition import (
    BARE_WORD,
    FUNCTIONS,
    LISTS,
    NUMERIC,
    TEXTUAL,
    UNARY,
    And,
    Call,
    Check,
    Expression,
    Field,
    Macro,
    Not,
    Operand,
    Or,
    Word,
    Words,
)

_BLANK = re.compile(r"\s*")
_FIELD = re.compile(r"[a-zA-Z]\w*(?:\.[a-zA-Z]\w*)+", re.ASCII)
_NAME = re.compile(r"[a-zA-Z]\w*", re.ASCII)
_NUMBER = re.compile(r"0[xX][0-9a-fA-F]+|[+-]?[0-9]+\.?[0-9]*(?:[eE][+-][0-9]+)?")
_QUOTED = re.compile(r'"((?:\\.|[^"\\])*)"|\'((?:\\.|[^\'\\])*)\'', re.DOTALL)
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_ARGUMENT = re.compile(r"[^\s\[\]\"']+")
_SYMBOL = re.compile(r"==|!=|<=|>=|=|<|>")
_KEYWORDS = frozenset({"and", "or", "not"})
_DEEPEST = 100
"""libs refuses deeper nesting (set_max_depth's default)."""


class ConditionError(ValueError):
    """A text that is no condition; `at` is the offset of what is wrong."""

    def __init__(self, message: str, at: int) -> None:
        super().__init__(message)
        self.at = at


def parse(text: str) -> Expression:
    """The expression that `text` is. Raises ConditionError."""
    reader = _Reader(text)
    expression = reader.expression(depth=0)
    reader.end("expected 'and', 'or' or the end of the condition")
    return expression


def parse_words(text: str) -> tuple[Word, ...]:
    """The values of a comma-separated list without its parentheses. Raises ConditionError."""
    reader = _Reader(f"({text})")
    try:
        words = reader.words()
        reader.end("expected ',' or the end of the list")
    except ConditionError as problem:
        raise ConditionError(str(problem), max(0, problem.at - 1)) from None
    return tuple(word for word in words.words if isinstance(word, Word))


class _Reader:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._blank()

    def expression(self, depth: int) -> Expression:
        at = self._at
        if depth > _DEEPEST:
            raise ConditionError(f"nested deeper than {_DEEPEST} levels", at)
        parts = [self._conjunction(depth)]
        while self._keyword("or"):
            parts.append(self._conjunction(depth))
        return parts[0] if len(parts) == 1 else Or(tuple(parts), at)

    def end(self, expected: str) -> None:
        if self._at < len(self._text):
            raise ConditionError(f"{expected}, found {self._next()!r}", self._at)

    def words(self) -> Words:
        at = self._at
        self._symbol("(", "expected '('")
        words: list[Operand] = []
        if not self._symbol(")"):
            words.append(self._word())
            while self._symbol(","):
                words.append(self._word())
            self._symbol(")", "expected ',' or ')'")
        return Words(tuple(words), at)

    def _conjunction(self, depth: int) -> Expression:
        at = self._at
        parts = [self._negation(depth)]
        while self._keyword("and"):
            parts.append(self._negation(depth))
        return parts[0] if len(parts) == 1 else And(tuple(parts), at)

    def _negation(self, depth: int) -> Expression:
        at = self._at
        if self._keyword("not"):
            if depth > _DEEPEST:
                raise ConditionError(f"nested deeper than {_DEEPEST} levels", at)
            return Not(self._negation(depth + 1), at)
        if self._symbol("("):
            inner = self.expression(depth + 1)
            self._symbol(")", "expected 'and', 'or' or ')'")
            return inner
        return self._check_or_macro()

    def _check_or_macro(self) -> Expression:
        at = self._at
        if (left := self._field() or self._call()) is not None:
            return self._check(left, at)
        name = self._match(_NAME)
        if name is None or name in _KEYWORDS:
            raise ConditionError(f"expected a field, a macro, 'not' or '(', found {self._next(at)!r}", at)
        self._blank()
        if self._peek(_SYMBOL) or self._peek_word() in LISTS | TEXTUAL | UNARY:
            raise ConditionError(f"{name!r} is no field: a field's name has a dot", at)
        return Macro(name, at)

    def _check(self, left: Field | Call, at: int) -> Check:
        operator = self._operator()
        if operator in UNARY:
            return Check(left, operator, None, at)
        right: Operand
        if (call := self._call()) is not None:
            right = call
        elif operator in NUMERIC:
            right = self._number()
        elif operator in LISTS and self._peek_character() == "(":
            right = self.words()
        else:
            right = self._word()
        return Check(left, operator, right, at)

    def _operator(self) -> str:
        at = self._at
        symbol = self._match(_SYMBOL)
        operator = symbol or self._peek_word()
        if operator not in LISTS | TEXTUAL | UNARY | NUMERIC:
            raise ConditionError(f"expected an operator, found {self._next()!r}", at)
        if symbol is None:
            self._at += len(operator)
        self._blank()
        return operator

    def _field(self) -> Field | None:
        at = self._at
        name = self._match(_FIELD)
        if name is None:
            return None
        argument = None
        if self._peek_character() == "[":
            self._at += 1
            quoted = self._quoted()
            argument = quoted.text if quoted else self._match(_ARGUMENT)
            if argument is None or self._peek_character() != "]":
                raise ConditionError(f"the argument of {name} does not end in ']'", at)
            self._at += 1
        self._blank()
        return Field(name, argument, at)

    def _call(self) -> Call | None:
        at = self._at
        name = self._match(_NAME)
        if name not in FUNCTIONS or self._peek_character() != "(":
            self._at = at
            return None
        self._symbol("(")
        arguments = [self._argument()]
        while self._symbol(","):
            arguments.append(self._argument())
        self._symbol(")", "expected ',' or ')'")
        return Call(name, tuple(arguments), at)

    def _argument(self) -> Operand:
        if self._symbol("("):
            at = self._at
            inner = [self._argument()]
            while self._symbol(","):
                inner.append(self._argument())
            self._symbol(")", "expected ',' or ')'")
            return Words(tuple(inner), at)
        return self._field() or self._call() or self._word()

    def _number(self) -> Word:
        at = self._at
        number = self._match(_NUMBER)
        if number is None:
            raise ConditionError(f"expected a number, found {self._next()!r}", at)
        self._blank()
        return Word(number, at=at)

    def _word(self) -> Word:
        at = self._at
        if (quoted := self._quoted()) is not None:
            self._blank()
            return quoted
        bare = self._match(BARE_WORD)
        if bare is None:
            if self._peek_character() in {'"', "'"}:
                raise ConditionError("a quoted value that does not end", at)
            raise ConditionError(f"expected a value, found {self._next()!r}", at)
        self._blank()
        return Word(bare, at=at)

    def _quoted(self) -> Word | None:
        found = _QUOTED.match(self._text, self._at)
        if found is None:
            return None
        at, self._at = self._at, found.end()
        return Word(_ESCAPED.sub(r"\1", found[1] if found[1] is not None else found[2]), quoted=True, at=at)

    def _keyword(self, keyword: str) -> bool:
        """Take `keyword` where it stands as a word of its own."""
        if self._peek_word() != keyword:
            return False
        self._at += len(keyword)
        self._blank()
        return True

    def _symbol(self, symbol: str, otherwise: str | None = None) -> bool:
        if self._text.startswith(symbol, self._at):
            self._at += len(symbol)
            self._blank()
            return True
        if otherwise is not None:
            raise ConditionError(f"{otherwise}, found {self._next()!r}", self._at)
        return False

    def _match(self, pattern: re.Pattern[str]) -> str | None:
        found = pattern.match(self._text, self._at)
        if found is None:
            return None
        self._at = found.end()
        return found[0]

    def _peek(self, pattern: re.Pattern[str]) -> bool:
        return pattern.match(self._text, self._at) is not None

    def _peek_word(self) -> str:
        found = _NAME.match(self._text, self._at)
        if found is None or self._text[found.end() : found.end() + 1] in {".", "-", "["}:
            return ""
        return found[0]

    def _peek_character(self) -> str:
        return self._text[self._at : self._at + 1]

    def _blank(self) -> None:
        found = _BLANK.match(self._text, self._at)
        self._at = found.end() if found else self._at

    def _next(self, at: int | None = None) -> str:
        """What stands there, for a message."""
        rest = self._text[self._at if at is None else at :].lstrip()
        return rest.split(maxsplit=1)[0][:40] if rest else "the end"
