"""Arithmetic of decimals.

Sums and products that cannot overflow are DuckDB's. What may need more than 38 digits on the way to its result, and all
division, is computed here with Python's decimals, which round as Java's do.
"""

from __future__ import annotations

import decimal as python
from collections.abc import Callable, Sequence
from decimal import ROUND_DOWN, ROUND_HALF_UP, Decimal
from functools import partial

import pyarrow as pa

from rollview.engine.expressions.refused import EvaluationFailed
from rollview.engine.expressions.terms import Formula, Function, Term, failure
from rollview.engine.expressions.types import Type

OVERFLOW = "NUMERIC_VALUE_OUT_OF_RANGE.WITH_SUGGESTION"

#: DuckDB gives the product of decimals of up to this many digits no more than these, too.
_SHORT = 18

#: Holds every sum and product of two decimals of 38 digits.
_EXACT = python.Context(prec=100, rounding=ROUND_HALF_UP)
#: As Spark divides: one digit more than a decimal can have, the rest dropped.
_QUOTIENT = python.Context(prec=39, rounding=ROUND_DOWN)

_OPERATIONS: dict[str, Callable[[Decimal, Decimal], Decimal]] = {
    "+": _EXACT.add,
    "-": _EXACT.subtract,
    "*": _EXACT.multiply,
    "/": _QUOTIENT.divide,
    "%": _EXACT.remainder,
}


def rounded(value: Decimal, kind: Type) -> Decimal:
    """A value as a decimal of a type. Raises EvaluationFailed if it does not fit."""
    found = value.quantize(Decimal(1).scaleb(-kind.scale), context=_EXACT)
    if found.adjusted() >= kind.precision - kind.scale and found:
        raise EvaluationFailed(OVERFLOW)
    return found


def _computed(operation: str, kind: Type, a: pa.Array, b: pa.Array) -> pa.Array:
    compute = _OPERATIONS[operation]
    pairs = zip(a.to_pylist(), b.to_pylist(), strict=True)
    return pa.array([rounded(compute(x, y), kind) for x, y in pairs], kind.arrow)


def _function(operation: str, operands: Sequence[Term], kind: Type) -> Function:
    takes = tuple(each.type for each in operands)
    names = {"+": "add", "-": "subtract", "*": "multiply", "/": "divide", "%": "remainder"}
    name = "_".join(["rv", names[operation], *(f"{t.precision}_{t.scale}" for t in takes)])
    return Function(name, partial(_computed, operation, kind), takes, kind)


def wide(operator: str, operands: Sequence[Term], kind: Type, *, exact: bool) -> Formula:
    """A sum, difference or product; ``exact`` if the type holds all digits of all results."""
    a, b = operands
    if exact and operator == "*":
        left = a.sql
        if max(a.type.precision, b.type.precision) <= _SHORT:
            left = f"CAST({a.sql} AS DECIMAL({_SHORT + 1}, {a.type.scale}))"
        return Formula(kind, f"CAST({left} * {b.sql} AS {kind.duck})")
    if exact:
        x, y = (f"CAST({each.sql} AS {kind.duck})" for each in (a, b))
        return Formula(kind, f"CAST({x} {operator} {y} AS {kind.duck})")
    function = _function(operator, operands, kind)
    return Formula(kind, f"{function.name}({a.sql}, {b.sql})", True, (function,))


def quotient(operands: Sequence[Term], kind: Type) -> Formula:
    return _divided("/", operands, kind, "DIVIDE_BY_ZERO")


def remainder(operands: Sequence[Term], kind: Type) -> Formula:
    return _divided("%", operands, kind, "REMAINDER_BY_ZERO")


def _divided(operator: str, operands: Sequence[Term], kind: Type, condition: str) -> Formula:
    a, b = operands
    function = _function(operator, operands, kind)
    zero = f"{b.sql} = 0 AND {a.sql} IS NOT NULL"
    sql = f"CASE WHEN {zero} THEN {failure(condition, kind)} ELSE {function.name}({a.sql}, {b.sql}) END"
    return Formula(kind, sql, True, (function,))
