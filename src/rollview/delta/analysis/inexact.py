"""Inexact values: aggregates of floats, whose last bits differ each time they are computed.

A sum of doubles depends on the order of its rows, and that order varies with threads, partitions and files. Delta rules
compute a value several times, before and after a change, and rely on equal rows to cancel. So each group must have
exactly one value at each version.

| where the aggregate is | how this is ensured |
|---|---|
| at the root: ``SELECT g, SUM(x) FROM t GROUP BY g`` | affected groups are overwritten with their new values |
| only projections, filters, UNION ALL above, and the view has a key | affected rows are overwritten |
| anywhere else | a helper stores the aggregate, and operators above read its old and new values: ``state/helpers`` |

The first two need exact inputs; an inexact input is stored by a helper. If a helper cannot store it, because the rows
of a window have no key, the view is recomputed in full with the reason ``inexact_rows``. Sums of integers and decimals
are exact, and so are floats that are passed on, counted, or picked by MIN, MAX, LAG and the like.

The view is consistent with itself. The query, run again, has other last digits, and values computed from them may
differ more: ``CAST(SUM(x) AS STRING)``, ``rank() OVER (ORDER BY SUM(x))``. See ``computed_from_inexact``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from sqlglot import exp

from rollview.delta.derivation import Derivation
from rollview.delta.rules.linear import union_all
from rollview.delta.weights import consolidated
from rollview.keys.choices import as_written
from rollview.plan.expressions import Expr, ref
from rollview.plan.nodes import (
    Aggregate,
    Combined,
    Computed,
    Filter,
    Generate,
    Join,
    Made,
    Node,
    Project,
    UnionAll,
    Window,
)
from rollview.plan.reserved import WEIGHT

#: Reproducible functions: they return the value of one row, a number of rows, or a function of the sorted values.
_REPEATED = (
    exp.AnyValue,
    exp.ApproxDistinct,
    exp.ArgMax,
    exp.ArgMin,
    exp.ArrayAgg,
    exp.ArrayUniqueAgg,
    exp.Count,
    exp.CountIf,
    exp.CumeDist,
    exp.First,
    exp.FirstValue,
    exp.Lag,
    exp.Last,
    exp.LastValue,
    exp.Lead,
    exp.Max,
    exp.Median,
    exp.Min,
    exp.Mode,
    exp.NthValue,
    exp.PercentRank,
    exp.PercentileCont,
    exp.PercentileDisc,
    exp.Quantile,
)


def is_inexact(item: Made, kinds: Mapping[str, str]) -> bool:
    """Whether an aggregate or window function may return other last bits when computed again. ``kinds`` has the types
    of such functions' results, and under ``mean_in`` the types that means are taken of: engines compute means in
    floating point, which is exact for small integers and decimals."""
    function, name = item.value, item.column.name
    while isinstance(function, exp.Window | exp.Filter | exp.IgnoreNulls | exp.RespectNulls | exp.WithinGroup):
        function = function.this
    if isinstance(function, _REPEATED) or not re.search("float|double", kinds.get(name, "double")):
        return False
    exact = re.match(r"tinyint|smallint|int\b|decimal", kinds.get(mean_in(name), ""))
    return not (isinstance(function, exp.Avg) and exact)


def mean_in(name: str) -> str:
    """The name under which the input type of a mean is kept."""
    return f"{name}__in"


def of_a_bag(kinds: Mapping[str, str]) -> dict[str, str]:
    """The types to use for rows without a key. Such rows are found by all their values, so no mean is exact enough:
    even a mean of integers is first computed by the engine, and later from stored sums and counts."""
    means = {mean_in(name) for name in kinds}
    return {name: kind for name, kind in kinds.items() if name not in means}


def makes_inexact(node: Node, kinds: Mapping[str, str]) -> bool:
    """Whether an operator itself, not its inputs, computes inexact values."""
    items: Sequence[Made] = ()
    if isinstance(node, Aggregate | Window):
        items = node.aggregates if isinstance(node, Aggregate) else node.functions
    return any(is_inexact(item, kinds) for item in items)


def computed_from_inexact(plan: Node, kinds: Mapping[str, str]) -> dict[str, str]:
    """The columns in a plan that are inexact or computed from inexact ones, each with the aggregate that it is computed
    from, as the user wrote it. Filters on inexact values can also change which rows exist: that is not reported."""
    found: dict[str, str] = {}
    for node in plan.walk():
        if isinstance(node, Aggregate | Window):
            items: Sequence[Made] = node.aggregates if isinstance(node, Aggregate) else node.functions
            found |= {i.column.name: as_written(i.value, node.inputs[0]) for i in items if is_inexact(i, kinds)}
        for name, values in _values(node):
            of = next((found[used] for value in values for used in _compared(value) if used in found), None)
            if of is not None:
                found.setdefault(name, of)
    return found


def _values(node: Node) -> Iterator[tuple[str, Sequence[Expr]]]:
    """The columns that an operator computes, and the expressions that determine their values."""
    if isinstance(node, Project):
        yield from ((item.column.name, [item.value]) for item in node.output)
    elif isinstance(node, Aggregate):
        keys = [item.value for item in node.keys]
        yield from ((item.column.name, [item.value]) for item in node.keys)
        yield from ((item.column.name, [item.value, *keys]) for item in node.aggregates)
    elif isinstance(node, Window):
        yield from ((item.column.name, item.expressions) for item in node.functions)
    elif isinstance(node, Generate):
        yield from ((column.name, [node.generator]) for column in node.output)
    elif isinstance(node, Join) and node.mark is not None:
        yield node.mark.name, node.expressions
    elif isinstance(node, Combined):
        sides = zip(node.output, node.left.columns, node.right.columns, strict=True)
        yield from ((column.name, [ref(left.name), ref(right.name)]) for column, left, right in sides)


def _compared(value: Expr) -> Iterator[str]:
    """The columns whose last digits affect an expression: not those only counted or tested for NULL."""
    return (part.name for part in value.walk(prune=_sees_no_digits) if isinstance(part, exp.Column))


def _sees_no_digits(part: Expr) -> bool:
    if isinstance(part, exp.Count):
        return not isinstance(part.this, exp.Distinct)
    return isinstance(part, exp.Is) and isinstance(part.expression, exp.Null)


def is_exact(plan: Node, kinds: Mapping[str, str]) -> bool:
    """Whether no operator of a plan computes inexact values."""
    return not any(makes_inexact(node, kinds) for node in plan.walk())


def only_at_top(plan: Node, kinds: Mapping[str, str]) -> bool:
    """Whether inexact values are computed only at the top of a plan, from exact ones."""
    if isinstance(plan, Project | Filter | UnionAll):
        return all(only_at_top(child, kinds) for child in plan.inputs)
    if isinstance(plan, Aggregate | Window):
        return is_exact(plan.inputs[0], kinds)
    return is_exact(plan, kinds)


def affected_rows(plan: Node, derivation: Derivation) -> Node | None:
    """The affected rows of a keyed plan whose inexact values are at its top: new rows with a positive weight, old rows
    with a negative one. A row that a filter now drops gets a negative weight, whether or not it was shown before:
    the filter is not evaluated on recomputed old values."""
    if not derivation.touches(plan):
        return None
    if is_exact(plan, derivation.kinds):
        delta = derivation.delta(plan)
        return None if delta is None else consolidated(delta)
    if isinstance(plan, UnionAll):
        return union_all(plan, derivation, lambda side: affected_rows(side, derivation))
    if not isinstance(plan, Project | Filter):
        return derivation.delta(plan)
    below = affected_rows(plan.input, derivation)
    if below is None:
        return None
    weight: Expr = ref(WEIGHT.name)
    if isinstance(plan, Project):
        return Project(below, (*plan.output, Computed(WEIGHT, weight)))
    gone = exp.Cast(this=exp.Literal.number(-1), to=WEIGHT.type.copy())
    judged = exp.Case(ifs=[exp.If(this=plan.condition.copy(), true=weight)], default=gone)
    return Project(below, (*(Computed(c, ref(c.name)) for c in plan.columns), Computed(WEIGHT, judged)))
