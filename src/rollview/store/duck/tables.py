"""The shared state of the parts of the DuckDB store: the connection, its internal tables, and a cache of metadata.

A table ``t`` is the view ``t`` over ``rv_data.t``, which has the rows of all versions, with the versions at which they
were inserted and deleted. ``__updated`` marks the rows that an update inserted, ``__replaced`` those that it deleted.
``rv_meta`` holds a row for each table and each commit.

The cache holds across commits: a commit replaces what it changes. Other sessions of this process can write to the same
file, and DuckDB lets no other process do so. The sessions of a file share a count of its commits, and a session forgets
what it knows when the count is not the one that it has seen.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from weakref import WeakValueDictionary

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


class _Commits:
    """How many transactions the sessions of one database have committed."""

    def __init__(self) -> None:
        self.number = 0


#: By the paths of the files that are open.
_COMMITS: WeakValueDictionary[str, _Commits] = WeakValueDictionary()


@dataclass
class _Cache:
    """Metadata read since ``seen`` commits. ``commits`` are the newest ones, by table and required metadata; ``marks``
    those of the commits that were read, by table and version."""

    seen: int
    names: set[str] | None = None
    types: dict[str, dict[str, str]] = field(default_factory=dict)
    infos: dict[str, TableInfo] = field(default_factory=dict)
    commits: dict[tuple[str, str | None], Commit] = field(default_factory=dict)
    marks: dict[tuple[str, int], str] = field(default_factory=dict)


class DuckTables:
    """The tables of one connection."""

    def __init__(self, engine: DuckEngine) -> None:
        self.engine = engine
        path = self.db.execute(
            "SELECT path FROM duckdb_databases() WHERE database_name = current_database()"
        ).fetchall()[0][0]
        self._shared = _Commits() if path is None else _COMMITS.setdefault(path, _Commits())
        self._caches: dict[int, _Cache] = {}  # of each connection of the engine
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

    @property
    def db(self) -> duckdb.DuckDBPyConnection:
        return self.engine.connection

    def forget(self) -> None:
        """Forgets all metadata."""
        self._caches[id(self.db)] = _Cache(self._shared.number)

    def forget_table(self, table: str) -> None:
        """Forgets the metadata of a table, and which tables there are."""
        known = self._known
        known.names = None
        known.types.pop(table, None)
        known.infos.pop(table, None)
        known.commits = {asked: commit for asked, commit in known.commits.items() if asked[0] != table}
        known.marks = {asked: mark for asked, mark in known.marks.items() if asked[0] != table}

    @property
    def _known(self) -> _Cache:
        known = self._caches.get(id(self.db))
        if known is None or known.seen != self._shared.number:
            self.forget()
        return self._caches[id(self.db)]

    @property
    def commits(self) -> dict[tuple[str, str | None], Commit]:
        """The newest commit of a table, and its newest one with a key in the metadata, if known."""
        return self._known.commits

    @property
    def marks(self) -> dict[tuple[str, int], str]:
        """The marks of commits, by table and version, as far as they are known."""
        return self._known.marks

    def has_committed(self, table: str, commit: Commit) -> None:
        """Takes note of the newest commit of a table."""
        self.commits.update({(table, asked): commit for asked in (None, *commit.metadata)})
        if commit.mark is not None:
            self.marks[table, commit.version] = commit.mark

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        self.db.execute("BEGIN")
        try:
            yield
            self.db.execute("COMMIT")
        except BaseException:
            with contextlib.suppress(duckdb.Error):  # a COMMIT that fails has rolled back
                self.db.execute("ROLLBACK")
            self.forget()
            raise
        known = self._known
        self._shared.number += 1
        known.seen = self._shared.number

    def tables(self) -> list[str]:
        return sorted(self._names())

    def exists(self, table: str) -> bool:
        return table in self._names()

    def _names(self) -> set[str]:
        known = self._known
        if known.names is None:
            known.names = {row[0] for row in self.db.execute("SELECT name FROM rv_meta.tables").fetchall()}
        return known.names

    def not_found(self, table: str) -> TableNotFound:
        return no_such_table(table, self.tables())

    def info(self, table: str) -> TableInfo:
        infos = self._known.infos
        if table not in infos:
            found = self.db.execute("SELECT id, first, key, properties FROM rv_meta.tables WHERE name = ?", [table])
            rows = found.fetchall()
            if not rows:
                raise self.not_found(table)
            table_id, first, key, properties = rows[0]
            try:
                infos[table] = TableInfo(table_id, first, tuple(json.loads(key)), json.loads(properties))
            except (ValueError, TypeError) as error:
                raise damaged(table, f"its key or its properties cannot be read: {error}") from error
        return infos[table]

    def columns(self, table: str) -> list[str]:
        """The names of a table's columns."""
        return list(self.types(table))

    def types(self, table: str) -> dict[str, str]:
        """The same with their types, as DuckDB writes them."""
        types = self._known.types
        if table not in types:
            described = self.db.execute(f"DESCRIBE rv_data.{quoted(table)}").fetchall()
            types[table] = {row[0]: row[1] for row in described if row[0] not in OWN_COLUMNS}
        return types[table]

    def listed(self, table: str) -> str:
        """The same as SQL writes them."""
        return ", ".join(quoted(c) for c in self.columns(table))

    def one(self, sql: str) -> int:
        """The number that a query returns."""
        return int(self.db.execute(sql).fetchall()[0][0])
