"""Columns that nobody needs are not carried.

Before: ``project a over join inner (scan x [a, b, c], scan y [e, d]) on b = e``.
After: ``project a over join inner (scan x [a, b], scan y [e]) on b = e``.
Not below DISTINCT and set operations, which compare whole rows; and a scan keeps its key, which tells its rows apart.
"""

from __future__ import annotations

from dataclasses import replace

from rollview.plan.expressions import names_in
from rollview.plan.nodes import (
    ANTI,
    MARK,
    SEMI,
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
    Scan,
    SetOperation,
    UnionAll,
    Window,
    exactly,
)

Names = frozenset[str]


def prune_columns(plan: Node) -> Node:
    """The plan with the same columns, and no more below than they need."""
    return exactly(_pruned(plan, plan.names), plan.columns)


def _used(node: Node) -> Names:
    return frozenset().union(*(names_in(expression) for expression in node.expressions))


def _pruned(node: Node, wanted: Names) -> Node:
    """The plan with at least the wanted columns."""
    if isinstance(node, Scan):
        kept = [
            (c, s) for c, s in zip(node.output, node.sources, strict=True) if c.name in wanted or c.name in node.key
        ]
        told = tuple(name for name in node.not_null if any(c.name == name for c, _ in kept))
        return replace(node, output=tuple(c for c, _ in kept), sources=tuple(s for _, s in kept), not_null=told)
    if isinstance(node, Project):
        output = tuple(item for item in node.output if item.column.name in wanted)
        needed = frozenset().union(*(names_in(item.value) for item in output))
        return Project(_pruned(node.input, needed), output)
    if isinstance(node, Aggregate):
        aggregates = tuple(item for item in node.aggregates if item.column.name in wanted)
        kept_node = Aggregate(node.input, node.keys, aggregates, node.sets)
        return Aggregate(_pruned(node.input, _used(kept_node)), node.keys, aggregates, node.sets)
    if isinstance(node, Window):
        functions = tuple(item for item in node.functions if item.column.name in wanted)
        needed = wanted.union(*(names_in(item.value) for item in functions))
        below = _pruned(node.input, needed & node.input.names)
        return Window(below, functions) if functions else below
    if isinstance(node, Filter | Limit | Generate):
        return node.with_inputs([_pruned(node.input, (wanted | _used(node)) & node.input.names)])
    if isinstance(node, MultiJoin):
        needed = wanted | _used(node)
        return node.with_inputs([_pruned(part, needed & part.names) for part in node.parts])
    if isinstance(node, Join):
        needed = wanted | _used(node)
        if node.kind in (SEMI, ANTI, MARK):
            needed = needed - (node.right.names - _used(node))
        return node.with_inputs([_pruned(side, needed & side.names) for side in node.inputs])
    if isinstance(node, UnionAll) and not isinstance(node, SetOperation | Recursive):
        places = [i for i, column in enumerate(node.output) if column.name in wanted]
        sides = []
        for side in (node.left, node.right):
            columns = tuple(side.columns[i] for i in places)
            sides.append(exactly(_pruned(side, frozenset(c.name for c in columns)), columns))
        return UnionAll(sides[0], sides[1], tuple(node.output[i] for i in places))
    if isinstance(node, Distinct | SetOperation | Recursive):
        return node.with_inputs([exactly(_pruned(side, side.names), side.columns) for side in node.inputs])
    return node
