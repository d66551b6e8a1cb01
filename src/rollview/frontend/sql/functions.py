"""Functions: which of them are aggregates, and which generators are OUTER."""

from __future__ import annotations

import re

from sqlglot import exp

from rollview.frontend.sql.context import Unbuildable
from rollview.plan.expressions import Expr

#: Spark's aggregates that sqlglot parses as unknown functions.
_AGGREGATES = {
    "any_value", "approx_percentile", "bit_and", "bit_or", "bit_xor", "bool_and", "bool_or", "collect_list",
    "collect_set", "corr", "count_if", "count_min_sketch", "covar_pop", "covar_samp", "every", "first", "first_value",
    "grouping", "grouping_id", "histogram_numeric", "kurtosis", "last", "last_value", "listagg", "max_by", "mean",
    "median", "min_by", "mode", "percentile", "percentile_approx", "regr_avgx", "regr_avgy", "regr_count",
    "regr_intercept", "regr_r2", "regr_slope", "regr_sxx", "regr_sxy", "regr_syy", "skewness", "some", "std", "try_avg",
    "try_sum",
}  # fmt: skip
_NAMED_AGGREGATE = re.compile(r"_agg(_bigint|_double|_float|_integer)?$")

#: Aggregates whose value over no rows only Spark knows.
_SKETCH = re.compile(r"sketch|bitmap|hll|kll|theta|tuple|top_k")

#: Aggregates whose value over no rows is not NULL: it is 0, or an empty array.
_COUNTS = (exp.Count, exp.CountIf, exp.ApproxDistinct, exp.RegrCount)
_LISTS = (exp.ArrayAgg, exp.ArrayUniqueAgg)

#: Wrappers of an aggregate that belong to it.
_WRAPPERS = (exp.Filter, exp.WithinGroup, exp.IgnoreNulls, exp.RespectNulls)


def is_aggregate(expr: Expr) -> bool:
    """Whether the expression itself is an aggregate, if it is not the function of a window."""
    if isinstance(expr, _WRAPPERS):
        return is_aggregate(expr.this)
    if isinstance(expr, exp.Anonymous):
        return expr.name.lower() in _AGGREGATES or bool(_NAMED_AGGREGATE.search(expr.name.lower()))
    return isinstance(expr, exp.AggFunc | exp.Grouping | exp.GroupingId)


def holds_aggregate(expr: Expr) -> bool:
    """Whether the expression contains an aggregate that is not a window function or in a subquery."""
    if isinstance(expr, exp.Query | exp.Subquery):
        return False
    if isinstance(expr, exp.Window):
        inner = expr.this.this if isinstance(expr.this, _WRAPPERS) else expr.this
        parts = [*inner.iter_expressions(), *(e for e in expr.iter_expressions() if e is not expr.this)]
        return any(holds_aggregate(part) for part in parts)
    return is_aggregate(expr) or any(holds_aggregate(part) for part in expr.iter_expressions())


def of_nothing(aggregate: Expr) -> Expr:
    """The value of an aggregate over no rows. Raises Unbuildable if only Spark knows."""
    inner = aggregate
    while isinstance(inner, _WRAPPERS):
        inner = inner.this
    name = inner.name if isinstance(inner, exp.Anonymous) else inner.key
    if _SKETCH.search(name.lower()):
        raise Unbuildable(f"{name}() over no rows cannot be compiled yet")
    if isinstance(inner, _COUNTS):
        return exp.Literal.number(0)
    if isinstance(inner, _LISTS):
        return exp.Array(expressions=[])
    return exp.null()


def is_outer_generator(expr: Expr) -> bool:
    """Whether a generator returns a row for an empty collection."""
    if isinstance(expr, exp.Anonymous):
        return expr.name.lower().endswith("_outer")
    return isinstance(expr, exp.ExplodeOuter | exp.PosexplodeOuter)


def short_name(expr: Expr) -> str:
    """A short name for the column of a function."""
    return (expr.name if isinstance(expr, exp.Anonymous) else expr.key) or "agg"
