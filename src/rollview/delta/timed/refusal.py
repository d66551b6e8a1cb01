"""Which operator of a plan has no timed rule.

Inner and cross joins, filters, projections, explode and UNION ALL have one. Whatever is computed from constants alone
needs none. An aggregate or DISTINCT below another operator, an outer or semi join, a window and LIMIT have none: their
change at one position depends on all rows of a key there.
"""

from __future__ import annotations

from rollview.plan.nodes import (
    Aggregate,
    Distinct,
    Filter,
    Generate,
    Join,
    JoinKind,
    Limit,
    MultiJoin,
    Node,
    Project,
    Recursive,
    Scan,
    SetOperation,
    UnionAll,
    Window,
)

_TIMED = (Scan, Filter, Project, Generate, UnionAll, MultiJoin)

_NAMES: dict[type[Node], str] = {
    Aggregate: "GROUP BY below another operator",
    Distinct: "DISTINCT",
    SetOperation: "EXCEPT or INTERSECT",
    Window: "a window function",
    Limit: "LIMIT",
    Recursive: "WITH RECURSIVE",
}

_JOINS = {
    JoinKind.LEFT: "LEFT JOIN",
    JoinKind.RIGHT: "RIGHT JOIN",
    JoinKind.FULL: "FULL JOIN",
    JoinKind.SEMI: "a semi join (EXISTS, IN)",
    JoinKind.ANTI: "an anti join (NOT EXISTS, NOT IN)",
    JoinKind.MARK: "a subquery in a condition (EXISTS, IN)",
    JoinKind.SINGLE: "a scalar subquery",
}


def untimed(plan: Node) -> str | None:
    """The first operator without a timed rule, as SQL calls it; None if all have one."""
    for node in plan.walk():
        if not node.tables or isinstance(node, _TIMED) or (isinstance(node, Join) and node.kind.is_inner):
            continue
        if isinstance(node, Join):
            return _JOINS[node.kind]
        if isinstance(node, Aggregate) and not node.keys:
            return "an aggregate below another operator"
        return _NAMES.get(type(node), node.title)
    return None
