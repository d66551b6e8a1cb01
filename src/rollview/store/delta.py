"""Delta tables through Spark: the tables of a session's catalog, tables by path, or those of a warehouse folder."""

from __future__ import annotations

import contextlib
import json
import shutil
import threading
import warnings
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timezone
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, Row
from pyspark.sql.types import NullType, StructType

from rollview.engine.protocol import Kept, has_no_equality
from rollview.engine.spark import SparkEngine, settings, sql_over, verbatim
from rollview.errors import BadName, NameTaken, SchemaChanged, VersionGone
from rollview.parse.names import quote
from rollview.parse.table_statements import (
    CreateTable,
    DropTable,
    Insert,
    Merge,
    TableStatement,
    Update,
)
from rollview.store.delta_names import PLAIN, DeltaNames, escape
from rollview.store.edits import AFTER, BEFORE, FILE, KIND, POSITION
from rollview.store.protocol import (
    CHANGE_TYPE,
    COMMIT_TIME,
    COMMIT_VERSION,
    DELETE,
    DELETE_FLAG,
    FEED_PROPERTY,
    INSERT,
    KEY_PROPERTY,
    NO_STAMP,
    Commit,
    Identity,
    Stamp,
    metadata_of,
    no_such_commit,
)
from rollview.store.rows import (
    aligned,
    check_columns,
    check_types,
    column_named,
    declared,
    differs,
    key_repeated,
    merge_source,
    null_in_key,
    plain_columns,
    sql_type,
)
from rollview.store.statements import merge_edits, update_edits

_WRITING = threading.RLock()

#: Of a row to be merged: whether it comes to nothing if it matches no row.
_NOTHING = "__nothing"


class ChangeFeedOff(UserWarning):
    """A table's changes are found by comparing two whole versions, because it keeps no change feed."""


