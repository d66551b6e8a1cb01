"""The relations that queries and Δ-scripts read: rows of tables and views at a version, and their changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc
from sqlglot import exp

from rollview.delta.weights import consolidated, negated, together, weighted
from rollview.engine.protocol import Engine, Frame, Kept, has_no_equality
from rollview.errors import SchemaChanged, TableNotFound, VersionGone
from rollview.frontend.sql import BaseTable
from rollview.parse.names import quote
from rollview.plan.expressions import ref
from rollview.plan.nodes import Column, Computed, Node, Project, Scan, SetKind, SetOperation
from rollview.plan.reserved import WEIGHT
from rollview.store.protocol import CHANGE_TYPE, DELETE, UPDATE_BEFORE, Identity
from rollview.views.catalog import Catalog
from rollview.views.definition import View


def rows_of(catalog: Catalog, table: str, version: int | None = None) -> Frame:
    """The rows of a table, or the visible rows of a view; the newest, or of a version."""
    if not catalog.has(table):
        return catalog.store.read(table, version)
    try:
        state = catalog.store.read(catalog.state(table), version)
    except VersionGone as error:
        raise VersionGone(f"Version {version} of {table} is no longer there", why=error.why, todo=error.todo) from error
    return catalog.engine.over_state(state, catalog.get(table).layout.show)


def base_rows(catalog: Catalog, base: BaseTable, version: int | None) -> Frame:
    """The rows of a base table in the columns that it had when the view was made, as far as they are still there."""
    frame = rows_of(catalog, base.name, version)
    have = catalog.engine.columns(frame)
    if have == list(base.columns):
        return frame
    now = {name.casefold(): (name, kind) for name, kind in have}
    kept = [name for name, _ in base.columns if name.casefold() in now]
    scan = _scan("t", [now[name.casefold()] for name in kept])
    return catalog.engine.select(scan, {"t": frame}, kept)


def columns_of(catalog: Catalog, table: str, version: int | None = None) -> list[tuple[str, str]]:
    """Names and types of the visible columns of a table or view."""
    if catalog.has(table):
        return [(column.name, column.type) for column in catalog.get(table).columns]
    return catalog.store.columns(table, version)


def check_columns(catalog: Catalog, base: BaseTable, used: Sequence[str], version: int) -> None:
    """Raises SchemaChanged if a column that a view uses is gone or has another type."""
    now = {name.casefold(): kind for name, kind in columns_of(catalog, base.name, version)}
    for name, kind in base.columns:
        there = now.get(name.casefold())
        if name in used and there != kind:
            raise SchemaChanged(
                f"Column {name} of {base.name} {'is gone' if there is None else f'is now {there.upper()}'}",
                why=f"it was {kind.upper()} when the view was made, and the view uses it; the view is as it was",
                todo="bring the column back, or define the view anew with CREATE OR REPLACE MATERIALIZED VIEW",
            )


def _scan(name: str, columns: Sequence[tuple[str, str]], version: str = "") -> Scan:
    kinds = [exp.DataType.build(kind, dialect="spark") for _, kind in columns]
    output = tuple(
        Column(f"c{i}", label, kind) for i, ((label, _), kind) in enumerate(zip(columns, kinds, strict=True))
    )
    return Scan(name, output, tuple(label for label, _ in columns), version=version)


def query_at(catalog: Catalog, view: View, vector: Mapping[str, Identity]) -> Frame:
    """The view's query over its base tables at a vector. Raises VersionGone if a table has been made anew since."""
    check_same_tables(catalog, view, vector)
    frames = {table: base_rows(catalog, view.bases[table], identity.version) for table, identity in vector.items()}
    with catalog.engine.errors(view.query, lambda: vector):
        return catalog.engine.query(view.query, {name: frames[table] for name, table in view.sources.items()})


def check_same_tables(catalog: Catalog, view: View, vector: Mapping[str, Identity]) -> None:
    for table, identity in vector.items():
        if catalog.identity(table).table_id != identity.table_id:
            raise VersionGone(
                f"Version {identity.version} of {table} is no longer there",
                why="the table was dropped and made again",
                todo=f"REFRESH MATERIALIZED VIEW {quote(view.title)} FULL recomputes the view",
            )


