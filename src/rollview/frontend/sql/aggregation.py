"""GROUP BY and HAVING: keys and aggregates get columns, and every expression above them reads these columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from sqlglot import exp

from rollview.errors import SqlError
from rollview.frontend.sql.conditions import conditions
from rollview.frontend.sql.context import Context
from rollview.frontend.sql.functions import holds_aggregate, is_aggregate, short_name
from rollview.frontend.sql.group import group_keys
from rollview.frontend.sql.scope import place, typed
from rollview.frontend.sql.select_draft import SelectDraft
from rollview.frontend.sql.select_list import item_of, label_of
from rollview.frontend.sql.types import type_of
from rollview.plan.expressions import Expr
from rollview.plan.nodes import Aggregate, Computed, Node, Project


def aggregate(select: SelectDraft, order: list[tuple[Expr, exp.Ordered]], having: Expr | None) -> None:
    """Puts an Aggregate on the plan, and rewrites the items, the order and HAVING to read its columns."""
    context = select.context
    waiting = list(select.pending)
    select.pending.clear()
    group = select.node.args.get("group")
    values = [value for _, value in select.items]
    keys, sets = ([], None) if group is None else group_keys(context, group, values, partial(_key, select))
    groups, below = _computed_below(context, select.plan, keys)
    grouped_by = {group.value: group.column for group in reversed(groups)}
    aggregates: dict[Expr, Computed] = {}

    def over(expr: Expr) -> Expr:
        """The expression over the columns of the aggregation."""
        for value in (expr, expr.unnest()):
            if value in grouped_by:
                return typed(grouped_by[value])
        if isinstance(expr, exp.Grouping | exp.GroupingId) or _is_grouping(expr):
            expr = type(expr)(**{k: _each(v, over) for k, v in expr.args.items()})
        if is_aggregate(expr):
            if expr not in aggregates:
                aggregates[expr] = Computed(context.numbering.column(short_name(expr), type_of(expr)), expr)
            return typed(aggregates[expr].column)
        if isinstance(expr, exp.Window):
            return _window_over(expr, over)
        return type(expr)(**{k: _each(v, over) for k, v in expr.args.items()})

    select.items = [(label, over(value)) for label, value in select.items]
    order[:] = [(over(value), term) for value, term in order]
    generated = None if select.generated is None else over(select.generated.value)
    select.pending += [item.rewritten(over) for item in waiting]
    kept = [condition.over(over) for condition in conditions(select, having)]
    by = tuple(Computed(group.column, typed(group.column)) for group in groups)
    select.plan = Aggregate(below, by, tuple(aggregates.values()), sets)
    for condition in kept:
        select.plan = condition.applied(context, select.plan)
    if select.generated is not None and generated is not None:
        select.plan = select.generated.over(select.plan, generated)


def _key(select: SelectDraft, expr: Expr) -> Expr:
    """A key: a column of FROM, a number or name of the select list, or an expression."""
    if isinstance(expr, exp.Column) and select.scope.knows(expr):
        return select.scope.resolve(expr)
    found = item_of(select, expr)
    if found is not None:
        if holds_aggregate(found):
            raise SqlError("A group key cannot hold an aggregate", where=place(select.context.sql, expr))
        return found.unnest()
    return select.bound(expr).unnest()


def _computed_below(context: Context, plan: Node, keys: Sequence[Expr]) -> tuple[list[Computed], Node]:
    """The keys as columns; those that are not yet columns are computed in a projection below the groups."""
    groups: list[Computed] = []
    for value in keys:
        column = next((c for c in plan.columns if isinstance(value, exp.Column) and c.name == value.name), None)
        groups.append(Computed(column or context.numbering.column(label_of(value), type_of(value)), value))
    new = [group for group in groups if group.column.name not in plan.names]
    if not new:
        return groups, plan
    return groups, Project(plan, (*(Computed(c, typed(c)) for c in plan.columns), *new))


def _window_over(window: exp.Window, over: Callable[[Expr], Expr]) -> Expr:
    """A window function above an aggregation: its arguments are rewritten, it is not itself an aggregate."""
    function = window.this
    wrapper = function if isinstance(function, exp.Filter | exp.IgnoreNulls | exp.RespectNulls) else None
    inner = function.this if wrapper is not None else function
    inner = type(inner)(**{k: _each(v, over) for k, v in inner.args.items()})
    if wrapper is not None:
        rest = {k: _each(v, over) for k, v in wrapper.args.items() if k != "this"}
        inner = type(wrapper)(this=inner, **rest)
    return exp.Window(this=inner, **{k: _each(v, over) for k, v in window.args.items() if k != "this"})


def _is_grouping(expr: Expr) -> bool:
    return isinstance(expr, exp.Anonymous) and expr.name.lower() in ("grouping", "grouping_id")


def _each(value: object, change: Callable[[Expr], Expr]) -> object:
    if isinstance(value, exp.Expr):
        return change(value)
    if isinstance(value, list):
        return [_each(item, change) for item in value]
    return value
