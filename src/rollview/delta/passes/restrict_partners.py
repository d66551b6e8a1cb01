"""What a delta is joined with is needed for the delta's own values only.

Before: ``join inner a = b (delta, aggregate by b over orders)``.
After: ``join inner a = b (delta, join semi b <=> k1 (aggregate by b over orders, distinct a of the delta))``.
The restriction then moves down to the scans. Not for an input of an inner join that is a plain scan: the join itself
does as much; and not where no equality ties the two.
"""

from __future__ import annotations

from itertools import count

from sqlglot import exp

from rollview.delta.deriving import CHANGE, STEP
from rollview.delta.passes.push_restrictions import restricted
from rollview.delta.weights import WEIGHT
from rollview.plan.expressions import Expr, conjuncts, names_in
from rollview.plan.nodes import (
    ANTI,
    CROSS,
    INNER,
    LEFT,
    MARK,
    SEMI,
    SINGLE,
    Column,
    Computed,
    Distinct,
    Filter,
    Join,
    MultiJoin,
    Node,
    Project,
    Scan,
)
from rollview.plan.normalising import apply_rule


def restrict_partners(plan: Node) -> Node:
    numbers = count(900_000)

    def rule(node: Node) -> Node | None:
        if not isinstance(node, Join | MultiJoin):
            return None
        kind = node.kind if isinstance(node, Join) else INNER
        if kind not in (INNER, CROSS, LEFT, SEMI, ANTI, MARK, SINGLE):
            return None
        place = next((i for i, part in enumerate(node.inputs) if WEIGHT.name in part.names), None)
        if place is None or not _cheap(node.inputs[place]) or (place > 0 and kind not in (INNER, CROSS)):
            return None
        delta = node.inputs[place]
        parts = list(node.inputs)
        for i, part in enumerate(parts):
            if i != place and (kind not in (INNER, CROSS) or not _plain(part)):
                parts[i] = _near(part, delta, node, numbers)
        return node.with_inputs(parts) if any(a is not b for a, b in zip(parts, node.inputs, strict=True)) else None

    return apply_rule(plan, rule)


def _near(part: Node, delta: Node, node: Join | MultiJoin, numbers: count[int]) -> Node:
    """The rows of a partner that an equality ties to the delta's."""
    conditions = node.conditions if isinstance(node, MultiJoin) else tuple(conjuncts(node.condition))
    keys: list[Computed] = []
    pairs: list[tuple[Expr, str]] = []
    for condition in conditions:
        if not isinstance(condition, exp.EQ | exp.NullSafeEQ):
            continue
        for mine, theirs in ((condition.left, condition.right), (condition.right, condition.left)):
            if names_in(mine) and names_in(theirs) and names_in(mine) <= delta.names and names_in(theirs) <= part.names:
                name = f"k{next(numbers)}"
                keys.append(Computed(Column(name, name), mine.copy()))
                pairs.append((theirs, name))
                break
    return part if not pairs else restricted(part, pairs, Distinct(Project(delta, tuple(keys))))


def _cheap(node: Node) -> bool:
    """Whether the delta is at hand: computed by an earlier step, or read as it is."""
    if isinstance(node, Filter | Project):
        return _cheap(node.input)
    return isinstance(node, Scan) and node.version in (STEP, CHANGE)


def _plain(node: Node) -> bool:
    return _plain(node.input) if isinstance(node, Filter | Project) else isinstance(node, Scan)
