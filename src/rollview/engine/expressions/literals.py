"""Literals: numbers, strings, binaries, dates and times as Spark's parser types them."""

from __future__ import annotations

import datetime
import re
from decimal import Decimal

from rollview.engine.expressions.arrow import constant
from rollview.engine.expressions.refused import Refused
from rollview.engine.expressions.terms import Literal, Term, text
from rollview.engine.expressions.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    INTEGERS,
    MAX_PRECISION,
    NTZ,
    STRING,
    TIMESTAMP,
    Type,
    decimal,
    greatest,
    least,
)

#: Larger numbers are refused as literals: they could be infinite.
_MOST_DOUBLE = 1e300
#: Where the count of a moment's microseconds starts.
_START = datetime.datetime(1970, 1, 1)


def literal(value: Literal, kind: Type) -> Term:
    """A value of a type."""
    return Term(kind, _sql(value, kind), literal=value, entries=frozenset({"literal"}), arrow=constant(value, kind))


def _sql(value: Literal, kind: Type) -> str:
    if kind == BOOLEAN:
        return "true" if value else "false"
    if kind == STRING:
        return f"CAST({_text(str(value))} AS VARCHAR)"
    if kind == BINARY:
        return f"from_hex('{bytes(value).hex()}')" if isinstance(value, bytes) else ""
    if isinstance(value, datetime.datetime):
        micros = (value.replace(tzinfo=None) - _START) // datetime.timedelta(microseconds=1)
        return f"make_timestamptz({micros}::BIGINT)" if kind == TIMESTAMP else f"make_timestamp({micros}::BIGINT)"
    if isinstance(value, Decimal):
        return f"CAST('{value:f}' AS {kind.duck})"
    return f"CAST('{value!s}' AS {kind.duck})"


def _text(value: str) -> str:
    """DuckDB's SQL text cannot hold a NUL."""
    return " || chr(0) || ".join(map(text, value.split("\x00")))


def number(written: str, negative: bool = False) -> Term:
    """A number without a suffix: an INT, BIGINT or DECIMAL, or a DOUBLE if it has an exponent."""
    sign = "-" if negative else ""
    if re.fullmatch(r"\d+", written):
        value = int(sign + written)
        for kind in (INT, BIGINT):
            if least(kind) <= value <= greatest(kind):
                return literal(value, kind)
    elif "e" in written.lower():
        return literal(float(sign + written), DOUBLE)
    return exact(sign + written)


def exact(written: str) -> Term:
    """A decimal of as many digits as are written."""
    value = Decimal(written)
    digits = value.as_tuple()
    scale = max(0, -int(digits.exponent))
    precision = max(len(digits.digits) + max(0, int(digits.exponent)), scale)
    if precision > MAX_PRECISION:
        raise Refused(f"The number {written}", why="it has more than 38 digits")
    return literal(value, decimal(precision, scale))


def suffixed(value: Term, kind: Type) -> Term | None:
    """A literal cast to another type, if that is another literal without rounding: 1L, 1.5D, DATE '2020-01-01'."""
    given = value.literal
    if isinstance(given, str):
        return _from_text(given, kind)
    if kind in INTEGERS and value.type in INTEGERS and isinstance(given, int):
        return literal(given, kind) if least(kind) <= given <= greatest(kind) else None
    if kind == DOUBLE and isinstance(given, int | Decimal | float) and value.type != FLOAT:
        return literal(float(given), DOUBLE) if abs(float(given)) < _MOST_DOUBLE else None
    return None


_DATE = re.compile(r"(\d{4})-(\d\d)-(\d\d)")
_TIME = re.compile(r"(\d{4}-\d\d-\d\d)[ T](\d\d):(\d\d):(\d\d)(?:\.(\d{1,6}))?(Z|[+-]\d\d:\d\d)?")


def _from_text(given: str, kind: Type) -> Term | None:
    if kind.is_decimal and re.fullmatch(r"-?\d+(\.\d+)?", given):
        value = Decimal(given)
        fits = -int(value.as_tuple().exponent) <= kind.scale and abs(value) < Decimal(10) ** (
            kind.precision - kind.scale
        )
        return literal(value, kind) if fits else None
    if kind not in (DATE, TIMESTAMP, NTZ):
        return None
    try:
        if kind == DATE:
            return literal(datetime.date.fromisoformat(given), DATE) if _DATE.fullmatch(given) else None
        return _moment(given, kind)
    except ValueError:  # such as the 30th of February
        return None


def _moment(given: str, kind: Type) -> Term | None:
    match = _TIME.fullmatch(given if not _DATE.fullmatch(given) else f"{given} 00:00:00")
    if match is None or match[1] is None:
        return None
    day = datetime.date.fromisoformat(match[1])
    micros = int((match[5] or "").ljust(6, "0"))
    value = datetime.datetime(day.year, day.month, day.day, int(match[2]), int(match[3]), int(match[4]), micros)
    if (zone := match[6]) is None:
        return literal(value, NTZ)  # a moment of the session's zone, if it is to be a TIMESTAMP
    if kind == NTZ:
        return None
    if zone != "Z":
        sign = -1 if zone[0] == "-" else 1
        value -= sign * datetime.timedelta(hours=int(zone[1:3]), minutes=int(zone[4:6]))
    return literal(value, TIMESTAMP)
