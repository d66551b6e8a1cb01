"""What a delta is joined with is needed for the delta's own values only.

Before: ``join inner a = b (delta, aggregate by b over orders)``.
After: ``join inner a = b (delta, restrict b <=> n1 (aggregate by b over orders, distinct a of the delta))``.
The restriction then moves down to the scans. So does that of the left side of a semi join with a delta. Not for an
input of an inner join that is a plain scan: the join itself does as much; not where no equality ties the two; and not
for rows that are at hand, or restricted to the same keys already.
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
    """Whether just earlier steps and changes are read."""
    return all(node.version in (STEP, CHANGE) for node in part.walk() if isinstance(node, Scan))


def _near(part: Node, delta: Node, node: Join | MultiJoin | Restrict, numbers: count[int]) -> Node:
    """The rows of a partner that an equality ties to the delta's, directly or through other inputs."""
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
