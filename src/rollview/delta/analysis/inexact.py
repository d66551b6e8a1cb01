"""Inexact values: aggregates of floats, which have other last bits each time they are computed.

A sum of doubles depends on the order of its rows, and that is chance: two threads, another partitioning, another order
of files. Rules compute a value several times, before and after a change, and rely on rows that cancel. So there is one
law: the value of a group at a version is one value.

| where the aggregate is | how the law is kept |
|---|---|
| at the root: ``SELECT g, SUM(x) FROM t GROUP BY g`` | the view stores the groups, each as it is now |
| at the top of a view with a key: above are only projections, filters, UNION ALL | touched rows are taken as they are |
| anywhere else | a helper stores it, and what is above reads the stored value, old or new: see ``state/helpers`` |

The first two only over exact values: what such an aggregate is of, a helper stores. Where that cannot be, because the
rows of a window have no key, the view is recomputed, with the reason ``inexact_rows``. Sums of integers and decimals
are exact, and so are floats that are passed on, counted, or picked by MIN, MAX, LAG and the like.

The law holds inside the view. The query itself, run again, has other last digits, and what is computed from them may
differ in more than that: ``CAST(SUM(x) AS STRING)``, ``rank() OVER (ORDER BY SUM(x))``. See ``computed_from_inexact``.
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

#: Functions that give a value of one row as it is, a number of rows, or what follows from the sorted values.
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
    """Whether an aggregate or window function may give another last bit when computed again. ``kinds`` are the types of
    what such functions make, and by ``mean_in`` of what their means are of: engines add up in floats for these, and
    small integers and decimals do not suffer from it."""
    function, name = item.value, item.column.name
    while isinstance(function, exp.Window | exp.Filter | exp.IgnoreNulls | exp.RespectNulls | exp.WithinGroup):
        function = function.this
    if isinstance(function, _REPEATED) or not re.search("float|double", kinds.get(name, "double")):
        return False
    exact = re.match(r"tinyint|smallint|int\b|decimal", kinds.get(mean_in(name), ""))
    return not (isinstance(function, exp.Avg) and exact)


def mean_in(name: str) -> str:
    """The name under which the type of the values is kept of which a column has the mean."""
    return f"{name}__in"


def of_a_bag(kinds: Mapping[str, str]) -> dict[str, str]:
    """The types by which rows without a key are judged. These are found by all of their values, so no mean is exact
    enough: that of integers is computed by the engine at first, and from stored sums and counts later."""
    means = {mean_in(name) for name in kinds}
    return {name: kind for name, kind in kinds.items() if name not in means}


def makes_inexact(node: Node, kinds: Mapping[str, str]) -> bool:
    """Whether an operator itself computes inexact values."""
    items: Sequence[Made] = ()
    if isinstance(node, Aggregate | Window):
        items = node.aggregates if isinstance(node, Aggregate) else node.functions
    return any(is_inexact(item, kinds) for item in items)


def computed_from_inexact(plan: Node, kinds: Mapping[str, str]) -> dict[str, str]:
    """The columns of a plan and of all below it that are inexact or computed from such, each with the aggregate that it
    is computed from, as the user wrote it. Which rows there are may depend on inexact values, too: that is not told."""
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
    """The columns that an operator makes, and what decides their values."""
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
    """The columns of which an expression sees the last digits: not those that are only counted or tested for NULL."""
    return (part.name for part in value.walk(prune=_sees_no_digits) if isinstance(part, exp.Column))


def _sees_no_digits(part: Expr) -> bool:
    if isinstance(part, exp.Count):
        return not isinstance(part.this, exp.Distinct)
    return isinstance(part, exp.Is) and isinstance(part.expression, exp.Null)


def is_exact(plan: Node, kinds: Mapping[str, str]) -> bool:
    """Whether no operator of a plan computes inexact values."""
    return not any(makes_inexact(node, kinds) for node in plan.walk())


def only_at_top(plan: Node, kinds: Mapping[str, str]) -> bool:
    """Whether inexact values are computed at the top of a plan only, over exact ones."""
    if isinstance(plan, Project | Filter | UnionAll):
        return all(only_at_top(child, kinds) for child in plan.inputs)
    if isinstance(plan, Aggregate | Window):
        return is_exact(plan.inputs[0], kinds)
    return is_exact(plan, kinds)


def affected_rows(plan: Node, derivation: Derivation) -> Node | None:
    """The touched rows of a plan with a key that has inexact values at its top only: each as it is now with a positive
    weight, and as it was with a negative one. A row that a filter leaves out now has a negative weight, too: whether it
    was there before is not asked again."""
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
