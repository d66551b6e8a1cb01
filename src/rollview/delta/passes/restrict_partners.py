"""Restrict the join partners of a delta to the delta's keys.

Before: ``join inner a = b (delta, aggregate by b over orders)``.
After: ``join inner a = b (delta, restrict b <=> n1 (aggregate by b over orders, distinct a of the delta))``.
``push_restrictions`` then pushes it down to the scans. Also for the left side of a semi join with a delta, and for the
partners of joins and projections over a delta, by the columns of the delta that are left there. Not for a plain scan in
an inner join: the join itself restricts it; not without an equality between the two; and not for rows that are
materialized, or already restricted to the same keys.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count, permutations

from sqlglot import exp

from rollview.delta.derivation import CHANGE, STEP, cheap, form
from rollview.delta.rules.join import plain
from rollview.plan.expressions import Expr, equal_groups, names_in, ref, replace_columns
from rollview.plan.nodes import (
    JOINS,
    SEMI,
    Column,
    Computed,
    Distinct,
    Filter,
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

#: The distinct keys of a delta by its values, so that equal ones are one relation.
_Made = dict[tuple[Node, tuple[Expr, ...]], Distinct]


def restrict_partners(plan: Node) -> Node:
    numbers = count(1)
    made: _Made = {}

    def rule(node: Node) -> Node | None:
        if not isinstance(node, JOINS):
            return None
        kind = node.kind
        if kind.pads_left:
            return None
        place = next((i for i, part in enumerate(node.inputs) if WEIGHT.name in part.names), None)
        if place is None or (place > 0 and not (kind.is_inner or kind is SEMI)):
            return None
        found = _origin(node.inputs[place])
        if found is None:
            return None
        parts = list(node.inputs)
        for i, part in enumerate(parts):
            if i != place and (not kind.is_inner or not plain(part)) and not _is_materialized(part):
                parts[i] = _near(part, *found, node, numbers, made)
        return node.with_inputs(parts) if any(a is not b for a, b in zip(parts, node.inputs, strict=True)) else None

    return apply_rule(plan, rule)


def _is_materialized(part: Node) -> bool:
    """Whether only earlier steps and changes are read."""
    return all(node.version in (STEP, CHANGE) for node in part.walk() if isinstance(node, Scan))


def _origin(node: Node) -> tuple[Node, Mapping[str, Expr]] | None:
    """The cheap delta that rows are made of, one or more of each of its rows, and its values of their columns."""
    if cheap(node):
        return node, {column.name: ref(column.name) for column in node.columns}
    if isinstance(node, Filter):
        return _origin(node.input)
    if isinstance(node, JOINS) and not node.kind.pads_left:
        return next((_origin(part) for part in node.inputs if WEIGHT.name in part.names), None)
    if isinstance(node, Project) and (below := _origin(node.input)) is not None:
        made = {item.column.name: item.value for item in node.output if isinstance(item.value, exp.Column)}
        return below[0], {name: below[1][value.name] for name, value in made.items() if value.name in below[1]}
    return None


def _near(
    part: Node,
    delta: Node,
    values: Mapping[str, Expr],
    node: Join | MultiJoin | Restrict,
    numbers: count[int],
    made: _Made,
) -> Node:
    """The partner restricted to the delta's values of columns that equalities connect, directly or transitively."""
    pairs: list[tuple[Expr, Expr]] = []
    for mine, theirs in (pair for group in equal_groups(node.conditions) for pair in permutations(group, 2)):
        connects = names_in(mine) and names_in(mine) <= values.keys() and names_in(theirs)
        if connects and names_in(theirs) <= part.names and not any(value == theirs for _, value in pairs):
            pairs.append((replace_columns(mine, values), theirs))
    if not pairs:
        return part
    asked = delta, tuple(mine for mine, _ in pairs)
    if asked not in made:
        names = [f"n{next(numbers)}" for _ in pairs]
        keys = (Computed(Column(name, name), mine) for name, (mine, _) in zip(names, pairs, strict=True))
        made[asked] = Distinct(Project(delta, tuple(keys)))
    near = made[asked]
    known = [node.keys for node in part.walk() if isinstance(node, Restrict)]
    if any(len(other.columns) == len(pairs) and form(other) == form(near) for other in known):
        return part
    return restricted(
        part, [(theirs, c.name) for (_, theirs), c in zip(pairs, near.columns, strict=True)], near, optional=True
    )