class DeltaStore(DeltaNames):
    """Keeps the protocol of ``rollview.store.protocol.Store``; see there for what the methods promise."""

    # reading

    def _detail(self, table: str) -> Row:
        return self.spark.sql(f"DESCRIBE DETAIL {self.sql_name(table)}").collect()[0]

    def identity(self, table: str) -> Identity:
        self._require(table)
        return Identity(str(self._detail(table)["id"]), self.version(table))

    def version(self, table: str) -> int:
        return self.last_commit(table).version

    def schema(self, table: str, version: int | None = None) -> StructType:
        return self.read(table, version).schema

    def key(self, table: str) -> tuple[str, ...]:
        return tuple(json.loads(self.properties(table).get(KEY_PROPERTY, "[]")))

    def properties(self, table: str) -> Mapping[str, str]:
        self._require(table)
        return dict(self._detail(table)["properties"])

    def count(self, table: str, version: int | None = None) -> int:
        return self.read(table, version).count()

    def size(self, table: str, version: int | None = None) -> int | None:
        return None

    def bounds(self, table: str, column: str, version: int | None = None) -> tuple[Any, Any] | None:
        return None

    def read(self, table: str, version: int | None = None) -> DataFrame:
        name = self._require(table)
        if version is None:
            return self.spark.sql(f"SELECT * FROM {name}")
        with _gone(table, version):
            return self.spark.sql(f"SELECT * FROM {name} VERSION AS OF {version}")

    def changes(self, table: str, after: int, upto: int, columns: Sequence[str] | None = None) -> DataFrame:
        name = self._require(table)
        if after >= upto:
            return self._no_changes(table, upto)
        if self.properties(table).get(FEED_PROPERTY, "false").lower() == "true":
            reader = self.spark.read.option("readChangeFeed", "true").option("startingVersion", after + 1)
            try:
                with _gone(table, after + 1):
                    feed = reader.option("endingVersion", upto).table(name)
                    self._probe(feed)
                    return feed
            except PySparkException as error:
                if "CHANGE_DATA" not in (error.getCondition() or "").upper():
                    raise
        return self._compare(table, after, upto, columns)

    def few_changes(self, table: str, after: int, upto: int, columns: Sequence[str], most: int) -> None:
        return None  # where the files are, Spark knows

    def columns(self, table: str, version: int | None = None) -> list[tuple[str, str]]:
        return [(field.name, field.dataType.simpleString()) for field in self.schema(table, version).fields]

    def _probe(self, feed: DataFrame) -> None:
        """Delta says only when a feed is planned that part of it was never recorded."""
        feed.isEmpty()

    def _no_changes(self, table: str, version: int) -> DataFrame:
        return (
            self.read(table, version)
            .where("false")
            .selectExpr(
                "*",
                f"CAST(NULL AS STRING) AS {CHANGE_TYPE}",
                f"CAST(NULL AS BIGINT) AS {COMMIT_VERSION}",
                f"CAST(NULL AS TIMESTAMP) AS {COMMIT_TIME}",
            )
        )

    def _compare(self, table: str, after: int, upto: int, columns: Sequence[str] | None) -> DataFrame:
        """The net change between two versions, as rows deleted and inserted at the later one, in the columns that both
        have; of these, in those that are asked for."""
        switch = f"ALTER TABLE {self.sql_name(table)} SET TBLPROPERTIES ({FEED_PROPERTY} = true)"
        warnings.warn(
            f"{table} keeps no change feed for versions {after + 1} to {upto}: they are compared as a whole. "
            f"Switch it on with {switch}",
            ChangeFeedOff,
            stacklevel=3,
        )
        new = self.read(table, upto)
        old = new.where("false") if after < 0 else self.read(table, after)
        was = dict(old.dtypes)
        both = {name: kind for name, kind in new.dtypes if was.get(name) == kind and name in (columns or was)}
        if any(map(has_no_equality, both.values())):
            raise VersionGone(
                f"The changes of {table} after version {after} cannot be found",
                why="it keeps no change feed, and VARIANT values of two versions cannot be compared",
                todo=f"switch the feed on: {switch}",
            )
        time = self._history(table).where(f"version = {upto}").collect()[0]["timestamp"]
        micros = int(time.timestamp() * 1_000_000)
        shown = verbatim(", ".join(quote(name) for name in both))
        query = (
            f"SELECT {shown}, IF(__rv_n > 0, '{INSERT}', '{DELETE}') AS {CHANGE_TYPE}, {upto}L AS {COMMIT_VERSION}, "
            f"timestamp_micros({micros}L) AS {COMMIT_TIME} FROM (SELECT {shown}, sum(__rv_n) AS __rv_n FROM "
            f"(SELECT {shown}, 1 AS __rv_n FROM {{new}} UNION ALL SELECT {shown}, -1 FROM {{old}}) GROUP BY {shown}) "
            f"LATERAL VIEW explode(sequence(1, abs(__rv_n))) AS __rv_copy WHERE __rv_n <> 0"
        )
        return sql_over(self.spark, query, new=new, old=old)

    def _history(self, table: str, limit: int | None = None) -> DataFrame:
        return self.spark.sql(f"DESCRIBE HISTORY {self.sql_name(table)}" + (f" LIMIT {limit}" if limit else ""))

    def last_commit(self, table: str, having: str | None = None) -> Commit:
        self._require(table)
        found = self._history(table, 1).collect()
        if having is not None and having not in metadata_of(found[0]["userMetadata"]):
            found = self._history(table).where("userMetadata IS NOT NULL").orderBy("version", ascending=False).collect()
            found = [row for row in found if having in metadata_of(row["userMetadata"])]
        if not found:
            raise no_such_commit(table, having)
        row = found[0]
        metrics = row["operationMetrics"] or {}
        names = (
            ("numTargetRowsInserted", "numTargetRowsUpdated", "numTargetRowsDeleted")
            if row["operation"] == "MERGE"
            else ("numOutputRows",)
        )
        rows = sum(int(metrics[name]) for name in names if name in metrics)
        time = row["timestamp"]
        return Commit(
            row["version"], time.astimezone(timezone.utc), metadata_of(row["userMetadata"]), row["operation"], rows
        )

    def versions_at(self, time: datetime, tables: Sequence[str] | None = None) -> dict[str, int]:
        micros = int(time.timestamp() * 1_000_000)
        found: dict[str, int] = {}
        for table in self.tables() if tables is None else tables:
            past = self._history(table).where(f"timestamp <= timestamp_micros({micros}L)").selectExpr("max(version)")
            version = past.collect()[0][0]
            if version is not None:
                found[table] = version
        return found

    # writing

    @contextlib.contextmanager
    def _stamped(self, stamp: Stamp) -> Iterator[None]:
        """What Delta takes into a commit are settings of the session, so one thread writes at a time."""
        values = {}
        if stamp.metadata:
            values["spark.databricks.delta.commitInfo.userMetadata"] = json.dumps(stamp.metadata, sort_keys=True)
        if stamp.application is not None:
            values["spark.databricks.delta.write.txnAppId"] = stamp.application
            values["spark.databricks.delta.write.txnVersion"] = str(stamp.sequence)
        with _WRITING, settings(self.spark, values):
            yield

    def check_types(self, table: str, rows: DataFrame) -> None:
        check_types(table, rows.schema)

    def create(
        self,
        table: str,
        rows: DataFrame | StructType,
        *,
        key: Sequence[str] = (),
        properties: Mapping[str, str] | None = None,
        stamp: Stamp = NO_STAMP,
    ) -> Commit:
        if self.exists(table):
            raise NameTaken(
                f"There is a table named {table} already",
                todo=f"choose another name, or drop it first: DROP TABLE {quote(table)}",
            )
        schema = rows if isinstance(rows, StructType) else rows.schema
        check_columns(table, schema)
        check_types(table, schema)
        keys = [column_named(schema, name, table) for name in key]
        settled = _settings(keys, properties)
        with self._stamped(stamp):
            if isinstance(rows, StructType):
                pairs = ", ".join(f"'{k}' = '{escape(v)}'" for k, v in settled.items())
                self.spark.sql(
                    f"CREATE TABLE {self.sql_name(table)} ({rows.toDDL()}) USING delta TBLPROPERTIES ({pairs})"
                )
            else:
                rows = plain_columns(rows)
                self._check_key(table, rows, keys, None)
                writer = rows.writeTo(self.sql_name(table)).using("delta")
                for name, value in settled.items():
                    writer = writer.tableProperty(name, value)
                writer.create()
        return self.last_commit(table)

    def append(self, table: str, rows: DataFrame, *, stamp: Stamp = NO_STAMP) -> Commit:
        name = self._require(table)
        fitting = aligned(rows, self.schema(table), table, by_name=True)
        self._check_key(table, fitting, self.key(table), self.read(table))
        with self._stamped(stamp):
            fitting.writeTo(name).append()
        return self.last_commit(table)

    def merge(
        self,
        table: str,
        source: DataFrame,
        on: Sequence[str],
        *,
        combine: Mapping[str, str] | None = None,
        gone: str | None = None,
        copies: str | None = None,
        stamp: Stamp = NO_STAMP,
    ) -> Commit:
        name, schema = self._require(table), self.schema(table)
        columns = {c: quote(c) for c in schema.names}
        told = {c: schema[column_named(schema, c, table)] for c in on}  # by a VOID column, a MERGE would meet no row
        met = [f"t.{quote(f.name)} <=> s.{quote(c)}" for c, f in told.items() if not isinstance(f.dataType, NullType)]
        match = " AND ".join(met) or "true"
        same = match if copies is None else f"{match} AND s.{DELETE_FLAG}"
        values = {c: f"CAST({v} AS {sql_type(schema[c].dataType)})" for c, v in (combine or {}).items()}
        news = ", ".join(f"t.{q} = {values.get(c, f's.{q}')}" for c, q in columns.items())
        goes = f"s.{DELETE_FLAG}" + (f" OR ({gone})" if gone else "")
        changed = "true" if combine else differs(schema, schema.names, "t", "s")
        clauses = (
            f"ON {same} WHEN MATCHED AND ({goes}) THEN DELETE "
            f"WHEN MATCHED AND {changed} THEN UPDATE SET {news} "
            f"WHEN NOT MATCHED AND NOT s.{_NOTHING} "
            f"THEN INSERT ({', '.join(columns.values())}) VALUES ({', '.join(f's.{q}' for q in columns.values())})"
        )
        engine, kept = SparkEngine(self.spark), list[Kept]()
        try:
            if copies is not None:
                kept.append(engine.keep(source))
                source = self._with_rest(name, kept[0].frame, on, match, quote(copies))
            with self._stamped(stamp):
                sql_over(
                    self.spark,
                    f"MERGE INTO {verbatim(name)} AS t USING {{s}} AS s {verbatim(clauses)}",
                    s=self._with_nothing(merge_source(source, schema, table), schema, goes),
                )
        finally:
            engine.forget(kept)
        return self.last_commit(table)

    def _with_rest(self, name: str, source: DataFrame, on: Sequence[str], match: str, number: str) -> DataFrame:
        """The rows of a merge of copies: those that come, those of which all copies go, and what is left of these."""
        same, left = ", ".join(f"s.{quote(c)}" for c in on), f"sum(t.{number}) + s.{number}"
        given = verbatim(f"SELECT {same}, s.{number}, s.{number} < 0 AS {DELETE_FLAG}")
        rest, table = verbatim(f"SELECT {same}, {left}, false"), verbatim(name)
        going = verbatim(f"{match} AND s.{number} < 0 GROUP BY {same}, s.{number} HAVING {left} > 0")
        query = f"{given} FROM {{s}} AS s UNION ALL {rest} FROM {{s}} AS s JOIN {table} AS t ON {going}"
        return sql_over(self.spark, query, s=source)

    def _with_nothing(self, source: DataFrame, schema: StructType, goes: str) -> DataFrame:
        """The rows of a merge and whether they come to nothing where they match none: a MERGE has no names for that."""
        nulls = ", ".join(f"CAST(NULL AS {sql_type(f.dataType)}) AS {quote(f.name)}" for f in schema)
        picked = verbatim(f"s.*, coalesce({goes}, false) AS {_NOTHING}")
        return sql_over(
            self.spark, f"SELECT {picked} FROM {{s}} AS s CROSS JOIN (SELECT {verbatim(nulls)}) AS t", s=source
        )

    def replace(
        self,
        table: str,
        rows: DataFrame | StructType,
        *,
        key: Sequence[str] | None = None,
        properties: Mapping[str, str] | None = None,
        stamp: Stamp = NO_STAMP,
    ) -> Commit:
        name = self._require(table)
        if isinstance(rows, StructType):
            rows = self.spark.createDataFrame([], rows)
        check_columns(table, rows.schema)
        check_types(table, rows.schema)
        keys = self.key(table) if key is None else tuple(column_named(rows.schema, c, table) for c in key)
        rows = plain_columns(rows)
        self._check_key(table, rows, keys, None)
        with self._stamped(stamp):
            if key is None and properties is None:
                rows.write.format("delta").mode("overwrite").option("overwriteSchema", "true").saveAsTable(name)
            else:
                kept = {k: v for k, v in self.properties(table).items() if k != KEY_PROPERTY}
                writer = rows.writeTo(name).using("delta")
                for setting, value in (kept | _settings(keys, properties)).items():
                    writer = writer.tableProperty(setting, value)
                writer.replace()
        return self.last_commit(table)

    def set_properties(self, table: str, properties: Mapping[str, str]) -> Commit:
        pairs = ", ".join(f"'{escape(k)}' = '{escape(v)}'" for k, v in properties.items())
        self.spark.sql(f"ALTER TABLE {self._require(table)} SET TBLPROPERTIES ({pairs})")
        return self.last_commit(table)

    def drop(self, table: str) -> None:
        name = self._require(table)
        if self.root is None:
            self.spark.sql(f"DROP TABLE {name}")
            return
        if PLAIN.fullmatch(table):
            self.spark.sql(f"DROP TABLE IF EXISTS {self._in_space(table)}")
        self._named.pop(table, None)
        shutil.rmtree(self._path(table), ignore_errors=True)

    def _check_key(self, table: str, rows: DataFrame, key: Sequence[str], old: DataFrame | None) -> None:
        """Raises KeyViolated if the rows repeat a key among themselves or of the old rows, or lack it."""
        if not key:
            return
        keys = [quote(c) for c in key]
        fresh = rows.selectExpr(*keys)
        for column in key:
            if not fresh.where(f"{quote(column)} IS NULL").isEmpty():
                raise null_in_key(table, column, "part of the key")
        whole = fresh if old is None else fresh.unionAll(old.selectExpr(*keys).join(fresh, list(key), "left_semi"))
        twice = whole.groupBy(*keys).count().where("count > 1").limit(3).collect()
        if twice:
            raise key_repeated(table, key, twice)

    # SQL

    def pass_on(self, sql: str) -> DataFrame:
        return self.spark.sql(sql)

    def run(self, statement: TableStatement, sql: str) -> DataFrame:
        if isinstance(statement, CreateTable):
            return self._run_create(statement)
        if isinstance(statement, DropTable):
            table = self.canonical(statement.name)
            if not (statement.if_exists and not self.exists(table)):
                self.drop(table)
            return self.spark.sql("SELECT 0 AS num_affected_rows")
        table = self.canonical(statement.table)
        key = self.key(table) if self.exists(table) else ()
        if key and isinstance(statement, Insert):
            schema = self.schema(table)
            rows = aligned(self.spark.sql(statement.query), schema, table, statement.columns, by_name=statement.by_name)
            self._check_key(table, rows, key, None if statement.overwrite else self.read(table))
        elif key and (isinstance(statement, Merge) or (isinstance(statement, Update) and _sets(statement, key))):
            self._check_edits(table, key, statement)
        return self.spark.sql(sql)

    def _check_edits(self, table: str, key: Sequence[str], statement: Merge | Update) -> None:
        """Raises KeyViolated if the statement would repeat a key. Nothing is written yet."""
        schema = self.schema(table)
        rows = self.read(table).selectExpr("*", f"'' AS {FILE}", f"0L AS {POSITION}")  # the key tells the rows apart
        if isinstance(statement, Merge):
            edits = merge_edits(rows, statement, schema, table)
        else:
            edits = update_edits(rows, statement, schema, table)
        before, after = ([f"{image}.{quote(c)} AS {quote(c)}" for c in key] for image in (BEFORE, AFTER))
        new = edits.where(f"{KIND} <> '{DELETE}'").selectExpr(*after)
        touched = edits.where(f"{FILE} IS NOT NULL").selectExpr(*before)
        self._check_key(table, new, key, rows.join(touched, list(key), "left_anti"))

    def _run_create(self, statement: CreateTable) -> DataFrame:
        table = self.canonical(statement.name)
        if self.root is not None and not PLAIN.fullmatch(table):
            raise BadName(
                f"{table!r} cannot be a table's name in Spark's catalog",
                why="the catalog takes letters, digits and _ only",
                todo="choose another name, or use the embedded store",
            )
        if self.exists(table) and not (statement.if_not_exists or statement.or_replace):
            raise NameTaken(f"There is a table named {table} already", todo="choose another name, or drop it first")
        rows = self.spark.sql(statement.query) if statement.query else None
        schema = declared(statement.columns) if rows is None else rows.schema
        check_columns(table, schema)
        check_types(table, schema)
        keys = [column_named(schema, name, table) for name in statement.key]
        if rows is not None:
            self._check_key(table, rows, keys, None)
        name = self.sql_name(table) if self.root is None else self._in_space(table)
        return self.spark.sql(_create_table_sql(statement, name, _settings(keys, None)))


