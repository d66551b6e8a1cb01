"""Queries: WITH, set operations, and ORDER BY with LIMIT around them."""

from __future__ import annotations

from sqlglot import exp

from rollview.errors import SqlError
from rollview.plan.building.context import Context, Cte, Tables, unbuildable
from rollview.plan.building.limiting import limited
from rollview.plan.building.numbering import Numbering
from rollview.plan.building.relations import values_plan
from rollview.plan.building.scope import Entry, Scope, place
from rollview.plan.building.select import build_select
from rollview.plan.building.understood import PARENTHESES, SET_OPERATION, VALUES, only
from rollview.plan.coercion import mixed
from rollview.plan.expressions import Expr
from rollview.plan.nodes import UNKNOWN, Distinct, Node, SetOperation, UnionAll


def build_plan(tree: exp.Query, sql: str, tables: Tables) -> Node:
    """The plan of a query; its columns are the query's, in order, labelled as the query names them."""
    return _query(Context(sql, tables, Numbering(), _query), tree, None)


def _query(context: Context, node: Expr, parent: Scope | None) -> Node:
    context = _with(context, node)
    if isinstance(node, exp.Select):
        return build_select(context, node, parent)
    if isinstance(node, exp.Subquery):
        only(context, node, PARENTHESES)
        return _ordered(context, node, context.query(node.this, parent), parent)
    if isinstance(node, exp.SetOperation):
        only(context, node, SET_OPERATION)
        return _ordered(context, node, _set_operation(context, node, parent), parent)
    if isinstance(node, exp.Values):
        only(context, node, VALUES)
        return _ordered(context, node, values_plan(context, node, parent), parent)
    raise unbuildable(context, node.key.upper(), node)


def _with(context: Context, node: Expr) -> Context:
    clause = node.args.get("with_")
    if clause is None:
        return context
    for cte in clause.expressions:
        labels = tuple(column.name for column in cte.args["alias"].columns)
        recursive = bool(clause.args.get("recursive")) and _mentions(cte.this, cte.alias)
        if recursive and not isinstance(cte.this, exp.Union):
            raise SqlError(f"The recursive query {cte.alias} is not a UNION", where=place(context.sql, cte))
        context = context.with_cte(cte.alias, Cte(cte.this, labels, context, recursive))
    return context


def _mentions(query: Expr, name: str) -> bool:
    return any(t.name.casefold() == name.casefold() and not t.args.get("db") for t in query.find_all(exp.Table))


def _set_operation(context: Context, node: exp.SetOperation, parent: Scope | None) -> Node:
    left, right = context.query(node.this, parent), context.query(node.expression, parent)
    if len(left.columns) != len(right.columns):
        raise SqlError(
            f"{node.key.upper()} of {len(left.columns)} and {len(right.columns)} columns",
            where=place(context.sql, node.expression),
            todo="give both sides the same number of columns",
        )
    for a, b in zip(left.columns, right.columns, strict=True):
        if mixed(a.type, b.type):
            kinds = " and ".join(kind.sql("spark") for kind in (a.type, b.type))
            raise unbuildable(context, f"a set operation of {kinds} in one column, without a CAST,", node)
    types = [a.type if a.type == b.type else UNKNOWN for a, b in zip(left.columns, right.columns, strict=True)]
    output = context.numbering.columns([column.label for column in left.columns], types)
    distinct = bool(node.args.get("distinct"))
    if isinstance(node, exp.Union):
        whole = UnionAll(left, right, output)
        return Distinct(whole) if distinct else whole
    return SetOperation(left, right, output, "intersect" if isinstance(node, exp.Intersect) else "except", not distinct)


def _ordered(context: Context, node: Expr, plan: Node, parent: Scope | None) -> Node:
    """ORDER BY and LIMIT around a whole query."""
    scope = Scope(context.sql, [Entry(None, column.label, column) for column in plan.columns], parent)
    return limited(context, node, plan, scope)
