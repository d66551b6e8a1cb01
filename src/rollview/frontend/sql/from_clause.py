"""FROM: tables, subqueries, joins, VALUES, LATERAL, generators, PIVOT."""

from __future__ import annotations

from dataclasses import dataclass, replace

from sqlglot import exp

from rollview.errors import Place, SqlError, TableNotFound
from rollview.frontend.sql.bind import bind
from rollview.frontend.sql.context import Context, Cte, again, literal_number, unbuildable
from rollview.frontend.sql.decorrelate import lateral_join
from rollview.frontend.sql.functions import is_outer_generator
from rollview.frontend.sql.join_condition import JoinCondition
from rollview.frontend.sql.pivot import pivoted
from rollview.frontend.sql.scope import Entry, Scope, place, typed
from rollview.frontend.sql.types import equal
from rollview.frontend.sql.understood import (
    GENERATOR_JOIN,
    JOIN,
    LATERAL,
    LATERAL_JOIN,
    LATERAL_VIEW,
    RECURSION,
    ROWS,
    SUBQUERY,
    TABLE,
    only,
    only_generator,
)
from rollview.parse.tree import is_generator
from rollview.plan.expressions import Expr, conjunction, ref
from rollview.plan.nodes import (
    ANTI,
    CROSS,
    FULL,
    INNER,
    LEFT,
    RIGHT,
    SEMI,
    Column,
    Computed,
    Filter,
    Generate,
    Join,
    Node,
    Project,
    Recursive,
    RecursiveRef,
    Scan,
    Values,
)


@dataclass(frozen=True)
class Relation:
    """A plan and the names of its columns."""

    plan: Node
    entries: tuple[Entry, ...]


def build_from(context: Context, select: exp.Select, parent: Scope | None) -> Relation:
    """The FROM clause of a SELECT. Without FROM, the relation is one row without columns."""
    clause = select.args.get("from_")
    if clause is None:
        start = Relation(Values((), ((),)), ())
    else:
        start = _item(context, clause.this, Scope(context.sql, [], parent))
    for join in select.args.get("joins") or ():
        start = _joined(context, start, join, parent)
    for lateral in select.args.get("laterals") or ():
        start = _generated(context, start, lateral, parent)
    return start


def _item(context: Context, item: Expr, scope: Scope) -> Relation:
    """One item of FROM; ``scope`` holds the columns that a LATERAL item may read."""
    if isinstance(item, exp.Table):
        only(context, item, TABLE)
        found = _table(context, item)
    elif isinstance(item, exp.Values):
        only(context, item, ROWS)
        found = _named(context, values_plan(context, item, scope.parent), item.alias or None, item.args.get("alias"))
    elif isinstance(item, exp.Subquery):
        only(context, item, SUBQUERY)
        found = _parenthesized(context, item, scope)
    else:
        raise unbuildable(context, item.sql("spark"), item)
    for pivot in item.args.get("pivots") or ():
        plan = pivoted(context, found.plan, found.entries, pivot)
        found = _named(context, plan, pivot.alias or item.alias or None, pivot.args.get("alias"))
    for join in item.args.get("joins") or ():
        found = _joined(context, found, join, scope.parent)
    return found


def _parenthesized(context: Context, item: exp.Subquery, scope: Scope) -> Relation:
    """A query in parentheses, or items of FROM in parentheses, which keep their names unless there is an alias."""
    alias = item.args.get("alias")
    ordered = {name: value for name in ("with_", "order", "limit", "offset") if (value := item.args.get(name))}
    if ordered or not isinstance(item.this, exp.Table | exp.Subquery | exp.Values):
        query = exp.Subquery(this=item.this, **ordered) if ordered else item.this
        return _named(context, context.query(query, scope.parent), item.alias or None, alias)
    found = _item(context, item.this, scope)
    if alias is None:
        return found
    shown = [entry for entry in found.entries if not entry.hidden]
    names = _labels(context, alias, [entry.label for entry in shown])
    return Relation(
        found.plan, tuple(Entry(item.alias, label, e.column) for label, e in zip(names, shown, strict=True))
    )


