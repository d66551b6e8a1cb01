"""The embedded store: Delta tables in a folder."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import uuid
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TypeVar

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import LongType, StringType, StructField, StructType, TimestampType

from rollview.engine.spark import small_frame
from rollview.errors import Conflict, NameTaken, Place, SchemaChanged, TableNotFound, Unsupported, nearest
from rollview.parse.names import Name, quote
from rollview.parse.table_statements import (
    CreateTable,
    Delete,
    DropTable,
    Insert,
    Merge,
    ShowTables,
    TableStatement,
    Update,
)
from rollview.parse.tokens import SqlTokens
from rollview.store.embedded.checks import check_key, check_not_null, check_schema
from rollview.store.embedded.edits import FILE, POSITION, Rewrite, located, rewrite
from rollview.store.embedded.files import CHANGE_FOLDER, delete_files, write_frame
from rollview.store.embedded.log import Log, Overtaken, Snapshot, gone, metadata_action, protocol_action
from rollview.store.embedded.statements import delete_edits, insert_rows, merge_edits, update_edits, upsert_edits
from rollview.store.protocol import (
    CHANGE_TYPE,
    COMMIT_TIME,
    COMMIT_VERSION,
    DELETE,
    INSERT,
    KEY_PROPERTY,
    NO_STAMP,
    Commit,
    Identity,
    Stamp,
    no_such_commit,
)
from rollview.store.rows import aligned, column_named, declared, sql_type
from rollview.store.warehouse import flat_name, folder_of, open_warehouse, table_of

T = TypeVar("T")

_TRIES = 10
_NOT_HERE = {"ALTER", "ANALYZE", "MSCK", "OPTIMIZE", "REORG", "REPAIR", "RESTORE", "VACUUM"}


class EmbeddedStore:
    """Keeps the protocol of ``rollview.store.protocol.Store``; see there for what the methods promise."""

    def __init__(self, spark: SparkSession, folder: str | Path) -> None:
        self.spark = spark
        self.root = open_warehouse(folder)
        self._logs: dict[str, Log] = {}
        self._synced: dict[str, Identity] = {}

    # names

    @property
    def has_catalog(self) -> bool:
        return False

    def canonical(self, name: Name) -> str:
        return flat_name(name)

    def sql_name(self, table: str) -> str:
        return quote(table)

    def companion(self, table: str, prefix: str) -> str:
        return prefix + table

    def owner(self, table: str, prefix: str) -> str | None:
        return table[len(prefix) :] if table.startswith(prefix) else None

    def tables(self) -> list[str]:
        found = (table_of(entry.parent.name) for entry in self.root.glob("*/_delta_log"))
        return sorted(table for table in found if table is not None and self.exists(table))

    def exists(self, table: str) -> bool:
        return self._log(table).exists()

    def _log(self, table: str) -> Log:
        if table not in self._logs:
            self._logs[table] = Log(self.root / folder_of(table))
        return self._logs[table]

    def _snapshot(self, table: str, version: int | None = None) -> Snapshot:
        try:
            return self._log(table).snapshot(version)
        except FileNotFoundError:
            raise TableNotFound(f"There is no table named {table}", todo=nearest(table, self.tables())) from None

    # reading

    def identity(self, table: str) -> Identity:
        snapshot = self._snapshot(table)
        return Identity(snapshot.table_id, snapshot.version)

    def version(self, table: str) -> int:
        return self._snapshot(table).version

    def schema(self, table: str, version: int | None = None) -> StructType:
        return self._snapshot(table, version).schema

    def key(self, table: str) -> tuple[str, ...]:
        return _key(self._snapshot(table))

    def properties(self, table: str) -> Mapping[str, str]:
        return self._snapshot(table).properties

    def count(self, table: str, version: int | None = None) -> int:
        return sum(file.rows for file in self._snapshot(table, version).files)

    def read(self, table: str, version: int | None = None) -> DataFrame:
        return self._rows(self._snapshot(table, version))

    def _rows(self, snapshot: Snapshot) -> DataFrame:
        snapshot.check_readable()
        return self._frame(snapshot, snapshot.root, [file.path for file in snapshot.files], snapshot.schema)

    def _frame(self, snapshot: Snapshot, base: Path, paths: Sequence[str], schema: StructType) -> DataFrame:
        """The rows of Parquet files of a table; their partition columns stand in their paths below ``base``."""
        if not paths:
            return _empty(self.spark, schema)
        full = [str(snapshot.root / path) for path in paths]
        for path in full:
            if not os.path.exists(path):
                raise gone(
                    str(table_of(snapshot.root.name)),
                    snapshot.version,
                    f"its file {Path(path).name} has been vacuumed away",
                )
        reader = self.spark.read.schema(schema)
        if snapshot.partitions:
            reader = reader.option("basePath", str(base))
        return reader.parquet(*full).select(*[quote(name) for name in schema.names])

    def _located(self, snapshot: Snapshot) -> DataFrame:
        """The rows of a snapshot with their file and position."""
        rows = self._rows(snapshot)
        if snapshot.files:
            return located(rows)
        return rows.selectExpr("*", f"CAST(NULL AS STRING) AS {FILE}", f"CAST(NULL AS BIGINT) AS {POSITION}")

    def changes(self, table: str, after: int, upto: int) -> DataFrame:
        log = self._log(table)
        snapshot = self._snapshot(table, upto)
        snapshot.check_readable()
        commits = {version: log.actions(version) for version in range(after + 1, upto + 1)}
        fed: dict[str, int] = {}
        added: dict[str, int] = {}
        removed: dict[str, int] = {}
        for version, actions in commits.items():
            feed = [action["cdc"]["path"] for action in actions if "cdc" in action]
            fed |= dict.fromkeys(feed, version)
            if not feed:
                for action in actions:
                    for kind, paths in (("add", added), ("remove", removed)):
                        if kind in action and action[kind].get("dataChange", True):
                            paths[action[kind]["path"]] = version
        tagged = StructType([*snapshot.schema.fields, StructField(CHANGE_TYPE, StringType())])
        times = {version: log.info(version).time for version in commits}
        parts = [
            self._changed(snapshot, snapshot.root / CHANGE_FOLDER, fed, tagged, quote(CHANGE_TYPE), times),
            self._changed(snapshot, snapshot.root, added, snapshot.schema, f"'{INSERT}'", times),
            self._changed(snapshot, snapshot.root, removed, snapshot.schema, f"'{DELETE}'", times),
        ]
        found = [part for part in parts if part is not None]
        if not found:
            position = [StructField(COMMIT_VERSION, LongType()), StructField(COMMIT_TIME, TimestampType())]
            return _empty(self.spark, StructType([*tagged.fields, *position]))
        whole = found[0]
        for part in found[1:]:
            whole = whole.unionAll(part)
        return whole

    def _changed(
        self,
        snapshot: Snapshot,
        base: Path,
        versions: Mapping[str, int],
        schema: StructType,
        kind: str,
        times: Mapping[int, datetime],
    ) -> DataFrame | None:
        """The rows of changed files, with the commit that each file belongs to."""
        if not versions:
            return None
        rows = self._frame(snapshot, base, list(versions), schema)
        by_file = ", ".join(
            f"('{Path(path).name}', {version}L, timestamp_micros({int(times[version].timestamp() * 1_000_000)}L))"
            for path, version in versions.items()
        )
        commits = self.spark.sql(f"SELECT * FROM VALUES {by_file} AS c(__rv_name, {COMMIT_VERSION}, {COMMIT_TIME})")
        names = [quote(name) for name in snapshot.schema.names]
        placed = rows.selectExpr(*names, f"{kind} AS {CHANGE_TYPE}", "_metadata.file_name AS __rv_name")
        return placed.join(commits.hint("broadcast"), "__rv_name").drop("__rv_name")

    def last_commit(self, table: str, having: str | None = None) -> Commit:
        log = self._log(table)
        latest = log.latest()
        if latest is None:
            raise TableNotFound(f"There is no table named {table}", todo=nearest(table, self.tables()))
        if having is None:
            return log.info(latest)
        for version in range(latest, log.oldest() - 1, -1):
            if having in (commit := log.info(version)).metadata:
                return commit
        raise no_such_commit(table, having)

    def versions_at(self, time: datetime, tables: Sequence[str] | None = None) -> dict[str, int]:
        names = self.tables() if tables is None else tables
        found = {name: self._log(name).version_at(time) for name in names}
        return {name: version for name, version in found.items() if version is not None}

    # writing

    def create(
        self,
        table: str,
        rows: DataFrame | StructType,
        *,
        key: Sequence[str] = (),
        properties: Mapping[str, str] | None = None,
        stamp: Stamp = NO_STAMP,
    ) -> Commit:
        log = self._log(table)
        if log.exists():
            raise NameTaken(
                f"There is a table named {table} already",
                todo="choose another name, or drop it first: DROP TABLE " + quote(table),
            )
        schema = _declared(rows)
        check_schema(table, schema)
        keys = [column_named(schema, name, table) for name in key]
        settings = dict(properties or {}) | ({KEY_PROPERTY: json.dumps(keys)} if keys else {})
        files = [] if isinstance(rows, StructType) else write_frame(rows, log.root)
        try:
            check_not_null(table, schema, keys, files)
            check_key(table, keys, [], [str(log.root / f.path) for f in files])
            actions = [protocol_action(schema), metadata_action(schema, settings), *(f.add() for f in files)]
            return log.commit(0, actions, "CREATE TABLE", stamp, sum(f.rows for f in files))
        except Overtaken:
            delete_files(files, log.root)
            raise NameTaken(f"Another writer has just made a table named {table}") from None
        except BaseException:
            delete_files(files, log.root)
            raise

    def append(self, table: str, rows: DataFrame, *, stamp: Stamp = NO_STAMP) -> Commit:
        first = self._snapshot(table)
        return self._append(first, table, aligned(rows, first.schema, table, by_name=True), stamp)

    def _append(self, first: Snapshot, table: str, rows: DataFrame, stamp: Stamp) -> Commit:
        """Writes the files once, then commits them onto whatever version is the newest."""
        if self._repeated(first, stamp):
            return self.last_commit(table)
        first.check_writable()
        files = write_frame(rows, first.root)
        if not files and not stamp.metadata and stamp.application is None:
            return self.last_commit(table)

        def attempt(snapshot: Snapshot) -> Commit:
            if snapshot.schema != first.schema or snapshot.table_id != first.table_id:
                raise SchemaChanged(f"{table} was replaced while rows were written to it", todo="repeat the statement")
            if self._repeated(snapshot, stamp):
                delete_files(files, first.root)
                return self.last_commit(table)
            key = _key(snapshot)
            check_not_null(table, snapshot.schema, key, files)
            kept = [snapshot.path(f) for f in snapshot.files]
            check_key(table, key, kept, [snapshot.path(f) for f in files])
            return self._log(table).commit(
                snapshot.version + 1, [f.add() for f in files], "WRITE", stamp, sum(f.rows for f in files)
            )

        try:
            return self._repeat(table, attempt)
        except BaseException:
            delete_files(files, first.root)
            raise

    def merge(self, table: str, source: DataFrame, on: Sequence[str], *, stamp: Stamp = NO_STAMP) -> Commit:
        def edits(snapshot: Snapshot) -> DataFrame:
            return upsert_edits(self._located(snapshot), source, on, snapshot.schema, table)

        return self._edit(table, edits, "MERGE", stamp)[0]

    def _edit(
        self, table: str, edits: Callable[[Snapshot], DataFrame], operation: str, stamp: Stamp = NO_STAMP
    ) -> tuple[Commit, Rewrite | None]:
        """Evaluates the edits against the newest version and commits them; again if another writer was faster."""

        def attempt(snapshot: Snapshot) -> tuple[Commit, Rewrite | None]:
            if self._repeated(snapshot, stamp):
                return self.last_commit(table), None
            snapshot.check_writable()
            done = rewrite(snapshot, edits(snapshot), table, _key(snapshot))
            if not done.rows and not stamp.metadata and stamp.application is None:
                return self.last_commit(table), done
            try:
                commit = self._log(table).commit(snapshot.version + 1, done.actions(), operation, stamp, done.rows)
            except BaseException:
                done.discard(snapshot)
                raise
            return commit, done

        return self._repeat(table, attempt)

    def replace(
        self,
        table: str,
        rows: DataFrame | StructType,
        *,
        key: Sequence[str] | None = None,
        properties: Mapping[str, str] | None = None,
        stamp: Stamp = NO_STAMP,
    ) -> Commit:
        first = self._snapshot(table)
        if self._repeated(first, stamp):
            return self.last_commit(table)
        first.check_writable()
        schema = _declared(rows)
        check_schema(table, schema)
        files = [] if isinstance(rows, StructType) else write_frame(rows, first.root)

        def attempt(snapshot: Snapshot) -> Commit:
            if self._repeated(snapshot, stamp):
                delete_files(files, first.root)
                return self.last_commit(table)
            keys = _key(snapshot) if key is None else tuple(column_named(schema, name, table) for name in key)
            settings = {k: v for k, v in snapshot.properties.items() if k != KEY_PROPERTY}
            settings |= dict(properties or {}) | ({KEY_PROPERTY: json.dumps(list(keys))} if keys else {})
            check_not_null(table, schema, keys, files)
            check_key(table, keys, [], [snapshot.path(f) for f in files])
            actions = [f.remove() for f in snapshot.files] + [f.add() for f in files]
            if schema != snapshot.schema or settings != snapshot.properties:
                actions.insert(0, metadata_action(schema, settings, snapshot.table_id))
            return self._log(table).commit(snapshot.version + 1, actions, "REPLACE", stamp, sum(f.rows for f in files))

        try:
            return self._repeat(table, attempt)
        except BaseException:
            delete_files(files, first.root)
            raise

    def drop(self, table: str) -> None:
        root = self._snapshot(table).root
        trash = self.root / f".dropped-{uuid.uuid4().hex}"
        os.rename(root, trash)
        shutil.rmtree(trash, ignore_errors=True)
        self._logs.pop(table, None)
        self._forget(table)

    def _repeated(self, snapshot: Snapshot, stamp: Stamp) -> bool:
        if stamp.application is None:
            return False
        seen = snapshot.transaction(stamp.application)
        return seen is not None and seen >= stamp.sequence

    def _repeat(self, table: str, attempt: Callable[[Snapshot], T]) -> T:
        """Tries a write on the newest version; once overtaken, it keeps other writers out meanwhile."""
        for number in range(_TRIES):
            alone = self._log(table).exclusive() if number else contextlib.nullcontext()
            with alone, contextlib.suppress(Overtaken):
                return attempt(self._snapshot(table))
        raise Conflict(
            f"{table} was changed by other writers {_TRIES} times while this write was prepared",
            todo="repeat the statement; nothing was written",
        )

    # SQL

    def sync(self, words: set[str]) -> None:
        for word in words:
            if self.exists(word):
                self._publish(word, word, [])

    def publish_view(self, view: str, state: str, columns: Sequence[tuple[str, str]]) -> None:
        self._publish(view, state, [f"{quote(a)} AS {quote(b)}" for a, b in columns])

    def _publish(self, name: str, table: str, columns: Sequence[str]) -> None:
        """Names the newest version of a table, or some of its columns, for Spark SQL."""
        identity = self.identity(table)
        if self._synced.get(name) != identity:
            self.read(table).selectExpr(*(columns or ["*"])).createOrReplaceTempView(quote(name))
            self._synced[name] = identity

    def unpublish_view(self, view: str) -> None:
        self._forget(view)

    def _forget(self, table: str) -> None:
        self._synced.pop(table, None)
        self.spark.catalog.dropTempView(table)

    def run(self, statement: TableStatement, sql: str) -> DataFrame:
        if isinstance(statement, ShowTables):
            return small_frame(self.spark, [[name] for name in self.tables()], "name STRING")
        if isinstance(statement, CreateTable):
            return self._run_create(statement)
        if isinstance(statement, DropTable):
            name = self.canonical(statement.name)
            if not (statement.if_exists and not self.exists(name)):
                self.drop(name)
            return _outcome(self.spark)
        table = self.canonical(statement.table)
        first = self._snapshot(table)
        if isinstance(statement, Insert):
            rows = insert_rows(self.spark.sql(statement.query), statement, first.schema, table)
            if statement.overwrite:
                return _outcome(self.spark, inserted=self.replace(table, rows).rows)
            before = first.version
            commit = self._append(first, table, rows, Stamp())
            return _outcome(self.spark, inserted=commit.rows if commit.version > before else 0)

        def edits(snapshot: Snapshot) -> DataFrame:
            rows = self._located(snapshot)
            if isinstance(statement, Update):
                return update_edits(rows, statement, snapshot.schema, table)
            if isinstance(statement, Delete):
                return delete_edits(rows, statement, snapshot.schema)
            assert isinstance(statement, Merge)
            return merge_edits(rows, statement, snapshot.schema, table)

        done = self._edit(table, edits, type(statement).__name__.upper())[1]
        assert done is not None
        return _outcome(self.spark, inserted=done.inserted, updated=done.updated, deleted=done.deleted)

    def _run_create(self, statement: CreateTable) -> DataFrame:
        table = self.canonical(statement.name)
        exists = self.exists(table)
        if exists and statement.if_not_exists:
            return _outcome(self.spark)
        rows = declared(statement.columns) if statement.query is None else self.spark.sql(statement.query)
        properties = dict(statement.properties) | ({"comment": statement.comment} if statement.comment else {})
        write = self.replace if exists and statement.or_replace else self.create
        return _outcome(self.spark, inserted=write(table, rows, key=statement.key, properties=properties).rows)

    def pass_on(self, sql: str) -> DataFrame:
        verb = next(iter(SqlTokens.of(sql).tokens)).text.upper()
        if verb in _NOT_HERE:
            raise Unsupported(
                f"The embedded store has no {verb}",
                where=Place.find(sql, verb),
                todo="it runs CREATE TABLE, INSERT, UPDATE, DELETE, MERGE, TRUNCATE and DROP; for others open the "
                "warehouse with rollview.connect(folder, store='delta')",
            )
        return self.spark.sql(sql)


def _key(snapshot: Snapshot) -> tuple[str, ...]:
    return tuple(json.loads(snapshot.properties.get(KEY_PROPERTY, "[]")))


def _declared(rows: DataFrame | StructType) -> StructType:
    """The schema of a new table. What a query computes may be NULL, whatever Spark inferred for these very rows."""
    if isinstance(rows, StructType):
        return rows
    return StructType([StructField(field.name, field.dataType, True) for field in rows.schema.fields])


def _empty(spark: SparkSession, schema: StructType) -> DataFrame:
    return spark.range(0).selectExpr(
        *[f"CAST(NULL AS {sql_type(f.dataType)}) AS {quote(f.name)}" for f in schema.fields]
    )


def _outcome(spark: SparkSession, *, inserted: int | None = 0, updated: int = 0, deleted: int = 0) -> DataFrame:
    return small_frame(spark, [[inserted or 0, updated, deleted]], "inserted BIGINT, updated BIGINT, deleted BIGINT")
