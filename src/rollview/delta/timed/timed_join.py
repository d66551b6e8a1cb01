"""Inner and cross joins of timed relations.

    (r, w₁, t₁) ⋈ (s, w₂, t₂)  =  (r s, w₁ · w₂, greatest(t₁, t₂))      or the least, see ``sight``

Before: ``multi join (orders change [__w, __t], union all (customers, customers ahead) [__seen_w, __seen_t])``.
After: a projection over it that has one weight and one time. An input without changes takes no part in either.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from rollview.delta.timed.sight import SEEN_TIME, SEEN_WEIGHT, Seen, Way
from rollview.plan.expressions import Expr, conjunction, ref
from rollview.plan.nodes import CROSS, INNER, Column, Computed, Join, MultiJoin, Node, Project
from rollview.plan.reserved import TIME, WEIGHT


def joined_delta(
    delta: Node, others: Sequence[Seen], conditions: Sequence[Expr], columns: Sequence[Column], way: Way
) -> Node:
    """Forwarded changes, joined with other inputs as they are seen."""
    parts, weights, times = _apart(others)
    weights, times = [ref(WEIGHT.name), *weights], [ref(TIME.name), *times]
    return _folded(_joined([delta, *parts], conditions), columns, (WEIGHT, TIME), weights, times, way)


def joined_seen(inputs: Sequence[Seen], conditions: Sequence[Expr], columns: Sequence[Column], way: Way) -> Seen:
    """A join of inputs as they are seen."""
    parts, weights, times = _apart(inputs)
    joined = _joined(parts, conditions)
    if not weights:
        return Seen(joined, timed=False)
    return Seen(_folded(joined, columns, (SEEN_WEIGHT, SEEN_TIME), weights, times, way), timed=True)


def _apart(inputs: Sequence[Seen]) -> tuple[list[Node], list[Expr], list[Expr]]:
    """Inputs with a weight and a time of their own each, and these."""
    parts: list[Node] = []
    weights: list[Expr] = []
    times: list[Expr] = []
    for number, each in enumerate(inputs):
        if not each.timed:
            parts.append(each.plan)
            continue
        named = [Column(f"{column.name}{number}", column.label, column.type) for column in (SEEN_WEIGHT, SEEN_TIME)]
        kept = (c for c in each.plan.columns if c.name not in (SEEN_WEIGHT.name, SEEN_TIME.name))
        own = tuple(Computed(column, ref(column.name)) for column in kept)
        values = (Computed(named[0], ref(SEEN_WEIGHT.name)), Computed(named[1], ref(SEEN_TIME.name)))
        parts.append(Project(each.plan, (*own, *values)))
        weights.append(ref(named[0].name))
        times.append(ref(named[1].name))
    return parts, weights, times


def _folded(
    joined: Node,
    columns: Sequence[Column],
    folded: tuple[Column, Column],
    weights: list[Expr],
    times: list[Expr],
    way: Way,
) -> Node:
    product = weights[0]
    for weight in weights[1:]:
        product = exp.Mul(this=product, expression=weight)
    own = tuple(Computed(column, ref(column.name)) for column in columns)
    return Project(joined, (*own, Computed(folded[0], product), Computed(folded[1], way.time_of(times))))


def _joined(parts: Sequence[Node], conditions: Sequence[Expr]) -> Node:
    if len(parts) == 2:
        return Join(INNER if conditions else CROSS, parts[0], parts[1], conjunction(conditions))
    return MultiJoin(tuple(parts), tuple(conditions))
