"""Subqueries in expressions become joins: a scalar subquery adds a column; IN and EXISTS add a mark column, or become a
semi or anti join."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sqlglot import exp

from rollview.errors import SqlError
from rollview.frontend.sql.context import Context
from rollview.frontend.sql.decorrelate import exists_join, mark_join, scalar_join
from rollview.frontend.sql.scope import Scope, place, typed
from rollview.frontend.sql.types import equal
from rollview.frontend.sql.understood import EXISTS, IN, only
from rollview.plan.expressions import Expr, replace_columns
from rollview.plan.nodes import ANTI, SEMI, Column, Node

BOOLEAN = exp.DataType.build("boolean")


@dataclass(frozen=True)
class Pending:
    """A subquery that must still be joined to the plan of its query."""

    column: Column
    inner: Node
    compared: Expr | None = None
    scalar: bool = False

    def rewritten(self, change: Callable[[Expr], Expr]) -> Pending:
        """The same subquery after the outer expressions have changed, as they do above an aggregation."""
        if self.compared is None:
            return self
        return Pending(self.column, self.inner, change(self.compared), self.scalar)


def scalar_subquery(context: Context, node: exp.Subquery, scope: Scope, pending: list[Pending]) -> Expr:
    inner = context.query(node, scope)
    if len(inner.columns) != 1:
        raise SqlError(
            f"A subquery used as a value has {len(inner.columns)} columns",
            where=place(context.sql, node),
            todo="select one column",
        )
    column = context.numbering.column("scalar", inner.columns[0].type)
    pending.append(Pending(column, inner, scalar=True))
    return typed(column)


def mark_subquery(
    context: Context, node: Expr, scope: Scope, pending: list[Pending], bind: Callable[[Expr], Expr]
) -> Expr:
    """IN, EXISTS, ANY and ALL as a column that is true, false or unknown."""
    inner, compared, negated = predicate(context, node, scope, bind)
    column = context.numbering.column("mark", BOOLEAN)
    pending.append(Pending(column, inner, compared))
    return exp.Not(this=typed(column)) if negated else typed(column)


def predicate(
    context: Context, node: Expr, scope: Scope, bind: Callable[[Expr], Expr]
) -> tuple[Node, Expr | None, bool]:
    """The subquery's plan, the comparison with its columns (None for EXISTS), and whether the result is negated."""
    if isinstance(node, exp.Exists):
        only(context, node, EXISTS)
        return context.query(node.this, scope), None, False
    if isinstance(node, exp.In):
        only(context, node, IN)
        inner = context.query(node.args["query"], scope)
        left = node.this.expressions if isinstance(node.this, exp.Tuple) else [node.this]
        return inner, _equal(context, node, [bind(part) for part in left], inner), False
    quantifier = node.expression
    inner = context.query(quantifier.this, scope)
    if len(inner.columns) != 1:
        raise SqlError("A subquery in a comparison must have one column", where=place(context.sql, node))
    value, column = bind(node.this), typed(inner.columns[0])
    test = equal(value, column) if isinstance(node, exp.EQ) else type(node)(this=value, expression=column)
    if isinstance(quantifier, exp.All):
        return inner, exp.Not(this=exp.Paren(this=test)), True
    return inner, test, False


def _equal(context: Context, node: Expr, left: list[Expr], inner: Node) -> Expr:
    if len(left) != len(inner.columns):
        raise SqlError(
            f"IN compares {len(left)} values with {len(inner.columns)} columns", where=place(context.sql, node)
        )
    result: Expr | None = None
    for value, column in zip(left, inner.columns, strict=True):
        test = equal(value, typed(column))
        result = test if result is None else exp.And(this=result, expression=test)
    assert result is not None
    return result


def attach(context: Context, plan: Node, waiting: list[Pending]) -> tuple[Node, dict[str, Expr]]:
    """Joins the subqueries to the plan. Also returns expressions that replace the columns of scalar subqueries."""
    values: dict[str, Expr] = {}
    for item in waiting:
        compared = replace_columns(item.compared, values) if item.compared is not None else None
        if item.scalar:
            plan, value = scalar_join(context, plan, item.inner)
            values[item.column.name] = value
        else:
            plan = mark_join(context, plan, item.inner, item.column, compared)
    return plan, values


def attach_predicate(context: Context, plan: Node, inner: Node, compared: Expr | None, negated: bool) -> Node:
    """IN, EXISTS and their negations, if they are a whole conjunct of the condition."""
    if not negated:
        return exists_join(context, plan, inner, SEMI, compared)
    if compared is not None:  # a row stays if no comparison is true or unknown
        compared = exp.Not(this=exp.Paren(this=exp.Is(this=exp.Paren(this=compared), expression=exp.false())))
    return exists_join(context, plan, inner, ANTI, compared)
