"""Arithmetic: + - * / % DIV, signs and bits. Under ANSI, overflow and division by zero are errors.

DuckDB raises an error itself where the sum, difference or product of integers overflows.
"""

from __future__ import annotations

from collections.abc import Sequence

from rollview.engine.expressions import arrow
from rollview.engine.expressions.decimals import quotient, remainder, wide
from rollview.engine.expressions.terms import Entry, Formula, Term, failure
from rollview.engine.expressions.types import (
    BIGINT,
    DOUBLE,
    FLOATS,
    INTEGERS,
    SMALLINT,
    TINYINT,
    Type,
    bounded,
    least,
)

_NARROW = (TINYINT, SMALLINT)


def _same(operands: Sequence[Term], kinds: Sequence[Type]) -> Type | None:
    """The type of all operands, if they have the same, and it is one of these."""
    kind = operands[0].type
    return kind if kind in kinds and all(each.type == kind for each in operands) else None


def _sum(operands: Sequence[Term], operator: str) -> Formula | None:
    a, b = operands
    if kind := _same(operands, INTEGERS):
        return Formula(kind, f"({a.sql} {operator} {b.sql})", fails=True, arrow=arrow.arithmetic(operator, kind))
    if kind := _same(operands, FLOATS):
        return Formula(kind, f"({a.sql} {operator} {b.sql})")
    if not (a.type.is_decimal and b.type.is_decimal):
        return None
    scale = max(a.type.scale, b.type.scale)
    precision = max(a.type.precision - a.type.scale, b.type.precision - b.type.scale) + scale + 1
    if operator == "*":
        precision, scale = a.type.precision + b.type.precision + 1, a.type.scale + b.type.scale
    return wide(operator, operands, bounded(precision, scale), exact=precision <= 38)


def plus(operands: Sequence[Term]) -> Formula | None:
    return _sum(operands, "+")


def minus(operands: Sequence[Term]) -> Formula | None:
    return _sum(operands, "-")


def times(operands: Sequence[Term]) -> Formula | None:
    return _sum(operands, "*")


def _guarded(a: Term, b: Term, kind: Type, value: str, condition: str) -> str:
    """NULL divided by zero is NULL; any other value divided by zero is an error."""
    return f"CASE WHEN {b.sql} = 0 AND {a.sql} IS NOT NULL THEN {failure(condition, kind)} ELSE {value} END"


def divided(operands: Sequence[Term]) -> Formula | None:
    a, b = operands
    if _same(operands, (DOUBLE,)):
        return Formula(DOUBLE, _guarded(a, b, DOUBLE, f"({a.sql} / {b.sql})", "DIVIDE_BY_ZERO"), fails=True)
    if not (a.type.is_decimal and b.type.is_decimal):
        return None
    scale = max(6, a.type.scale + b.type.precision + 1)
    return quotient(operands, bounded(a.type.precision - a.type.scale + b.type.scale + scale, scale))


def modulo(operands: Sequence[Term]) -> Formula | None:
    a, b = operands
    if kind := _same(operands, INTEGERS):  # the least integer % -1 overflows in DuckDB
        value = f"CASE WHEN {b.sql} = -1 THEN {a.sql} - {a.sql} ELSE {a.sql} % {b.sql} END"
        return Formula(kind, _guarded(a, b, kind, value, "REMAINDER_BY_ZERO"), fails=True)
    if kind := _same(operands, FLOATS):
        return Formula(kind, _guarded(a, b, kind, f"({a.sql} % {b.sql})", "REMAINDER_BY_ZERO"), fails=True)
    if not (a.type.is_decimal and b.type.is_decimal):
        return None
    scale = max(a.type.scale, b.type.scale)
    whole = min(a.type.precision - a.type.scale, b.type.precision - b.type.scale)
    return remainder(operands, bounded(whole + scale, scale))


def whole_quotient(operands: Sequence[Term]) -> Formula | None:
    a, b = operands
    if not _same(operands, (BIGINT,)):
        return None
    overflow = failure("ARITHMETIC_OVERFLOW", BIGINT)
    least_over = f"{b.sql} = -1 AND {a.sql} = {least(BIGINT)}"
    value = f"CASE WHEN {least_over} THEN {overflow} ELSE ({a.sql} // {b.sql}) END"
    return Formula(BIGINT, _guarded(a, b, BIGINT, value, "DIVIDE_BY_ZERO"), fails=True)


def negative(operands: Sequence[Term]) -> Formula | None:
    (a,) = operands
    if kind := _same(operands, INTEGERS):
        zero = f"CAST(0 AS {kind.duck})"
        return Formula(kind, _unless_least(a, f"{zero} - {a.sql}"), fails=True)
    if kind := _same(operands, FLOATS):
        return Formula(kind, f"(- {a.sql})")
    return Formula(a.type, f"CAST(- {a.sql} AS {a.type.duck})") if _signed(a.type) else None


def absolute(operands: Sequence[Term]) -> Formula | None:
    (a,) = operands
    if kind := _same(operands, INTEGERS):
        return Formula(kind, _unless_least(a, f"abs({a.sql})"), fails=True)
    if _signed(a.type):
        return Formula(a.type, f"CAST(abs({a.sql}) AS {a.type.duck})")
    return Formula(a.type, f"abs({a.sql})") if a.type in FLOATS else None


def _signed(kind: Type) -> bool:
    """Spark rounds a decimal to 34 digits when it changes its sign."""
    return kind.is_decimal and kind.precision <= 34


def _unless_least(a: Term, value: str) -> str:
    """Integers have no positive value that is the negative of the least one."""
    overflow = failure("ARITHMETIC_OVERFLOW", a.type)
    return f"CASE WHEN {a.sql} = {least(a.type)} THEN {overflow} ELSE {value} END"


def _bits(formula: str) -> Entry:
    return Entry(formula, (1,) if formula == "~" else (2,), lambda operands: _of_bits(formula, operands))


def _of_bits(operator: str, operands: Sequence[Term]) -> Formula | None:
    if (kind := _same(operands, INTEGERS)) is None:
        return None
    sql = [each.sql for each in operands]
    if operator == "~":
        return Formula(kind, f"(~ {sql[0]})")
    return Formula(kind, f"xor({sql[0]}, {sql[1]})" if operator == "^" else f"({sql[0]} {operator} {sql[1]})")


ENTRIES = (
    Entry("+", (2,), plus),
    Entry("-", (2,), minus),
    Entry("*", (2,), times),
    Entry("/", (2,), divided),
    Entry("%", (2,), modulo),
    Entry("DIV", (2,), whole_quotient),
    Entry("negative", (1,), negative),
    Entry("abs", (1,), absolute),
    *map(_bits, ("&", "|", "^", "~")),
)
