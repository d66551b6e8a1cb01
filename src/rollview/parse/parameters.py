"""Parameters of SQL text: ``:name`` and ``?``, replaced by literals of the values that are given for them.

The literals become part of the text, so a parameter is allowed wherever a literal is, in every kind of statement and on
every engine; the stored query of a view holds the values it was created with. Markers are found among the tokens of the
text. So there are no markers in strings, quoted names and comments, and neither are the colons of
``x::INT``, ``v:path`` and ``STRUCT<a: INT>``.
"""

from __future__ import annotations

import datetime
import decimal
import math
import numbers
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlglot import TokenType

from rollview.errors import Place, UserError, nearest
from rollview.parse.spelling import ends_value
from rollview.parse.tokens import SqlTokens, Word

#: Values by name, for ``:name``, or in the order of the text, for ``?``.
Args = Mapping[str, Any] | Sequence[Any]

_MOMENTS = (("OF", "TIMESTAMP"), ("OF", "POSITION"))  # REFRESH MATERIALIZED VIEW v AS OF TIMESTAMP :time

_MOST_DIGITS = 38

#: An interval is a number of microseconds of 64 bits.
_MOST_MICROS = 2**63 - 1

#: The characters that a string cannot hold if it has no escapes.
_CODES = {"'": "chr(39)", "\\": "chr(92)"}


@dataclass(frozen=True)
class Marker:
    """A place that needs a value: by ``name``, or by position if the name is None."""

    name: str | None
    start: int
    stop: int


def markers(sql: str) -> list[Marker]:
    """The parameter markers of a text, from left to right."""
    tokens = SqlTokens.of(sql).tokens
    found = []
    for i, token in enumerate(tokens):
        if token.kind is TokenType.PLACEHOLDER and token.text == "?":
            found.append(Marker(None, token.start, token.stop))
        elif token.kind is TokenType.COLON and i + 1 < len(tokens):
            named = tokens[i + 1]
            if named.nameable and named.start == token.stop and not _ends_value(tokens[:i][-2:]):
                found.append(Marker(named.text.replace("``", "`"), token.start, named.stop))
    return found


def _ends_value(before: Sequence[Word]) -> bool:
    """Whether a value or a name ends with these tokens, so that a colon after them is a path or a type."""
    if not before or tuple(word.text.upper() for word in before) in _MOMENTS:
        return False
    return ends_value(before[-1].text, before[-1].kind)


def bound(statements: Sequence[str], args: Args, raw: Callable[[], bool] = lambda: False) -> list[str]:
    """The statements with the markers replaced by literals. Named values are shared by all statements; positional ones
    are taken in order, from the first statement to the last. Every marker needs a value; values without a
    marker are ignored, as ``spark.sql`` ignores them. ``raw`` returns whether the session reads a backslash in a string
    as a plain character; it is called only if that matters."""
    named = isinstance(args, Mapping)
    if isinstance(args, str | bytes) or not isinstance(args, Mapping | Sequence):
        raise UserError(
            f"Parameters cannot be given as {type(args).__name__}",
            todo="pass a dict for :name markers, or a list for ? markers",
        )
    given: Iterable[tuple[Any, Any]] = args.items() if isinstance(args, Mapping) else enumerate(args)
    left = {which: literal(value, _what(which), raw) for which, value in given}
    position = 0
    out = []
    for sql in statements:
        parts, at = [], 0
        for marker in markers(sql):
            which = position if marker.name is None else marker.name
            if named is (marker.name is None) or which not in left:
                raise _missing(sql, marker, args)
            position += 1
            parts += [sql[at : marker.start], _apart(left[which], sql[: marker.start], sql[marker.stop :])]
            at = marker.stop
        out.append("".join([*parts, sql[at:]]))
    return out


def _apart(text: str, before: str, after: str) -> str:
    """A literal, with spaces that keep it apart from adjacent words: ``LIMIT:n``."""
    left = " " if re.search(r"\w$", before) else ""
    return left + text + (" " if re.match(r"\w", after) else "")


def _what(which: object) -> str:
    """The name of a parameter in error messages."""
    return f":{which}" if isinstance(which, str) else f"? number {which + 1}" if isinstance(which, int) else repr(which)


def _missing(sql: str, marker: Marker, args: Args) -> UserError:
    where = Place(sql, marker.start, marker.stop)
    named = isinstance(args, Mapping)
    if named and marker.name is None:
        return UserError(
            "There is no value for a ? marker",
            where=where,
            why="the values are given by name",
            todo="write :name, or pass the values as a list; a text uses either names or positions",
        )
    if not named and marker.name is not None:
        return UserError(
            f"There is no value for :{marker.name}",
            where=where,
            why="the values are given by position",
            todo="write ?, or pass the values as a dict; a text uses either names or positions",
        )
    if marker.name is None:
        why = f"{len(args)} value{' is' if len(args) == 1 else 's are'} given, and the text has more ? markers"
        return UserError("There is no value for a ? marker", where=where, why=why, todo="pass one value per marker")
    known = [str(name) for name in args]
    why = f"values are given for {', '.join(known)}" if known else "no values are given"
    return UserError(f"There is no value for :{marker.name}", where=where, why=why, todo=nearest(marker.name, known))


