"""CAST, from one type to another. Under ANSI, a value that does not fit is an error.

Not on the list: a float as text or as a decimal, which depends on how Java prints floats, and text as a float, a
decimal or a time, which Java reads in many forms.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pyarrow as pa

from rollview.engine.expressions.arrow import widened
from rollview.engine.expressions.decimals import OVERFLOW
from rollview.engine.expressions.parsing import parser
from rollview.engine.expressions.refused import Refused
from rollview.engine.expressions.terms import Formula, Function, Term, failure, made, null
from rollview.engine.expressions.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    FLOATS,
    INTEGERS,
    NTZ,
    STRING,
    TIMESTAMP,
    VOID,
    Type,
    greatest,
    holding,
    least,
)
from rollview.engine.expressions.zone import Zone

#: A double up to here is not infinite as a float.
_MOST_FLOAT = "3.4028235677973366e38"
#: A decimal of more digits becomes a double before Spark casts it to a type narrower than BIGINT.
_COMPACT = 18
#: A decimal of up to as many digits is an integer and a power of ten that a double holds exactly.
_EXACT_DIGITS = 15


def entry_name(given: Type, kind: Type) -> str:
    """The name of the entry of a cast."""
    return f"CAST {given.name} AS {kind.name}"


def cast(term: Term, kind: Type, zone: Zone) -> Term:
    """A value as another type. Raises Refused if the cast is not on the list."""
    if term.type == kind:
        return term
    if term.type == VOID:
        return null(kind)
    found = _formula(term, kind, zone)
    if found is None:
        raise Refused(f"CAST of {term.type} to {kind}")
    return made(found, [term], entry_name(term.type, kind))


def _formula(term: Term, kind: Type, zone: Zone) -> Formula | None:
    given, x = term.type, term.sql
    if given in INTEGERS:
        return _from_integer(term, kind)
    if given in FLOATS:
        return _from_float(term, kind)
    if given.is_decimal:
        return _from_decimal(term, kind)
    if given == BOOLEAN and (kind.is_numeric or kind == STRING):
        return _from_boolean(x, kind)
    if given == STRING:
        return _from_string(x, kind)
    return _of_time(term, kind, zone)


def _plain(x: str, kind: Type) -> Formula:
    return Formula(kind, f"CAST({x} AS {kind.duck})")


def _checked(x: str, kind: Type, test: str, condition: str, value: str = "") -> Formula:
    """A cast of the values that pass a test; for others, NULL aside, an error."""
    taken = value or f"CAST({x} AS {kind.duck})"
    sql = f"CASE WHEN {x} IS NULL OR ({test}) THEN {taken} ELSE {failure(condition, kind)} END"
    return Formula(kind, sql, fails=True)


def _from_integer(term: Term, kind: Type) -> Formula | None:
    given, x = term.type, term.sql
    if kind in INTEGERS:
        if INTEGERS.index(kind) > INTEGERS.index(given):
            return Formula(kind, f"CAST({x} AS {kind.duck})", arrow=widened(kind))
        return _checked(x, kind, f"{x} BETWEEN {least(kind)} AND {greatest(kind)}", "CAST_OVERFLOW")
    if kind in FLOATS or kind == STRING:
        return _plain(x, kind)
    if kind == BOOLEAN:
        return Formula(kind, f"({x} <> 0)")
    if not kind.is_decimal:
        return None
    whole = kind.precision - kind.scale
    if whole >= holding(given).precision:
        return _plain(x, kind)
    return _checked(x, kind, f"CAST({x} AS HUGEINT) BETWEEN -{10**whole - 1} AND {10**whole - 1}", OVERFLOW)


def _from_float(term: Term, kind: Type) -> Formula | None:
    given, x = term.type, term.sql
    if kind == DOUBLE:
        return _plain(x, kind)
    if kind == FLOAT:
        infinite = f"CASE WHEN {x} > 0 THEN CAST('inf' AS REAL) ELSE CAST('-inf' AS REAL) END"
        small = f"isnan({x}) OR isinf({x}) OR abs({x}) < {_MOST_FLOAT}::DOUBLE"
        return Formula(kind, f"CASE WHEN {x} IS NULL OR {small} THEN CAST({x} AS REAL) ELSE {infinite} END")
    if kind == BOOLEAN:
        return Formula(kind, f"({x} <> 0)")
    if kind not in INTEGERS:
        return None
    low, high = (f"CAST({bound} AS DOUBLE)" for bound in (least(kind), greatest(kind)))
    wide = f"CAST({x} AS DOUBLE)" if given == FLOAT else x
    value = f"CAST(trunc({wide}) AS {kind.duck})"
    if kind == BIGINT:  # 2^63 passes the test, and becomes the greatest integer
        value = f"CASE WHEN {wide} >= {high} THEN {greatest(kind)} ELSE {value} END"
    fits = f"NOT isnan({x}) AND floor({wide}) <= {high} AND ceil({wide}) >= {low}"
    return _checked(x, kind, fits, "CAST_OVERFLOW", value)


def _from_decimal(term: Term, kind: Type) -> Formula | None:
    given, x = term.type, term.sql
    if kind in INTEGERS:
        if kind != BIGINT and given.precision > _COMPACT:
            return None
        if given.precision == given.scale:
            return Formula(kind, f"CASE WHEN {x} IS NOT NULL THEN CAST(0 AS {kind.duck}) END")
        whole = f"CAST(trunc({x}) AS HUGEINT)"
        test = f"{whole} BETWEEN {least(kind)} AND {greatest(kind)}"
        return _checked(x, kind, test, "CAST_OVERFLOW", f"CAST({whole} AS {kind.duck})")
    if kind == BOOLEAN:
        return Formula(kind, f"({x} <> 0)")
    if kind == DOUBLE:
        if given.precision <= _EXACT_DIGITS:
            return _plain(x, kind)
        function = Function(f"rv_double_{given.precision}_{given.scale}", _double, (given,), DOUBLE)
        return Formula(kind, f"{function.name}({x})", functions=(function,))
    if kind == STRING:  # without digits in front of the point, DuckDB writes no 0 there
        return _plain(x, kind) if given.precision > given.scale else None
    return _decimal_to_decimal(x, given, kind) if kind.is_decimal else None


def _double(given: pa.Array) -> pa.Array:
    """The nearest double: DuckDB divides by a power of ten, and so rounds twice."""
    return pa.array([float(value) for value in given.to_pylist()], pa.float64())


def _decimal_to_decimal(x: str, given: Type, kind: Type) -> Formula:
    whole, wanted = given.precision - given.scale, kind.precision - kind.scale
    rounds = kind.scale < given.scale
    if wanted > whole or (wanted == whole and not rounds):
        return _plain(x, kind)
    bound = f"{10**wanted - 1}.{'9' * kind.scale}{'5' if rounds else ''}" if rounds else str(10**wanted)
    return _checked(x, kind, f"abs({x}) < CAST('{bound}' AS {given.duck})", OVERFLOW)


def _from_boolean(x: str, kind: Type) -> Formula | None:
    if kind.is_decimal:
        if kind.precision == kind.scale:
            return None
        return Formula(kind, f"CASE WHEN {x} IS NULL THEN NULL WHEN {x} THEN 1::{kind.duck} ELSE 0::{kind.duck} END")
    return _plain(x, kind)


def _from_string(x: str, kind: Type) -> Formula | None:
    if kind == BINARY:
        return Formula(kind, f"encode({x})")
    function = parser(kind)
    return Formula(kind, f"{function.name}({x})", True, (function,)) if function is not None else None


def _of_time(term: Term, kind: Type, zone: Zone) -> Formula | None:
    """Casts of dates and times."""
    x = term.sql
    ways: dict[tuple[Type, Type], Callable[[], str]] = {
        (DATE, NTZ): lambda: f"CAST({x} AS TIMESTAMP)",
        (NTZ, DATE): lambda: f"CAST({x} AS DATE)",
        (DATE, TIMESTAMP): lambda: zone.moment(f"CAST({x} AS TIMESTAMP)"),
        (NTZ, TIMESTAMP): lambda: zone.moment(x),
        (TIMESTAMP, NTZ): lambda: zone.local(x),
        (TIMESTAMP, DATE): lambda: f"CAST({zone.local(x)} AS DATE)",
        (DATE, STRING): lambda: f"CAST({x} AS VARCHAR)",
        (NTZ, STRING): lambda: f"CAST({x} AS VARCHAR)",
        (TIMESTAMP, STRING): lambda: f"CAST({zone.local(x)} AS VARCHAR)",
        (TIMESTAMP, BIGINT): lambda: seconds(x),
    }
    way = ways.get((term.type, kind))
    return Formula(kind, way()) if way is not None else None


def seconds(moment: str) -> str:
    """The whole seconds since 1970, rounded down."""
    return f"((epoch_us({moment}) - ((epoch_us({moment}) % 1000000) + 1000000) % 1000000) // 1000000)"


def caster(zone: Zone) -> Callable[[Term, Type], Term]:
    return partial(cast, zone=zone)
