"""Copy a condition on one side of an equality to the other side.

Before: ``join inner (filter a = 5 over x, y) on a = b``.
After: ``join inner (filter a = 5 over x, filter b = 5 over y) on a = b``.
Not to the preserved side of an outer or anti join: its rows without a match must stay.
"""

from __future__ import annotations

from functools import lru_cache

from sqlglot import exp

from rollview.plan.expressions import Expr, conjunction, conjuncts, names_in, rename, replace_columns
from rollview.plan.nodes import (
    ANTI,
    INNER,
    LEFT,
    SEMI,
    Aggregate,
    Distinct,
    Filter,
    Generate,
    Join,
    Node,
    Project,
    SetOperation,
    UnionAll,
    Window,
)


def infer_predicates(node: Node) -> Node | None:
    if not isinstance(node, Join) or node.kind not in (INNER, LEFT, SEMI, ANTI):
        return None
    pairs = _equal_columns(node)
    right = _inferred(node.left, node.right, pairs)
    left = _inferred(node.right, node.left, {b: a for a, b in pairs.items()}) if node.kind in (INNER, SEMI) else []
    if not left and not right:
        return None
    return node.with_inputs([_with(node.left, left), _with(node.right, right)])


def _equal_columns(node: Join) -> dict[str, str]:
    """Left columns with a right column of the same type that they equal."""
    types = {column.name: column.type for side in node.inputs for column in side.columns}
    found: dict[str, str] = {}
    for part in conjuncts(node.condition):
        if isinstance(part, exp.EQ) and isinstance(part.left, exp.Column) and isinstance(part.right, exp.Column):
            a, b = part.left.name, part.right.name
            if a in node.right.names:
                a, b = b, a
            if a in node.left.names and b in node.right.names and types[a] == types[b]:
                found.setdefault(a, b)
    return found


def _inferred(giver: Node, taker: Node, pairs: dict[str, str]) -> list[Expr]:
    """The conditions that the top filter of one side implies for the other, except those already applied there."""
    if not isinstance(giver, Filter):
        return []
    found: list[Expr] = []
    for part in conjuncts(giver.condition):
        names = names_in(part)
        if len(names) == 1 and names <= pairs.keys():
            moved = rename(part, pairs)
            if moved not in found and not _holds(taker, moved):
                found.append(moved)
    return found


@lru_cache(maxsize=4096)
def _holds(node: Node, part: Expr) -> bool:
    """Whether a condition was already applied to these rows, and has been pushed down since."""
    if not names_in(part) <= node.names:
        return False
    if isinstance(node, Filter):
        return part in conjuncts(node.condition) or _holds(node.input, part)
    if isinstance(node, Project):
        return _holds(node.input, replace_columns(part, {item.column.name: item.value for item in node.output}))
    if isinstance(node, Join):
        sides = node.inputs if node.kind.is_inner else (node.left,)
        on = conjuncts(node.condition) if node.kind == INNER else []
        return part in on or any(_holds(side, part) for side in sides)
    if isinstance(node, UnionAll | SetOperation):
        return all(
            _holds(side, rename(part, {new.name: old.name for new, old in zip(node.output, side.columns, strict=True)}))
            for side in node.inputs
        )
    if isinstance(node, Aggregate) and (not node.keys or node.sets is not None):
        return False
    return isinstance(node, Aggregate | Window | Distinct | Generate) and _holds(node.inputs[0], part)


def _with(node: Node, parts: list[Expr]) -> Node:
    if not parts:
        return node
    below, known = (node.input, conjuncts(node.condition)) if isinstance(node, Filter) else (node, [])
    condition = conjunction([*known, *parts])
    assert condition is not None
    return Filter(below, condition)