def literal(value: Any, what: str = "the parameter", raw: Callable[[], bool] = lambda: False) -> str:
    """A value as a literal of Spark SQL that has the value's type. ``raw``: as for ``bound``."""
    if value is None:
        return "NULL"
    if isinstance(value, bool) or type(value).__name__ == "bool_":
        return "TRUE" if value else "FALSE"
    if isinstance(value, numbers.Integral):
        return _integer(int(value), what)
    if isinstance(value, float):
        return _double(float(value))
    if isinstance(value, decimal.Decimal):
        return _decimal(value, what)
    if isinstance(value, str):
        return _string(str.__str__(value), raw)
    if isinstance(value, bytes | bytearray | memoryview):
        return f"X'{bytes(value).hex()}'"
    if isinstance(value, datetime.datetime):
        return f"TIMESTAMP'{datetime.datetime.isoformat(value, ' ')}'"
    if isinstance(value, datetime.date):
        return f"DATE'{value.isoformat()}'"
    if isinstance(value, datetime.timedelta):
        return _interval(value, what)
    if isinstance(value, Mapping):
        pairs = [literal(item, what, raw) for pair in value.items() for item in pair]
        return f"map({', '.join(pairs)})"
    fields = _fields(value)
    if fields is not None:
        pairs = [f"{_string(name, raw)}, {literal(item, what, raw)}" for name, item in fields.items()]
        return f"named_struct({', '.join(pairs)})"
    if isinstance(value, list | tuple):
        return f"array({', '.join(literal(item, what, raw) for item in value)})"
    raise UserError(
        f"A {type(value).__name__} cannot be the value of {what}",
        why="there is no SQL literal for it",
        todo="pass a number, str, bool, None, bytes, date, datetime, timedelta, Decimal, or a list or dict of these",
    )


def _fields(value: Any) -> Mapping[str, Any] | None:
    """The fields of a row: a named tuple, or a Row of Spark."""
    for name in ("asDict", "_asdict"):
        if isinstance(value, tuple) and callable(method := getattr(value, name, None)):
            found: Mapping[str, Any] = method()
            return found
    return None


def _integer(value: int, what: str) -> str:
    if abs(value) >= 10**_MOST_DIGITS:
        raise _too_long(what)
    return _signed(str(value))


def _double(value: float) -> str:
    if not math.isfinite(value):
        name = "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
        return f"CAST('{name}' AS DOUBLE)"
    text = float.__repr__(value)
    return _signed(text + ("D" if "e" in text else "E0D"))  # with an exponent, no engine reads it as a decimal


def _decimal(value: decimal.Decimal, what: str) -> str:
    _, digits, exponent = value.as_tuple()
    if not isinstance(exponent, int):
        raise UserError(f"{value} cannot be the value of {what}", why="a DECIMAL is a finite number")
    scale = max(0, -exponent)
    precision = max(len(digits) + max(0, exponent), scale, 1)
    if precision > _MOST_DIGITS:
        raise _too_long(what)
    return f"CAST({_signed(format(value, 'f'))} AS DECIMAL({precision}, {scale}))"


def _too_long(what: str) -> UserError:
    return UserError(f"The value of {what} has too many digits", why=f"a number in SQL has at most {_MOST_DIGITS}")


def _signed(number: str) -> str:
    """A number in parentheses if it is negative: two minus signs in a row would begin a comment."""
    return f"({number})" if number.startswith("-") else number


def _interval(value: datetime.timedelta, what: str) -> str:
    """An interval of days to seconds. It is written in seconds alone, which every engine reads."""
    micros = value // datetime.timedelta(microseconds=1)
    if abs(micros) > _MOST_MICROS:
        raise UserError(f"The value of {what} is too long an interval", why="an interval has at most 106751991 days")
    sign, whole, part = "-" if micros < 0 else "", *divmod(abs(micros), 1_000_000)
    return f"CAST(INTERVAL '{sign}{whole}.{part:06}' SECOND AS INTERVAL DAY TO SECOND)"


def _string(value: str, raw: Callable[[], bool]) -> str:
    """A string literal. Spark replaces ``${name}`` even in a string, so the two characters are kept apart."""
    if re.search(r"['\\]", value) and raw():  # no string can have a quote or end with a backslash then
        pieces = [_CODES.get(piece, f"'{piece}'") for piece in re.split(r"(['\\])|(?<=\$)(?=\{)", value) if piece]
    else:
        split = re.split(r"(?<=\$)(?=\{)", value)
        pieces = ["'" + re.sub(r"(['\\])", r"\\\1", piece) + "'" for piece in split]
    return pieces[0] if len(pieces) == 1 else f"concat({', '.join(pieces)})"
