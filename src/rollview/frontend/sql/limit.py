"""ORDER BY with LIMIT and OFFSET. An order without a limit is ignored: a view is a bag. For a limit without an order,
``keys/ties`` chooses the rows."""

from __future__ import annotations

from sqlglot import exp

from rollview.errors import SqlError
from rollview.frontend.sql.bind import bind
from rollview.frontend.sql.context import Context, literal_number
from rollview.frontend.sql.scope import Scope, place, typed
from rollview.plan.expressions import Expr
from rollview.plan.nodes import Limit, Node, Ordering


def ordering(term: exp.Ordered, value: Expr) -> Ordering:
    """A term of ORDER BY. By default, Spark sorts NULL first if ascending, and last if descending."""
    descending = bool(term.args.get("desc"))
    first = term.args.get("nulls_first")
    return Ordering(value, descending, (not descending) if first is None else bool(first))


def limited(context: Context, node: Expr, plan: Node, scope: Scope) -> Node:
    """ORDER BY and LIMIT on a whole query."""
    if node.args.get("limit") is None and node.args.get("offset") is None:
        return plan
    terms = []
    for term in node.args["order"].expressions if node.args.get("order") is not None else ():
        value = term.this
        if isinstance(value, exp.Literal) and not value.is_string:
            position = int(value.this) if value.is_int else 0
            if not 0 < position <= len(plan.columns):
                raise SqlError(f"There is no column {value.this} in the select list", where=place(context.sql, value))
            terms.append(ordering(term, typed(plan.columns[position - 1])))
        elif isinstance(value, exp.Var):  # ORDER BY ALL
            terms += [ordering(term, typed(column)) for column in plan.columns]
        else:
            terms.append(ordering(term, bind(value, scope, context)))
    return with_limit(context, node, plan, tuple(terms))


def with_limit(context: Context, node: Expr, plan: Node, order: tuple[Ordering, ...]) -> Node:
    limit, offset = node.args.get("limit"), node.args.get("offset")
    if limit is None and offset is None:
        return plan
    return Limit(plan, order, literal_number(context, limit, "LIMIT"), literal_number(context, offset, "OFFSET") or 0)
