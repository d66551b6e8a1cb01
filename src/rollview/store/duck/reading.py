"""Names, versions, snapshots and changes of tables in DuckDB."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timezone
from typing import Any

import duckdb

from rollview.engine.duck import DuckEngine, DuckFrame
from rollview.errors import BadName, Damaged, RollviewError, TableNotFound, VersionGone
from rollview.parse.names import Name
from rollview.parse.stored_names import damaged
from rollview.store.protocol import (
    CHANGE_TYPE,
    COMMIT_TIME,
    COMMIT_VERSION,
    DELETE,
    INSERT,
    Commit,
    Identity,
    no_such_commit,
    no_such_table,
)

#: Of a table: its id, its oldest version, its key, its properties.
_Info = tuple[str, int, tuple[str, ...], dict[str, str]]


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


class DuckReading:
    """The part of the store that reads."""

    def __init__(self, engine: DuckEngine) -> None:
        self.engine = engine
        self.db: duckdb.DuckDBPyConnection = engine.connection
        # what is known of tables as long as nothing is written
        self._names: set[str] | None = None
        self._columns_of: dict[str, list[str]] = {}
        self._known: dict[str, _Info] = {}
        self._last: dict[tuple[str, str | None], Commit] = {}
        self.db.execute("CREATE SCHEMA IF NOT EXISTS rv_data; CREATE SCHEMA IF NOT EXISTS rv_meta")
        self.db.execute(
            "CREATE TABLE IF NOT EXISTS rv_meta.tables (name VARCHAR, id VARCHAR, first BIGINT, key VARCHAR, "
            "properties VARCHAR)"
        )
        self.db.execute(
            "CREATE TABLE IF NOT EXISTS rv_meta.commits (id VARCHAR, version BIGINT, time TIMESTAMPTZ, "
            "metadata VARCHAR, operation VARCHAR, rows BIGINT, application VARCHAR, sequence BIGINT)"
        )

    @property
    def has_catalog(self) -> bool:
        return True

    def canonical(self, name: Name) -> str:
        if len(name) != 1:
            raise BadName(f"{'.'.join(name)} has several parts", todo="the DuckDB store has no schemas")
        return name[0].lower()

    def sql_name(self, table: str) -> str:
        return quoted(table)

    def companion(self, table: str, prefix: str) -> str:
        return prefix + table

    def owner(self, table: str, prefix: str) -> str | None:
        return table[len(prefix) :] if table.startswith(prefix) else None

    def tables(self) -> list[str]:
        return sorted(row[0] for row in self.db.execute("SELECT name FROM rv_meta.tables").fetchall())

    def exists(self, table: str) -> bool:
        if self._names is None:
            self._names = set(self.tables())
        return table in self._names

    def _info(self, table: str) -> _Info:
        if table not in self._known:
            found = self.db.execute("SELECT id, first, key, properties FROM rv_meta.tables WHERE name = ?", [table])
            rows = found.fetchall()
            if not rows:
                raise self._not_found(table)
            try:
                self._known[table] = rows[0][0], rows[0][1], tuple(json.loads(rows[0][2])), json.loads(rows[0][3])
            except (ValueError, TypeError) as error:
                raise damaged(table, f"its key or its properties cannot be read: {error}") from error
        return self._known[table]

    def versioned(self, table: str) -> bool:
        return True

    def damage(self, table: str) -> Damaged | None:
        try:
            self.identity(table)
        except Damaged as error:
            return error
        return None

    def past_properties(self, table: str) -> Iterator[Mapping[str, str]]:
        with contextlib.suppress(Damaged):
            yield self.properties(table)

    def _not_found(self, table: str) -> TableNotFound:
        return no_such_table(table, self.tables())

    def identity(self, table: str) -> Identity:
        return Identity(self._info(table)[0], self.version(table))

    def version(self, table: str) -> int:
        return self.last_commit(table).version

    def schema(self, table: str, version: int | None = None) -> Any:
        return self.engine.columns(self.read(table, version))

    def key(self, table: str) -> tuple[str, ...]:
        return self._info(table)[2]

    def properties(self, table: str) -> Mapping[str, str]:
        return self._info(table)[3]

    def count(self, table: str, version: int | None = None) -> int:
        return int(self.engine.fetch(DuckFrame(f"SELECT count(*) FROM ({self.read(table, version).sql})"))[0][0])

    def size(self, table: str, version: int | None = None) -> int | None:
        return None

    def bounds(self, table: str, column: str, version: int | None = None) -> tuple[Any, Any] | None:
        return None

    def _columns(self, table: str) -> list[str]:
        if table not in self._columns_of:
            described = self.db.execute(f"DESCRIBE rv_data.{quoted(table)}").fetchall()
            self._columns_of[table] = [row[0] for row in described if row[0] not in ("__from", "__to")]
        return self._columns_of[table]

    def _listed(self, table: str) -> str:
        return ", ".join(quoted(c) for c in self._columns(table))

    def _check_version(self, table: str, version: int) -> None:
        first, newest = self._info(table)[1], self.version(table)
        if not first <= version <= newest:
            raise VersionGone(f"Version {version} of {table} is no longer there", why=f"it has {first} to {newest}")

    def read(self, table: str, version: int | None = None) -> DuckFrame:
        version = self.version(table) if version is None else version
        self._check_version(table, version)
        there = f"__from <= {version} AND (__to IS NULL OR __to > {version})"
        return DuckFrame(f"SELECT {self._listed(table)} FROM rv_data.{quoted(table)} WHERE {there}")

    def changes(self, table: str, after: int, upto: int, columns: Sequence[str] | None = None) -> DuckFrame:
        self._check_version(table, upto)
        if after + 1 < self._info(table)[1]:
            raise VersionGone(f"The changes of {table} after version {after} are no longer there")
        parts = []
        for kind, at in ((INSERT, "__from"), (DELETE, "__to")):
            parts.append(
                f"SELECT {self._listed(table)}, '{kind}' AS {CHANGE_TYPE}, {at} AS {COMMIT_VERSION}, "
                f"(SELECT max(time) FROM rv_meta.commits WHERE id = '{self._info(table)[0]}' AND version = {at}) "
                f"AS {COMMIT_TIME} FROM rv_data.{quoted(table)} WHERE {at} > {after} AND {at} <= {upto}"
            )
        return DuckFrame(" UNION ALL ".join(parts))

    def few_changes(self, table: str, after: int, upto: int, columns: Sequence[str], most: int) -> None:
        return None

    def columns(self, table: str, version: int | None = None) -> list[tuple[str, str]]:
        return self.engine.columns(self.read(table, version))

    def last_commit(self, table: str, having: str | None = None) -> Commit:
        asked = (table, having)
        if asked not in self._last:
            self._last[asked] = self._find_commit(table, having)
        return self._last[asked]

    def _find_commit(self, table: str, having: str | None) -> Commit:
        sql = "SELECT version, time, metadata, operation, rows FROM rv_meta.commits WHERE id = ? ORDER BY version DESC"
        for version, time, metadata, operation, rows in self.db.execute(sql, [self._info(table)[0]]).fetchall():
            known = json.loads(metadata)
            if having is None or having in known:
                return Commit(version, time.astimezone(timezone.utc), known, operation, rows)
        raise no_such_commit(table, having)

    def versions_at(self, time: datetime, tables: Sequence[str] | None = None) -> dict[str, int]:
        found = {}
        for table in self.tables() if tables is None else tables:
            sql = "SELECT max(version) FROM rv_meta.commits WHERE id = ? AND time <= ?"
            version = self.db.execute(sql, [self._info(table)[0], time]).fetchall()[0][0]
            if version is not None:
                found[table] = version
        return found

    def asked(self) -> contextlib.AbstractContextManager[None]:
        return contextlib.nullcontext()

    def sync(self, words: set[str]) -> dict[str, RollviewError]:
        return {}

    def publish_view(self, view: str, state: str, show: str) -> None:
        query = self.engine.over_state(DuckFrame(f"SELECT * FROM {quoted(state)}"), show).sql
        self.db.execute(f"CREATE OR REPLACE VIEW {quoted(view)} AS {query}")

    def unpublish_view(self, view: str) -> None:
        self.db.execute(f"DROP VIEW IF EXISTS {quoted(view)}")
