"""Choose the side of each join that an engine may broadcast, now that sizes are known.

Before: ``join inner a = b (left side small) (scan step0 step, scan t new)``, for whatever sizes.
After, if the step has a million rows: neither side is marked small, and the engine decides. After, if t is a small
table: ``(right side small)``, because tables can be broadcast in parallel, but join results only one after the other. A
few changed rows can have very many matches: if join ``results`` turned out too large to broadcast, only materialized
rows and small tables are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from rollview.delta.derivation import CHANGE, STEP
from rollview.plan.nodes import ANTI, INNER, LEFT, RIGHT, SEMI, Filter, Join, MultiJoin, Node, Project, Restrict, Scan
from rollview.plan.rewrite import apply_rule

#: The sides that an engine can broadcast, by kind of join.
_BROADCASTABLE = {INNER: ("left", "right"), LEFT: ("right",), RIGHT: ("left",), SEMI: ("right",), ANTI: ("right",)}


def small_sides(plan: Node, is_small: Callable[[Scan], bool], *, results: bool = True) -> Node:
    """``is_small`` says whether a relation can be broadcast, ``results`` whether join results may be."""

    def rule(node: Node) -> Node | None:
        if isinstance(node, Restrict):
            return replace(node, small=any(_is_few(node.keys, is_small, near=near) for near in _nearness(results)))
        if not isinstance(node, Join):
            return None
        if node.small is not None:
            table = _table(node.right)
            if table is not None and is_small(table):
                return replace(node, small="right")
            side = node.left if node.small == "left" else node.right
            scans = [part for part in side.walk() if isinstance(part, Scan) and part.version in (STEP, CHANGE)]
            if results and all(map(is_small, scans)):
                return None
        return replace(node, small=_few(node, is_small, results))

    return apply_rule(plan, rule)


def _few(node: Join, is_small: Callable[[Scan], bool], results: bool) -> str | None:
    """The side with few rows, materialized ones first; None if there is none."""
    for near in _nearness(results):
        for side in _BROADCASTABLE.get(node.kind, ()):
            if _is_few(node.left if side == "left" else node.right, is_small, near=near):
                return side
    return None


def _nearness(results: bool) -> tuple[bool, ...]:
    """Materialized rows are tried first, then also tables restricted to them."""
    return (False, True) if results else (False,)


def _is_few(node: Node, is_small: Callable[[Scan], bool], *, near: bool) -> bool:
    """Whether an input reads only small changes and steps, such as affected keys. An engine does not know how few rows
    these have, and would shuffle the table that is joined with them. With ``near``, tables restricted to such keys
    count as few rows, too."""
    if isinstance(node, Scan):
        return node.version in (STEP, CHANGE) and is_small(node)
    if isinstance(node, Restrict) and near and _is_few(node.keys, is_small, near=near):
        return True
    if isinstance(node, Restrict) or (isinstance(node, Join) and node.kind.keeps_left_only):
        return _is_few(node.inputs[0], is_small, near=near)
    if isinstance(node, Join | MultiJoin):  # few rows joined with few rows can be many
        return False
    return bool(node.inputs) and all(_is_few(below, is_small, near=near) for below in node.inputs)


def _table(node: Node) -> Scan | None:
    """The table, if the input is a filtered or projected scan."""
    if isinstance(node, Filter | Project):
        return _table(node.input)
    return node if isinstance(node, Scan) else None
