"""Window functions: from the syntax tree to the plan."""

from __future__ import annotations

from sqlglot import exp

from rollview.frontend.sql.limit import ordering
from rollview.plan.expressions import Expr
from rollview.plan.nodes import Bound, Column, Frame, WindowFunction


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
