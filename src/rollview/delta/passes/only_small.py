"""A side that turned out to be large is not called small.

Before: ``join inner a = b (left side small) (scan step0 step, scan t new)``, when the step has a million rows.
After: ``join inner a = b (scan step0 step, scan t new)``: the engine decides. What is small shows only when it runs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from rollview.delta.deriving import CHANGE, STEP
from rollview.plan.nodes import Join, Node, Scan
from rollview.plan.normalising import apply_rule


def only_small(plan: Node, is_small: Callable[[Scan], bool]) -> Node:
    """``is_small`` says of an earlier step, or of a table's changes, whether it has few rows."""

    def rule(node: Node) -> Node | None:
        if not isinstance(node, Join) or node.small is None:
            return None
        side = node.left if node.small == "left" else node.right
        at_hand = [part for part in side.walk() if isinstance(part, Scan) and part.version in (STEP, CHANGE)]
        return None if all(is_small(scan) for scan in at_hand) else replace(node, small=None)

    return apply_rule(plan, rule)
