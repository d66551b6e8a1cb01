"""Turn a condition of an inner join that uses one input only into a filter on that input.

Before: ``join inner (x [a, b], y [c]) on a = c AND b > 1``.
After: ``join inner (filter b > 1 over x, y) on a = c``.
Not for outer, semi and anti joins, whose condition decides what matches, not which rows are returned; and not if the
condition uses no column: it stays in the join.
"""

from __future__ import annotations

from rollview.plan.expressions import Expr, conjunction, conjuncts, names_in
from rollview.plan.nodes import CROSS, INNER, Filter, Join, Node


def push_join_conditions(node: Node) -> Node | None:
    if not isinstance(node, Join) or not node.kind.is_inner:
        return None
    parts = conjuncts(node.condition)
    left, right = (_only_on(side, parts) for side in node.inputs)
    if not left and not right:
        return None
    condition = conjunction(part for part in parts if part not in left and part not in right)
    kind = CROSS if condition is None else INNER
    return Join(kind, _filtered(node.left, left), _filtered(node.right, right), condition)


def _only_on(side: Node, parts: list[Expr]) -> list[Expr]:
    return [part for part in parts if names_in(part) and names_in(part) <= side.names]


def _filtered(side: Node, parts: list[Expr]) -> Node:
    condition = conjunction(parts)
    return side if condition is None else Filter(side, condition)
