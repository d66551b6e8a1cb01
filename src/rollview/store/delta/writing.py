"""Atomic writes to Delta tables through Spark."""

from __future__ import annotations

import contextlib
import json
import shutil
import threading
from collections.abc import Iterator, Mapping, Sequence

from pyspark.sql import DataFrame
from pyspark.sql.types import NullType, StructType

from rollview.engine.protocol import Kept
from rollview.engine.spark import SparkEngine, settings, sql_over, verbatim
from rollview.engine.spark_errors import spark_errors
from rollview.errors import NameTaken
from rollview.parse.names import quote
from rollview.parse.tree import RAW_STRINGS
from rollview.plan.reserved import DELETED
from rollview.store.delta.names import PLAIN, escape
from rollview.store.delta.reading import DeltaReading
from rollview.store.protocol import FEED_PROPERTY, KEY_PROPERTY, NO_STAMP, Commit, Stamp
from rollview.store.schema import (
    aligned,
    check_columns,
    check_types,
    column_named,
    differs,
    key_repeated,
    merge_source,
    null_in_key,
    plain_columns,
    sql_type,
)
from rollview.store.session_names import names_of
from rollview.store.warehouse import remove_folder, set_aside

_WRITING = threading.RLock()

#: Of a row to be merged: whether it comes to nothing if it matches no row.
_NOTHING = "__nothing"


class DeltaWriting(DeltaReading):
    """The part of the store that writes."""

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
        settled = table_settings(keys, properties)
        with self._stamped(stamp), settings(self.spark, {RAW_STRINGS: "false"}):
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
        same = match if copies is None else f"{match} AND s.{DELETED.label}"
        values = {c: f"CAST({v} AS {sql_type(schema[c].dataType)})" for c, v in (combine or {}).items()}
        news = ", ".join(f"t.{q} = {values.get(c, f's.{q}')}" for c, q in columns.items())
        goes = f"s.{DELETED.label}" + (f" OR ({gone})" if gone else "")
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
        given = verbatim(f"SELECT {same}, s.{number}, s.{number} < 0 AS {DELETED.label}")
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
                for setting, value in (kept | table_settings(keys, properties)).items():
                    writer = writer.tableProperty(setting, value)
                writer.replace()
        return self.last_commit(table)

    def set_properties(self, table: str, properties: Mapping[str, str]) -> Commit:
        pairs = ", ".join(f"'{escape(k)}' = '{escape(v)}'" for k, v in properties.items())
        with _WRITING, settings(self.spark, {RAW_STRINGS: "false"}):  # what is escaped here is read so
            self.spark.sql(f"ALTER TABLE {self._require(table)} SET TBLPROPERTIES ({pairs})")
        return self.last_commit(table)

    def recreate(
        self, table: str, rows: DataFrame, *, properties: Mapping[str, str] | None = None, stamp: Stamp = NO_STAMP
    ) -> Commit:
        engine = SparkEngine(self.spark)
        kept = engine.keep(rows)  # what cannot be computed is not put in the place of anything
        try:
            if self.root is None:
                self.drop(table)
                return self.create(table, kept.frame, properties=properties, stamp=stamp)
            trash = set_aside(self.root, table)
            try:
                commit = self.create(table, kept.frame, properties=properties, stamp=stamp)
            except BaseException:
                shutil.rmtree(self._path(table), ignore_errors=True)
                trash.rename(self._path(table))
                raise
        finally:
            engine.forget([kept])
        remove_folder(trash, f"{table} is stored again, but not all of its old files could be removed: {trash} is left")
        return commit

    def drop(self, table: str) -> None:
        if not self.exists(table):
            raise self._not_found(table)
        if self.root is None:
            with spark_errors(""):
                self.spark.sql(f"DROP TABLE {self.sql_name(table)}")
            return
        trash = set_aside(self.root, table)
        self._logs.pop(table, None)
        self._named.pop(table, None)
        if PLAIN.fullmatch(table):
            with spark_errors(""):
                self.spark.sql(f"DROP TABLE IF EXISTS {self._in_space(table)}")
        else:
            names_of(self.spark).take(self.spark, table)
        remove_folder(trash, f"{table} is dropped, but not all of its files could be removed: {trash} is left")

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


def table_settings(key: Sequence[str], properties: Mapping[str, str] | None = None) -> dict[str, str]:
    """The properties of a table, its key among them."""
    declared = {KEY_PROPERTY: json.dumps(list(key))} if key else {}
    return {FEED_PROPERTY: "true", **(properties or {}), **declared}
