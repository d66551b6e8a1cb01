"""Drop a projection that only removes columns, below an operator that selects its columns anyway.

Before: ``aggregate by a over join inner (project a, b over scan x [a, b, c], y)``.
After: ``aggregate by a over join inner (scan x [a, b, c], y)``; pruning narrows the scan.
Not below DISTINCT, a set operation or a union, which use every column; and not if both sides of a join would then have
a column of the same name.
"""

from __future__ import annotations

from sqlglot import exp

from rollview.plan.nodes import Aggregate, Filter, Generate, Join, Limit, Node, Project, Window


def drop_projects(node: Node) -> Node | None:
    if not isinstance(node, Project | Aggregate):
        return None
    below = _stripped(node.input)
    return node.with_inputs([below]) if below is not node.input else None


def _stripped(node: Node) -> Node:
    if isinstance(node, Project):
        return _stripped(node.input) if _only_drops(node) else node
    if not isinstance(node, Filter | Window | Limit | Generate | Join):
        return node
    inputs = [_stripped(child) for child in node.inputs]
    if all(a is b for a, b in zip(inputs, node.inputs, strict=True)):
        return node
    if isinstance(node, Join) and inputs[0].names & inputs[1].names:
        return node
    return node.with_inputs(inputs)


def _only_drops(node: Project) -> bool:
    return all(isinstance(item.value, exp.Column) and item.value.name == item.column.name for item in node.output)
