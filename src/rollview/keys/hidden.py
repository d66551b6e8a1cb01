"""A plan whose key is among its columns: key columns that a projection drops are carried along, hidden.

Before: ``project city`` over ``scan customers`` (key cust_id).
After: ``project city, cust_id``, of which cust_id is hidden.
Both branches of a UNION ALL carry their keys, each NULL in the other branch if their types differ, and a tag.
Not through a DISTINCT, a group or a set operation: there one more column would change which rows there are.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from rollview.keys.branches import tagged
from rollview.keys.facts import facts_of
from rollview.keys.ties import without_ties
from rollview.plan.expressions import ref
from rollview.plan.nodes import (
    ANTI,
    MARK,
    SEMI,
    SINGLE,
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
    exactly,
)

#: More hidden columns than this cost more than a bag's count does.
MOST = 6


@dataclass(frozen=True)
class Keyed:
    """A plan, its key (None: it is a bag), and the columns that are there only for the key."""

    plan: Node
    key: tuple[str, ...] | None
    hidden: tuple[str, ...] = ()


def with_key(plan: Node) -> Keyed:
    """The plan with its key, as far as a sane number of hidden columns allows."""
    settled = without_ties(plan)
    if (key := facts_of(plan).key) is not None:
        return Keyed(settled, _in_order(plan, key))
    carrying = without_ties(_carrying(plan))
    key = facts_of(carrying).key
    if key is None:
        return Keyed(settled, None)
    hidden = tuple(sorted(key - plan.names))
    if len(hidden) > MOST:
        return Keyed(settled, None)
    wanted = [column for column in carrying.columns if column.name in plan.names or column.name in hidden]
    order = {column.name: i for i, column in enumerate(plan.columns)}
    wanted.sort(key=lambda column: order.get(column.name, len(order)))
    exact = exactly(carrying, wanted)
    return Keyed(exact, _in_order(exact, key), hidden)


def _in_order(plan: Node, key: frozenset[str]) -> tuple[str, ...]:
    return tuple(column.name for column in plan.columns if column.name in key)


def _carrying(plan: Node) -> Node:
    """The plan whose projections pass on the keys of their inputs."""
    done: dict[Node, Node] = {}

    def carrying(node: Node) -> Node:
        if node not in done:
            done[node] = found(node)
        return done[node]

    def found(node: Node) -> Node:
        if isinstance(node, Join) and node.kind in (SEMI, ANTI, MARK, SINGLE):
            return node.with_inputs([carrying(node.left), node.right])
        if isinstance(node, Filter | Window | Limit | Generate | Join | MultiJoin):
            return node.with_inputs(_apart(node, [carrying(child) for child in node.inputs]))
        if isinstance(node, Project):
            below = carrying(node.input)
            passed = {item.value.name for item in node.output if item.value == ref(item.value.name)}
            key = facts_of(below).key or frozenset()
            extra = [c for c in below.columns if c.name in key and c.name not in passed and c.name not in node.names]
            return Project(below, node.output + tuple(Computed(column, ref(column.name)) for column in extra))
        if type(node) is UnionAll:
            return tagged(node, carrying) or node
        return node

    return carrying(plan)


def _apart(node: Node, inputs: list[Node]) -> list[Node]:
    """The inputs of a join with different names for the hidden columns that they have from the same operator."""
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
