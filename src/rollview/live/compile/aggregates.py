"""The aggregates of a view: which function, of which column, and whether projected tuples can have its sums.

A sum of integers or decimals over one part's column is taken before rows are joined: a projected tuple stands for
several rows, and has the sum over them. Sums of floats, MIN, MAX, and whatever may fail for a row that joins with none,
are taken of the completed paths.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sqlglot import exp

from rollview.live.compile.refused import NotLive, not_live
from rollview.live.shape import PUSHED_DIGITS
from rollview.live.words import Kind, kind_of
from rollview.plan.expressions import Expr, show
from rollview.plan.nodes import Computed

SUM, COUNT, AVG, MIN, MAX = "sum", "count", "avg", "min", "max"

_FUNCTIONS: dict[type[Expr], str] = {
    exp.Sum: SUM,
    exp.Count: COUNT,
    exp.Avg: AVG,
    exp.Min: MIN,
    exp.Max: MAX,
    exp.LogicalAnd: MIN,
    exp.LogicalOr: MAX,
}


@dataclass(frozen=True)
class Call:
    """An aggregate of a query: ``value`` is what it is taken of, NULL where a FILTER is not true; None for all rows."""

    name: str
    function: str
    value: Expr | None

    def result(self, kind: Kind | None) -> Kind:
        """The type of the result, from that of the value."""
        return _result(self, kind)


def call_of(item: Computed) -> Call:
    """What an aggregate is. Raises NotLive for a function that live views do not have."""
    aggregate, where = item.value, None
    if isinstance(aggregate, exp.Filter):
        aggregate, where = aggregate.this, aggregate.expression.this
    function = _FUNCTIONS.get(type(aggregate))
    inner = aggregate.this
    if function is None or isinstance(inner, exp.Distinct) or aggregate.expressions:
        raise _no_function(item.value)
    value = None if isinstance(inner, exp.Star) else inner
    if where is not None:
        counted = exp.Literal.number(1) if value is None else value.copy()
        value = exp.Case(ifs=[exp.If(this=where.copy(), true=counted)])
    return Call(item.column.name, function, value)


def _no_function(value: Expr) -> NotLive:
    return not_live(
        f"the aggregate {show(value)}",
        "live views have SUM, COUNT, AVG, MIN, MAX, bool_and, bool_or, without DISTINCT",
    )


def can_be_pushed(call: Call, kind: Kind | None, can_fail: Callable[[], bool]) -> bool:
    """Whether the sums of a value of one part can be taken in its projected tuples."""
    if kind is None or call.function in (MIN, MAX) or can_fail():
        return False
    if call.function == COUNT or kind.integer:
        return True
    return kind.decimal and kind.arrow.precision <= PUSHED_DIGITS


def _result(call: Call, kind: Kind | None) -> Kind:
    if call.function == COUNT or kind is None:
        return kind_of("bigint")
    if call.function in (MIN, MAX):
        if kind.nested:
            raise not_live(f"{call.function} over {kind.name}", "live views do not order arrays and structs")
        return kind
    if kind.decimal:
        precision, scale = kind.arrow.precision, kind.arrow.scale
        more = (10, 0) if call.function == SUM else (4, 4)
        return kind_of(f"decimal({min(precision + more[0], 38)},{min(scale + more[1], 38)})")
    if kind.integer or kind.floating:
        return kind_of("bigint" if kind.integer and call.function == SUM else "double")
    raise not_live(f"{call.function} over {kind.name}", "live views add up integers, decimals and floats")
