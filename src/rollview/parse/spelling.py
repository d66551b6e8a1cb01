"""Changes to the tokens of a text before they are parsed, where Spark's spelling is not what sqlglot's parser expects.

sqlglot's parsers may be compiled classes, which allow no subclasses, so what they do not know is settled among the
tokens, and in the trees afterwards (``tree.py``).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from sqlglot import TokenType, exp
from sqlglot.errors import ParseError
from sqlglot.parsers.spark import SparkParser
from sqlglot.tokenizer_core import Token

_OPENS = {TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE}
_CLOSES = {TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE}

#: Clauses that other dialects allow after the argument of an aggregate.
_CLAUSES = {TokenType.ORDER_BY, TokenType.LIMIT, TokenType.HAVING}

#: A value follows these tokens, so LIMIT is a name there.
_BEFORE_VALUES = {TokenType.L_PAREN, TokenType.COMMA, TokenType.DISTINCT}

#: An expression begins after these words; after any other word, a colon begins a path into the value of that name.
_BEFORE_EXPRESSIONS = {
    "ALL", "AND", "BETWEEN", "BY", "CASE", "DEFAULT", "DISTINCT", "DIV", "ELSE", "ESCAPE", "FOR", "FROM", "HAVING",
    "ILIKE", "IN", "INTERVAL", "LIKE", "LIMIT", "NOT", "OF", "OFFSET", "ON", "OR", "QUALIFY", "RANGE", "REGEXP",
    "RETURN", "RLIKE", "ROWS", "SELECT", "SET", "THEN", "VALUES", "WHEN", "WHERE",
}  # fmt: skip

#: After these words, too, a bracket does not hold the arguments of a function.
_BEFORE_BRACKETS = {
    "ANY", "AS", "EXCEPT", "EXISTS", "GROUP", "INTERSECT", "IS", "JOIN", "LATERAL", "MINUS", "OVER", "SOME", "TABLE",
    "UNION", "USING", "WITH",
}  # fmt: skip

_VALUES = {TokenType.IDENTIFIER, TokenType.NUMBER}

#: What a bracket holds if it is a subquery.
_QUERIES = {TokenType.SELECT, TokenType.WITH, TokenType.FROM, TokenType.VALUES, TokenType.TABLE}

#: A string that begins so stands for a path into a VARIANT; it cannot be part of a statement.
_PATH = "\0path\0"


def doubled_quotes(tokens: list[Token], sql: str) -> list[Token]:
    """Joins the tokens of ``'it''s'``: it is one string, *it's*, but sqlglot reads two."""
    found: list[Token] = []
    for token in tokens:
        last = found[-1] if found else None
        strings = last is not None and token.token_type is last.token_type is TokenType.STRING
        if last is not None and strings and token.start == last.end + 1 and sql[last.end] == sql[token.start]:
            last.text = f"{last.text}{sql[token.start]}{token.text}"
            last.end = token.end
        else:
            found.append(token)
    return found


def window_is_a_name(tokens: list[Token]) -> None:
    """Reads WINDOW as a name in ``window(t, '1 hour')`` and ``window.start``: it begins a clause only before a name."""
    for token, after in pairwise(tokens):
        if token.token_type is TokenType.WINDOW and after.token_type in (TokenType.L_PAREN, TokenType.DOT):
            token.token_type = TokenType.VAR


def refuse_clauses_in_calls(tokens: Sequence[Token], sql: str) -> None:
    """Raises sqlglot's error for ``sum(x ORDER BY y)`` and the like: no call has these clauses in Spark."""
    brackets: list[bool] = []  # for each open bracket, whether it is a call
    for i, token in enumerate(tokens):
        kind = token.token_type
        if kind in _OPENS:
            after = tokens[i + 1].token_type if i + 1 < len(tokens) else None
            called = kind is TokenType.L_PAREN and i > 0 and _is_function(tokens[i - 1])
            brackets.append(called and after not in _QUERIES)
        elif kind in _CLOSES:
            if brackets:
                brackets.pop()
        elif kind in _CLAUSES and brackets and brackets[-1] and tokens[i - 1].token_type not in _BEFORE_VALUES:
            raise _error(f"Spark knows no {token.text.upper()} inside the call of a function", token, sql)


