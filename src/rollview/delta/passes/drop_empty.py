"""Drop terms over a step that has no rows.

Before: ``union all (join inner (scan step0 step, scan t new), join inner (scan t change, scan u new))``, step0 empty.
After: ``join inner (scan t change, scan u new)``. If nothing is left, the plan has no rows, and no job runs for it.
Not below a global aggregate, which returns a row for empty input; for an outer join, only if the preserved side is
empty. An anti join with an empty right side is its left side.
"""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from rollview.plan.expressions import ref
from rollview.plan.nodes import (
    ANTI,
    Aggregate,
    Computed,
    Distinct,
    Filter,
    Generate,
    Join,
    Limit,
    MultiJoin,
    Node,
    Project,
    Restrict,
    Scan,
    SetKind,
    SetOperation,
    UnionAll,
    Window,
)
from rollview.plan.types import converted


def drop_empty(plan: Node, is_empty: Callable[[Scan], bool]) -> Node | None:
    """The plan without terms that have no rows; None if nothing is left. ``is_empty`` tests a relation."""
    done: dict[Node, Node | None] = {}
    for node in plan.walk():
        if isinstance(node, Scan):
            done[node] = None if is_empty(node) else node
        else:
            done[node] = _left(node, [done[child] for child in node.inputs])
    return done[plan]


def _left(plan: Node, inputs: list[Node | None]) -> Node | None:
    """What remains of an operator, given what remains of its inputs."""
    kept = [child for child in inputs if child is not None]
    if isinstance(plan, UnionAll):
        if len(kept) == 1 and converted(plan):  # the empty side affects the type of a column
            both = zip(inputs, plan.inputs, strict=True)
            return plan.with_inputs([Filter(old, exp.false()) if new is None else new for new, old in both])
        if len(kept) == 1:
            pairs = zip(plan.output, kept[0].columns, strict=True)
            return Project(kept[0], tuple(Computed(out, ref(column.name)) for out, column in pairs))
        return plan.with_inputs(kept) if kept else None
    if len(kept) < len(inputs) and _needs(plan, inputs):
        return None
    if isinstance(plan, Join) and plan.kind == ANTI and inputs[1] is None:
        return inputs[0]
    sides = [new if new is not None else old for new, old in zip(inputs, plan.inputs, strict=True)]
    return plan.with_inputs(sides) if any(a is not b for a, b in zip(sides, plan.inputs, strict=True)) else plan


def _needs(plan: Node, inputs: list[Node | None]) -> bool:
    """Whether the operator has no rows because of its empty inputs."""
    if isinstance(plan, Filter | Project | Distinct | Generate | Limit | Window | MultiJoin | Restrict):
        return True
    if isinstance(plan, Aggregate):
        return bool(plan.keys) and plan.sets is None
    if isinstance(plan, SetOperation):
        return inputs[0] is None or plan.kind is SetKind.INTERSECT
    if isinstance(plan, Join):
        if not plan.kind.keeps_unmatched_left and not plan.kind.pads_left:
            return True
        return not plan.kind.pads_left and inputs[0] is None
    return False
