"""Which side of a join an engine may broadcast, now that sizes are known.

Before: ``join inner a = b (left side small) (scan step0 step, scan t new)``, for whatever sizes.
After, if the step has a million rows: no side is called small, and the engine decides. After, if t is a small table:
``(right side small)``, because tables can be sent around all at the same time, and results of joins only one after the
other. A few changed rows can have very many partners: where ``results`` of joins turned out too large to be sent, only
rows at hand and small tables are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from rollview.delta.deriving import CHANGE, STEP
from rollview.plan.nodes import (
    ANTI,
    CROSS,
    FULL,
    INNER,
    LEFT,
    RIGHT,
    SEMI,
    Filter,
    Join,
    MultiJoin,
    Node,
    Project,
    Scan,
)
from rollview.plan.normalising import apply_rule

#: Of which sides of a join an engine can send all rows to where the rows of the other are.
_SENT = {INNER: ("left", "right"), LEFT: ("right",), RIGHT: ("left",), SEMI: ("right",), ANTI: ("right",)}

#: Joins that can have more rows than their inputs.
_GROWING = (INNER, CROSS, LEFT, RIGHT, FULL)


def small_sides(plan: Node, is_small: Callable[[Scan], bool], *, results: bool = True) -> Node:
    """``is_small`` says of a relation whether it can be broadcast, ``results`` whether results of joins are tried."""

    def rule(node: Node) -> Node | None:
        if not isinstance(node, Join):
            return None
        if node.small is None:
            at_hand = [side for side in _SENT.get(node.kind, ()) if _is_at_hand(getattr(node, side), is_small)]
            return replace(node, small=at_hand[-1]) if at_hand else None
        table = _table(node.right)
        if table is not None and is_small(table):
            return replace(node, small="right")
        side = node.left if node.small == "left" else node.right
        scans = [part for part in side.walk() if isinstance(part, Scan)]
        decisive = [scan for scan in scans if scan.version in (STEP, CHANGE)] if results else scans
        return None if all(map(is_small, decisive)) else replace(node, small=None)

    return apply_rule(plan, rule)


def _is_at_hand(node: Node, is_small: Callable[[Scan], bool]) -> bool:
    """Whether an input has just rows of small changes and steps: the keys that they touch, above all. An engine that
    takes these from outside does not know how few they are, and would move the table that they pick rows of."""
    parts = list(node.walk())
    scans = [part for part in parts if isinstance(part, Scan)]
    growing = any(isinstance(part, MultiJoin) or (isinstance(part, Join) and part.kind in _GROWING) for part in parts)
    return bool(scans) and not growing and all(scan.version in (STEP, CHANGE) and is_small(scan) for scan in scans)


def _table(node: Node) -> Scan | None:
    """The table of which an input has some rows and columns."""
    if isinstance(node, Filter | Project):
        return _table(node.input)
    return node if isinstance(node, Scan) else None
