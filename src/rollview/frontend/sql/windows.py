"""Window functions get columns; QUALIFY filters by them."""

from __future__ import annotations

from sqlglot import exp

from rollview.frontend.sql.functions import short_name
from rollview.frontend.sql.limit import ordering
from rollview.frontend.sql.scope import typed
from rollview.frontend.sql.select_draft import SelectDraft
from rollview.frontend.sql.select_list import item_of
from rollview.frontend.sql.types import type_of
from rollview.frontend.sql.understood import WINDOW, only
from rollview.plan.expressions import Expr, replace_columns
from rollview.plan.nodes import Bound, Column, Filter, Frame, Window, WindowFunction


def windows(select: SelectDraft, order: list[tuple[Expr, exp.Ordered]]) -> list[tuple[Expr, exp.Ordered]]:
    """Computes window functions and applies QUALIFY; returns the terms of ORDER BY over the new columns."""
    qualify = select.node.args.get("qualify")
    functions: dict[Expr, WindowFunction] = {}

    def over(expr: Expr) -> Expr:
        if isinstance(expr, exp.Window):
            only(select.context, expr, WINDOW)
            if by := expr.args.get("partition_by"):  # a column named twice makes the same partitions
                expr.set("partition_by", list(dict.fromkeys(by)))
            if expr not in functions:
                column = select.context.numbering.column(short_name(expr.this), type_of(expr))
                functions[expr.copy()] = window_function(column, expr)
            return typed(functions[expr].column)
        return expr

    if qualify is not None:
        test = item_of(select, qualify.this) or select.bound(qualify.this)
        select.settle()
        test = replace_columns(test, select.values).transform(over, copy=True)
    select.items = [(label, value.transform(over, copy=True)) for label, value in select.items]
    order = [(value.transform(over, copy=True), term) for value, term in order]
    if functions:
        select.plan = Window(select.plan, tuple(functions.values()))
    if qualify is not None:
        select.plan = Filter(select.plan, test)
    return order


def window_function(column: Column, window: exp.Window) -> WindowFunction:
    """The function of a window whose parts are bound."""
    clause, spec = window.args.get("order"), window.args.get("spec")
    terms = clause.expressions if clause is not None else ()
    return WindowFunction(
        column,
        window.this.copy(),
        tuple(value.copy() for value in window.args.get("partition_by") or ()),
        tuple(ordering(term, term.this.copy()) for term in terms),
        None if spec is None else _frame(spec),
    )


def _frame(spec: exp.WindowSpec) -> Frame:
    start, end = (_bound(spec.args.get(part), spec.args.get(f"{part}_side")) for part in ("start", "end"))
    return Frame(spec.args["kind"], start, end)


def _bound(distance: Expr | str | None, side: str | None) -> Bound:
    return Bound(distance.copy() if isinstance(distance, Expr) else None, side or None)