def _named(context: Context, plan: Node, alias: str | None, clause: Expr | None) -> Relation:
    """A plan under an alias; its columns are renamed if the alias lists names."""
    names = _labels(context, clause, [column.label for column in plan.columns])
    return Relation(plan, tuple(Entry(alias, label, column) for label, column in zip(names, plan.columns, strict=True)))


def _labels(context: Context, alias: Expr | None, own: list[str]) -> list[str]:
    """The column names that an alias lists, or the columns' own names."""
    labels = [column.name for column in alias.args.get("columns") or ()] if alias is not None else []
    if labels and len(labels) != len(own):
        raise SqlError(
            f"{alias.name if alias else ''} names {len(labels)} columns, but there are {len(own)}",
            where=place(context.sql, alias or exp.null()),
        )
    return labels or own


def _table(context: Context, item: exp.Table) -> Relation:
    if not all(isinstance(part, exp.Identifier) for part in item.parts):
        return _function(context, item)
    name = tuple(part.name for part in item.parts)
    cte = context.ctes.get(name[0].casefold()) if len(name) == 1 else None
    plan: Node
    if cte is not None:
        return _named(context, _cte_plan(context, name[0], cte), item.alias or name[0], item.args.get("alias"))
    table = context.tables(name)
    if table is None:
        start, stop = item.parts[0].meta.get("start"), item.parts[-1].meta.get("end")
        where = Place(context.sql, start, stop + 1) if start is not None and stop is not None else None
        raise TableNotFound(f"There is no table or view named {'.'.join(name)}", where=where)
    labels = [label for label, _ in table.columns]
    types = [_type(kind) for _, kind in table.columns]
    output = context.numbering.columns(labels, types)
    keyed = {label.casefold(): column.name for label, column in zip(labels, output, strict=True)}
    key, not_null = table.key, table.key if table.not_null is None else table.not_null
    plan = Scan(
        table.name, output, tuple(labels), tuple(keyed[label.casefold()] for label in key),
        not_null=tuple(keyed[label.casefold()] for label in not_null),
    )  # fmt: skip
    return _named(context, plan, item.alias or name[-1], item.args.get("alias"))


def _function(context: Context, item: exp.Table) -> Relation:
    """``explode(…)`` and ``range(…)`` in FROM: a generator over one row without columns."""
    row, function = Values((), ((),)), item.this
    if isinstance(function, exp.Anonymous) and function.name.lower() == "range":
        numbers = [literal_number(context, value, "range of") for value in function.expressions]
        start, stop, step = (0, *numbers, 1) if len(numbers) == 1 else (*numbers, 1)[:3]
        if start is None or stop is None or step is None or step < 1 or start >= stop or len(numbers) > 3:
            raise unbuildable(context, item.sql("spark"), item)
        ends = {name: exp.cast(exp.Literal.number(n), "bigint") for name, n in (("start", start), ("end", stop - 1))}
        series = exp.GenerateSeries(**ends, step=exp.cast(exp.Literal.number(step), "bigint"))
        plan = Generate(row, exp.Explode(this=series), context.numbering.columns(["id"], [_type("bigint")]))
    elif is_generator(function):
        only_generator(context, function)
        output = context.numbering.columns(generator_labels(context, function))
        plan = Generate(row, bind(function, Scope(context.sql, []), context), output, is_outer_generator(function))
    else:
        raise unbuildable(context, f"the table function {item.sql('spark')}", item)
    return _named(context, plan, item.alias or None, item.args.get("alias"))


def _type(kind: str) -> exp.DataType:
    return exp.DataType.build(kind, dialect="spark")


def _cte_plan(context: Context, name: str, cte: Cte) -> Node:
    """The plan of a reference to a CTE: all references read one plan, each under its own column names."""
    if cte.step is not None:
        output = context.numbering.columns(cte.labels, [column.type for column in cte.step])
        return RecursiveRef(name, output)
    plan = cte.built[0] if cte.built else _built(context, name, cte)
    if cte.built is None or not _worth_sharing(plan):
        return plan
    cte.built[:] = [plan]
    return again(context, plan)[0]


