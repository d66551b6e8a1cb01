"""Tables in DuckDB, for the second engine: every row knows the versions between which it is there.

A table ``t`` is the view ``t`` over ``rv_data.t``, which holds all rows that ever were with the versions at which they
came and went. So any version can be read, and the changes between two are the rows that came or went between them.
"""

from __future__ import annotations

import contextlib
import json
import uuid
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timezone
from typing import Any

import duckdb
from sqlglot import exp

from rollview.engine.duck import DuckEngine, DuckFrame, translated
from rollview.errors import (
    BadName,
    NameTaken,
    RollviewError,
    SqlError,
    TableNotFound,
    Unsupported,
    VersionGone,
    nearest,
)
from rollview.parse.names import Name
from rollview.parse.table_statements import CreateTable, Delete, DropTable, Insert, Merge, TableStatement, Update
from rollview.store.copies import taking
from rollview.store.protocol import (
    CHANGE_TYPE,
    COMMIT_TIME,
    COMMIT_VERSION,
    DELETE,
    DELETE_FLAG,
    INSERT,
    NO_STAMP,
    Commit,
    Identity,
    Stamp,
    no_such_commit,
)
from rollview.store.rows import RESERVED, key_repeated, null_in_key

_RESERVED = RESERVED | {"rowid", "__from", "__to"}

#: Of a table: its id, its oldest version, its key, its properties.
_Info = tuple[str, int, tuple[str, ...], dict[str, str]]


