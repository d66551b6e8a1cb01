"""Functions that sqlglot would print wrongly for an engine, or that an engine does not have."""

from __future__ import annotations

from sqlglot import exp

from rollview.codegen.ordered import ORDERED, distinct_in_order, lists_in_duckdb, ordered_in_duckdb, ordered_in_spark
from rollview.codegen.pivot import pivot_in_duckdb
from rollview.plan.expressions import Expr, conjunction, has_any
from rollview.plan.nodes import Generate

#: Functions that sqlglot would print as something else, and Spark's own name for each.
_SPARK_NAMES: dict[type[Expr], str] = {
    exp.ArgMax: "MAX_BY",
    exp.ArgMin: "MIN_BY",
    exp.CurrentCatalog: "CURRENT_CATALOG",
    exp.Levenshtein: "LEVENSHTEIN",
    exp.ParseJSON: "PARSE_JSON",
    exp.PercentileCont: "PERCENTILE_CONT",
    exp.PercentileDisc: "PERCENTILE_DISC",
    exp.ToChar: "TO_CHAR",
    exp.UnixDate: "UNIX_DATE",
}


#: Functions of Spark that DuckDB does not have, and that are written for it in another way.
TRANSLATED = frozenset({"exists", "forall"})

#: What ``in_duckdb`` and ``lists_in_duckdb`` look at. Most queries have nothing of it, and are then left as they are.
_NOT_AS_IN_DUCKDB = (
    exp.Anonymous,
    exp.ArgMax,
    exp.ArgMin,
    exp.ArrayAgg,
    exp.ArrayUniqueAgg,
    exp.CountIf,
    exp.Group,
    exp.Lateral,
    exp.Mode,
    exp.Pivot,
    exp.Quantile,
    exp.Window,
)


def in_dialect(tree: Expr, dialect: str) -> Expr:
    """Prepares a tree of Spark SQL, in place, for sqlglot's printer of a dialect."""
    if dialect == "spark":
        return in_spark(tree)
    if dialect == "duckdb":
        if not has_any(tree, _NOT_AS_IN_DUCKDB):
            return tree
        tree = lists_in_duckdb(tree)
    return tree.transform({"duckdb": in_duckdb, "postgres": in_postgres}[dialect], copy=False)


def in_spark(tree: Expr) -> Expr:
    """Keeps the names and all arguments of Spark's functions, and the type TIME."""
    if has_any(tree, ORDERED):
        tree = ordered_in_spark(tree)
    for node in list(tree.find_all(*_SPARK_NAMES, exp.DataType)):
        if type(node) in _SPARK_NAMES:
            values = [node.args[name] for name in node.arg_types if isinstance(node.args.get(name), Expr)]
            node.replace(exp.Anonymous(this=_SPARK_NAMES[type(node)], expressions=values))
        elif node.this is exp.DataType.Type.TIME:
            digits = f"({', '.join(part.name for part in node.expressions)})" if node.expressions else ""
            node.replace(exp.DataType(this=exp.DataType.Type.USERDEFINED, kind=f"TIME{digits}"))
    return tree


def in_duckdb(node: Expr) -> Expr:
    """Percentiles, which interpolate in Spark; ``count_if``, which is NULL for no rows in DuckDB; LATERAL VIEW OUTER,
    whose OUTER sqlglot drops; and GROUPING SETS, before which DuckDB allows no keys."""
    if isinstance(node, exp.Lateral) and node.args.get("view") and node.args.get("outer"):
        if isinstance(node.this, exp.Explode):
            value = in_dialect(node.this.this.copy(), "duckdb")
            some = exp.GT(this=exp.ArraySize(this=value.copy()), expression=exp.Literal.number(0))
            nothing = exp.Array(expressions=[exp.null()])
            whole = exp.Case(ifs=[exp.If(this=some, true=value.copy())], default=nothing)
            return exp.Lateral(this=exp.Explode(this=whole), view=True, alias=node.args["alias"].copy())
        return node
    if isinstance(node, exp.Group) and node.args.get("grouping_sets"):
        node.set("expressions", [])
    if isinstance(node, exp.Pivot):
        return pivot_in_duckdb(node)
    if isinstance(node, exp.CountIf) and not isinstance(node.this, exp.Distinct):
        one = exp.If(this=node.this.copy(), true=exp.Literal.number(1))
        return exp.Count(this=exp.Case(ifs=[one]), big_int=True)
    if isinstance(node, exp.Anonymous) and node.name.lower() in TRANSLATED and len(node.expressions) == 2:
        return _of_elements(*node.expressions, wanted=node.name.lower() == "exists")
    if isinstance(node, exp.Quantile):
        return exp.Anonymous(this="QUANTILE_CONT", expressions=[node.this.copy(), node.args["quantile"].copy()])
    return ordered_in_duckdb(node)


