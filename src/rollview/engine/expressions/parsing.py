"""Strings read as values by CAST, as Spark reads them under ANSI."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial

import pyarrow as pa

from rollview.engine.expressions.refused import EvaluationFailed
from rollview.engine.expressions.terms import Function
from rollview.engine.expressions.types import BOOLEAN, DATE, INTEGERS, STRING, Type, greatest, least

INVALID = "CAST_INVALID_INPUT"

#: What is trimmed: Java's whitespace and control characters.
_BLANK = "".join(map(chr, [*range(0x21), *range(0x7F, 0xA0)]))
_TRUE, _FALSE = ("t", "true", "y", "yes", "1"), ("f", "false", "n", "no", "0")
_INTEGER = re.compile(r"[+-]?[0-9]+")
_DATE = re.compile(r"([+-]?)([0-9]{4,7})(?:-([0-9]{1,2})(?:-([0-9]{1,2})(?:[ T].*)?)?)?", re.DOTALL)


def integer(value: str, kind: Type) -> int:
    found = int(value) if _INTEGER.fullmatch(value) else None
    if found is None or not least(kind) <= found <= greatest(kind):
        raise EvaluationFailed(INVALID)
    return found


def boolean(value: str) -> bool:
    low = value.lower()
    if low not in _TRUE + _FALSE:
        raise EvaluationFailed(INVALID)
    return low in _TRUE


def date(value: str) -> int:
    """The days since 1970. A year, or a year and month, is its first day; what follows a day is ignored."""
    match = _DATE.fullmatch(value)
    if match is None:
        raise EvaluationFailed(INVALID)
    year, month, day = int(match[1] + match[2]), int(match[3] or 1), int(match[4] or 1)
    if not (1 <= month <= 12 and 1 <= day <= _length(year, month)):
        raise EvaluationFailed(INVALID)
    return days(year, month, day)


def _length(year: int, month: int) -> int:
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    return 28 + leap if month == 2 else 30 + (month in (1, 3, 5, 7, 8, 10, 12))


def days(year: int, month: int, day: int) -> int:
    """The days from 1970 to a day of the Gregorian calendar, in any year."""
    shifted = year - (month <= 2)  # a year that begins in March ends with the day that leap years add
    passed = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    return 365 * shifted + shifted // 4 - shifted // 100 + shifted // 400 + passed - 719468


def _parsed(parse: Callable[[str], object], arrow: pa.DataType, given: pa.Array) -> pa.Array:
    return pa.array([parse(value.strip(_BLANK)) for value in given.to_pylist()], arrow)


def _days(given: pa.Array) -> pa.Array:
    return _parsed(date, pa.int32(), given).cast(pa.date32())


def parser(kind: Type) -> Function | None:
    """The function that reads strings as values of a type; None if that is not on the list."""
    if kind in INTEGERS:
        return Function(f"rv_to_{kind}", partial(_parsed, partial(integer, kind=kind), kind.arrow), (STRING,), kind)
    if kind == BOOLEAN:
        return Function("rv_to_boolean", partial(_parsed, boolean, pa.bool_()), (STRING,), kind)
    return Function("rv_to_date", _days, (STRING,), kind) if kind == DATE else None
