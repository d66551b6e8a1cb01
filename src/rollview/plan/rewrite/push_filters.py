"""Push conditions down to the inputs that their columns come from.

Before: ``filter a > 1 AND b = c over join cross (x [a, b], y [c])``.
After: ``join inner (filter a > 1 over x, y) on b = c``.
Not into the padded side of an outer join, not through a limit, not through an aggregate if the condition is on an
aggregated value, not through a set operation that casts the column; and through a window only if the condition is on
columns that all its functions partition by.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from rollview.plan.expressions import Expr, conjunction, conjuncts, names_in, rename, replace_columns
from rollview.plan.nodes import (
    CROSS,
    INNER,
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
from rollview.plan.types import converted


def push_filters(node: Node) -> Node | None:
    if not isinstance(node, Filter):
        return None
    below, parts = node.input, conjuncts(node.condition)
    if isinstance(below, Project):
        values = {item.column.name: item.value for item in below.output}
        return Project(_filtered(below.input, [replace_columns(part, values) for part in parts]), below.output)
    if isinstance(below, Distinct):
        return Distinct(_filtered(below.input, parts))
    if isinstance(below, UnionAll | SetOperation):
        other = {column.name for column in converted(below)}
        down = [part for part in parts if not names_in(part) & other]
        sides = []
        for side in (below.left, below.right):
            names = {new.name: old.name for new, old in zip(below.output, side.columns, strict=True)}
            sides.append(_filtered(side, [rename(part, names) for part in down]))
        return _filtered(below.with_inputs(sides), [part for part in parts if part not in down]) if down else None
    if isinstance(below, Join):
        return _into_join(below, parts)
    movable = _movable(below)
    down = [part for part in parts if names_in(part) and names_in(part) <= movable]
    if not down:
        return None
    rest = [part for part in parts if part not in down]
    return _filtered(below.with_inputs([_filtered(below.inputs[0], down)]), rest)


def _movable(node: Node) -> frozenset[str]:
    """The columns whose conditions may be pushed through the operator."""
    if isinstance(node, Aggregate) and node.keys and node.sets is None:
        return frozenset(item.column.name for item in node.keys)
    if isinstance(node, Window):
        sets = [
            frozenset(part.name for part in item.partition_by if isinstance(part, exp.Column))
            for item in node.functions
        ]
        return frozenset.intersection(*sets) if sets else frozenset()
    return node.input.names if isinstance(node, Generate) else frozenset()


def _into_join(join: Join, parts: Sequence[Expr]) -> Node | None:
    left = [part for part in parts if names_in(part) and names_in(part) <= join.left.names]
    right = [part for part in parts if names_in(part) and names_in(part) <= join.right.names]
    if join.kind.is_inner:
        both = [part for part in parts if part not in left and part not in right]
        known = conjuncts(join.condition)
        condition = conjunction([*known, *(part for part in both if part not in known)])
        kind = CROSS if condition is None else INNER
        return Join(kind, _filtered(join.left, left), _filtered(join.right, right), condition)
    if join.kind.pads_left or not left:
        return None
    moved = Join(join.kind, _filtered(join.left, left), join.right, join.condition, join.mark, join.compared)
    return _filtered(moved, [part for part in parts if part not in left])


def _filtered(node: Node, parts: Sequence[Expr]) -> Node:
    condition = conjunction(parts)
    return node if condition is None else Filter(node, condition)
