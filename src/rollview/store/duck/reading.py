"""Versions of tables in DuckDB, their rows and their changes."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timezone
from typing import Any

import duckdb
import pyarrow as pa

from rollview.engine.duck import DuckFrame, spark_type
from rollview.errors import Damaged, VersionGone
from rollview.store.commit_rows import by_commit
from rollview.store.duck.tables import DuckTables, quoted
from rollview.store.progress import progress_of
from rollview.store.protocol import (
    CHANGE_TYPE,
    COMMIT_TIME,
    COMMIT_VERSION,
    DELETE,
    INSERT,
    UPDATE_AFTER,
    UPDATE_BEFORE,
    Commit,
    CommitRows,
    Identity,
    Progress,
    no_such_commit,
)


class DuckReading:
    """Implements the protocol ``Reading``."""

    def __init__(self, tables: DuckTables) -> None:
        self._tables, self._engine = tables, tables.engine

    @property
    def _db(self) -> duckdb.DuckDBPyConnection:
        return self._tables.db

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

    def identity(self, table: str) -> Identity:
        commit = self.last_commit(table)
        return Identity(self._tables.info(table).id, commit.version, commit.mark)

    def version(self, table: str) -> int:
        return self.last_commit(table).version

    def commit_mark(self, table: str, version: int) -> str | None:
        if (table, version) not in self._tables.marks:
            list(self._commits(table, 1, version - 1, version))
        return self._tables.marks.get((table, version))

    def schema(self, table: str, version: int | None = None) -> Any:
        return self.columns(table, version)

    def columns(self, table: str, version: int | None = None) -> list[tuple[str, str]]:
        if version is not None:
            self._check_version(table, version)
        return [(name, spark_type(kind)) for name, kind in self._tables.types(table).items()]

    def key(self, table: str) -> tuple[str, ...]:
        return self._tables.info(table).key

    def properties(self, table: str) -> Mapping[str, str]:
        return self._tables.info(table).properties

    def count(self, table: str, version: int | None = None) -> int:
        return self._tables.one(f"SELECT count(*) FROM ({self.read(table, version).sql})")

    def size(self, table: str, version: int | None = None) -> int | None:
        return None

    def bounds(self, table: str, column: str, version: int | None = None) -> tuple[Any, Any] | None:
        return None

    def files(self, table: str, version: int | None = None) -> list[str] | None:
        return None

    def _check_version(self, table: str, version: int) -> None:
        first, newest = self._tables.info(table).first, self.version(table)
        if not first <= version <= newest:
            raise VersionGone(f"Version {version} of {table} is no longer there", why=f"it has {first} to {newest}")

    def read(self, table: str, version: int | None = None) -> DuckFrame:
        version = self.version(table) if version is None else version
        self._check_version(table, version)
        there = f"__from <= {version} AND (__to IS NULL OR __to > {version})"
        return DuckFrame(f"SELECT {self._tables.listed(table)} FROM rv_data.{quoted(table)} WHERE {there}")

    def changes(self, table: str, after: int, upto: int, columns: Sequence[str] | None = None) -> DuckFrame:
        return self._changes(table, after, upto, self._tables.columns(table))

    def _changes(self, table: str, after: int, upto: int, columns: Sequence[str]) -> DuckFrame:
        self._check_version(table, upto)
        info = self._tables.info(table)
        if after < info.first and info.first > 0:
            raise VersionGone(f"The changes of {table} after version {after} are no longer there")
        listed, parts = "".join(f"{quoted(c)}, " for c in columns), []
        for at, by_update, kind, update in (
            ("__from", "__updated", INSERT, UPDATE_AFTER),
            ("__to", "__replaced", DELETE, UPDATE_BEFORE),
        ):
            parts.append(
                f"SELECT {listed}CASE WHEN {by_update} THEN '{update}' ELSE '{kind}' END AS {CHANGE_TYPE}, "
                f"{at} AS {COMMIT_VERSION}, (SELECT max(time) FROM rv_meta.commits "
                f"WHERE id = '{info.id}' AND version = {at}) AS {COMMIT_TIME} "
                f"FROM rv_data.{quoted(table)} WHERE {at} > {after} AND {at} <= {upto}"
            )
        return DuckFrame(" UNION ALL ".join(parts))

    def dates_changes(self, table: str, after: int, upto: int) -> bool:
        return True

    def few_changes(self, table: str, after: int, upto: int, columns: Sequence[str], most: int) -> pa.Table | None:
        changed = self._changes(table, after, upto, columns)
        found: pa.Table = self._db.sql(f"SELECT * FROM ({changed.sql}) LIMIT {most + 1}").to_arrow_table()
        return found if found.num_rows <= most else None

    def commits(
        self, table: str, after: int, columns: Sequence[str] | None = None, upto: int | None = None
    ) -> Iterator[CommitRows]:
        upto = self.version(table) if upto is None else upto
        key = self.key(table)
        shown = self._tables.columns(table) if columns is None else list(columns)
        read = list(dict.fromkeys([*shown, *key]))
        feed = self._changes(table, after, upto, read)
        found: pa.Table = self._db.sql(feed.sql).to_arrow_table()
        yield from by_commit(self._commits(table, None, after, upto), found, shown, key)

    def batches(
        self, table: str, version: int | None = None, columns: Sequence[str] | None = None
    ) -> Iterator[pa.RecordBatch]:
        frame = self.read(table, version)
        listed = self._tables.listed(table) if columns is None else ", ".join(map(quoted, columns))
        rows = self._db.sql(f"SELECT {listed} FROM ({frame.sql})")
        return iter(rows.to_arrow_table().to_batches())

    def last_commit(self, table: str, having: str | None = None) -> Commit:
        found = self.newest_commit(table, having)
        if found is None:
            raise no_such_commit(table, having)
        return found

    def newest_commit(self, table: str, having: str | None = None) -> Commit | None:
        """The same, None if there is none."""
        known, asked = self._tables.commits, (table, having)
        if asked not in known:
            commits = self._commits(table, 1 if having is None else None)
            found = next((commit for commit in commits if having is None or having in commit.metadata), None)
            if found is None:
                return None
            known[asked] = found
        return known[asked]

    def history(self, table: str, limit: int | None = None, after: int | None = None) -> list[Commit]:
        return list(self._commits(table, limit, after))

    def _commits(
        self, table: str, limit: int | None = None, after: int | None = None, upto: int | None = None
    ) -> Iterator[Commit]:
        """The commits, newest first."""
        sql = (
            "SELECT version, time, metadata, operation, rows, inserted, deleted FROM rv_meta.commits "
            "WHERE id = $1 AND ($2 IS NULL OR version > $2) AND ($3 IS NULL OR version <= $3) "
            "ORDER BY version DESC LIMIT $4"
        )
        found = self._db.execute(sql, [self._tables.info(table).id, after, upto, limit]).fetchall()
        for version, time, metadata, operation, rows, inserted, deleted in found:
            moment = time.astimezone(timezone.utc)
            self._tables.marks[table, version] = moment.isoformat()
            told = json.loads(metadata), operation, rows, inserted, deleted
            yield Commit(version, moment, *told, moment.isoformat())

    def progress(self, table: str, known: Identity | None) -> Progress:
        return progress_of(self, table, known)

    def commits_between(self, table: str, after: int, upto: int) -> int:
        return upto - after

    def versions_at(self, time: datetime, tables: Sequence[str] | None = None) -> dict[str, int]:
        found = {}
        for table in self._tables.tables() if tables is None else tables:
            sql = "SELECT max(version) FROM rv_meta.commits WHERE id = ? AND time <= ?"
            version = self._db.execute(sql, [self._tables.info(table).id, time]).fetchall()[0][0]
            if version is not None:
                found[table] = version
        return found
