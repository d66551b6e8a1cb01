"""A plan whose key is among its columns: key columns that a projection drops are carried along, hidden.

Before: ``project city`` over ``scan customers`` (key cust_id).
After: ``project city, cust_id``, of which cust_id is hidden.
See ``carried``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from rollview.keys.carried import carrying
from rollview.keys.decided import decided
from rollview.keys.facts import facts_of
from rollview.plan.nodes import Aggregate, Limit, Node, Project, Window, exactly

#: More hidden columns than this cost more than to compare whole rows.
MOST = 6


@dataclass(frozen=True)
class Keyed:
    """A plan, its key (None: it is a bag), and the columns that are there only for the key."""

    plan: Node
    key: tuple[str, ...] | None
    hidden: tuple[str, ...] = ()


def with_key(plan: Node) -> Keyed:
    """A plan without open choices, with its key. Where rows are not computed from several others, not with any number
    of hidden columns: whole rows can be compared as well."""
    if (several := _with_count(plan, 1, 2)) is not plan:  # beside the row that is shown, others are stored
        keyed = with_key(several)
        return replace(keyed, plan=_with_count(keyed.plan, 2, 1))
    if (key := facts_of(plan).key) is not None:
        return Keyed(plan, _in_order(plan, key))
    carried = decided(carrying(plan)).plan
    key = facts_of(carried).key
    if key is None:
        return Keyed(plan, None)
    hidden = tuple(sorted(key - plan.names))
    if len(hidden) > MOST and not any(isinstance(node, Aggregate | Window) for node in plan.walk()):
        return Keyed(plan, None)
    wanted = [column for column in carried.columns if column.name in plan.names or column.name in hidden]
    order = {column.name: i for i, column in enumerate(plan.columns)}
    wanted.sort(key=lambda column: order.get(column.name, len(order)))
    exact = exactly(carried, wanted)
    return Keyed(exact, _in_order(exact, key), hidden)


def _with_count(plan: Node, old: int, new: int) -> Node:
    """A plan that ends in a LIMIT, with another count."""
    if isinstance(plan, Project):
        below = _with_count(plan.input, old, new)
        return plan if below is plan.input else replace(plan, input=below)
    return replace(plan, count=new) if isinstance(plan, Limit) and plan.count == old else plan


def _in_order(plan: Node, key: frozenset[str]) -> tuple[str, ...]:
    return tuple(column.name for column in plan.columns if column.name in key)
