"""Pass key columns on through projections that drop them.

Before: ``project city`` over ``scan customers`` (key cust_id). After: ``project city, cust_id``.
Both branches of a UNION ALL pass on their keys, and a tag. Not through DISTINCT, aggregates or set operations: there an
additional column would change the rows of the result.
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from rollview.keys.branches import tagged
from rollview.keys.facts import facts_of
from rollview.plan.expressions import ref
from rollview.plan.nodes import (
    FULL,
    Column,
    Computed,
    Filter,
    Generate,
    Join,
    Limit,
    MultiJoin,
    Node,
    Project,
    UnionAll,
    Window,
)

#: The label of a column that is not NULL in the rows of a FULL JOIN that have a left side.
THERE = "__there"


def carrying(plan: Node) -> Node:
    """The plan, with projections that pass on the keys of their inputs."""
    done: dict[Node, Node] = {}

    def carried(node: Node) -> Node:
        if node not in done:
            done[node] = found(node)
        return done[node]

    def found(node: Node) -> Node:
        if isinstance(node, Join) and node.kind.is_lookup:
            return node.with_inputs(_apart(node, [carried(node.left), node.right]))
        if isinstance(node, Filter | Window | Limit | Generate | Join | MultiJoin):
            over = node.with_inputs(_apart(node, [carried(child) for child in node.inputs]))
            return _with_left_tag(over) if isinstance(over, Join) and over.kind == FULL else over
        if isinstance(node, Project):
            below = carried(node.input)
            passed = {item.value.name for item in node.output if item.value == ref(item.value.name)}
            key = facts_of(below).key or frozenset()
            extra = [c for c in below.columns if c.name in key and c.name not in passed and c.name not in node.names]
            return Project(below, node.output + tuple(Computed(column, ref(column.name)) for column in extra))
        if isinstance(node, UnionAll):
            return tagged(node, carried) or node
        return node

    return carried(plan)


def _apart(node: Node, inputs: list[Node]) -> list[Node]:
    """The inputs of a join, with hidden columns renamed that both have from a shared subplan."""
    taken = set[str]().union(*(old.names for old in node.inputs))
    found = []
    for old, new in zip(node.inputs, inputs, strict=True):
        output = []
        for column in new.columns:
            name, number = column.name, 1
            while column.name not in old.names and name in taken:
                name, number = f"{column.name}_{number}", number + 1
            taken.add(name)
            output.append(Computed(replace(column, name=name), ref(column.name)))
        same = all(item.column.name == item.value.name for item in output)
        found.append(new if same else Project(new, tuple(output)))
    return found


def _with_left_tag(join: Join) -> Node:
    """A FULL JOIN with a column that says whether a row has a left side, if no other column does: a nullable key cannot
    distinguish a left row whose key is NULL from a missing left row."""
    left = facts_of(join.left)
    if left.key is None or facts_of(join.right).key is None or facts_of(join).key is not None:
        return join
    base = join.left.columns[0].name if join.left.columns else join.right.columns[0].name
    tag = Column(f"{base}_there", THERE, exp.DataType.build("int"))
    own = tuple(Computed(column, ref(column.name)) for column in join.left.columns)
    return join.with_inputs([Project(join.left, (*own, Computed(tag, exp.Literal.number(1)))), join.right])
