"""A table or view that a live view reads: its rows, and what each commit changed, as weighted Arrow rows.

The rows of a materialized view are read where it stores them, if they are stored as they are shown; otherwise the
engine computes them. How the columns are called where they are stored is looked up when the rows are read.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from rollview.errors import ColumnNotFound, SchemaChanged
from rollview.frontend.sql import BaseTable
from rollview.plan.reserved import TIME, WEIGHT
from rollview.store.protocol import CHANGE_TYPE, DELETE, UPDATE_BEFORE, Commit, Identity, Progress
from rollview.views.catalog import SHAPE, Catalog
from rollview.views.relation import check_columns, relation

_GONE = pa.array([DELETE, UPDATE_BEFORE])


@dataclass(frozen=True)
class Changed:
    """What one commit of a table changed: rows with their weight."""

    commit: Commit
    rows: pa.Table


@dataclass(frozen=True)
class _Stored:
    """Where the rows are: the stored table, its columns that are those read (None if the rows are computed of it), how
    the columns are spelled now, and the mark of the definition that says so."""

    table: str
    columns: list[str] | None
    spelled: list[str]
    shape: object = None


class FollowedTable:
    """One table or view. ``columns`` are those that are read, by the names that they had when the view was made."""

    def __init__(self, catalog: Catalog, base: BaseTable, columns: Sequence[str]) -> None:
        self._catalog, self._base = catalog, base
        # to count rows, one column is read
        self.columns = list(columns) or [base.key[0] if base.key else base.columns[0][0]]
        self.name = base.name
        self._known: _Stored | None = None

    def identity(self) -> Identity:
        """The newest version."""
        return self._catalog.identity(self.name)

    def count(self, version: int | None) -> int:
        """About how many rows there are."""
        return relation(self._catalog, self.name).count(version)

    def progress(self, known: Identity) -> Progress:
        """What was committed since a version."""
        stored = self._known.table if self._known is not None else self._catalog.stored(self.name)
        return self._catalog.store.progress(stored, known)

    def rows(self, version: int | None) -> Iterator[pa.Table]:
        """The rows of a version, in pieces. Raises SchemaChanged if a column is gone or has another type."""
        stored, engine = self._look(version), self._catalog.engine
        if stored.columns is None:
            found = engine.arrow(relation(self._catalog, self.name).rows(version)).select(stored.spelled)
            yield self._weighted(found, _ones(found.num_rows))
            return
        for batch in self._catalog.store.batches(stored.table, version, _once(stored.columns)):
            piece = pa.Table.from_batches([batch]).select(_places(stored.columns))
            yield self._weighted(piece, _ones(piece.num_rows))

    def commits(self, after: int, upto: int) -> Iterator[Changed]:
        """The commits between two versions, oldest first, with the rows that they changed."""
        stored = self._known or self._look(None)
        if stored.columns is None:
            yield from self._computed(stored, after, upto)
            return
        try:
            for each in self._catalog.store.commits(stored.table, after, _once(stored.columns), upto):
                self._check(stored, each.commit)
                gone = pc.is_in(each.rows.column(CHANGE_TYPE), value_set=_GONE)
                weights = pc.if_else(gone, pa.scalar(-1, pa.int64()), pa.scalar(1, pa.int64()))
                yield Changed(each.commit, self._weighted(each.rows.select(_places(stored.columns)), weights))
        except (SchemaChanged, ColumnNotFound):
            # says which column, and what can be done
            check_columns(relation(self._catalog, self.name), self._base, self.columns, upto)
            raise

    def _computed(self, stored: _Stored, after: int, upto: int) -> Iterator[Changed]:
        """The same, computed by the engine."""
        own = relation(self._catalog, self.name)
        found = self._catalog.engine.arrow(own.changes(after, upto, stored.spelled))
        for commit in reversed(self._catalog.store.history(own.stored, after=after)):
            if commit.version <= upto:
                self._check(stored, commit)
                rows = found.filter(pc.equal(found.column(TIME.label), commit.version))
                yield Changed(commit, self._weighted(rows.select(stored.spelled), rows.column(WEIGHT.label)))

    def _weighted(self, rows: pa.Table, weights: pa.Array | pa.ChunkedArray) -> pa.Table:
        named = pa.Table.from_arrays(rows.columns, names=self.columns)
        return named.append_column(WEIGHT.label, weights)

    def _look(self, version: int | None) -> _Stored:
        """Where the rows are now."""
        own = relation(self._catalog, self.name)
        at = own.identity().version if version is None else version
        if at is not None:
            check_columns(own, self._base, self.columns, at)
        there = {name.casefold(): name for name, _ in own.columns(version)}
        spelled = [there.get(name.casefold(), name) for name in self.columns]
        shape = None
        if self._catalog.has(self.name):
            shape = self._catalog.store.last_commit(own.stored, having=SHAPE).metadata[SHAPE]
        self._known = _Stored(own.stored, own.stored_as(spelled), spelled, shape)
        return self._known

    def _check(self, stored: _Stored, commit: Commit) -> None:
        """Raises SchemaChanged if a commit stores the rows of a view in another way."""
        if stored.shape is not None and commit.metadata.get(SHAPE, stored.shape) != stored.shape:
            raise SchemaChanged(f"The materialized view {self.name} was replaced")


def _ones(rows: int) -> pa.Array:
    return pa.repeat(pa.scalar(1, pa.int64()), rows)


def _once(names: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(names))


def _places(names: Sequence[str]) -> list[int]:
    """Where each name is among the different ones."""
    once = _once(names)
    return [once.index(name) for name in names]
