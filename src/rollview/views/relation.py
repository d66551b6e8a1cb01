"""A table or a view as a relation with versions: its columns, its key, its rows at a version, its changes.

What reads a relation need not know which of the two it is.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc
from sqlglot import exp

from rollview.delta.weights import consolidated, negated, together, weighted
from rollview.engine.protocol import Engine, Frame
from rollview.errors import SchemaChanged, TableNotFound, VersionGone
from rollview.frontend.sql import BaseTable
from rollview.parse.names import quote
from rollview.plan.expressions import Expr, ref
from rollview.plan.nodes import Column, Computed, Node, Project, Scan, SetKind, SetOperation
from rollview.plan.reserved import TIME, WEIGHT
from rollview.store.protocol import CHANGE_TYPE, COMMIT_VERSION, DELETE, UPDATE_BEFORE, Identity
from rollview.views.catalog import Catalog
from rollview.views.definition import View


class Relation(ABC):
    """``stored`` is the table in which the store keeps the rows."""

    def __init__(self, catalog: Catalog, name: str, stored: str) -> None:
        self._catalog, self._store, self._engine = catalog, catalog.store, catalog.engine
        self.name, self.stored = name, stored

    def identity(self) -> Identity:
        """The newest version."""
        return self._store.identity(self.stored)

    def count(self, version: int | None = None) -> int:
        """The number of stored rows."""
        return self._store.count(self.stored, version)

    @abstractmethod
    def columns(self, version: int | None = None) -> list[tuple[str, str]]:
        """Names and types of the columns that queries see."""

    @abstractmethod
    def base(self) -> BaseTable:
        """What the compiler knows of the relation as it is now."""

    @abstractmethod
    def rows(self, version: int | None = None) -> Frame:
        """The rows of a version, or the newest ones."""

    @abstractmethod
    def changes(self, after: int, upto: int, columns: Sequence[str]) -> Frame:
        """The changed rows between two versions: some columns, the weight and the commit's version."""

    def few_changes(self, after: int, upto: int, columns: Sequence[str], most: int) -> pa.Table | None:
        """The same, read in this process; None if there are more rows than ``most``, or if the store cannot."""
        stored = self.stored_as(columns)
        if stored is None:
            return None
        rows = self._store.few_changes(self.stored, after, upto, list(dict.fromkeys(stored)), most)
        return None if rows is None else _signed(rows, columns, stored)

    @abstractmethod
    def stored_as(self, columns: Sequence[str]) -> list[str] | None:
        """The stored columns whose changes are those of the visible columns; None if there are none such."""


class TableRelation(Relation):
    """A table of the store."""

    def columns(self, version: int | None = None) -> list[tuple[str, str]]:
        return self._store.columns(self.name, version)

    def base(self) -> BaseTable:
        columns = tuple(self.columns())
        names = {name.casefold() for name, _ in columns}
        key = self._store.key(self.name)
        return BaseTable(self.name, columns, key if {name.casefold() for name in key} <= names else ())

    def rows(self, version: int | None = None) -> Frame:
        return self._store.read(self.name, version)

    def changes(self, after: int, upto: int, columns: Sequence[str]) -> Frame:
        feed = self._store.changes(self.name, after, upto, columns)
        kinds = dict(self.columns())
        typed = [(name, kinds[name]) for name in columns]
        return self._engine.select(_weighted_feed(typed), {"feed": feed}, [*columns, WEIGHT.label, TIME.label])

    def stored_as(self, columns: Sequence[str]) -> list[str] | None:
        return list(columns)