def _is_function(token: Token) -> bool:
    word = token.text.upper()
    return word.isidentifier() and word not in _BEFORE_EXPRESSIONS and word not in _BEFORE_BRACKETS


def _error(what: str, token: Token, sql: str) -> ParseError:
    return ParseError.new(
        what, description=what, line=token.line, col=token.col, highlight=sql[token.start : token.end + 1]
    )


@dataclass(frozen=True)
class Path:
    """A path into a VARIANT, ``$["a"]["b"][0]``, and the key that it ends with, unless it ends with a position."""

    text: str
    last: str | None


def paths_in_brackets(tokens: list[Token]) -> list[Token]:
    """The tokens with ``v:a.b[0]`` as ``v['…']``, whose string stands for the path: sqlglot's parser of Spark reads no
    colon after a value."""
    found: list[Token] = []
    types = i = 0  # in how many brackets of STRUCT<…> we are
    while i < len(tokens):
        token, kind = tokens[i], tokens[i].token_type
        if kind is TokenType.LT and (types or (found and found[-1].token_type is TokenType.STRUCT)):
            types += 1
        elif kind is TokenType.GT and types:
            types -= 1
        if kind is TokenType.COLON and not types and found and ends_value(found[-1].text, found[-1].token_type):
            parts, end = _steps(tokens, i + 1)
            if parts:
                found += _bracket(parts, token, tokens[end - 1])
                i = end
                continue
        found.append(token)
        i += 1
    return found


def path_of(node: exp.Bracket) -> Path | None:
    """The path that a bracket stands for."""
    items = node.expressions
    text = items[0].this if len(items) == 1 and isinstance(items[0], exp.Literal) and items[0].is_string else ""
    if not text.startswith(_PATH):
        return None
    last, path = text.removeprefix(_PATH).split("\0")
    return Path(path, last or None)


def ends_value(text: str, kind: TokenType) -> bool:
    """Whether a value or a name ends with a token, so that a colon after it is no parameter but a path or a type."""
    if kind in _VALUES or kind in _CLOSES or kind.name.endswith("STRING"):
        return True
    return text.isidentifier() and text.upper() not in _BEFORE_EXPRESSIONS


def _steps(tokens: Sequence[Token], first: int) -> tuple[list[Token], int]:
    """The keys and positions of a path that begins with a token, and the token after it."""
    parts, i = [], first
    for step, token in _grouped(tokens, first):
        parts.append(token)
        i = step
    return parts, i


def _grouped(tokens: Sequence[Token], i: int) -> Iterator[tuple[int, Token]]:
    """Each key or position of a path, with the place after it."""
    kinds = [token.token_type for token in tokens[i : i + 2]]
    if not (kinds and _is_key(tokens[i])):
        return
    yield i + 1, tokens[i]
    i += 1
    while i + 1 < len(tokens):
        if tokens[i].token_type is TokenType.DOT and _is_key(tokens[i + 1]):
            yield i + 2, tokens[i + 1]
            i += 2
        elif _is_subscript(tokens[i : i + 3]):
            yield i + 3, tokens[i + 1]
            i += 3
        else:
            return


def _is_key(token: Token) -> bool:
    return token.token_type is TokenType.IDENTIFIER or token.token_type in SparkParser.ID_VAR_TOKENS


def _is_subscript(tokens: Sequence[Token]) -> bool:
    kinds = [token.token_type for token in tokens]
    return kinds in (
        [TokenType.L_BRACKET, TokenType.NUMBER, TokenType.R_BRACKET],
        [TokenType.L_BRACKET, TokenType.STRING, TokenType.R_BRACKET],
    )


def _bracket(parts: Sequence[Token], first: Token, last: Token) -> list[Token]:
    steps = [f"[{part.text}]" if part.token_type is TokenType.NUMBER else f'["{part.text}"]' for part in parts]
    named = "" if parts[-1].token_type is TokenType.NUMBER else parts[-1].text
    text = f"{_PATH}{named}\0${''.join(steps)}"
    return [
        _like(first, TokenType.L_BRACKET, "["),
        _like(last, TokenType.STRING, text),
        _like(last, TokenType.R_BRACKET, "]"),
    ]


def _like(token: Token, kind: TokenType, text: str) -> Token:
    return Token(kind, text, token.line, token.col, token.start, token.end)
