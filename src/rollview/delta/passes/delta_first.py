"""A join of many inputs begins with the delta, the smallest of them.

Before: ``multi join (customer new, orders new, lineitem change)``.
After: ``multi join (lineitem change, customer new, orders new)``: printed, the others follow as conditions tie them on.
Not where no input is a delta: then the order stays the user's.
"""

from __future__ import annotations

from rollview.delta.weights import WEIGHT
from rollview.plan.nodes import MultiJoin, Node, exactly
from rollview.plan.normalising import apply_rule


def delta_first(plan: Node) -> Node:
    return apply_rule(plan, _reordered)


def _reordered(node: Node) -> Node | None:
    if not isinstance(node, MultiJoin):
        return None
    place = next((i for i, part in enumerate(node.parts) if WEIGHT.name in part.names), 0)
    if place == 0:
        return None
    parts = (node.parts[place], *node.parts[:place], *node.parts[place + 1 :])
    return exactly(MultiJoin(parts, node.conditions), node.columns)
