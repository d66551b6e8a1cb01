"""A plan as one SQL query: each operator is a CTE, columns keep the unique names of the plan, and the last SELECT
renames them to the names in the user's query."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from sqlglot import exp
from sqlglot.errors import ErrorLevel

from rollview.codegen import joins, operators, recursion, set_operations
from rollview.codegen.ctes import Ctes, Printers, Relations
from rollview.codegen.dialects import in_dialect
from rollview.plan.expressions import Expr, ref
from rollview.plan.nodes import (
    Aggregate,
    Distinct,
    Filter,
    Generate,
    Join,
    Limit,
    MultiJoin,
    Node,
    Project,
    Recursive,
    Restrict,
    Scan,
    SetOperation,
    UnionAll,
    Values,
    Window,
)
from rollview.stack import deep

DIALECTS = ("spark", "duckdb", "postgres")

PRINTERS: Printers = {
    Scan: operators.rows,
    Values: operators.values,
    Filter: operators.rows,
    Project: operators.projection,
    Aggregate: operators.aggregate,
    Distinct: operators.distinct,
    Window: operators.window,
    Limit: operators.limit,
    Generate: operators.generate,
    Join: joins.join,
    Restrict: joins.restrict,
    MultiJoin: joins.multi_join,
    UnionAll: set_operations.union_all,
    SetOperation: set_operations.set_operation,
    Recursive: recursion.recursive,
}


@deep
def print_plan(
    plan: Node,
    dialect: str = "spark",
    labels: Sequence[str] | None = None,
    relations: Relations = lambda scan: scan.table,
    lines: bool = False,
) -> str:
    """The plan as SQL text; with ``lines``, each CTE is a line. For Spark, raises an error if sqlglot cannot
    print something, rather than omit it."""
    query = plan_query(plan, dialect, labels, relations)
    level = ErrorLevel.RAISE if dialect == "spark" else ErrorLevel.WARN
    clause = query.args.get("with_")
    if lines and clause is not None:
        query.set("with_", None)
        parts = [part.sql(dialect=dialect, copy=False, unsupported_level=level) for part in clause.expressions]
        start = "WITH RECURSIVE " if clause.args.get("recursive") else "WITH "
        last = query.sql(dialect=dialect, copy=False, unsupported_level=level)
        return "\n".join([start + ",\n  ".join(parts), last])
    return query.sql(dialect=dialect, copy=False, unsupported_level=level)


@deep
def printed(tree: Expr, dialect: str, *, copy: bool = True) -> str:
    """A tree as SQL text. Printing changes a tree: without ``copy`` it must not be used again."""
    return tree.sql(dialect=dialect, copy=copy)


@deep
def plan_query(
    plan: Node, dialect: str, labels: Sequence[str] | None = None, relations: Relations = lambda scan: scan.table
) -> exp.Select:
    """The plan as a tree of SQL."""
    ctes = Ctes(dialect, PRINTERS, relations, Counter(child for node in plan.walk() for child in node.inputs))
    names = labels if labels is not None else [column.label for column in plan.columns]
    query = ctes.flat(plan, [(ref(c.name), name) for c, name in zip(plan.columns, names, strict=True)])
    if ctes.done:
        named = [(select, exp.TableAlias(this=exp.to_identifier(name, quoted=True))) for name, select in ctes.done]
        clauses = [exp.CTE(this=select, alias=alias) for select, alias in named]
        query.set("with_", exp.With(expressions=clauses, recursive=ctes.recursive or None))
    printed = in_dialect(query, dialect)
    assert isinstance(printed, exp.Select)
    return printed
