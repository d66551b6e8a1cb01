"""Which side of a join an engine may broadcast, now that sizes are known.

Before: ``join inner a = b (left side small) (scan step0 step, scan t new)``, for whatever sizes.
After, if the step has a million rows: no side is called small, and the engine decides. After, if t is a small table:
``(right side small)``, because tables can be sent around all at the same time, and results of joins only one after the
other.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from rollview.delta.deriving import CHANGE, STEP
from rollview.plan.nodes import Filter, Join, Node, Project, Scan
from rollview.plan.normalising import apply_rule


def small_sides(plan: Node, is_small: Callable[[Scan], bool]) -> Node:
    """``is_small`` says of a relation whether it can be broadcast."""

    def rule(node: Node) -> Node | None:
        if not isinstance(node, Join) or node.small is None:
            return None
        table = _table(node.right)
        if table is not None and is_small(table):
            return replace(node, small="right")
        side = node.left if node.small == "left" else node.right
        at_hand = [part for part in side.walk() if isinstance(part, Scan) and part.version in (STEP, CHANGE)]
        return None if all(is_small(scan) for scan in at_hand) else replace(node, small=None)

    return apply_rule(plan, rule)


def _table(node: Node) -> Scan | None:
    """The table of which an input has some rows and columns."""
    if isinstance(node, Filter | Project):
        return _table(node.input)
    return node if isinstance(node, Scan) else None