def _worth_sharing(plan: Node) -> bool:
    """Whether references to a CTE share its plan: not if it only filters one table, nor inside a recursion."""
    picked = plan
    while isinstance(picked, Filter | Project):
        picked = picked.input
    return not isinstance(picked, Scan | Values) and not any(isinstance(node, RecursiveRef) for node in plan.walk())


def _built(context: Context, name: str, cte: Cte) -> Node:
    inner = replace(cte.context, numbering=context.numbering)
    if not cte.recursive:
        plan = inner.query(cte.query, None)
        if not cte.labels:
            return plan
        if len(cte.labels) != len(plan.columns):
            raise SqlError(f"{name} names {len(cte.labels)} columns, but its query has {len(plan.columns)}")
        return _relabelled(plan, cte.labels)
    only(context, cte.query, RECURSION)
    anchor = inner.query(cte.query.this, None)
    labels = cte.labels or tuple(column.label for column in anchor.columns)
    output = context.numbering.columns(labels, [column.type for column in anchor.columns])
    step = inner.with_cte(name, replace(cte, labels=labels, step=output)).query(cte.query.expression, None)
    return Recursive(anchor, step, output, name=name, distinct=bool(cte.query.args.get("distinct")))


def _relabelled(plan: Node, labels: tuple[str, ...]) -> Node:
    renamed = (Column(column.name, label, column.type) for column, label in zip(plan.columns, labels, strict=True))
    return Project(plan, tuple(Computed(column, ref(column.name)) for column in renamed))


def values_plan(context: Context, item: exp.Values, parent: Scope | None) -> Node:
    """VALUES: rows that are literals in the query."""
    rows = []
    for row in item.expressions:
        cells = row.expressions if isinstance(row, exp.Tuple) else [row]
        rows.append(tuple(bind(cell, Scope(context.sql, [], parent), context) for cell in cells))
    if len({len(row) for row in rows}) != 1:
        raise SqlError("The rows of VALUES have different lengths", where=place(context.sql, item))
    return Values(context.numbering.columns([f"col{i + 1}" for i in range(len(rows[0]))]), tuple(rows))


def _joined(context: Context, left: Relation, join: exp.Join, parent: Scope | None) -> Relation:
    side, kind, method = (join.side or "").upper(), (join.kind or "").upper(), (join.method or "").upper()
    if isinstance(join.this, exp.Lateral):
        return _lateral(context, left, join, parent)
    only(context, join, JOIN)
    if kind in ("SEMI", "ANTI") and side not in ("", "LEFT"):
        raise unbuildable(context, f"{side} {kind} JOIN", join)
    right = _item(context, join.this, Scope(context.sql, [], parent))
    names = _shared_names(left, right, join, method)
    how = (
        SEMI
        if kind == "SEMI"
        else ANTI
        if kind == "ANTI"
        else {"LEFT": LEFT, "RIGHT": RIGHT, "FULL": FULL}.get(side, INNER)
    )
    scope = Scope(context.sql, [*left.entries, *right.entries], parent)
    parts: list[Expr] = []
    sides = JoinCondition(context, left.plan, right.plan)
    if names:
        for name in names:
            a, b = _side(left, name, context, join), _side(right, name, context, join)
            parts.append(equal(typed(a), typed(b)))
    elif join.args.get("on") is not None:
        parts += sides.parts(join.args["on"], scope)
    if not parts and how == INNER:
        how = CROSS
    plan = Join(how, sides.left, sides.right, conjunction(parts) if parts else None if how == CROSS else exp.true())
    if how.keeps_left_only:
        return Relation(plan, left.entries)
    if not names:
        return Relation(plan, left.entries + right.entries)
    return _merged(context, plan, how, left, right, names)


