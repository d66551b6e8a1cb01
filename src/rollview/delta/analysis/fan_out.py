"""Fan-out: how many rows a delta can have at most, given the number of changed rows and the keys of the tables.

    |L ⋈ R| ≤ |L| · (the largest number of rows of R with equal values in the compared columns)

That number is 1 if the compared columns contain R's key. It is the product of the ranges of the other key columns if
these are integers within known bounds; else it is |R|.
The bound shows, before a delta is computed, whether it could be far larger than the change: one updated row of a
dimension table may join every row of a fact table. Rows are counted only if the bound is large.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from typing import Any

from sqlglot import exp

from rollview.keys.facts import facts_of
from rollview.plan.expressions import conjuncts, equality
from rollview.plan.nodes import (
    SEMI,
    Aggregate,
    Distinct,
    Filter,
    Join,
    Limit,
    MultiJoin,
    Node,
    Project,
    Restrict,
    Scan,
    SetOperation,
    UnionAll,
    Values,
    Window,
)
from rollview.plan.reserved import WEIGHT

#: The number of rows of a relation; None if not known.
Rows = Callable[[Scan], int | None]

#: The largest number of rows of a relation that agree on some columns; None if not known.
Copies = Callable[[Scan, Collection[str]], int | None]

#: The least and the greatest value of a column of a relation; None if not known.
Bounds = Callable[[Scan, str], tuple[Any, Any] | None]


def most_rows(plan: Node, rows: Rows, bounds: Bounds, copies: Copies = lambda scan, columns: None) -> float:
    """An upper bound on the number of rows of a plan; infinite if there is none."""

    def most(node: Node) -> float:
        if isinstance(node, Scan):
            return math.inf if (number := rows(node)) is None else number
        if isinstance(node, Values):
            return len(node.rows)
        if isinstance(node, Limit):
            return min(most(node.input), math.inf if node.count is None else node.count)
        if isinstance(node, Aggregate):
            return most(node.input) * len(node.sets or [()]) if node.keys else 1
        if isinstance(node, Filter | Project | Distinct | Window):
            return most(node.inputs[0])
        if isinstance(node, UnionAll | SetOperation):
            return sum(map(most, node.inputs))
        if isinstance(node, Join):
            return of_join(node)
        if isinstance(node, Restrict):
            return of_join(node.join)
        if isinstance(node, MultiJoin):
            return math.prod(map(most, node.inputs))
        return math.inf

    def of_join(node: Join) -> float:
        left, right = most(node.left), most(node.right)
        if node.kind.is_lookup and node.kind is not SEMI:
            return left
        to_right, to_left = partners(node, node.right, right), partners(node, node.left, left)
        if node.kind == SEMI:
            return min(left, _times(right, to_left))
        pairs = min(_times(left, to_right), _times(right, to_left))
        return pairs + (left if node.kind.pads_right else 0) + (right if node.kind.pads_left else 0)

    def partners(node: Join, side: Node, whole: float) -> float:
        """The largest number of matches that a row of the other side has on this side."""
        compared = {
            value.name
            for sides in map(equality, conjuncts(node.condition))
            for value in sides or ()
            if isinstance(value, exp.Column) and value.name in side.names
        }
        return min(whole, _per_value(side, compared, bounds), _repeated(side, compared, copies)) if compared else whole

    return most(plan)


def _times(a: float, b: float) -> float:
    return 0 if a == 0 or b == 0 else a * b


def _per_value(node: Node, compared: Collection[str], bounds: Bounds) -> float:
    """The largest number of rows that agree on some columns, from the key and the bounds of its columns."""
    facts = facts_of(node)
    if facts.key is None:
        return math.inf
    rest = facts.key - facts.closure(compared)
    widths = [_width(node, name, bounds) for name in rest]
    return math.prod(widths)


def _repeated(node: Node, compared: Collection[str], copies: Copies) -> float:
    """The largest number of rows that agree on some columns, if the input is a filtered or projected relation."""
    names = list(compared)
    while isinstance(node, Filter | Project):
        if isinstance(node, Project):
            values = {item.column.name: item.value for item in node.output}
            picked = [values[name] for name in names]
            names = [value.name for value in picked if isinstance(value, exp.Column)]
        node = node.inputs[0]
    if not isinstance(node, Scan) or not names:
        return math.inf
    sources = {column.name: source for column, source in zip(node.output, node.sources, strict=True)}
    found = copies(node, [sources[name] for name in names])
    return math.inf if found is None else found


def _width(node: Node, name: str, bounds: Bounds) -> float:
    """The number of values that an integer column can have."""
    while isinstance(node, Filter | Project | Restrict) or (isinstance(node, Join) and node.kind == SEMI):
        if isinstance(node, Project):
            value = next(item.value for item in node.output if item.column.name == name)
            if not isinstance(value, exp.Column):
                return math.inf
            name = value.name
        node = node.inputs[0]
    if not isinstance(node, Scan):
        return math.inf
    source = next(source for column, source in zip(node.output, node.sources, strict=True) if column.name == name)
    found = bounds(node, source)
    if found is None or not all(isinstance(value, int) and not isinstance(value, bool) for value in found):
        return math.inf
    return int(found[1]) - int(found[0]) + 2  # and NULL


def consolidating(plan: Node, delta: Node) -> Node:
    """The plan with another delta in place of the one that it consolidates first."""
    if isinstance(plan, Project | Filter | Window):
        return plan.with_inputs([consolidating(plan.inputs[0], delta)])
    return plan.with_inputs([delta])


def before_consolidation(plan: Node) -> Node | None:
    """The delta that the plan consolidates first; None if it consolidates none."""
    while isinstance(plan, Project | Filter | Window):
        plan = plan.inputs[0]
    if isinstance(plan, Aggregate) and any(item.column.name == WEIGHT.name for item in plan.aggregates):
        return plan.input
    return None
