"""PIVOT for DuckDB, which counts 0 where a group has no row with a value, and there Spark has NULL.

Before: ``PIVOT (count(x) FOR s IN ('a' AS a))``.
After: ``PIVOT (CAST(sum(CASE WHEN x IS NULL THEN 0 ELSE 1 END) AS BIGINT) FOR s IN ('a' AS a))``.

Beside an aggregate that gives no number, Spark counts 0, too, and nothing is to be changed. Whether ``min`` and ``max``
give numbers is not seen from the text: beside them, counts are left as they are.
"""

from __future__ import annotations

from sqlglot import exp

from rollview.plan.expressions import Expr

_NUMBERS = (exp.Count, exp.CountIf, exp.Sum, exp.Avg, exp.Stddev, exp.StddevPop, exp.Variance, exp.VariancePop)


def pivot_in_duckdb(pivot: exp.Pivot) -> exp.Pivot:
    """The same PIVOT with counts that are NULL for no rows."""
    functions = [item.unalias() for item in pivot.expressions]
    if pivot.args.get("unpivot") or not all(isinstance(function, _NUMBERS) for function in functions):
        return pivot
    several = len(functions) > 1
    pivot.set("expressions", [_counted(item, name=several) for item in pivot.expressions])
    return pivot


def _counted(item: Expr, *, name: bool) -> Expr:
    """An aggregate; of several ones, the columns are named after it."""
    function = item.unalias()
    counted = _count(function)
    if counted is None:
        return item
    if isinstance(item, exp.Alias):
        return exp.alias_(counted, item.args["alias"].copy())
    return exp.alias_(counted, function.sql("spark"), quoted=True) if name else counted


def _count(function: Expr) -> Expr | None:
    """A count as a sum, which is NULL for no rows; None for another aggregate."""
    value = function.this
    if isinstance(function, exp.CountIf):
        return _rows_with(value)
    if not isinstance(function, exp.Count):
        return None
    if isinstance(value, exp.Distinct):
        if len(value.expressions) != 1:
            return None
        listed = exp.Anonymous(this="LIST", expressions=[value.expressions[0].copy()])
        distinct = exp.Anonymous(this="LIST_DISTINCT", expressions=[listed])  # without NULL
        return exp.Anonymous(this="LEN", expressions=[distinct])
    values = [] if isinstance(value, exp.Star | exp.Literal) else [value, *function.expressions]
    known = [exp.Not(this=exp.Is(this=each.copy(), expression=exp.null())) for each in values]
    return _rows_with(exp.and_(*known) if known else exp.true())


def _rows_with(condition: Expr) -> Expr:
    """How many rows satisfy a condition."""
    one = exp.If(this=condition.copy(), true=exp.Literal.number(1))
    each = exp.Case(ifs=[one], default=exp.Literal.number(0))
    return exp.cast(exp.Sum(this=each), "bigint")
