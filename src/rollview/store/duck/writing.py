"""Atomic writes to tables in DuckDB: a commit sets the version at which rows end, and inserts rows that begin there."""

from __future__ import annotations

import contextlib
import json
import uuid
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta, timezone
from typing import Any

import duckdb
import pyarrow as pa

from rollview.engine.duck import DuckFrame
from rollview.errors import BadName, NameTaken
from rollview.store.duck.changed_rows import ChangedRows
from rollview.store.duck.reading import DuckReading
from rollview.store.duck.tables import OWN_COLUMNS, DuckTables, quoted
from rollview.store.edits import Append, Edit, Replace, replaced, row_edits
from rollview.store.protocol import NO_STAMP, Commit, Stamp
from rollview.store.row_counts import RowCounts
from rollview.store.schema import RESERVED, key_repeated, null_in_key

_RESERVED = RESERVED | {"rowid", *OWN_COLUMNS}


class DuckWriting:
    """Implements the protocol ``Writing``."""

    def __init__(self, tables: DuckTables, reading: DuckReading) -> None:
        self._tables, self._reading = tables, reading
        self._engine = tables.engine

    @property
    def _db(self) -> duckdb.DuckDBPyConnection:
        return self._tables.db

    def check_types(self, table: str, rows: Any) -> None:
        """Accepts every type: DuckDB stores whatever it computes."""

    def create(
        self,
        table: str,
        rows: Any,
        *,
        key: Sequence[str] = (),
        properties: Mapping[str, str] | None = None,
        stamp: Stamp = NO_STAMP,
    ) -> Commit:
        if self._tables.exists(table):
            raise NameTaken(f"There is a table named {table} already", todo="choose another name, or drop it first")
        with self._tables.transaction(), self._given(rows) as frame:
            added = self._insert(table, frame, key, properties)
            return self._committed(table, 0, "CREATE TABLE", RowCounts(inserted=added), stamp)

    def recreate(
        self, table: str, rows: Any, *, properties: Mapping[str, str] | None = None, stamp: Stamp = NO_STAMP
    ) -> Commit:
        with self._tables.transaction():
            self._db.execute(f"CREATE OR REPLACE TEMP TABLE rv_made AS {rows.sql}")  # which may read the old rows
            self._remove(table)
            added = self._insert(table, DuckFrame("SELECT * FROM rv_made"), (), properties)
            self._db.execute("DROP TABLE rv_made")
            return self._committed(table, 0, "CREATE TABLE", RowCounts(inserted=added), stamp)

    def commit(self, table: str, edits: Sequence[Edit], stamp: Stamp = NO_STAMP) -> Commit:
        if self._repeated(table, stamp):
            return self._reading.last_commit(table)
        if (replacing := replaced(edits)) is not None:
            return self._replace(table, replacing, stamp)
        rows = row_edits(edits)
        version = self._reading.version(table) + 1
        if all(isinstance(edit, Append) for edit in rows):
            with self._tables.transaction():
                added = sum(self._append(table, edit.rows, version) for edit in rows)
                return self._finished(table, version, "WRITE", RowCounts(inserted=added), stamp)
        with self._tables.transaction():
            counts = ChangedRows(self._tables, table, rows).written(version)
            return self._finished(table, version, "MERGE", counts, stamp)

    def change(self, table: str, source: str, action: str, values: Mapping[str, str], operation: str) -> Commit:
        """Commits the changed rows that a statement computes: see ``ChangedRows.of``."""
        version = self._reading.version(table) + 1
        with self._tables.transaction():
            changed = ChangedRows(self._tables, table)
            changed.of(source, action, values)
            return self._finished(table, version, operation, changed.written(version), NO_STAMP)

    @contextlib.contextmanager
    def _given(self, rows: DuckFrame | pa.Table) -> Iterator[DuckFrame]:
        """Rows to write as a frame."""
        if not isinstance(rows, pa.Table):
            yield rows
            return
        self._db.register("rv_rows", rows)
        try:
            yield DuckFrame("SELECT * FROM rv_rows")
        finally:
            self._db.unregister("rv_rows")

    def _append(self, table: str, rows: DuckFrame | pa.Table, version: int) -> int:
        """Inserts rows, and returns their number."""
        with self._given(rows) as frame:
            names = ", ".join(quoted(name) for name, _ in self._engine.columns(frame))
            return self._tables.one(
                f"INSERT INTO rv_data.{quoted(table)} ({names}, __from) SELECT *, {version} FROM ({frame.sql})"
            )

    def _replace(self, table: str, edit: Replace, stamp: Stamp) -> Commit:
        rows: DuckFrame = edit.rows
        version, data = self._reading.version(table) + 1, f"rv_data.{quoted(table)}"
        with self._tables.transaction():
            if self._engine.columns(rows) == self._reading.columns(table):
                self._db.execute(f"CREATE OR REPLACE TEMP TABLE rv_made AS {rows.sql}")
                removed = self._tables.one(f"UPDATE {data} SET __to = {version} WHERE __to IS NULL")
                listed = self._tables.listed(table)
                added = self._tables.one(f"INSERT INTO {data} ({listed}, __from) SELECT *, {version} FROM rv_made")
                self._db.execute("DROP TABLE rv_made")
            else:
                removed = self._reading.count(table)
                added = self._make(table, rows, version)
                self._db.execute("UPDATE rv_meta.tables SET first = ? WHERE name = ?", [version, table])
                self._tables.forget_table(table)
            if edit.key is not None:
                key = json.dumps(list(edit.key))
                self._db.execute("UPDATE rv_meta.tables SET key = ? WHERE name = ?", [key, table])
                self._tables.forget_table(table)
            if edit.properties is not None:
                self._set_properties(table, dict(edit.properties))
            return self._committed(table, version, "REPLACE", RowCounts(added, 0, removed), stamp, added)

    def set_properties(self, table: str, properties: Mapping[str, str]) -> Commit:
        with self._tables.transaction():
            self._set_properties(table, {**self._reading.properties(table), **properties})
            version = self._reading.version(table) + 1
            return self._committed(table, version, "SET TBLPROPERTIES", RowCounts(), NO_STAMP)

    def prune(self, table: str, column: str, upto: int, stamp: Stamp = NO_STAMP) -> Commit:
        if self._repeated(table, stamp):
            return self._reading.last_commit(table)
        version = self._reading.version(table) + 1
        with self._tables.transaction():
            ended = self._tables.one(
                f"UPDATE rv_data.{quoted(table)} SET __to = {version} WHERE __to IS NULL AND {quoted(column)} <= {upto}"
            )
            return self._finished(table, version, "DELETE", RowCounts(deleted=ended), stamp)

    def tidy(self, table: str, keep: int, seconds: float = 0) -> None:
        """DuckDB has no small files: only rows of old versions are removed."""
        bound = self._reading.version(table) - keep
        if seconds:
            moment = datetime.now(timezone.utc) - timedelta(seconds=seconds)
            bound = min(bound, self._reading.versions_at(moment, [table]).get(table, -1))
        if bound > self._tables.info(table).first:
            with self._tables.transaction():
                self._db.execute(f"DELETE FROM rv_data.{quoted(table)} WHERE __to <= {bound}")
                self._db.execute("UPDATE rv_meta.tables SET first = ? WHERE name = ?", [bound, table])
                self._tables.forget_table(table)

    def drop(self, table: str) -> None:
        with self._tables.transaction():
            self._remove(table)

    def _repeated(self, table: str, stamp: Stamp) -> bool:
        if stamp.application is None:
            return False
        sql = "SELECT max(sequence) FROM rv_meta.commits WHERE id = ? AND application = ?"
        seen = self._db.execute(sql, [self._tables.info(table).id, stamp.application]).fetchall()[0][0]
        return seen is not None and seen >= stamp.sequence

    def _finished(self, table: str, version: int, operation: str, counts: RowCounts, stamp: Stamp) -> Commit:
        """The commit of some edits; the previous commit if they changed nothing."""
        if not counts.rows and stamp == NO_STAMP:
            return self._reading.last_commit(table)
        return self._committed(table, version, operation, counts, stamp)

    def _committed(
        self, table: str, version: int, operation: str, counts: RowCounts, stamp: Stamp, rows: int | None = None
    ) -> Commit:
        self._check_key(table)
        now = self._now(table)
        rows = counts.rows if rows is None else rows
        in_and_out = counts.inserted + counts.updated, counts.updated + counts.deleted
        told = [self._tables.info(table).id, version, now, json.dumps(stamp.metadata), operation, rows, *in_and_out]
        self._db.execute(
            "INSERT INTO rv_meta.commits VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [*told, stamp.application, stamp.sequence],
        )
        commit = Commit(version, now, stamp.metadata, operation, rows, *in_and_out, mark=now.isoformat())
        self._tables.has_committed(table, commit)
        return commit

    def _now(self, table: str) -> datetime:
        """The time of a commit, never before that of the table's last one: the clock may have been set back."""
        now = datetime.now(timezone.utc)
        last = self._reading.newest_commit(table)
        return now if last is None else max(now, last.time)

    def _check_key(self, table: str) -> None:
        key = self._reading.key(table)
        if not key:
            return
        listed = ", ".join(quoted(c) for c in key)
        null = " OR ".join(f"{quoted(c)} IS NULL" for c in key)
        if found := self._db.execute(f"SELECT {listed} FROM {quoted(table)} WHERE {null} LIMIT 1").fetchall():
            raise null_in_key(table, key[found[0].index(None)], "part of the key")
        twice = self._db.execute(f"SELECT {listed} FROM {quoted(table)} GROUP BY {listed} HAVING count(*) > 1 LIMIT 3")
        if rows := twice.fetchall():
            raise key_repeated(table, key, rows)

    def _insert(self, table: str, rows: DuckFrame, key: Sequence[str], properties: Mapping[str, str] | None) -> int:
        """Creates a table, and returns the number of its rows."""
        added = self._make(table, rows, 0)
        info = [table, uuid.uuid4().hex, 0, json.dumps(list(key)), json.dumps(dict(properties or {}))]
        self._db.execute("INSERT INTO rv_meta.tables VALUES (?, ?, ?, ?, ?)", info)
        self._tables.forget_table(table)
        return added

    def _make(self, table: str, rows: DuckFrame, version: int) -> int:
        """Stores rows as the only rows of a table, and returns their number."""
        if taken := next((name for name, _ in self._engine.columns(rows) if name.casefold() in _RESERVED), None):
            raise BadName(
                f"{taken} cannot be the name of a column of {table}",
                why="the store uses that name",
                todo="give the column another name",
            )
        self._tables.forget_table(table)
        added = self._tables.one(
            f"CREATE OR REPLACE TABLE rv_data.{quoted(table)} AS SELECT *, {version}::BIGINT AS __from, "
            f"NULL::BIGINT AS __to, NULL::BOOLEAN AS __updated, NULL::BOOLEAN AS __replaced FROM ({rows.sql})"
        )
        self._db.execute(
            f"CREATE OR REPLACE VIEW {quoted(table)} AS SELECT * EXCLUDE ({', '.join(OWN_COLUMNS)}) "
            f"FROM rv_data.{quoted(table)} WHERE __to IS NULL"
        )
        return added

    def _set_properties(self, table: str, properties: Mapping[str, str]) -> None:
        self._db.execute("UPDATE rv_meta.tables SET properties = ? WHERE name = ?", [json.dumps(properties), table])
        self._tables.forget_table(table)

    def _remove(self, table: str) -> None:
        if not self._tables.exists(table):
            raise self._tables.not_found(table)
        self._db.execute(f"DROP VIEW {quoted(table)}; DROP TABLE rv_data.{quoted(table)}")
        self._db.execute(
            "DELETE FROM rv_meta.commits WHERE id IN (SELECT id FROM rv_meta.tables WHERE name = ?)", [table]
        )
        self._db.execute("DELETE FROM rv_meta.tables WHERE name = ?", [table])
        self._tables.forget_table(table)
