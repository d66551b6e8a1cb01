"""Aggregates with an order, ``f(x ORDER BY k)``, in each dialect.

| function | Spark |
|---|---|
| first, last | ``min_by(x, struct(k))``, ``max_by(x, struct(k))`` |
| max_by(x, y), min_by(x, y) | the same by ``struct(y, k)``, for each y that is known |
| collect_list(x) | the x of ``sort_array(collect_list(struct(struct(k), x)))`` |
| collect_set(x), by x itself | ``sort_array(collect_set(x))`` |
| listagg(x) over a window | ``array_join`` of such a list |

DuckDB and PostgreSQL write the order inside the call; there a list of no values is NULL, in Spark it is empty. Spark
compares structs field by field, NULL first. All orders are ascending, except that ``max_by`` takes the greatest.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from rollview.plan.expressions import Expr, conjunction, grouped

#: What can have an order.
ORDERED = (exp.First, exp.Last, exp.ArgMax, exp.ArgMin, exp.ArrayAgg, exp.ArrayUniqueAgg, exp.GroupConcat)

#: The fields of the structs that are sorted, and the arguments of the lambda that compares them.
_BY, _VALUE = "o", "v"
_EACH, _OTHER = exp.to_identifier("e"), exp.to_identifier("f")


def ordered_in_spark(tree: Expr) -> Expr:
    """Rewrites aggregates with an order that Spark cannot express. Changes the tree in place."""
    holder = exp.Paren(this=tree)
    for node in list(holder.find_all(*ORDERED)):
        order = _order_of(node)
        outer = _in_wrapper(node, exp.Filter)
        whole = _in_wrapper(outer, exp.Window)
        if order is None or (isinstance(node, exp.GroupConcat) and whole is outer):  # LISTAGG … WITHIN GROUP
            continue
        if isinstance(node, exp.ArrayUniqueAgg):
            node.set("this", order.this.copy())
            whole.replace(_called("SORT_ARRAY", whole.copy()))
            continue
        condition = None if outer is node else outer.expression.this
        called = _over_structs(node, order, condition)
        if outer is whole:
            whole = called
        outer.replace(called)
        if isinstance(node, exp.ArrayAgg | exp.GroupConcat):
            whole.replace(_joined(_elements(whole.copy(), order.this), node))
    found: Expr = holder.this.pop()
    return found


def ordered_in_duckdb(node: Expr) -> Expr:
    """Prepares a function with an order for sqlglot's printer of DuckDB."""
    if isinstance(node, exp.Window) and isinstance(node.this, exp.Filter):  # its window functions take no FILTER
        called, condition = node.this.this, node.this.expression.this
        if isinstance(called, exp.First | exp.Last) and isinstance(called.this, exp.Order):
            by = _where(_called("ROW", *(term.this.copy() for term in called.this.expressions)), [condition])
            name = "ARG_MIN_NULL" if isinstance(called, exp.First) else "ARG_MAX_NULL"
            node.set("this", _called(name, called.this.this.copy(), by))
        return node
    if isinstance(node, exp.Mode) and node.args.get("deterministic") and not isinstance(node.this, exp.Order):
        return exp.Mode(this=exp.Order(this=node.this.copy(), expressions=[exp.Ordered(this=node.this.copy())]))
    if isinstance(node, exp.ArgMax | exp.ArgMin) and node.args.get("count") is not None:
        order = node.expression
        if isinstance(order, exp.Order):
            last = exp.Order(this=node.args["count"].copy(), expressions=[t.copy() for t in order.expressions])
            return type(node)(this=node.this.copy(), expression=order.this.copy(), count=last)
    return node


def lists_in_duckdb(tree: Expr) -> Expr:
    """A tree in which a list of values holds no NULL, and is empty if there are no values, as in Spark. Changed in
    place."""
    holder = exp.Paren(this=tree)
    for node in reversed(list(holder.find_all(exp.ArrayAgg, exp.ArrayUniqueAgg))):  # the inner ones first
        outer = _in_wrapper(_in_wrapper(node, exp.IgnoreNulls), exp.Filter)
        whole = _in_wrapper(outer, exp.Window)
        values = _listed(node)
        conditions = [_known(_bare(values)), *([outer.expression.this] if isinstance(outer, exp.Filter) else [])]
        kept = exp.Filter(this=exp.ArrayAgg(this=values), expression=exp.Where(this=conjunction(conditions)))
        outer.replace(kept)
        whole = kept if whole is outer else whole
        whole.replace(exp.Coalesce(this=whole.copy(), expressions=[exp.Array(expressions=[])]))
    found: Expr = holder.this.pop()
    return found