def few_changes_of(
    catalog: Catalog, base: BaseTable, used: Sequence[str], after: int, upto: int, most: int
) -> Kept | None:
    """The net change, read and added up in this process; None if there is too much of it, or the store cannot."""
    table, stored = base.name, list(used)
    if catalog.has(base.name):
        view = catalog.get(base.name)
        if view.layout.picked is None:
            return None
        names = {c.name: name for c, name in zip(view.columns, view.layout.picked, strict=True)}
        table, stored = catalog.state(base.name), [names[name] for name in used]
    rows = catalog.store.few_changes(table, after, upto, list(dict.fromkeys(stored)), most)
    if rows is None:
        return None
    rows = rows.select([*stored, CHANGE_TYPE]).rename_columns([*used, CHANGE_TYPE])
    gone = pc.is_in(rows.column(CHANGE_TYPE), value_set=pa.array([DELETE, UPDATE_BEFORE]))
    weights = pc.if_else(gone, pa.scalar(-1, pa.int64()), pa.scalar(1, pa.int64()))
    signed = rows.drop_columns([CHANGE_TYPE]).append_column(WEIGHT.label, weights)
    try:
        net = signed.group_by(list(used)).aggregate([(WEIGHT.label, "sum")])
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid):  # arrays and structs are not grouped here
        return None
    net = net.rename_columns([WEIGHT.label if name == f"{WEIGHT.label}_sum" else name for name in net.column_names])
    net = net.filter(pc.not_equal(net.column(WEIGHT.label), 0)).select([*used, WEIGHT.label])
    kinds = dict(base.columns)
    return catalog.engine.local(net, [*((name, kinds[name]) for name in used), (WEIGHT.label, "bigint")])


def changes_of(catalog: Catalog, base: BaseTable, used: Sequence[str], after: int, upto: int) -> Frame:
    """The net change of some columns of a table or view between two versions: those columns, and a weight."""
    kinds = dict(base.columns)
    columns = [(name, kinds[name]) for name in used]
    engine = catalog.engine
    if not catalog.has(base.name):
        feed = catalog.store.changes(base.name, after, upto, used)
        plan = _weighted_feed(columns)
        if not any(has_no_equality(kind) for _, kind in columns):  # else rows that cancel out stay: they do no harm
            plan = consolidated(plan)
        return engine.select(plan, {"feed": feed}, [*used, WEIGHT.label])
    layout = catalog.get(base.name).layout
    if layout.feed is None:
        frames = {"old": base_rows(catalog, base, after), "new": base_rows(catalog, base, upto)}
        return engine.select(_difference(columns), frames, [*used, WEIGHT.label])
    feed = catalog.store.changes(catalog.state(base.name), after, upto)
    signed = engine.select(_weighted_feed([(name, "string") for name in layout.columns]), {"feed": feed},
                           [*layout.columns, WEIGHT.label])  # fmt: skip
    visible = engine.over_state(signed, layout.feed)
    scan = _scan("seen", columns)
    plan = Scan("seen", (*scan.output, WEIGHT), (*scan.sources, WEIGHT.label))
    return engine.select(consolidated(plan), {"seen": visible}, [*used, WEIGHT.label])


def added(engine: Engine, rows: Frame) -> Frame:
    """Rows as the change that brings them."""
    columns = engine.columns(rows)
    return engine.select(
        weighted(_scan("all", columns), 1), {"all": rows}, [*(name for name, _ in columns), WEIGHT.label]
    )


def _weighted_feed(columns: Sequence[tuple[str, str]]) -> Node:
    """A store's change feed as rows with weights."""
    scan = _scan("feed", [*columns, (CHANGE_TYPE, "string")])
    kind = ref(scan.output[-1].name)
    gone = exp.In(this=kind, expressions=[exp.Literal.string(DELETE), exp.Literal.string(UPDATE_BEFORE)])
    minus = exp.Cast(this=exp.Literal.number(-1), to=WEIGHT.type.copy())
    plus = exp.Cast(this=exp.Literal.number(1), to=WEIGHT.type.copy())
    weight = exp.Case(ifs=[exp.If(this=gone, true=minus)], default=plus)
    kept = tuple(Computed(c, ref(c.name)) for c in scan.output[:-1])
    return Project(scan, (*kept, Computed(WEIGHT, weight)))


def _difference(columns: Sequence[tuple[str, str]]) -> Node:
    """What one relation has beyond another, as weights."""
    old, new = _scan("old", columns), _scan("new", columns)
    gone = SetOperation(old, new, old.output, kind=SetKind.EXCEPT, all=True)
    come = SetOperation(new, old, new.output, kind=SetKind.EXCEPT, all=True)
    both = together([weighted(come, 1), negated(weighted(gone, 1))], new.output)
    assert both is not None
    return consolidated(both)


def newest(catalog: Catalog, view: View, fixed: Mapping[str, Identity]) -> dict[str, Identity]:
    """The vector of the newest versions: what a refresh that starts now goes to, but for versions that are fixed."""
    try:
        return {table: fixed.get(table) or catalog.identity(table) for table in view.tables}
    except TableNotFound as error:
        versions = view.shown(catalog.reflected(view).vector)
        shown = ", ".join(f"{table} at version {version}" for table, version in versions.items())
        raise SchemaChanged(
            f"A table that {view.title} reads is gone: {error.what}",
            why=f"the view keeps what it shows: {shown}",
            todo=f"make the table again, or DROP MATERIALIZED VIEW {quote(view.title)}",
        ) from error


def size(catalog: Catalog, vector: Mapping[str, Identity]) -> int:
    """The rows of the base tables at a vector: what a recomputation reads."""
    return sum(catalog.store.count(catalog.stored(t), i.version) for t, i in vector.items())
