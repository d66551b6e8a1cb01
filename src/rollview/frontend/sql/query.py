"""Queries: WITH, set operations, and ORDER BY with LIMIT on a whole query."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from sqlglot import exp

from rollview.errors import SqlError
from rollview.frontend.sql.context import Context, Cte, Tables, unbuildable
from rollview.frontend.sql.from_clause import values_plan
from rollview.frontend.sql.limit import limited
from rollview.frontend.sql.scope import Entry, Scope, place
from rollview.frontend.sql.select import build_select
from rollview.frontend.sql.understood import PARENTHESES, SET_OPERATION, VALUES, only
from rollview.frontend.sql.unique_names import Numbering
from rollview.plan.check import check
from rollview.plan.expressions import Expr
from rollview.plan.nodes import UNKNOWN, Column, Distinct, Node, SetKind, SetOperation, UnionAll, union_of
from rollview.plan.types import mixed


def build_plan(tree: exp.Query, sql: str, tables: Tables) -> Node:
    """The plan of a query. Its columns are those of the query, in the same order and with the same labels."""
    return check(_query(Context(sql, tables, Numbering(), _query), tree, None), "the builder")


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
    mentions = Counter(t.name.casefold() for t in node.find_all(exp.Table) if not t.args.get("db"))
    for cte in clause.expressions:
        labels = tuple(column.name for column in cte.args["alias"].columns)
        recursive = bool(clause.args.get("recursive")) and _mentions(cte.this, cte.alias)
        if recursive and not isinstance(cte.this, exp.Union):
            raise SqlError(f"The recursive query {cte.alias} is not a UNION", where=place(context.sql, cte))
        built: list[Node] | None = [] if mentions[cte.alias.casefold()] > 1 else None
        context = context.with_cte(cte.alias, Cte(cte.this, labels, context, recursive, built=built))
    return context


def _mentions(query: Expr, name: str) -> bool:
    return any(t.name.casefold() == name.casefold() and not t.args.get("db") for t in query.find_all(exp.Table))


def _set_operation(context: Context, node: exp.SetOperation, parent: Scope | None) -> Node:
    distinct = bool(node.args.get("distinct"))
    if isinstance(node, exp.Union):
        whole = _union(context, _united(node), parent)
        return Distinct(whole) if distinct else whole
    left, right = context.query(node.this, parent), context.query(node.expression, parent)
    output = _set_columns(context, node, left.columns, right)
    kind = SetKind.INTERSECT if isinstance(node, exp.Intersect) else SetKind.EXCEPT
    return SetOperation(left, right, output, kind, not distinct)


def _united(node: exp.Union) -> list[exp.Union]:
    """``a UNION b UNION c`` as a list of unions, the innermost first, which can be planned as one."""
    found = [node]
    while (
        isinstance(below := found[-1].this, exp.Union)
        and (node.args.get("distinct") or not below.args.get("distinct"))
        and not any(below.args.get(part) for part in below.args.keys() - {"this", "expression", "distinct"})
    ):
        found.append(below)
    return found[::-1]


def _union(context: Context, nodes: Sequence[exp.Union], parent: Scope | None) -> Node:
    """The rows of all sides. If types differ, the type of a column depends on the order of the sides."""
    whole = [context.query(nodes[0].this, parent)]
    columns, same = whole[0].columns, True
    for node in nodes:
        right = context.query(node.expression, parent)
        output = _set_columns(context, node, columns, right)
        same = same and all(a.type == b.type for a, b in zip(columns, right.columns, strict=True))
        whole = [*whole, right] if same else [UnionAll(union_of(whole, columns), right, output)]
        columns = output
    return union_of(whole, columns)


def _set_columns(context: Context, node: exp.SetOperation, left: Sequence[Column], right: Node) -> tuple[Column, ...]:
    """The columns of a set operation."""
    if len(left) != len(right.columns):
        raise SqlError(
            f"{node.key.upper()} of {len(left)} and {len(right.columns)} columns",
            where=place(context.sql, node.expression),
            todo="give both sides the same number of columns",
        )
    for a, b in zip(left, right.columns, strict=True):
        if mixed(a.type, b.type):
            kinds = " and ".join(kind.sql("spark") for kind in (a.type, b.type))
            raise unbuildable(context, f"a set operation of {kinds} in one column, without a CAST,", node)
    types = [a.type if a.type == b.type else UNKNOWN for a, b in zip(left, right.columns, strict=True)]
    return context.numbering.columns([column.label for column in left], types)


def _ordered(context: Context, node: Expr, plan: Node, parent: Scope | None) -> Node:
    """ORDER BY and LIMIT on a whole query."""
    scope = Scope(context.sql, [Entry(None, column.label, column) for column in plan.columns], parent)
    return limited(context, node, plan, scope)