def _listed(node: Expr) -> Expr:
    """The argument of an aggregate that makes a list, with DISTINCT and ORDER BY."""
    if isinstance(node, exp.ArrayAgg):
        found: Expr = node.this.copy()
        return found
    bare = exp.Distinct(expressions=[_bare(node.this).copy()])
    return exp.Order(this=bare, expressions=node.this.copy().expressions) if isinstance(node.this, exp.Order) else bare


def _bare(values: Expr) -> Expr:
    """The value itself, without DISTINCT and ORDER BY."""
    while isinstance(values, exp.Order | exp.Distinct):
        values = values.this if isinstance(values, exp.Order) else values.expressions[0]
    return values


def distinct_in_order(node: exp.ArrayUniqueAgg) -> Expr:
    """The distinct values in order, as a list of DISTINCT."""
    order = node.this
    values = exp.Distinct(expressions=[order.this.copy()])
    terms = [term.copy() for term in order.expressions]
    return exp.ArrayAgg(this=exp.Order(this=values, expressions=terms), nulls_excluded=True)


def _order_of(node: Expr) -> exp.Order | None:
    place = node.expression if isinstance(node, exp.ArgMax | exp.ArgMin) else node.this
    return place if isinstance(place, exp.Order) else None


def _in_wrapper(node: Expr, kind: type[Expr]) -> Expr:
    """The node's parent, if it is of a kind and the node is its function; else the node itself."""
    return node.parent if isinstance(node.parent, kind) and node.arg_key == "this" else node


def _over_structs(node: Expr, order: exp.Order, condition: Expr | None) -> Expr:
    """The function over structs that begin with the terms of its order."""
    terms = [term.this.copy() for term in order.expressions]
    conditions = [] if condition is None else [condition]
    if isinstance(node, exp.ArgMax | exp.ArgMin):
        by = _where(_called("STRUCT", order.this.copy(), *terms), [*conditions, _known(order.this)])
        more = [node.args["count"].copy()] if node.args.get("count") is not None else []
        return _called("MAX_BY" if isinstance(node, exp.ArgMax) else "MIN_BY", node.this.copy(), by, *more)
    if isinstance(node, exp.First | exp.Last):
        by = _where(_called("STRUCT", *terms), conditions)
        return _called("MIN_BY" if isinstance(node, exp.First) else "MAX_BY", order.this.copy(), by)
    fields = [exp.Literal.string(_BY), _called("STRUCT", *terms), exp.Literal.string(_VALUE), order.this.copy()]
    return _called("COLLECT_LIST", _where(_called("NAMED_STRUCT", *fields), [*conditions, _known(order.this)]))


def _elements(collected: Expr, value: Expr) -> Expr:
    """The values of collected structs, in their order."""
    kind = value.type
    if kind is not None and any(p.this in (exp.DataType.Type.MAP, exp.DataType.Type.VARIANT) for p in kind.walk()):
        mine, other = _field(_EACH, _BY), _field(_OTHER, _BY)
        tests = [
            exp.If(this=exp.LT(this=mine, expression=other), true=exp.Literal.number(-1)),
            exp.If(this=exp.GT(this=mine.copy(), expression=other.copy()), true=exp.Literal.number(1)),
        ]
        compared = exp.Case(ifs=tests, default=exp.Literal.number(0))
        pair = exp.Lambda(this=compared, expressions=[_EACH.copy(), _OTHER.copy()])
        in_order = _called("ARRAY_SORT", collected, pair)
    else:
        in_order = _called("SORT_ARRAY", collected)
    return _called("TRANSFORM", in_order, exp.Lambda(this=_field(_EACH, _VALUE), expressions=[_EACH.copy()]))


def _joined(elements: Expr, node: Expr) -> Expr:
    """The elements of LISTAGG as a string; NULL if there are none."""
    if not isinstance(node, exp.GroupConcat):
        return elements
    separator = node.args.get("separator") or exp.Literal.string("")
    text = _called("ARRAY_JOIN", elements, separator.copy())
    some = exp.GT(this=_called("SIZE", elements.copy()), expression=exp.Literal.number(0))
    return exp.Case(ifs=[exp.If(this=some, true=text)])


def _field(element: exp.Identifier, name: str) -> Expr:
    return exp.Dot(this=element.copy(), expression=exp.to_identifier(name))


def _where(value: Expr, conditions: Sequence[Expr]) -> Expr:
    """The value if the conditions hold, else NULL, which aggregates ignore."""
    condition = conjunction(conditions)
    return value if condition is None else exp.Case(ifs=[exp.If(this=condition, true=value)])


def _known(value: Expr) -> Expr:
    return exp.Not(this=exp.Is(this=grouped(value.copy()), expression=exp.null()))


def _called(name: str, *values: Expr) -> exp.Anonymous:
    return exp.Anonymous(this=name, expressions=list(values))
