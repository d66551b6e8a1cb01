"""The table in the warehouse that stores the clock: one for all views, only appended to.

A writer stamps its commit with the number of rows that it knows of. So if two processes number at once, the second
commit is a repetition of the first, and does nothing; its writer reads what the first one stored, and goes on.
"""

from __future__ import annotations

import dataclasses
import logging
import uuid
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from rollview.clock.timeline import Row, Timeline
from rollview.engine.protocol import Engine
from rollview.errors import Conflict, RollviewError, SchemaChanged, TableNotFound, VersionGone
from rollview.limits import Limits
from rollview.parse.stored_names import CLOCK, damaged
from rollview.store.edits import Append
from rollview.store.protocol import Identity, Stamp, Store

_LOGGER = logging.getLogger("rollview")

_SCHEMA = pa.schema(
    [
        ("position", pa.int64()),
        ("micros", pa.int64()),
        ("relation", pa.string()),
        ("table_id", pa.string()),
        ("version", pa.int64()),
        ("mark", pa.string()),
        ("rows", pa.int64()),
        ("signed", pa.int64()),
    ]
)

#: Delta removes old entries of the log by itself; checkpoints soon forget merged files, or they would grow for ever.
_PROPERTIES = {
    "delta.logRetentionDuration": "interval 1 days",
    "delta.deletedFileRetentionDuration": "interval 1 minutes",
}

#: More new rows than this are read with all the others.
_FEW = 100_000


class StoredClock:
    """The stored clock, and what has been read of it: ``timeline``."""

    def __init__(self, store: Store, engine: Engine, limits: Limits) -> None:
        self._store, self._engine, self._limits = store, engine, limits
        self.timeline = Timeline()
        self._known: Identity | None = None

    def read(self) -> Timeline:
        """Reads what was stored since the last time."""
        if self._known is None and not self._store.exists(CLOCK):
            return self.timeline
        unreadable: Exception | None = None
        for _ in range(10):
            try:
                self._read()
                return self.timeline
            except (VersionGone, OSError, pa.ArrowInvalid) as error:  # it was tidied meanwhile, or is damaged
                if (damage := self._store.damage(CLOCK)) is not None:
                    raise damage from error
                unreadable = error
        if not isinstance(unreadable, VersionGone | FileNotFoundError):
            raise damaged(CLOCK, str(unreadable)) from unreadable
        raise Conflict("The commit clock cannot be read", why="other sessions write it faster than it can be read")

    def _read(self) -> None:
        try:
            progress = self._store.progress(CLOCK, self._known)
        except TableNotFound:  # somebody has removed it: numbering begins again
            self._known, self.timeline = None, Timeline()
            return
        newest = progress.newest
        goes_on = self._known is not None and self._known.table_id == newest.table_id
        if goes_on and not progress.commits:
            return
        first, self._known = self._known, newest
        try:
            new = self._appended(first.version, newest) if goes_on and first is not None else None
            if new is None:
                self.timeline = Timeline()
                new = self._all(newest)
        except BaseException:
            self._known = first
            raise
        self.timeline.add(new)

    def _appended(self, after: int | None, newest: Identity) -> list[Row] | None:
        """The rows appended after a version; None if all rows must be read, because not all of its commits remain."""
        assert newest.version is not None
        if after is None or after >= newest.version:
            return None
        try:
            found = self._store.few_changes(CLOCK, after, newest.version, _SCHEMA.names, _FEW)
            if found is not None:
                return _rows(found.select(_SCHEMA.names))
            return self._fetched(self._store.changes(CLOCK, after, newest.version))
        except (VersionGone, SchemaChanged):
            return None

    def _all(self, newest: Identity) -> list[Row]:
        files = self._store.files(CLOCK, newest.version)
        if files is None:
            return self._fetched(self._store.read(CLOCK, newest.version))
        parts = [pq.read_table(file, columns=_SCHEMA.names) for file in files]
        return _rows(pa.concat_tables([_SCHEMA.empty_table(), *(part.cast(_SCHEMA) for part in parts)]))

    def _fetched(self, frame: Any) -> list[Row]:
        return _rows(self._engine.arrow(frame).select(_SCHEMA.names))

    def append(self, rows: Sequence[Row]) -> bool:
        """Stores rows after those that have been read. If another writer has stored some meanwhile, reads these instead
        and returns False."""
        base, size = self._known, self.timeline.size
        run = uuid.uuid4().hex
        stamp = Stamp({"rollview.clock": size + len(rows), "rollview.run": run}, "rollview.clock", size + 1)
        with self._engine.errors(""):
            if not self._store.exists(CLOCK):
                self._create()
            try:
                commit = self._store.commit(CLOCK, [Append(_table(rows))], stamp)
            except (Conflict, TableNotFound):
                self.read()
                return False
        stored = commit.metadata.get("rollview.run") == run
        if stored and base is not None and commit.mark is not None and commit.version == (base.version or 0) + 1:
            self._known = Identity(base.table_id, commit.version, commit.mark)
            self.timeline.add(rows)
        else:
            self.read()
        if stored and commit.version % self._limits.clock_commits == 0:
            self._tidy()
        return stored

    def _create(self) -> None:
        try:
            self._store.create(CLOCK, _SCHEMA.empty_table(), properties=_PROPERTIES)
        except RollviewError:
            if not self._store.exists(CLOCK):
                raise

    def _tidy(self) -> None:
        try:
            self._store.tidy(CLOCK, self._limits.clock_commits)
        except RollviewError as error:  # it is tried again after as many commits
            _LOGGER.warning("the commit clock could not be tidied: %s", error)


def _table(rows: Sequence[Row]) -> pa.Table:
    columns = [[getattr(row, field.name) for row in rows] for field in dataclasses.fields(Row)]
    return pa.table([pa.array(c, f.type) for c, f in zip(columns, _SCHEMA, strict=True)], schema=_SCHEMA)


def _rows(found: pa.Table) -> list[Row]:
    """Rows in the order of positions."""
    columns = [column.to_pylist() for column in found.select(_SCHEMA.names).columns]
    return sorted((Row(*values) for values in zip(*columns, strict=True)), key=_place)


def _place(row: Row) -> tuple[int, bool, str, int]:
    return row.position, row.table is None, row.table or "", row.version