def _of_elements(values: Expr, test: Expr, *, wanted: bool) -> Expr:
    """Whether a test is true for one element (``wanted``), or for all: as Spark has it, unknown if it is for some."""
    told = exp.Transform(this=values.copy(), expression=test.copy())
    decided = exp.Anonymous(this="LIST_CONTAINS", expressions=[told, exp.Boolean(this=wanted)])
    known = exp.Anonymous(this="LIST_COUNT", expressions=[told.copy()])
    some = exp.LT(this=known, expression=exp.Anonymous(this="LEN", expressions=[values.copy()]))
    nothing = exp.Is(this=exp.Paren(this=values.copy()), expression=exp.null())
    cases = ((nothing, exp.null()), (decided, exp.Boolean(this=wanted)), (some, exp.null()))
    return exp.Case(ifs=[exp.If(this=a, true=b) for a, b in cases], default=exp.Boolean(this=not wanted))


def in_postgres(node: Expr) -> Expr:
    """Rewrites a node of an expression for PostgreSQL."""
    if isinstance(node, exp.Filter):
        return _aggregate(node.this, node.expression.this) or node
    return _aggregate(node, None) or node


def _aggregate(node: Expr, where: Expr | None) -> Expr | None:
    """An aggregate over the rows that satisfy a condition; None if it is the same in PostgreSQL."""
    value = node.this
    if isinstance(node, exp.ArgMax | exp.ArgMin):
        ties = node.expression.expressions if isinstance(node.expression, exp.Order) else []
        known = node.expression.this if ties else node.expression
        by = [exp.Ordered(this=known.copy(), desc=isinstance(node, exp.ArgMax)), *(term.copy() for term in ties)]
        values = exp.ArrayAgg(this=exp.Order(this=value.copy(), expressions=by))
        return _first_element(_without_null(values, known, where))
    if isinstance(node, exp.First | exp.Last) and isinstance(value, exp.Order):
        terms = [term.copy() for term in value.expressions]
        if isinstance(node, exp.Last):
            terms = [exp.Ordered(this=term.this, desc=True, nulls_first=False) for term in terms]
        values = exp.ArrayAgg(this=exp.Order(this=value.this.copy(), expressions=terms))
        return _first_element(values if where is None else exp.Filter(this=values, expression=exp.Where(this=where)))
    if isinstance(node, exp.ArrayUniqueAgg) and isinstance(value, exp.Order):
        return _array(distinct_in_order(node), value.this, where)
    if isinstance(node, exp.ArrayUniqueAgg):
        return _array(exp.ArrayAgg(this=exp.Distinct(expressions=[value.copy()])), value, where)
    if isinstance(node, exp.ArrayAgg) and node.args.get("nulls_excluded"):
        bare = value.this if isinstance(value, exp.Order) else value
        return _array(exp.ArrayAgg(this=value.copy()), bare, where)
    if isinstance(node, exp.Quantile):
        order = exp.Order(expressions=[exp.Ordered(this=value.copy())])
        quantile = exp.WithinGroup(this=exp.PercentileCont(this=node.args["quantile"].copy()), expression=order)
        return quantile if where is None else _without_null(quantile, value, where)
    return None


def _first_element(values: Expr) -> Expr:
    return exp.Bracket(this=exp.Paren(this=values), expressions=[exp.Literal.number(1)], offset=1)


def _without_null(aggregate: Expr, value: Expr, where: Expr | None) -> Expr:
    known = exp.Not(this=exp.Is(this=value.copy(), expression=exp.null()))
    condition = conjunction([known] if where is None else [known, where])
    return exp.Filter(this=aggregate, expression=exp.Where(this=condition))


def _array(aggregate: Expr, value: Expr, where: Expr | None) -> Expr:
    """An array without NULLs, which is empty if there are no values, as in Spark."""
    return exp.Coalesce(this=_without_null(aggregate, value, where), expressions=[exp.Literal.string("{}")])


def inner_generator(generator: Expr) -> Expr:
    """The generator without OUTER, which is a keyword of LATERAL VIEW."""
    if isinstance(generator, exp.PosexplodeOuter):  # in sqlglot, this is an ExplodeOuter, too
        return exp.Posexplode(this=generator.this.copy())
    if isinstance(generator, exp.ExplodeOuter):
        return exp.Explode(this=generator.this.copy())
    return generator.copy()


def unnested(node: Generate) -> list[Expr]:
    """The generator's columns in a dialect that has UNNEST."""
    value = node.generator.this
    names = [column.name for column in node.output]
    items: list[Expr] = [exp.alias_(exp.Anonymous(this="UNNEST", expressions=[value.copy()]), names[-1], quoted=True)]
    if len(names) == 2:
        position = exp.Anonymous(this="GENERATE_SUBSCRIPTS", expressions=[value.copy(), exp.Literal.number(1)])
        items.insert(0, exp.alias_(exp.Sub(this=position, expression=exp.Literal.number(1)), names[0], quoted=True))
    return items
