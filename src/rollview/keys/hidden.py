"""A plan whose key is among its columns: key columns that a projection drops are kept as hidden columns.

Before: ``project city`` over ``scan customers`` (key cust_id).
After: ``project city, cust_id``, where cust_id is hidden.
See ``carried``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from rollview.keys.carried import carrying
from rollview.keys.decided import decided
from rollview.keys.facts import facts_of
from rollview.plan.nodes import Aggregate, Limit, Node, Project, Window, exactly

#: With more hidden columns than this, comparing whole rows is cheaper.
MOST = 6


@dataclass(frozen=True)
class Keyed:
    """A plan, its key (None for a bag), and the columns added only for the key."""

    plan: Node
    key: tuple[str, ...] | None
    hidden: tuple[str, ...] = ()


def with_key(plan: Node) -> Keyed:
    """A plan without open choices, with its key among its columns. The number of hidden columns is limited, unless the
    plan has aggregates or windows; without a key, whole rows are compared."""
    # a LIMIT 1 stores more rows than it shows, and the key must distinguish them
    if (several := _with_count(plan, 1, 2)) is not plan:
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
    """The plan with the count of its final LIMIT replaced."""
    if isinstance(plan, Project):
        below = _with_count(plan.input, old, new)
        return plan if below is plan.input else replace(plan, input=below)
    return replace(plan, count=new) if isinstance(plan, Limit) and plan.count == old else plan


def _in_order(plan: Node, key: frozenset[str]) -> tuple[str, ...]:
    return tuple(column.name for column in plan.columns if column.name in key)