class ViewRelation(Relation):
    """A materialized view, whose rows are those of its state."""

    @property
    def view(self) -> View:
        return self._catalog.get(self.name)

    def columns(self, version: int | None = None) -> list[tuple[str, str]]:
        return [(column.name, column.type) for column in self.view.columns]

    def base(self) -> BaseTable:
        view = self.view  # its key, if it can be seen, may be NULL
        return BaseTable(self.name, tuple(self.columns()), view.key, view.not_null)

    def rows(self, version: int | None = None) -> Frame:
        try:
            state = self._store.read(self.stored, version)
        except VersionGone as error:
            what = f"Version {version} of {self.name} no longer exists"
            raise VersionGone(what, why=error.why, todo=error.todo) from error
        return self._engine.over_state(state, self.view.layout.show)

    def changes(self, after: int, upto: int, columns: Sequence[str]) -> Frame:
        view, engine = self.view, self._engine
        names = [*columns, WEIGHT.label, TIME.label]
        if view.layout.feed is None:
            typed = [(name, kind) for name, kind in self.columns() if name in columns]
            frames = {"old": self.rows(after), "new": self.rows(upto)}
            return engine.select(_timed(difference(typed), upto), frames, names)
        feed = self._store.changes(self.stored, after, upto)
        stored = list(view.layout.columns)
        typed = [(name, "string") for name in stored]  # as they are: no type is looked at
        signed = engine.select(_weighted_feed(typed), {"feed": feed}, [*stored, WEIGHT.label, TIME.label])
        kinds = dict(self.columns())
        seen = scan_of("seen", [(name, kinds[name]) for name in columns])
        plan = Scan("seen", (*seen.output, WEIGHT, TIME), (*seen.sources, WEIGHT.label, TIME.label))
        return engine.select(plan, {"seen": engine.over_state(signed, view.layout.feed)}, names)

    def stored_as(self, columns: Sequence[str]) -> list[str] | None:
        view = self.view
        if view.layout.picked is None:
            return None
        names = {column.name: name for column, name in zip(view.columns, view.layout.picked, strict=True)}
        return [names[name] for name in columns]


def relation(catalog: Catalog, name: str) -> Relation:
    """The table or view of a name."""
    if catalog.has(name):
        return ViewRelation(catalog, name, catalog.state(name))
    return TableRelation(catalog, name, name)


def rows_at(catalog: Catalog, base: BaseTable, version: int | None) -> Frame:
    """The rows of a base table in the columns that it had when the view was made, as far as they still exist."""
    return as_defined(catalog.engine, base, relation(catalog, base.name).rows(version))


def as_defined(engine: Engine, base: BaseTable, frame: Frame) -> Frame:
    """Rows of a base table in the columns that it had when the view was made, as far as they still exist."""
    have = engine.columns(frame)
    if have == list(base.columns):
        return frame
    now = {name.casefold(): (name, kind) for name, kind in have}
    kept = [name for name, _ in base.columns if name.casefold() in now]
    scan = scan_of("t", [now[name.casefold()] for name in kept])
    return engine.select(scan, {"t": frame}, kept)


def check_columns(now: Relation, base: BaseTable, used: Sequence[str], version: int) -> None:
    """Raises SchemaChanged if a column that a view uses is gone or has another type."""
    kinds = {name.casefold(): kind for name, kind in now.columns(version)}
    for name, kind in base.columns:
        there = kinds.get(name.casefold())
        if name in used and there != kind:
            raise SchemaChanged(
                f"Column {name} of {base.name} {'is gone' if there is None else f'is now {there.upper()}'}",
                why=f"it was {kind.upper()} when the view was created, and the view uses it; the view is as it was",
                todo="bring the column back, or redefine the view with CREATE OR REPLACE MATERIALIZED VIEW",
            )


def query_at(catalog: Catalog, view: View, vector: Mapping[str, Identity]) -> Frame:
    """The view's query over its base tables at a vector. Raises VersionGone if a table was replaced by another."""
    _check_same_tables(catalog, view, vector)
    frames = {table: rows_at(catalog, view.bases[table], identity.version) for table, identity in vector.items()}
    return query_over(catalog, view, frames)


def query_over(catalog: Catalog, view: View, frames: Mapping[str, Frame]) -> Frame:
    """The view's query over rows of its base tables."""
    with catalog.engine.errors(view.query.text, lambda: frames):
        return catalog.engine.query(view.query.text, {name: frames[table] for name, table in view.sources.items()})


def _check_same_tables(catalog: Catalog, view: View, vector: Mapping[str, Identity]) -> None:
    for table, identity in vector.items():
        if catalog.identity(table).table_id != identity.table_id:
            raise VersionGone(
                f"Version {identity.version} of {table} no longer exists",
                why="the table was dropped and created again",
                todo=f"REFRESH MATERIALIZED VIEW {quote(view.title)} FULL recomputes the view",
            )


