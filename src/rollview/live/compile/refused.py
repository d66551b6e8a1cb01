"""Why a query has no live view: what in it the join graph does not have, and what can be done."""

from __future__ import annotations

from rollview.errors import Unsupported
from rollview.plan.nodes import Join, Node

_WHY = {
    "distinct": "the join graph has no operator that removes duplicates",
    "limit": "the join graph has no order of rows",
    "window": "the join graph has no order of rows",
    "union all": "a join graph is made for one inner join",
    "generate": "the join graph has no operator that makes several rows of one",
    "aggregate": "the join graph groups completed rows only: there can be one aggregate, and no join above it",
    "values": "a part of a join graph is a table",
}

TODO = "read the view with rv.table, or keep it fresh with rv.refresh"


class NotLive(Unsupported):
    """A query of which no live view can be made."""

    code = "not_live"


def refuse(node: Node) -> NotLive:
    """The error for an operator that the join graph does not have."""
    if isinstance(node, Join):
        return not_live(
            f"a {str(node.kind).upper()} join",
            "the join graph has only rows that match; it has no operator for rows without a match",
        )
    return not_live(
        f"the operator {node.title.upper()}", _WHY.get(node.title, "the join graph is made for inner joins")
    )


def not_live(what: str, why: str) -> NotLive:
    return NotLive(f"This query has no live view: {what}", why=why, todo=TODO)
