"""The WINDOW clause: windows with names, and windows that extend a named one."""

from __future__ import annotations

from sqlglot import exp

from rollview.frontend.sql.context import Context, unbuildable
from rollview.frontend.sql.understood import REFERRING_WINDOW, only
from rollview.plan.expressions import Expr


def with_window_clause(context: Context, node: exp.Select, expr: Expr) -> Expr:
    """Replaces references to windows of the WINDOW clause by their definitions."""
    named = {w.name.casefold(): w for w in node.args.get("windows") or ()}

    def clauses(window: Expr, seen: frozenset[str] = frozenset()) -> dict[str, object]:
        only(context, window, REFERRING_WINDOW)
        own = {k: window.args.get(k) for k in ("partition_by", "order", "spec")}
        other = window.alias.casefold()
        if not other:
            return own
        if other not in named or other in seen:
            raise unbuildable(context, f"the window {window.alias}", window)
        base = clauses(named[other], seen | {other})
        return {k: value or base[k] for k, value in own.items()}

    def one(part: Expr) -> Expr:
        if isinstance(part, exp.Window) and part.alias:
            return exp.Window(this=part.this, **clauses(part))
        return part

    return expr.transform(one, copy=True) if named else expr
