"""Orders without ties: where the choice among equals would be chance, the key decides.

Before: ``limit 3 by amount`` over ``scan orders`` (key id); ``row_number() over (order by amount)``.
After: ``limit 3 by amount, id``; ``row_number() over (order by amount, id)``.
Every answer of the second is one of the first, and computed again it is the same one; without that, what a refresh
takes away might not be what was stored. Without a key, all columns decide; rows equal in all of them are the same.
Not for rank and frames by RANGE, to which ties mean something.
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from rollview.keys.facts import facts_of
from rollview.plan.expressions import Expr, ref
from rollview.plan.nodes import Computed, Limit, Node, Ordering, Window
from rollview.plan.normalising import apply_rule

#: Window functions whose value depends on the order of ties, whatever their frame is.
_BY_PLACE = (exp.RowNumber, exp.Ntile, exp.Lag, exp.Lead)


def without_ties(plan: Node) -> Node:
    def rule(node: Node) -> Node | None:
        if isinstance(node, Limit):
            more = _deciding(node.input, [term.value for term in node.order])
            return replace(node, order=(*node.order, *map(Ordering, more))) if more else None
        if isinstance(node, Window):
            functions = tuple(_decided(item, node.input) for item in node.functions)
            return replace(node, functions=functions) if functions != node.functions else None
        return None

    return apply_rule(plan, rule)


def _decided(item: Computed, below: Node) -> Computed:
    window = item.value
    order = window.args.get("order")
    if not isinstance(window, exp.Window) or order is None or not _chance(window):
        return item
    given = [term.this for term in order.expressions]
    more = _deciding(below, [*given, *(window.args.get("partition_by") or ())])
    if not more:
        return item
    changed = window.copy()
    changed.set("order", exp.Order(expressions=[*(t.copy() for t in order.expressions), *map(_term, more)]))
    return replace(item, value=changed)


def _term(value: Expr) -> exp.Ordered:
    return exp.Ordered(this=value, nulls_first=True)


def _chance(window: exp.Window) -> bool:
    """Whether ties change what the function returns."""
    called = window.this
    while isinstance(called, exp.IgnoreNulls | exp.RespectNulls):
        called = called.this
    spec = window.args.get("spec")
    if isinstance(called, exp.FirstValue) and spec is None:  # of a frame that begins with the partition
        return True
    return isinstance(called, _BY_PLACE) or (spec is not None and spec.args.get("kind") == "ROWS")


def _deciding(below: Node, given: list[Expr]) -> list[Expr]:
    """The columns that tell rows apart which are equal in the given values."""
    key = facts_of(below).key
    names = {value.name for value in given if isinstance(value, exp.Column)}
    wanted = (column for column in below.columns if key is None or column.name in key)
    return [ref(column.name) for column in wanted if column.name not in names and not _is_map(column.type)]


def _is_map(kind: exp.DataType) -> bool:
    return any(part.this == exp.DataType.Type.MAP for part in kind.find_all(exp.DataType))
