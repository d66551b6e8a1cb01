"""The shared state of the parts of the DuckDB store: the connection, its internal tables, and a cache of metadata.

A table ``t`` is the view ``t`` over ``rv_data.t``, which has the rows of all versions, with the versions at which they
were inserted and deleted. ``__updated`` marks the rows that an update inserted, ``__replaced`` those that it deleted.
``rv_meta`` holds a row for each table and each commit.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from dataclasses import dataclass

import duckdb

from rollview.engine.duck import DuckEngine
from rollview.errors import NotAWarehouse, TableNotFound
from rollview.parse.stored_names import damaged
from rollview.store.protocol import Commit, no_such_table

#: Columns of the stored rows beside the table's own.
OWN_COLUMNS = ("__from", "__to", "__updated", "__replaced")


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


@dataclass(frozen=True)
class TableInfo:
    """A row of ``rv_meta.tables``. ``first`` is the table's oldest version."""

    id: str
    first: int
    key: tuple[str, ...]
    properties: dict[str, str]


class DuckTables:
    """The tables of one connection. Their metadata is cached until something is written."""

    def __init__(self, engine: DuckEngine) -> None:
        self.engine = engine
        self.db: duckdb.DuckDBPyConnection = engine.connection
        self._names: set[str] | None = None
        self._types: dict[str, dict[str, str]] = {}
        self._infos: dict[str, TableInfo] = {}
        self.commits: dict[tuple[str, str | None], Commit] = {}
        self.db.execute("CREATE SCHEMA IF NOT EXISTS rv_data; CREATE SCHEMA IF NOT EXISTS rv_meta")
        self.db.execute(
            "CREATE TABLE IF NOT EXISTS rv_meta.tables (name VARCHAR, id VARCHAR, first BIGINT, key VARCHAR, "
            "properties VARCHAR)"
        )
        self.db.execute(
            "CREATE TABLE IF NOT EXISTS rv_meta.commits (id VARCHAR, version BIGINT, time TIMESTAMPTZ, "
            "metadata VARCHAR, operation VARCHAR, rows BIGINT, inserted BIGINT, deleted BIGINT, application VARCHAR, "
            "sequence BIGINT)"
        )
        if len(self.db.execute("SELECT * FROM rv_meta.commits LIMIT 0").description or ()) != 10:
            raise NotAWarehouse(
                "The DuckDB file was made by another version of rollview", todo="create the tables again in a new file"
            )

    def forget(self) -> None:
        self._names = None
        self._types.clear()
        self._infos.clear()
        self.commits.clear()

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        self.db.execute("BEGIN")
        try:
            self.forget()
            yield
        except BaseException:
            self.db.execute("ROLLBACK")
            raise
        else:
            self.db.execute("COMMIT")
        finally:
            self.forget()

    def tables(self) -> list[str]:
        return sorted(row[0] for row in self.db.execute("SELECT name FROM rv_meta.tables").fetchall())

    def exists(self, table: str) -> bool:
        if self._names is None:
            self._names = set(self.tables())
        return table in self._names

    def not_found(self, table: str) -> TableNotFound:
        return no_such_table(table, self.tables())

    def info(self, table: str) -> TableInfo:
        if table not in self._infos:
            found = self.db.execute("SELECT id, first, key, properties FROM rv_meta.tables WHERE name = ?", [table])
            rows = found.fetchall()
            if not rows:
                raise self.not_found(table)
            table_id, first, key, properties = rows[0]
            try:
                self._infos[table] = TableInfo(table_id, first, tuple(json.loads(key)), json.loads(properties))
            except (ValueError, TypeError) as error:
                raise damaged(table, f"its key or its properties cannot be read: {error}") from error
        return self._infos[table]

    def columns(self, table: str) -> list[str]:
        """The names of a table's columns."""
        return list(self.types(table))

    def types(self, table: str) -> dict[str, str]:
        """The same with their types, as DuckDB writes them."""
        if table not in self._types:
            described = self.db.execute(f"DESCRIBE rv_data.{quoted(table)}").fetchall()
            self._types[table] = {row[0]: row[1] for row in described if row[0] not in OWN_COLUMNS}
        return self._types[table]

    def listed(self, table: str) -> str:
        """The same as SQL writes them."""
        return ", ".join(quoted(c) for c in self.columns(table))

    def one(self, sql: str) -> int:
        """The number that a query returns."""
        return int(self.db.execute(sql).fetchall()[0][0])
