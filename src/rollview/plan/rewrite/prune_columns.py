"""Drop columns that no operator above uses.

Before: ``project a over join inner (scan x [a, b, c], scan y [e, d]) on b = e``.
After: ``project a over join inner (scan x [a, b], scan y [e]) on b = e``.
Not below DISTINCT and set operations, which compare whole rows; and a scan keeps its key, which identifies its rows.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import replace

from rollview.plan.expressions import names_in
from rollview.plan.nodes import (
    Aggregate,
    Distinct,
    Filter,
    Generate,
    Join,
    Limit,
    MultiJoin,
    Node,
    Project,
    Recursive,
    Restrict,
    Scan,
    SetOperation,
    UnionAll,
    Window,
    exactly,
)

Names = frozenset[str]


def prune_columns(plan: Node) -> Node:
    """The plan with the same result columns, and below only the columns that these need. A shared subplan keeps the
    columns that any of its readers needs."""
    wanted: dict[Node, set[str]] = {plan: set(plan.names)}
    order = list(plan.walk())
    for node in reversed(order):  # from the root down, so that all readers of an operator come before it
        for child, names in zip(node.inputs, _needed(node, wanted[node]), strict=True):
            wanted.setdefault(child, set()).update(names)
    done: dict[Node, Node] = {}
    for node in order:
        done[node] = _pruned(node, wanted[node], [done[child] for child in node.inputs])
    return exactly(done[plan], plan.columns)


def _used(node: Node) -> Names:
    return frozenset().union(*(names_in(expression) for expression in node.expressions))


def _needed(node: Node, wanted: Set[str]) -> list[Set[str]]:
    """The columns of each input that an operator needs to produce at least the wanted ones."""
    if isinstance(node, Project | Aggregate):
        return [_used(_narrowed(node, wanted) or node)]
    if isinstance(node, Window):
        narrow = _narrowed(node, wanted)
        return [(wanted | (_used(narrow) if narrow is not None else set())) & node.input.names]
    if isinstance(node, Filter | Limit | Generate | MultiJoin):
        needed = wanted | _used(node)
        return [needed & part.names for part in node.inputs]
    if isinstance(node, Join):
        used = _used(node)
        right = used if node.kind.hides_right else wanted | used
        return [(wanted | used) & node.left.names, right & node.right.names]
    if isinstance(node, Restrict):
        used = _used(node)
        return [(wanted | used) & node.input.names, used & node.keys.names]
    if isinstance(node, UnionAll):
        places = _places(node, wanted)
        return [{side.columns[i].name for i in places} for side in node.inputs]
    return [side.names for side in node.inputs]


def _narrowed(node: Node, wanted: Set[str]) -> Node | None:
    """The operator without the unused columns it computes; None if a window has no function left."""
    if isinstance(node, Project):
        return replace(node, output=tuple(item for item in node.output if item.column.name in wanted))
    if isinstance(node, Aggregate):
        return replace(node, aggregates=tuple(item for item in node.aggregates if item.column.name in wanted))
    assert isinstance(node, Window)
    functions = tuple(item for item in node.functions if item.column.name in wanted)
    return replace(node, functions=functions) if functions else None


def _pruned(node: Node, wanted: Set[str], inputs: Sequence[Node]) -> Node:
    """The operator over narrower inputs, with at least the wanted columns."""
    if isinstance(node, Scan):
        kept = [
            (c, s) for c, s in zip(node.output, node.sources, strict=True) if c.name in wanted or c.name in node.key
        ]
        not_null = tuple(name for name in node.not_null if any(c.name == name for c, _ in kept))
        return replace(node, output=tuple(c for c, _ in kept), sources=tuple(s for _, s in kept), not_null=not_null)
    if isinstance(node, Project | Aggregate | Window):
        narrow = _narrowed(node, wanted)
        return inputs[0] if narrow is None else narrow.with_inputs(inputs)
    if isinstance(node, UnionAll):
        places = _places(node, wanted)
        pairs = zip(inputs, node.inputs, strict=True)
        sides = [exactly(below, [side.columns[i] for i in places]) for below, side in pairs]
        return UnionAll(sides[0], sides[1], tuple(node.output[i] for i in places))
    if isinstance(node, Distinct | SetOperation | Recursive):
        pairs = zip(inputs, node.inputs, strict=True)
        return node.with_inputs([exactly(below, side.columns) for below, side in pairs])
    return node.with_inputs(inputs) if inputs else node


def _places(node: UnionAll, wanted: Set[str]) -> list[int]:
    return [i for i, column in enumerate(node.output) if column.name in wanted]
