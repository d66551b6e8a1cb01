"""Which rule is for which operator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rollview.delta import linear, recomputed
from rollview.delta.aggregate import aggregate
from rollview.delta.deriving import Deriving
from rollview.delta.join import inner_delta, multi_join
from rollview.delta.matching import matching_delta
from rollview.delta.outer_join import outer_delta
from rollview.delta.window import window
from rollview.plan.nodes import (
    CROSS,
    FULL,
    INNER,
    LEFT,
    Aggregate,
    Distinct,
    Filter,
    Generate,
    Join,
    Limit,
    MultiJoin,
    Node,
    Project,
    Scan,
    SetOperation,
    UnionAll,
    Window,
)


def join(node: Join, deriving: Deriving) -> Node | None:
    if node.kind in (INNER, CROSS):
        return inner_delta(node, deriving)
    if node.kind in (LEFT, FULL):
        found = outer_delta(node, deriving)
        return None if found is None else deriving.step("outer", found, f"change of {node.title} {node.details}")
    return matching_delta(node, deriving)


#: From an operator and what is known of its inputs to its delta.
Rule = Callable[[Any, Deriving], Node | None]

RULES: dict[type[Node], Rule] = {
    Scan: linear.scan,
    Filter: linear.filter_,
    Project: linear.project,
    Generate: linear.generate,
    UnionAll: linear.union_all,
    Join: join,
    MultiJoin: multi_join,
    Aggregate: aggregate,
    Distinct: recomputed.distinct,
    SetOperation: recomputed.set_operation,
    Window: window,
    Limit: recomputed.limit,
}
