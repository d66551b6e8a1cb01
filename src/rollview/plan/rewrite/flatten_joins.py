"""Merge nested inner joins into one n-way join.

Before: ``join inner (join inner (a, b) on p, c) on q``. After: ``multi join (a, b, c) on p, q``.
Not for two inputs; and not across an outer, semi or anti join, which cannot be reordered.
"""

from __future__ import annotations

from rollview.plan.expressions import Expr, conjuncts
from rollview.plan.nodes import Join, MultiJoin, Node


def flatten_joins(node: Node) -> Node | None:
    parts, conditions = _parts(node)
    if len(parts) < 3 or isinstance(node, MultiJoin):
        return None
    return MultiJoin(tuple(parts), tuple(conditions))


def _parts(node: Node) -> tuple[list[Node], list[Expr]]:
    if isinstance(node, MultiJoin):
        return list(node.parts), list(node.conditions)
    if not isinstance(node, Join) or not node.kind.is_inner:
        return [node], []
    (left, first), (right, second) = _parts(node.left), _parts(node.right)
    return [*left, *right], [*first, *second, *conjuncts(node.condition)]
