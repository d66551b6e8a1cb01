"""Turn a right join into a left join with its sides swapped.

Before: ``join right (a, b) on c``. After: ``join left (b, a) on c``.
Always fires: operators refer to columns by name; only the last projection of a plan sets their order.
"""

from __future__ import annotations

from rollview.plan.nodes import LEFT, RIGHT, Join, Node


def right_to_left(node: Node) -> Node | None:
    if isinstance(node, Join) and node.kind == RIGHT:
        return Join(LEFT, node.right, node.left, node.condition)
    return None
