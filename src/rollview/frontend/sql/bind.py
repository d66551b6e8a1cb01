"""Expressions: names become plan columns, and subqueries become columns that a join will add."""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from rollview.frontend.sql.context import Context, unbuildable
from rollview.frontend.sql.scope import Scope
from rollview.frontend.sql.subqueries import Pending, mark_subquery, scalar_subquery
from rollview.frontend.sql.types import equal
from rollview.frontend.sql.understood import COLUMN, only
from rollview.plan.expressions import Expr, chained, connected


def bind(
    node: Expr,
    scope: Scope,
    context: Context,
    pending: list[Pending] | None = None,
    aliases: dict[str, Expr] | None = None,
) -> Expr:
    """A copy of the expression over plan columns.

    Subqueries are added to ``pending``, and the result reads the columns that they will become; without the list,
    subqueries are refused. ``aliases`` are the earlier items of the select list (lateral column aliases).
    """
    if isinstance(node, exp.Column) and not isinstance(node.this, exp.Star):
        known = (aliases or {}).get(node.name.casefold()) if not node.table else None
        if known is not None and not scope.knows(node):
            return exp.Paren(this=known.copy())
        only(context, node, COLUMN)
        return scope.resolve(node)
    if (
        isinstance(node, exp.Subquery | exp.Exists)
        or (isinstance(node, exp.Any | exp.All) and _of_a_query(node))
        or (isinstance(node, exp.In) and node.args.get("query") is not None)
        or _quantified(node)
    ):
        if pending is None:
            raise unbuildable(context, "a subquery at this place", node)
        if isinstance(node, exp.Subquery):
            return scalar_subquery(context, node, scope, pending)
        return mark_subquery(context, node, scope, pending, lambda part: bind(part, scope, context, pending, aliases))
    if isinstance(node, exp.Query):
        raise unbuildable(context, "a subquery at this place", node)

    if isinstance(node, exp.And | exp.Or):
        kind = type(node)
        return connected(kind, [bind(part, scope, context, pending, aliases) for part in chained(node, kind)])

    def deeper(value: Any) -> Any:
        if isinstance(value, exp.Expr):
            return bind(value, scope, context, pending, aliases)
        if isinstance(value, list):
            return [deeper(item) for item in value]
        return value

    bound = type(node)(**{name: deeper(value) for name, value in node.args.items()})
    return equal(bound.this, bound.expression, type(bound)) if isinstance(bound, exp.EQ | exp.NullSafeEQ) else bound


def _quantified(node: Expr) -> bool:
    return (
        isinstance(node, exp.Predicate)
        and isinstance(node, exp.Binary)
        and isinstance(node.expression, exp.Any | exp.All)
        and _of_a_query(node.expression)
    )


def _of_a_query(quantifier: Expr) -> bool:
    """Not ``LIKE ANY ('a%', 'b%')``."""
    return isinstance(quantifier.this, exp.Query) or isinstance(quantifier.this.unnest(), exp.Query)