def _shared_names(left: Relation, right: Relation, join: exp.Join, method: str) -> list[str]:
    """The columns of USING, or the common columns of a NATURAL join."""
    using = join.args.get("using") or []
    if using:
        return [column.name for column in using]
    if method != "NATURAL":
        return []
    there = {entry.label.casefold() for entry in right.entries if not entry.hidden}
    return [entry.label for entry in left.entries if not entry.hidden and entry.label.casefold() in there]


def _side(relation: Relation, name: str, context: Context, join: exp.Join) -> Column:
    found = [e.column for e in relation.entries if not e.hidden and e.label.casefold() == name.casefold()]
    if len(found) != 1:
        raise SqlError(
            f"USING names {name}, which is {'ambiguous' if found else 'not a column'} on one side",
            where=place(context.sql, join),
        )
    return found[0]


def _merged(context: Context, plan: Node, how: str, left: Relation, right: Relation, names: list[str]) -> Relation:
    """After USING, each shared column is one column by its bare name, and one of each side by its qualified name."""
    folded = {name.casefold() for name in names}
    merged: list[Entry] = []
    computed: list[Computed] = []
    for name in names:
        a = next(e.column for e in left.entries if not e.hidden and e.label.casefold() == name.casefold())
        b = next(e.column for e in right.entries if not e.hidden and e.label.casefold() == name.casefold())
        if how == FULL:
            column = context.numbering.column(name, a.type)
            computed.append(Computed(column, exp.Coalesce(this=typed(a), expressions=[typed(b)])))
        else:
            column = b if how == RIGHT else a
        merged.append(Entry(None, name, column))
    if computed:
        kept = tuple(Computed(column, typed(column)) for column in plan.columns)
        plan = Project(plan, kept + tuple(computed))
    sides = [replace(e, hidden=e.hidden or e.label.casefold() in folded) for e in (*left.entries, *right.entries)]
    return Relation(plan, (*merged, *sides))


def _lateral(context: Context, left: Relation, join: exp.Join, parent: Scope | None) -> Relation:
    item = join.this
    scope = Scope(context.sql, list(left.entries), parent)
    if not isinstance(item.this, exp.Subquery):
        only(context, join, GENERATOR_JOIN)
        return _generated(context, left, item, parent)
    only(context, join, LATERAL_JOIN)
    only(context, item, LATERAL)
    inner = context.query(item.this, scope)
    right = _named(context, inner, item.alias or None, item.args.get("alias"))
    condition = None
    if join.args.get("on") is not None:
        condition = bind(join.args["on"], Scope(context.sql, [*left.entries, *right.entries], parent), context)
    how = LEFT if (join.side or "").upper() == "LEFT" else INNER
    plan, renamed = lateral_join(context, left.plan, inner, how, condition)
    entries = tuple(replace(entry, column=renamed.get(entry.column.name, entry.column)) for entry in right.entries)
    return Relation(plan, left.entries + entries)


def _generated(context: Context, left: Relation, item: exp.Lateral, parent: Scope | None) -> Relation:
    """LATERAL VIEW and LATERAL with a generator."""
    generator = item.this
    only(context, item, LATERAL_VIEW)
    if not is_generator(generator):
        raise unbuildable(context, f"LATERAL {generator.sql('spark')}", item)
    only_generator(context, generator)
    scope = Scope(context.sql, list(left.entries), parent)
    alias = item.args.get("alias")
    labels = [column.name for column in alias.args.get("columns") or ()] if alias is not None else []
    names = labels or generator_labels(context, generator)
    output = context.numbering.columns(names)
    outer = bool(item.args.get("outer")) or is_outer_generator(generator)
    plan = Generate(left.plan, bind(generator, scope, context), output, outer)
    entries = tuple(Entry(item.alias or None, column.label, column) for column in output)
    return Relation(plan, left.entries + entries)


def generator_labels(context: Context, generator: Expr) -> list[str]:
    """The default names of a generator's columns in Spark."""
    if isinstance(generator, exp.Posexplode | exp.PosexplodeOuter):
        return ["pos", "col"]
    if isinstance(generator, exp.Explode | exp.ExplodeOuter):
        return ["col"]
    raise unbuildable(context, f"{generator.sql('spark')} without names for its columns", generator)
