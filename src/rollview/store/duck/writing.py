"""Atomic writes to tables in DuckDB: rows end, and others begin."""

from __future__ import annotations

import contextlib
import json
import uuid
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timezone
from typing import Any

from rollview.engine.duck import DuckFrame
from rollview.errors import BadName, NameTaken, SqlError
from rollview.plan.reserved import DELETED
from rollview.store.copies import taking
from rollview.store.duck.reading import DuckReading, quoted
from rollview.store.protocol import NO_STAMP, Commit, Stamp
from rollview.store.schema import RESERVED, key_repeated, null_in_key

_RESERVED = RESERVED | {"rowid", "__from", "__to"}


class DuckWriting(DuckReading):
    """The part of the store that writes."""

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        self.db.execute("BEGIN")
        try:
            self._forget()
            yield
        except BaseException:
            self.db.execute("ROLLBACK")
            raise
        else:
            self.db.execute("COMMIT")
        finally:
            self._forget()

    def _forget(self) -> None:
        self._names = None
        self._columns_of.clear()
        self._known.clear()
        self._last.clear()

    def _repeated(self, table: str, stamp: Stamp) -> bool:
        if stamp.application is None:
            return False
        sql = "SELECT max(sequence) FROM rv_meta.commits WHERE id = ? AND application = ?"
        seen = self.db.execute(sql, [self._info(table)[0], stamp.application]).fetchall()[0][0]
        return seen is not None and seen >= stamp.sequence

    def _commit(self, table: str, version: int, operation: str, rows: int, stamp: Stamp = NO_STAMP) -> Commit:
        self._forget()
        self._check_key(table)
        now = datetime.now(timezone.utc)
        values = [self._info(table)[0], version, now, json.dumps(stamp.metadata), operation, rows]
        self.db.execute(
            "INSERT INTO rv_meta.commits VALUES (?, ?, ?, ?, ?, ?, ?, ?)", [*values, stamp.application, stamp.sequence]
        )
        return Commit(version, now, stamp.metadata, operation, rows)

    def _check_key(self, table: str) -> None:
        key = self.key(table)
        if not key:
            return
        listed = ", ".join(quoted(c) for c in key)
        for column in key:
            if self.db.execute(f"SELECT 1 FROM {quoted(table)} WHERE {quoted(column)} IS NULL LIMIT 1").fetchall():
                raise null_in_key(table, column, "part of the key")
        twice = self.db.execute(f"SELECT {listed} FROM {quoted(table)} GROUP BY {listed} HAVING count(*) > 1 LIMIT 3")
        if rows := twice.fetchall():
            raise key_repeated(table, key, rows)

    def check_types(self, table: str, rows: Any) -> None:
        """DuckDB stores whatever it computes."""

    def create(
        self,
        table: str,
        rows: Any,
        *,
        key: Sequence[str] = (),
        properties: Mapping[str, str] | None = None,
        stamp: Stamp = NO_STAMP,
    ) -> Commit:
        if self.exists(table):
            raise NameTaken(f"There is a table named {table} already", todo="choose another name, or drop it first")
        with self._transaction():
            self._insert(table, rows, key, properties)
            return self._commit(table, 0, "CREATE TABLE", self._here(table, 0), stamp)

    def _insert(self, table: str, rows: DuckFrame, key: Sequence[str], properties: Mapping[str, str] | None) -> None:
        self._make(table, rows, 0)
        info = [table, uuid.uuid4().hex, 0, json.dumps(list(key)), json.dumps(dict(properties or {}))]
        self.db.execute("INSERT INTO rv_meta.tables VALUES (?, ?, ?, ?, ?)", info)

    def _make(self, table: str, rows: DuckFrame, version: int) -> None:
        if taken := next((name for name, _ in self.engine.columns(rows) if name.casefold() in _RESERVED), None):
            raise BadName(
                f"{taken} cannot be the name of a column of {table}",
                why="the store uses that name",
                todo="give the column another name",
            )
        self._forget()
        self.db.execute(
            f"CREATE OR REPLACE TABLE rv_data.{quoted(table)} AS SELECT *, {version}::BIGINT AS __from, "
            f"NULL::BIGINT AS __to FROM ({rows.sql})"
        )
        self.db.execute(
            f"CREATE OR REPLACE VIEW {quoted(table)} AS SELECT * EXCLUDE (__from, __to) FROM rv_data.{quoted(table)} "
            "WHERE __to IS NULL"
        )

    def _here(self, table: str, version: int) -> int:
        sql = f"SELECT count(*) FROM rv_data.{quoted(table)} WHERE __from = {version}"
        return int(self.db.execute(sql).fetchall()[0][0])

    def append(self, table: str, rows: DuckFrame, *, stamp: Stamp = NO_STAMP) -> Commit:
        if self._repeated(table, stamp):
            return self.last_commit(table)
        version = self.version(table) + 1
        names = ", ".join(quoted(name) for name, _ in self.engine.columns(rows))
        with self._transaction():
            self.db.execute(
                f"INSERT INTO rv_data.{quoted(table)} ({names}, __from) SELECT *, {version} FROM ({rows.sql})"
            )
            added = self._here(table, version)
            if not added and stamp == NO_STAMP:
                return self.last_commit(table)
            return self._commit(table, version, "WRITE", added, stamp)

    def merge(
        self,
        table: str,
        source: DuckFrame,
        on: Sequence[str],
        *,
        combine: Mapping[str, str] | None = None,
        gone: str | None = None,
        copies: str | None = None,
        stamp: Stamp = NO_STAMP,
    ) -> Commit:
        if self._repeated(table, stamp):
            return self.last_commit(table)
        given = [name for name, _ in self.engine.columns(source)]
        flag = f"s.{quoted(DELETED.label)}" if DELETED.label in given else "false"
        match = " AND ".join(f"t.{quoted(c)} IS NOT DISTINCT FROM s.{quoted(c)}" for c in on)
        if copies is not None:
            take = taking(quoted(copies), [quoted(c) for c in on], ("__rid",))
            match, combine, gone = f"{match} AND {take.looks}", {copies: take.left}, take.gone
        goes = f"({flag} OR ({gone}))" if gone else flag
        values = {}
        for column in self._columns(table):
            value = f"s.{quoted(column)}"
            if combine and column in combine:
                value = f"CASE WHEN t.__rid IS NULL THEN {value} ELSE {combine[column]} END"
            values[column] = value
        action = f"CASE WHEN {goes} THEN CASE WHEN t.__rid IS NOT NULL THEN 'd' END ELSE 'u' END"
        joined = f"{self._rows_with_id(table)} AS t RIGHT JOIN ({source.sql}) AS s ON {match}"
        return self._edit(table, joined, action, values, "MERGE", stamp)

    def _rows_with_id(self, table: str) -> str:
        return f"(SELECT rowid AS __rid, {self._listed(table)} FROM rv_data.{quoted(table)} WHERE __to IS NULL)"

    def _edit(
        self, table: str, source: str, action: str, values: Mapping[str, str], operation: str, stamp: Stamp = NO_STAMP
    ) -> Commit:
        """Ends rows and begins others: each row of ``source`` has an old row's ``t.__rid`` or none, and an action:
        ``d`` ends it, ``u`` puts the values in its place."""
        version = self.version(table) + 1
        listed = ", ".join(f"{value} AS {quoted(column)}" for column, value in values.items())
        same = " AND ".join(f"h.{quoted(c)} IS NOT DISTINCT FROM o.{quoted(c)}" for c in values)
        data = f"rv_data.{quoted(table)}"
        with self._transaction():
            self.db.execute(
                "CREATE OR REPLACE TEMP TABLE rv_hits AS "
                f"SELECT t.__rid AS __rid, {action} AS __action, {listed} FROM {source}"
            )
            self.db.execute("DELETE FROM rv_hits WHERE __action IS NULL")
            self.db.execute(
                f"DELETE FROM rv_hits AS h USING {data} AS o WHERE h.__rid = o.rowid AND h.__action = 'u' AND {same}"
            )
            twice = "SELECT 1 FROM rv_hits WHERE __rid IS NOT NULL GROUP BY __rid HAVING count(*) > 1 LIMIT 1"
            if self.db.execute(twice).fetchall():
                raise SqlError(f"A row of {table} would be changed twice by one statement")
            self.db.execute(f"UPDATE {data} SET __to = {version} WHERE rowid IN (SELECT __rid FROM rv_hits)")
            columns = ", ".join(quoted(c) for c in values)
            self.db.execute(
                f"INSERT INTO {data} ({columns}, __from) SELECT {columns}, {version} FROM rv_hits WHERE __action = 'u'"
            )
            changed = int(self.db.execute("SELECT count(*) FROM rv_hits").fetchall()[0][0])
            self.db.execute("DROP TABLE rv_hits")
            if not changed and stamp == NO_STAMP:
                return self.last_commit(table)
            return self._commit(table, version, operation, changed, stamp)

    def replace(
        self,
        table: str,
        rows: Any,
        *,
        key: Sequence[str] | None = None,
        properties: Mapping[str, str] | None = None,
        stamp: Stamp = NO_STAMP,
    ) -> Commit:
        if self._repeated(table, stamp):
            return self.last_commit(table)
        version = self.version(table) + 1
        with self._transaction():
            if self.engine.columns(rows) == self.engine.columns(self.read(table)):
                self.db.execute(f"CREATE OR REPLACE TEMP TABLE rv_hits AS {rows.sql}")
                self.db.execute(f"UPDATE rv_data.{quoted(table)} SET __to = {version} WHERE __to IS NULL")
                self.db.execute(f"INSERT INTO rv_data.{quoted(table)} SELECT *, {version}, NULL FROM rv_hits")
                self.db.execute("DROP TABLE rv_hits")
            else:
                self._make(table, rows, version)
                self.db.execute("UPDATE rv_meta.tables SET first = ? WHERE name = ?", [version, table])
            if key is not None:
                self.db.execute("UPDATE rv_meta.tables SET key = ? WHERE name = ?", [json.dumps(list(key)), table])
            if properties is not None:
                self._set_properties(table, dict(properties))
            return self._commit(table, version, "REPLACE", self._here(table, version), stamp)

    def recreate(
        self, table: str, rows: Any, *, properties: Mapping[str, str] | None = None, stamp: Stamp = NO_STAMP
    ) -> Commit:
        with self._transaction():
            self.db.execute(f"CREATE OR REPLACE TEMP TABLE rv_made AS {rows.sql}")  # which may read the old rows
            self._remove(table)
            self._insert(table, DuckFrame("SELECT * FROM rv_made"), (), properties)
            self.db.execute("DROP TABLE rv_made")
            return self._commit(table, 0, "CREATE TABLE", self._here(table, 0), stamp)

    def _set_properties(self, table: str, properties: Mapping[str, str]) -> None:
        self.db.execute("UPDATE rv_meta.tables SET properties = ? WHERE name = ?", [json.dumps(properties), table])

    def set_properties(self, table: str, properties: Mapping[str, str]) -> Commit:
        with self._transaction():
            self._set_properties(table, {**self.properties(table), **properties})
            return self._commit(table, self.version(table) + 1, "SET TBLPROPERTIES", 0)

    def drop(self, table: str) -> None:
        with self._transaction():
            self._remove(table)

    def _remove(self, table: str) -> None:
        if not self.exists(table):
            raise self._not_found(table)
        self.db.execute(f"DROP VIEW {quoted(table)}; DROP TABLE rv_data.{quoted(table)}")
        self.db.execute(
            "DELETE FROM rv_meta.commits WHERE id IN (SELECT id FROM rv_meta.tables WHERE name = ?)", [table]
        )
        self.db.execute("DELETE FROM rv_meta.tables WHERE name = ?", [table])
        self._forget()
