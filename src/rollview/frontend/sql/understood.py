"""The arguments of syntax nodes that the builder understands.

sqlglot parses many dialects, and some arguments of its nodes are set only by dialects other than Spark's. A plan that
ignored an argument would return other rows than the query. So every node that the builder takes apart is opened in one
of the ways below, each a list of the arguments that are read; if another argument is set, the query cannot be planned.
Expressions that are copied whole need no list: they are printed as they were parsed.

| value in the list | accepted argument |
|---|---|
| ``ANY`` | any |
| a set | one of these words |
| a type | a node of this type |
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sqlglot import exp

from rollview.frontend.sql.context import Context, unbuildable
from rollview.plan.expressions import Expr

ANY = object


@dataclass(frozen=True)
class Opening:
    """One way to open nodes of some types: the arguments that the builder reads."""

    nodes: tuple[type[Expr], ...]
    arguments: Mapping[str, object]


def _opening(*nodes: type[Expr], **arguments: object) -> Opening:
    return Opening(nodes, arguments)


_ORDERED: dict[str, object] = {"with_": ANY, "order": ANY, "limit": exp.Limit, "offset": ANY}

# queries; a hint changes how Spark runs a query, not what it returns
SELECT = _opening(
    exp.Select, expressions=ANY, hint=ANY, distinct=ANY, from_=ANY, laterals=ANY, joins=ANY, where=ANY, group=ANY,
    having=ANY, qualify=ANY, windows=ANY, **_ORDERED,
)  # fmt: skip
SET_OPERATION = _opening(exp.Union, exp.Except, exp.Intersect, this=ANY, expression=ANY, distinct=ANY, **_ORDERED)
RECURSION = _opening(exp.Union, this=ANY, expression=ANY, distinct=ANY)
PARENTHESES = _opening(exp.Subquery, this=ANY, **_ORDERED)
VALUES = _opening(exp.Values, expressions=ANY, order=ANY, limit=exp.Limit, offset=ANY)

# items of FROM
TABLE = _opening(exp.Table, this=ANY, db=ANY, catalog=ANY, alias=ANY, joins=ANY, pivots=ANY)
SUBQUERY = _opening(exp.Subquery, this=ANY, alias=ANY, joins=ANY, pivots=ANY, **_ORDERED)
ROWS = _opening(exp.Values, expressions=ANY, alias=ANY, pivots=ANY)
JOIN = _opening(
    exp.Join, this=ANY, on=ANY, using=ANY, side={"LEFT", "RIGHT", "FULL"}, method={"NATURAL"},
    kind={"INNER", "OUTER", "CROSS", "SEMI", "ANTI"},
)  # fmt: skip
LATERAL_JOIN = _opening(exp.Join, this=exp.Lateral, on=ANY, side={"LEFT"}, kind={"INNER", "OUTER", "CROSS"})
GENERATOR_JOIN = _opening(exp.Join, this=exp.Lateral, kind={"INNER", "CROSS"})
LATERAL = _opening(exp.Lateral, this=exp.Subquery, alias=ANY)
LATERAL_VIEW = _opening(exp.Lateral, this=ANY, alias=ANY, view=ANY, outer=ANY)
PIVOT = _opening(
    exp.Pivot, expressions=ANY, fields=ANY, alias=ANY, columns=ANY, pivot_column_naming={"AGG_NAME_IF_MULTIPLE"}
)
UNPIVOT = _opening(exp.Pivot, expressions=ANY, fields=ANY, alias=ANY, columns=ANY, unpivot=ANY, include_nulls=ANY)
PIVOTED_COLUMN = _opening(exp.In, this=ANY, expressions=ANY)

# parts of expressions that the builder takes apart
WINDOW = _opening(exp.Window, this=ANY, partition_by=ANY, order=ANY, spec=ANY, over={"OVER"})
REFERRING_WINDOW = _opening(exp.Window, this=ANY, partition_by=ANY, order=ANY, spec=ANY, over={"OVER"}, alias=ANY)
STAR = _opening(exp.Star, except_=ANY)
COLUMN = _opening(exp.Column, this=ANY, table=ANY, db=ANY, catalog=ANY)
EXISTS = _opening(exp.Exists, this=ANY)
IN = _opening(exp.In, this=ANY, query=ANY)
GENERATOR = _opening(exp.Explode, exp.Posexplode, exp.PosexplodeOuter, exp.Inline, this=ANY)
STACK = _opening(exp.Stack, this=ANY, expressions=ANY)

#: Clauses: they are opened together with the node that they belong to.
CLAUSES = (
    _opening(exp.From, this=ANY),
    _opening(exp.Where, exp.Having, exp.Qualify, this=ANY),
    _opening(exp.With, expressions=ANY, recursive=ANY),
    _opening(exp.CTE, this=ANY, alias=ANY),
    _opening(exp.TableAlias, this=exp.Identifier, columns=ANY),
    _opening(exp.Distinct),
    _opening(exp.Group, expressions=ANY, grouping_sets=ANY, rollup=ANY, cube=ANY, all=ANY),
    _opening(exp.GroupingSets, exp.Rollup, exp.Cube, expressions=ANY),
    _opening(exp.Order, expressions=ANY),
    _opening(exp.Ordered, this=ANY, desc=ANY, nulls_first=ANY),
    _opening(exp.Limit, exp.Offset, expression=ANY),
    _opening(exp.WindowSpec, kind=ANY, start=ANY, start_side=ANY, end=ANY, end_side=ANY),
)

OPENINGS = (
    SELECT, SET_OPERATION, RECURSION, PARENTHESES, VALUES, TABLE, SUBQUERY, ROWS, JOIN, LATERAL_JOIN, GENERATOR_JOIN,
    LATERAL, LATERAL_VIEW, PIVOT, UNPIVOT, PIVOTED_COLUMN, WINDOW, REFERRING_WINDOW, STAR, COLUMN, EXISTS, IN,
    GENERATOR, STACK, *CLAUSES,
)  # fmt: skip

_CLAUSE = {node: opening for opening in CLAUSES for node in opening.nodes}

#: The SQL for an argument, if it is not the argument's name.
_TITLES = {
    "by_name": "a set operation BY NAME",
    "cluster": "CLUSTER BY",
    "connect": "CONNECT BY",
    "distinct.on": "DISTINCT ON",
    "distribute": "DISTRIBUTE BY",
    "exclude": "EXCLUDE",
    "into": "SELECT INTO",
    "select.kind": "SELECT AS",
    "limit_options": "LIMIT with PERCENT or TIES",
    "locks": "FOR UPDATE",
    "match": "MATCH_RECOGNIZE",
    "sample": "TABLESAMPLE",
    "search": "SEARCH",
    "sort": "SORT BY",
    "totals": "WITH TOTALS",
    "with_fill": "WITH FILL",
}


def only(context: Context, node: Expr, opening: Opening) -> None:
    """Opens a node and its clauses. Raises Unbuildable if something is set on it that the opening does not list."""
    for name, value in node.args.items():
        if value is None or value is False or value == [] or value == "":
            continue
        if not _is_understood(value, opening.arguments.get(name)):
            part = value[0] if isinstance(value, list) else value
            raise unbuildable(context, _title(node, name, part), part if isinstance(part, Expr) else node)
        for part in value if isinstance(value, list) else [value]:
            if (clause := _CLAUSE.get(type(part))) is not None:
                only(context, part, clause)


def only_generator(context: Context, generator: Expr) -> None:
    """The same for a generator. A function that sqlglot does not know has no named arguments."""
    if not isinstance(generator, exp.Anonymous):
        only(context, generator, STACK if isinstance(generator, exp.Stack) else GENERATOR)


def _is_understood(value: object, known: object) -> bool:
    if known is None or known is ANY:
        return known is ANY
    if isinstance(known, set):
        return isinstance(value, str) and value.upper() in known
    return isinstance(known, type) and isinstance(value, known)


def _title(node: Expr, name: str, value: object) -> str:
    if title := _TITLES.get(f"{node.key}.{name}") or _TITLES.get(name):
        return title
    if isinstance(value, str):
        return f"{value.upper()} {node.key.upper()}"
    return value.sql("spark") if isinstance(value, Expr) else f"{name.strip('_').upper()} of {node.key.upper()}"
