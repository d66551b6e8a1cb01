"""SELECT: its clauses in the order in which SQL evaluates them.

FROM, WHERE, the select list, GROUP BY and HAVING, window functions, DISTINCT, ORDER BY with LIMIT.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from rollview.errors import SqlError
from rollview.frontend.sql.aggregation import aggregate
from rollview.frontend.sql.conditions import conditions, merged, subqueries_in_where
from rollview.frontend.sql.context import Context
from rollview.frontend.sql.from_clause import build_from
from rollview.frontend.sql.functions import holds_aggregate
from rollview.frontend.sql.limit import ordering, with_limit
from rollview.frontend.sql.scope import Scope, place, typed
from rollview.frontend.sql.select_draft import SelectDraft
from rollview.frontend.sql.select_list import item_of, select_list
from rollview.frontend.sql.time_window import with_time_window
from rollview.frontend.sql.types import type_of
from rollview.frontend.sql.understood import SELECT, only
from rollview.frontend.sql.windows import windows
from rollview.plan.expressions import Expr, replace_columns
from rollview.plan.nodes import Column, Computed, Distinct, Node, Ordering, Project


def build_select(context: Context, node: exp.Select, parent: Scope | None) -> Node:
    only(context, node, SELECT)
    node = subqueries_in_where(node)
    node, source = with_time_window(context, node, build_from(context, node, parent), parent)
    select = SelectDraft(context, node, Scope(context.sql, list(source.entries), parent), source.plan)
    if node.args.get("where") is not None:
        for condition in merged(conditions(select, node.args["where"].this)):
            select.plan = condition.applied(context, select.plan)
    select_list(select)
    order = _order_terms(select)
    having = node.args.get("having")
    grouped = (
        node.args.get("group") is not None
        or select.generated is not None
        or any(holds_aggregate(value) for value in [*(v for _, v in select.items), *(t for t, _ in order)])
        or (having is not None and holds_aggregate(having.this))
    )
    if grouped:
        aggregate(select, order, having.this if having is not None else None)
    elif having is not None:
        raise SqlError("HAVING without a group", where=place(context.sql, having), todo="use WHERE")
    select.settle()
    order = [(replace_columns(value, select.values), term) for value, term in order]
    order = windows(select, order)
    return _output(select, order)


def _order_terms(select: SelectDraft) -> list[tuple[Expr, exp.Ordered]]:
    """ORDER BY, if a LIMIT needs it: each term names a column of the select list, or is an expression of its own."""
    if select.node.args.get("limit") is None and select.node.args.get("offset") is None:
        return []
    found = []
    clause = select.node.args.get("order")
    for term in clause.expressions if clause is not None else ():
        if isinstance(term.this, exp.Var):  # ORDER BY ALL
            found += [(value.copy(), term) for _, value in select.items]
            continue
        found.append((item_of(select, term.this) or select.bound(term.this), term))
    return found


def _output(select: SelectDraft, order: Sequence[tuple[Expr, exp.Ordered]]) -> Node:
    """The select list as a projection, then DISTINCT, then LIMIT. Columns for ORDER BY alone are dropped at the end."""
    computed = _computed(select.context, select.plan, select.items)
    terms: list[Ordering] = []
    extra: list[Computed] = []
    for value, term in order:
        same = next((item for item in computed if item.value == value), None)
        if same is None:
            same = Computed(select.context.numbering.column("order", type_of(value)), value)
            extra.append(same)
        terms.append(ordering(term, typed(same.column)))
    plan: Node = Project(select.plan, tuple(computed + extra))
    if select.node.args.get("distinct") is not None:
        if extra:
            raise SqlError(
                "DISTINCT orders by a column that it does not select", where=place(select.context.sql, select.node)
            )
        plan = Distinct(plan)
    plan = with_limit(select.context, select.node, plan, tuple(terms))
    if extra:
        plan = Project(plan, tuple(Computed(item.column, typed(item.column)) for item in computed))
    return plan


def _computed(context: Context, plan: Node, items: Sequence[tuple[str, Expr]]) -> list[Computed]:
    """The items as columns. An item that is a column of the plan keeps its name, unless an earlier item has it."""
    types = {column.name: column for column in plan.columns}
    taken: set[str] = set()
    found = []
    fresh = context.numbering.columns([label for label, _ in items])
    for (label, value), column in zip(items, fresh, strict=True):
        bare = value.unnest()
        if isinstance(bare, exp.Column) and bare.name in types and bare.name not in taken:
            taken.add(bare.name)
            found.append(Computed(Column(bare.name, label, types[bare.name].type), bare))
        else:
            found.append(Computed(Column(column.name, label, type_of(value)), value))
    return found
