"""Restrict the join partners of a delta to the delta's keys.

Before: ``join inner a = b (delta, aggregate by b over orders)``.
After: ``join inner a = b (delta, restrict b <=> n1 (aggregate by b over orders, distinct a of the delta))``.
``push_restrictions`` then pushes it down to the scans. Also for the left side of a semi join with a delta. Not for a
plain scan in an inner join: the join itself restricts it; not without an equality between the two; and not for rows
that are materialized, or already restricted to the same keys.
"""

from __future__ import annotations

from itertools import count, permutations

from rollview.delta.derivation import CHANGE, STEP, cheap, form
from rollview.delta.rules.join import plain
from rollview.plan.expressions import Expr, equal_groups, names_in
from rollview.plan.nodes import (
    JOINS,
    SEMI,
    Column,
    Computed,
    Distinct,
    Join,
    MultiJoin,
    Node,
    Project,
    Restrict,
    Scan,
    restricted,
)
from rollview.plan.reserved import WEIGHT
from rollview.plan.rewrite import apply_rule


def restrict_partners(plan: Node) -> Node:
    numbers = count(1)

    def rule(node: Node) -> Node | None:
        if not isinstance(node, JOINS):
            return None
        kind = node.kind
        if kind.pads_left:
            return None
        place = next((i for i, part in enumerate(node.inputs) if WEIGHT.name in part.names), None)
        if place is None or not cheap(node.inputs[place]) or (place > 0 and not (kind.is_inner or kind is SEMI)):
            return None
        delta = node.inputs[place]
        parts = list(node.inputs)
        for i, part in enumerate(parts):
            if i != place and (not kind.is_inner or not plain(part)) and not _is_materialized(part):
                parts[i] = _near(part, delta, node, numbers)
        return node.with_inputs(parts) if any(a is not b for a, b in zip(parts, node.inputs, strict=True)) else None

    return apply_rule(plan, rule)


def _is_materialized(part: Node) -> bool:
    """Whether only earlier steps and changes are read."""
    return all(node.version in (STEP, CHANGE) for node in part.walk() if isinstance(node, Scan))


def _near(part: Node, delta: Node, node: Join | MultiJoin | Restrict, numbers: count[int]) -> Node:
    """The partner restricted to the delta's values of columns that equalities connect, directly or transitively."""
    keys: list[Computed] = []
    pairs: list[tuple[Expr, str]] = []
    for mine, theirs in (pair for group in equal_groups(node.conditions) for pair in permutations(group, 2)):
        if names_in(mine) and names_in(theirs) and names_in(mine) <= delta.names and names_in(theirs) <= part.names:
            if any(value == theirs for value, _ in pairs):
                continue
            name = f"n{next(numbers)}"
            keys.append(Computed(Column(name, name), mine.copy()))
            pairs.append((theirs, name))
    if not pairs:
        return part
    near = Distinct(Project(delta, tuple(keys)))
    known = [node.keys for node in part.walk() if isinstance(node, Restrict)]
    if any(len(other.columns) == len(keys) and form(other) == form(near) for other in known):
        return part
    return restricted(part, pairs, near, optional=True)