@contextlib.contextmanager
def _gone(table: str, version: int) -> Iterator[None]:
    """Delta's words for a version that it no longer has, in ours."""
    try:
        yield
    except PySparkException as error:
        condition = error.getCondition() or ""
        if "INCOMPATIBLE" in condition and "SCHEMA" in condition:
            raise SchemaChanged(
                f"{table} changed its schema after version {version}",
                why=str(error).split("\n")[0],
                todo="a view over it is recomputed by REFRESH MATERIALIZED VIEW … FULL",
            ) from error
        if "VERSION_NOT_FOUND" in condition or "TIMESTAMP_EARLIER" in condition or "LOG_FILE" in condition:
            raise VersionGone(
                f"Version {version} of {table} is no longer there",
                why=str(error).split("\n")[0],
                todo="a view over it is recomputed by REFRESH MATERIALIZED VIEW … FULL",
            ) from error
        raise


def _sets(statement: Update, key: Sequence[str]) -> bool:
    """Whether an UPDATE sets a column of the key."""
    names = {part.casefold() for name, _ in statement.assignments for part in name}
    return bool(names & {column.casefold() for column in key})


def _settings(key: Sequence[str], properties: Mapping[str, str] | None) -> dict[str, str]:
    declared = {KEY_PROPERTY: json.dumps(list(key))} if key else {}
    return {FEED_PROPERTY: "true", **(properties or {}), **declared}


def _create_table_sql(statement: CreateTable, name: str, properties: Mapping[str, str]) -> str:
    """A CREATE TABLE for Spark and Delta, whose key is a table property."""
    verb = "CREATE OR REPLACE TABLE" if statement.or_replace else "CREATE TABLE"
    exists = " IF NOT EXISTS" if statement.if_not_exists else ""
    columns = f" ({statement.columns})" if statement.columns else ""
    comment = f" COMMENT '{escape(statement.comment)}'" if statement.comment else ""
    pairs = ", ".join(f"'{escape(k)}' = '{escape(v)}'" for k, v in {**properties, **statement.properties}.items())
    query = f" AS {statement.query}" if statement.query else ""
    return f"{verb}{exists} {name}{columns} USING delta{comment} TBLPROPERTIES ({pairs}){query}"