def newest(catalog: Catalog, view: View, fixed: Mapping[str, Identity]) -> dict[str, Identity]:
    """The newest versions of a view's tables, but for those that are fixed: the target of a refresh that starts now."""
    try:
        return {table: fixed.get(table) or catalog.identity(table) for table in view.tables}
    except TableNotFound as error:
        versions = view.shown(catalog.reflected(view).vector)
        shown = ", ".join(f"{table} at version {version}" for table, version in versions.items())
        raise SchemaChanged(
            f"A table that {view.title} reads is gone: {error.what}",
            why=f"the view keeps what it shows: {shown}",
            todo=f"create the table again, or DROP MATERIALIZED VIEW {quote(view.title)}",
        ) from error


def size(catalog: Catalog, vector: Mapping[str, Identity]) -> int:
    """The rows of the base tables at a vector: what a recomputation reads."""
    return sum(relation(catalog, table).count(identity.version) for table, identity in vector.items())


def scan_of(name: str, columns: Sequence[tuple[str, str]], version: str = "") -> Scan:
    """A relation of some columns, by their names and types."""
    kinds = [exp.DataType.build(kind, dialect="spark") for _, kind in columns]
    output = tuple(
        Column(f"c{i}", label, kind) for i, ((label, _), kind) in enumerate(zip(columns, kinds, strict=True))
    )
    return Scan(name, output, tuple(label for label, _ in columns), version=version)


def added(engine: Engine, rows: Frame) -> Frame:
    """Rows as the change that inserts them."""
    columns = engine.columns(rows)
    plan = weighted(scan_of("all", columns), 1)
    return engine.select(plan, {"all": rows}, [*(name for name, _ in columns), WEIGHT.label])


def _weighted_feed(columns: Sequence[tuple[str, str]]) -> Node:
    """A store's change feed as rows with weights and commits."""
    scan = scan_of("feed", [*columns, (CHANGE_TYPE, "string"), (COMMIT_VERSION, "bigint")])
    *own, kind, commit = scan.output
    gone = exp.In(this=ref(kind.name), expressions=[exp.Literal.string(DELETE), exp.Literal.string(UPDATE_BEFORE)])
    weight = exp.Case(ifs=[exp.If(this=gone, true=_number(-1))], default=_number(1))
    kept = tuple(Computed(column, ref(column.name)) for column in own)
    return Project(scan, (*kept, Computed(WEIGHT, weight), Computed(TIME, ref(commit.name))))


def difference(columns: Sequence[tuple[str, str]]) -> Node:
    """What one relation has beyond another, as weights."""
    old, new = scan_of("old", columns), scan_of("new", columns)
    gone = SetOperation(old, new, old.output, kind=SetKind.EXCEPT, all=True)
    come = SetOperation(new, old, new.output, kind=SetKind.EXCEPT, all=True)
    both = together([weighted(come, 1), negated(weighted(gone, 1))], new.output)
    assert both is not None
    return consolidated(both)


def _timed(delta: Node, version: int) -> Node:
    """A delta all of which belongs to one commit."""
    passed = (Computed(column, ref(column.name)) for column in delta.columns)
    return Project(delta, (*passed, Computed(TIME, _number(version))))


def _number(value: int) -> Expr:
    return exp.Cast(this=exp.Literal.number(value), to=WEIGHT.type.copy())


def _signed(rows: pa.Table, columns: Sequence[str], stored: Sequence[str]) -> pa.Table:
    """Changed rows with their weight and commit. If the store does not report commits, these are NULL."""
    gone = pc.is_in(rows.column(CHANGE_TYPE), value_set=pa.array([DELETE, UPDATE_BEFORE]))
    weights = pc.if_else(gone, pa.scalar(-1, pa.int64()), pa.scalar(1, pa.int64()))
    if COMMIT_VERSION in rows.column_names:
        commits = rows.column(COMMIT_VERSION)
    else:
        commits = pa.nulls(rows.num_rows, pa.int64())
    signed = rows.select(list(stored)).rename_columns(list(columns))
    return signed.append_column(WEIGHT.label, weights).append_column(TIME.label, commits)