def _q(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


class DuckStore:
    """Keeps the protocol of ``rollview.store.protocol.Store``; see there for what the methods promise."""

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
        return _q(table)

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
                raise TableNotFound(f"There is no table named {table}", todo=nearest(table, self.tables()))
            self._known[table] = rows[0][0], rows[0][1], tuple(json.loads(rows[0][2])), json.loads(rows[0][3])
        return self._known[table]

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
            described = self.db.execute(f"DESCRIBE rv_data.{_q(table)}").fetchall()
            self._columns_of[table] = [row[0] for row in described if row[0] not in ("__from", "__to")]
        return self._columns_of[table]

    def _listed(self, table: str) -> str:
        return ", ".join(_q(c) for c in self._columns(table))

    def _check_version(self, table: str, version: int) -> None:
        first, newest = self._info(table)[1], self.version(table)
        if not first <= version <= newest:
            raise VersionGone(f"Version {version} of {table} is no longer there", why=f"it has {first} to {newest}")

    def read(self, table: str, version: int | None = None) -> DuckFrame:
        version = self.version(table) if version is None else version
        self._check_version(table, version)
        there = f"__from <= {version} AND (__to IS NULL OR __to > {version})"
        return DuckFrame(f"SELECT {self._listed(table)} FROM rv_data.{_q(table)} WHERE {there}")

    def changes(self, table: str, after: int, upto: int, columns: Sequence[str] | None = None) -> DuckFrame:
        self._check_version(table, upto)
        if after + 1 < self._info(table)[1]:
            raise VersionGone(f"The changes of {table} after version {after} are no longer there")
        parts = []
        for kind, at in ((INSERT, "__from"), (DELETE, "__to")):
            parts.append(
                f"SELECT {self._listed(table)}, '{kind}' AS {CHANGE_TYPE}, {at} AS {COMMIT_VERSION}, "
                f"(SELECT max(time) FROM rv_meta.commits WHERE id = '{self._info(table)[0]}' AND version = {at}) "
                f"AS {COMMIT_TIME} FROM rv_data.{_q(table)} WHERE {at} > {after} AND {at} <= {upto}"
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

    # writing

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
        listed = ", ".join(_q(c) for c in key)
        for column in key:
            if self.db.execute(f"SELECT 1 FROM {_q(table)} WHERE {_q(column)} IS NULL LIMIT 1").fetchall():
                raise null_in_key(table, column, "part of the key")
        twice = self.db.execute(f"SELECT {listed} FROM {_q(table)} GROUP BY {listed} HAVING count(*) > 1 LIMIT 3")
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
            self._make(table, rows, 0)
            info = [table, uuid.uuid4().hex, 0, json.dumps(list(key)), json.dumps(dict(properties or {}))]
            self.db.execute("INSERT INTO rv_meta.tables VALUES (?, ?, ?, ?, ?)", info)
            return self._commit(table, 0, "CREATE TABLE", self._here(table, 0), stamp)

    def _make(self, table: str, rows: DuckFrame, version: int) -> None:
        if taken := next((name for name, _ in self.engine.columns(rows) if name.casefold() in _RESERVED), None):
            raise BadName(
                f"{taken} cannot be the name of a column of {table}",
                why="the store uses that name",
                todo="give the column another name",
            )
        self._forget()
        self.db.execute(
            f"CREATE OR REPLACE TABLE rv_data.{_q(table)} AS SELECT *, {version}::BIGINT AS __from, "
            f"NULL::BIGINT AS __to FROM ({rows.sql})"
        )
        self.db.execute(
            f"CREATE OR REPLACE VIEW {_q(table)} AS SELECT * EXCLUDE (__from, __to) FROM rv_data.{_q(table)} "
            "WHERE __to IS NULL"
        )

    def _here(self, table: str, version: int) -> int:
        sql = f"SELECT count(*) FROM rv_data.{_q(table)} WHERE __from = {version}"
        return int(self.db.execute(sql).fetchall()[0][0])

    def append(self, table: str, rows: DuckFrame, *, stamp: Stamp = NO_STAMP) -> Commit:
        if self._repeated(table, stamp):
            return self.last_commit(table)
        version = self.version(table) + 1
        names = ", ".join(_q(name) for name, _ in self.engine.columns(rows))
        with self._transaction():
            self.db.execute(f"INSERT INTO rv_data.{_q(table)} ({names}, __from) SELECT *, {version} FROM ({rows.sql})")
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
        flag = f"s.{_q(DELETE_FLAG)}" if DELETE_FLAG in given else "false"
        match = " AND ".join(f"t.{_q(c)} IS NOT DISTINCT FROM s.{_q(c)}" for c in on)
        if copies is not None:
            take = taking(_q(copies), [_q(c) for c in on], ("__rid",))
            match, combine, gone = f"{match} AND {take.looks}", {copies: take.left}, take.gone
        goes = f"({flag} OR ({gone}))" if gone else flag
        values = {}
        for column in self._columns(table):
            value = f"s.{_q(column)}"
            if combine and column in combine:
                value = f"CASE WHEN t.__rid IS NULL THEN {value} ELSE {combine[column]} END"
            values[column] = value
        action = f"CASE WHEN {goes} THEN CASE WHEN t.__rid IS NOT NULL THEN 'd' END ELSE 'u' END"
        joined = f"{self._rows_with_id(table)} AS t RIGHT JOIN ({source.sql}) AS s ON {match}"
        return self._edit(table, joined, action, values, "MERGE", stamp)

    def _rows_with_id(self, table: str) -> str:
        return f"(SELECT rowid AS __rid, {self._listed(table)} FROM rv_data.{_q(table)} WHERE __to IS NULL)"

    def _edit(
        self, table: str, source: str, action: str, values: Mapping[str, str], operation: str, stamp: Stamp = NO_STAMP
    ) -> Commit:
        """Ends rows and begins others: each row of ``source`` has an old row's ``t.__rid`` or none, and an action:
        ``d`` ends it, ``u`` puts the values in its place."""
        version = self.version(table) + 1
        listed = ", ".join(f"{value} AS {_q(column)}" for column, value in values.items())
        same = " AND ".join(f"h.{_q(c)} IS NOT DISTINCT FROM o.{_q(c)}" for c in values)
        data = f"rv_data.{_q(table)}"
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
            columns = ", ".join(_q(c) for c in values)
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
                self.db.execute(f"UPDATE rv_data.{_q(table)} SET __to = {version} WHERE __to IS NULL")
                self.db.execute(f"INSERT INTO rv_data.{_q(table)} SELECT *, {version}, NULL FROM rv_hits")
                self.db.execute("DROP TABLE rv_hits")
            else:
                self._make(table, rows, version)
                self.db.execute("UPDATE rv_meta.tables SET first = ? WHERE name = ?", [version, table])
            if key is not None:
                self.db.execute("UPDATE rv_meta.tables SET key = ? WHERE name = ?", [json.dumps(list(key)), table])
            if properties is not None:
                self._set_properties(table, dict(properties))
            return self._commit(table, version, "REPLACE", self._here(table, version), stamp)

    def _set_properties(self, table: str, properties: Mapping[str, str]) -> None:
        self.db.execute("UPDATE rv_meta.tables SET properties = ? WHERE name = ?", [json.dumps(properties), table])

    def set_properties(self, table: str, properties: Mapping[str, str]) -> Commit:
        with self._transaction():
            self._set_properties(table, {**self.properties(table), **properties})
            return self._commit(table, self.version(table) + 1, "SET TBLPROPERTIES", 0)

    def drop(self, table: str) -> None:
        with self._transaction():
            identity = self._info(table)[0]
            self.db.execute(f"DROP VIEW {_q(table)}; DROP TABLE rv_data.{_q(table)}")
            self.db.execute("DELETE FROM rv_meta.commits WHERE id = ?", [identity])
            self.db.execute("DELETE FROM rv_meta.tables WHERE name = ?", [table])

    # SQL

    def sync(self, words: set[str]) -> dict[str, RollviewError]:
        return {}

    def publish_view(self, view: str, state: str, show: str) -> None:
        query = self.engine.over_state(DuckFrame(f"SELECT * FROM {_q(state)}"), show).sql
        self.db.execute(f"CREATE OR REPLACE VIEW {_q(view)} AS {query}")

    def unpublish_view(self, view: str) -> None:
        self.db.execute(f"DROP VIEW IF EXISTS {_q(view)}")

    def pass_on(self, sql: str) -> DuckFrame:
        return DuckFrame(translated(sql))

    def run(self, statement: TableStatement, sql: str) -> DuckFrame:
        changed = self._run(statement)
        return DuckFrame(f"SELECT {changed}::BIGINT AS changed")

    def _run(self, statement: TableStatement) -> int:
        if isinstance(statement, CreateTable):
            return self._run_create(statement)
        if isinstance(statement, DropTable):
            name = self.canonical(statement.name)
            if self.exists(name) or not statement.if_exists:
                self.drop(name)
            return 0
        table = self.canonical(statement.table)
        before = self.version(table)
        if isinstance(statement, Insert):
            commit = self._run_insert(statement, table)
        elif isinstance(statement, Merge):
            commit = self._run_merge(statement, table)
        else:
            commit = self._run_edit(statement, table)
        return (commit.rows or 0) if commit.version > before else 0

    def _run_create(self, statement: CreateTable) -> int:
        table = self.canonical(statement.name)
        if self.exists(table) and statement.if_not_exists:
            return 0
        if statement.query is not None:
            rows = DuckFrame(translated(statement.query))
        else:
            made = translated(f"CREATE TABLE rv_shape ({statement.columns})")
            self.db.execute(made.replace("CREATE TABLE", "CREATE OR REPLACE TEMP TABLE", 1))
            rows = DuckFrame("SELECT * FROM rv_shape")
        write = self.replace if self.exists(table) and statement.or_replace else self.create
        commit = write(table, rows, key=statement.key, properties=dict(statement.properties))
        return commit.rows or 0

    def _run_insert(self, statement: Insert, table: str) -> Commit:
        columns = list(statement.columns) or self._columns(table)
        if statement.by_name:
            raise Unsupported("The DuckDB store has no INSERT BY NAME", todo="name the columns")
        listed = ", ".join(_q(c) for c in columns)
        rows = DuckFrame(f"SELECT * FROM ({translated(statement.query)}) AS v({listed})")
        if statement.overwrite:
            types = dict(self.engine.columns(self.read(table)))
            picked = ", ".join(f"CAST({_q(c)} AS {type_in_duckdb(types[c])}) AS {_q(c)}" for c in columns)
            return self.replace(table, DuckFrame(f"SELECT {picked} FROM ({rows.sql})"))
        return self.append(table, rows)

    def _run_edit(self, statement: Update | Delete, table: str) -> Commit:
        where = f" WHERE {translated(statement.where)}" if statement.where else ""
        inner = f"(SELECT *, __rid AS __r FROM {self._rows_with_id(table)} AS {_q(statement.alias)}{where})"
        values = {column: f"t.{_q(column)}" for column in self._columns(table)}
        if isinstance(statement, Delete):
            return self._edit(table, f"{inner} AS t", "'d'", values, "DELETE")
        sets = {name[-1].lower(): translated(text) for name, text in statement.assignments}
        news = ", ".join(f"{sets.get(c.lower(), _q(c))} AS {_q('__new_' + c)}" for c in values)
        inner = f"(SELECT *, {news} FROM {self._rows_with_id(table)} AS {_q(statement.alias)}{where})"
        return self._edit(table, f"{inner} AS t", "'u'", {c: f"t.{_q('__new_' + c)}" for c in values}, "UPDATE")

    def _run_merge(self, statement: Merge, table: str) -> Commit:
        target, given = _q(statement.alias), _q(statement.source_alias)
        columns = self._columns(table)
        source = f"(SELECT *, true AS __there FROM ({translated(f'SELECT * FROM {statement.source}')}))"
        kinds = {"both": f"{target}.__rid IS NOT NULL AND {given}.__there", "source": f"{target}.__rid IS NULL",
                 "target": f"{given}.__there IS NULL"}  # fmt: skip
        tests, news = [], {c: [] for c in columns}  # type: tuple[list[str], dict[str, list[str]]]
        for clause in statement.clauses:
            more = f" AND ({translated(clause.condition)})" if clause.condition else ""
            test = f"WHEN {kinds[clause.matched]}{more} THEN"
            tests.append(f"{test} {chr(39)}{'d' if clause.action == 'delete' else 'u'}{chr(39)}")
            sets = {name[-1].lower(): translated(text) for name, text in clause.assignments or ()}
            for column in columns:
                kept = f"{target}.{_q(column)}" if clause.action == "update" else "NULL"
                value = f"{given}.{_q(column)}" if clause.assignments is None else sets.get(column.lower(), kept)
                news[column].append(f"{test} {value}")
        listed = ", ".join(f"CASE {' '.join(parts)} END AS {_q(c)}" for c, parts in news.items())
        joined = (
            f"(SELECT {target}.__rid AS __rid, CASE {' '.join(tests)} END AS __what, {listed} "
            f"FROM {self._rows_with_id(table)} AS {target} FULL JOIN {source} AS {given} "
            f"ON {translated(statement.condition)}) AS t"
        )
        return self._edit(table, joined, "t.__what", {c: f"t.{_q(c)}" for c in columns}, "MERGE")


def type_in_duckdb(kind: str) -> str:
    return exp.DataType.build(kind, dialect="spark").sql("duckdb")
