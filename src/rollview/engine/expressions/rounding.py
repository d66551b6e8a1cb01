"""Rounding: round half up, floor, ceil; square roots; NaN."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import ROUND_HALF_UP, Context, Decimal
from functools import partial

import pyarrow as pa

from rollview.engine.expressions.terms import Entry, Formula, Function, Term
from rollview.engine.expressions.types import (
    BIGINT,
    BOOLEAN,
    DOUBLE,
    FLOATS,
    INT,
    INTEGERS,
    MAX_PRECISION,
    Type,
    decimal,
    greatest,
    least,
)

#: Holds all digits in front of and behind the point that a double can have.
_EXACT = Context(prec=800, rounding=ROUND_HALF_UP)
_MOST_DIGITS = 15


def rounded(operands: Sequence[Term]) -> Formula | None:
    """The digits after the point are a literal, and not negative."""
    a, digits = operands
    places = digits.literal
    if digits.type != INT or not isinstance(places, int) or not 0 <= places <= MAX_PRECISION:
        return None
    if a.type in INTEGERS:
        return Formula(a.type, a.sql)
    if a.type == DOUBLE and places <= _MOST_DIGITS:
        function = Function(f"rv_round_{places}", partial(_round, places), (DOUBLE,), DOUBLE)
        return Formula(DOUBLE, f"{function.name}({a.sql})", functions=(function,))
    if not a.type.is_decimal:
        return None
    scale = min(a.type.scale, places)
    kind = _decimal(a.type.precision - a.type.scale + 1 + scale, scale)
    return Formula(kind, f"CAST({a.sql} AS {kind.duck})") if kind is not None else None


def _decimal(precision: int, scale: int) -> Type | None:
    return decimal(precision, scale) if precision <= MAX_PRECISION else None


def _round(places: int, given: pa.Array) -> pa.Array:
    """As Spark does, the shortest decimal that reads as the double is rounded."""
    unit = Decimal(1).scaleb(-places)
    values = given.to_pylist()
    found = [float(Decimal(repr(x)).quantize(unit, context=_EXACT)) + 0.0 if math.isfinite(x) else x for x in values]
    return pa.array(found, pa.float64())


def _toward(name: str) -> Entry:
    def formula(operands: Sequence[Term]) -> Formula | None:
        (a,) = operands
        if a.type == BIGINT:
            return Formula(BIGINT, a.sql)
        if a.type == DOUBLE:  # NaN becomes 0, and what does not fit the nearest integer
            low, high = (f"CAST({bound} AS DOUBLE)" for bound in (least(BIGINT), greatest(BIGINT)))
            bounds = f"WHEN {a.sql} >= {high} THEN {greatest(BIGINT)} WHEN {a.sql} <= {low} THEN {least(BIGINT)}"
            value = f"CAST({name}({a.sql}) AS BIGINT)"
            return Formula(BIGINT, f"CASE WHEN isnan({a.sql}) THEN 0 {bounds} ELSE {value} END")
        if not a.type.is_decimal:
            return None
        kind = a.type if a.type.scale == 0 else decimal(a.type.precision - a.type.scale + 1, 0)
        return Formula(kind, f"CAST({name}({a.sql}) AS {kind.duck})")

    return Entry(name, (1,), formula)


def square_root(operands: Sequence[Term]) -> Formula | None:
    (a,) = operands
    if a.type != DOUBLE:
        return None
    return Formula(DOUBLE, f"CASE WHEN {a.sql} < 0 THEN CAST('nan' AS DOUBLE) ELSE sqrt({a.sql}) END")


def is_nan(operands: Sequence[Term]) -> Formula | None:
    (a,) = operands
    return Formula(BOOLEAN, f"coalesce(isnan({a.sql}), false)") if a.type in FLOATS else None


def unless_nan(operands: Sequence[Term]) -> Formula | None:
    a, b = operands
    if a.type not in FLOATS or a.type != b.type:
        return None
    return Formula(a.type, f"CASE WHEN isnan({a.sql}) THEN {b.sql} ELSE {a.sql} END")


ENTRIES = (
    Entry("round", (2,), rounded, "doubles: Java prints the shortest decimal, as Java 19 and newer always do"),
    _toward("floor"),
    _toward("ceil"),
    Entry("sqrt", (1,), square_root),
    Entry("isnan", (1,), is_nan),
    Entry("nanvl", (2,), unless_nan),
)
