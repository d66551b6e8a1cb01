"""Atomic writes to Delta tables through Spark."""

from __future__ import annotations

import contextlib
import functools
import json
import shutil
import threading
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from rollview.engine.spark import SparkEngine, settings
from rollview.engine.spark_errors import spark_errors
from rollview.errors import Conflict, NameTaken
from rollview.limits import Limits
from rollview.parse.names import quote
from rollview.parse.tree import RAW_STRINGS
from rollview.store.delta.merge import Clash, Overtaken, merge_changed, merge_one
from rollview.store.delta.names import FolderNames
from rollview.store.delta.reading import DeltaReading
from rollview.store.edits import Append, DeleteMatching, Edit, Replace, RowEdit, replaced, row_edits
from rollview.store.protocol import FEED_PROPERTY, KEY_PROPERTY, NO_STAMP, Commit, Stamp
from rollview.store.schema import aligned, check_columns, check_types, column_named, plain_columns
from rollview.store.spark_sql.edit_changes import Chain
from rollview.store.spark_sql.keys import check_changes, check_key
from rollview.store.spark_sql.names import SparkNames, escape
from rollview.store.spark_sql.row_changes import by_value, value_type
from rollview.store.warehouse import remove_folder, set_aside

_WRITING = threading.RLock()

#: Tidying removes files that are in no version for so long: until then, they may be those of a write that goes on.
_KEPT_HOURS = 24


class DeltaWriting:
    """Implements the protocol ``Writing``."""

    def __init__(
        self,
        spark: SparkSession,
        names: SparkNames,
        folder: FolderNames | None,
        reading: DeltaReading,
        limits: Limits,
    ) -> None:
        self._spark, self._names, self._folder, self._reading = spark, names, folder, reading
        self._engine, self._limits = SparkEngine(spark, limits), limits

    @contextlib.contextmanager
    def _stamped(self, stamp: Stamp) -> Iterator[None]:
        """Sets the metadata of a commit. It is a setting of the session, so one thread writes at a time."""
        values = {}
        if stamp.metadata:
            values["spark.databricks.delta.commitInfo.userMetadata"] = json.dumps(stamp.metadata, sort_keys=True)
        if stamp.application is not None:
            values["spark.databricks.delta.write.txnAppId"] = stamp.application
            values["spark.databricks.delta.write.txnVersion"] = str(stamp.sequence)
        with _WRITING, settings(self._spark, values):
            yield

    def check_types(self, table: str, rows: DataFrame) -> None:
        check_types(table, rows.schema)

    def create(
        self,
        table: str,
        rows: DataFrame | StructType | pa.Table,
        *,
        key: Sequence[str] = (),
        properties: Mapping[str, str] | None = None,
        stamp: Stamp = NO_STAMP,
    ) -> Commit:
        if self._names.exists(table):
            raise NameTaken(
                f"There is a table named {table} already",
                todo=f"choose another name, or drop it first: DROP TABLE {quote(table)}",
            )
        rows = self._frame(rows)
        schema = rows if isinstance(rows, StructType) else rows.schema
        check_columns(table, schema)
        check_types(table, schema)
        keys = [column_named(schema, name, table) for name in key]
        settled, name = table_settings(keys, properties), self._names.sql_name(table)
        with self._stamped(stamp), settings(self._spark, {RAW_STRINGS: "false"}):
            if isinstance(rows, StructType):
                pairs = ", ".join(f"'{k}' = '{escape(v)}'" for k, v in settled.items())
                self._spark.sql(f"CREATE TABLE {name} ({rows.toDDL()}) USING delta TBLPROPERTIES ({pairs})")
            else:
                rows = plain_columns(rows)
                check_key(table, rows, keys, None)
                writer = rows.writeTo(name).using("delta")
                for setting, value in settled.items():
                    writer = writer.tableProperty(setting, value)
                writer.create()
        return self._reading.last_commit(table)

    def commit(self, table: str, edits: Sequence[Edit], stamp: Stamp = NO_STAMP) -> Commit:
        name = self._names.require(table)
        if (replacing := replaced(edits)) is not None:
            return self._replace(table, name, replacing, stamp)
        rows = row_edits(edits)
        schema = self._reading.schema(table)
        if all(isinstance(edit, Append) for edit in rows):
            return self._append(table, name, schema, [self._frame(edit.rows) for edit in rows], stamp)
        key = self._reading.key(table)
        if len(rows) == 1 and (not key or isinstance(rows[0], DeleteMatching)):
            with contextlib.suppress(Clash):  # the code below decides whether it is an ambiguous merge
                with self._stamped(stamp):
                    merge_one(self._engine, name, rows[0], schema, table)
                done = self._reading.last_commit(table)
                if stamp.metadata and done.metadata != json.loads(json.dumps(stamp.metadata)):
                    return self._append(table, name, schema, [], stamp)  # a MERGE that changes no row makes no commit
                return done
        return self._edit(table, name, rows, schema, key, stamp)

    def _frame(self, rows: DataFrame | StructType | pa.Table) -> Any:
        """Rows of this process as a frame; other rows as they are."""
        if not isinstance(rows, pa.Table):
            return rows
        if rows.num_rows:
            return self._spark.createDataFrame(rows)
        # Spark Connect finds no types in a table without rows
        one = pa.table({field.name: pa.nulls(1, field.type) for field in rows.schema})
        return self._spark.createDataFrame(one).where("false")

    def _append(self, table: str, name: str, schema: StructType, frames: Sequence[DataFrame], stamp: Stamp) -> Commit:
        if not frames and stamp == NO_STAMP:
            return self._reading.last_commit(table)
        given = frames or [self._reading.read(table).where("false")]
        fitting = functools.reduce(
            lambda one, other: one.unionAll(other), [aligned(rows, schema, table, by_name=True) for rows in given]
        )
        if frames:
            check_key(table, fitting, self._reading.key(table), self._reading.read(table))
        with self._stamped(stamp), _conflicts(table):
            fitting.writeTo(name).append()
        return self._reading.last_commit(table)

    def _edit(
        self, table: str, name: str, edits: Sequence[RowEdit], schema: StructType, key: Sequence[str], stamp: Stamp
    ) -> Commit:
        """Several edits: their changes are computed from one version, and committed onto it by one MERGE."""
        for _ in range(self._limits.write_attempts):
            version = self._reading.version(table)
            stored = self._reading.read(table, version)
            chain = self._chain(table, by_value(stored, schema), schema)
            try:
                changed = chain.changes(edits)
                if changed.isEmpty():
                    return self._append(table, name, schema, [], stamp)
                if key:
                    check_changes(table, changed, key, stored)
                with self._stamped(stamp), contextlib.suppress(Overtaken):
                    if self._reading.version(table) == version:
                        merge_changed(name, changed, schema)
                        return self._reading.last_commit(table)
            finally:
                self._engine.forget(chain.kept)
        raise Conflict(
            f"{table} was changed by other writers {self._limits.write_attempts} times while this write was prepared",
            todo="repeat the statement; nothing was written",
        )

    def _chain(self, table: str, rows: DataFrame, schema: StructType) -> Chain:
        file = value_type(schema)
        return Chain(self._engine, schema, table, lambda edit: (rows, edit.rows, False), file, exact=False)

    def _replace(self, table: str, name: str, edit: Replace, stamp: Stamp) -> Commit:
        rows = edit.rows
        if isinstance(rows, StructType):
            rows = self._spark.createDataFrame([], rows)
        check_columns(table, rows.schema)
        check_types(table, rows.schema)
        key = edit.key
        keys = self._reading.key(table) if key is None else tuple(column_named(rows.schema, c, table) for c in key)
        rows = plain_columns(rows)
        check_key(table, rows, keys, None)
        with self._stamped(stamp):
            if key is None and edit.properties is None:
                rows.write.format("delta").mode("overwrite").option("overwriteSchema", "true").saveAsTable(name)
            else:
                kept = {k: v for k, v in self._reading.properties(table).items() if k != KEY_PROPERTY}
                writer = rows.writeTo(name).using("delta")
                for setting, value in (kept | table_settings(keys, edit.properties)).items():
                    writer = writer.tableProperty(setting, value)
                writer.replace()
        return self._reading.last_commit(table)

    def set_properties(self, table: str, properties: Mapping[str, str]) -> Commit:
        pairs = ", ".join(f"'{escape(k)}' = '{escape(v)}'" for k, v in properties.items())
        with _WRITING, settings(self._spark, {RAW_STRINGS: "false"}):  # what is escaped here is read so
            self._spark.sql(f"ALTER TABLE {self._names.require(table)} SET TBLPROPERTIES ({pairs})")
        return self._reading.last_commit(table)

    def recreate(
        self, table: str, rows: DataFrame, *, properties: Mapping[str, str] | None = None, stamp: Stamp = NO_STAMP
    ) -> Commit:
        kept = self._engine.keep(rows)  # what cannot be computed is not put in the place of anything
        try:
            if self._folder is None:
                self.drop(table)
                return self.create(table, kept.frame, properties=properties, stamp=stamp)
            path = self._folder.path(table)
            trash = set_aside(self._folder.root, table)
            try:
                commit = self.create(table, kept.frame, properties=properties, stamp=stamp)
            except BaseException:
                shutil.rmtree(path, ignore_errors=True)
                trash.rename(path)
                raise
        finally:
            self._engine.forget([kept])
        remove_folder(trash, f"{table} is stored again, but not all of its old files could be removed: {trash} is left")
        return commit

    def prune(self, table: str, column: str, upto: int, stamp: Stamp = NO_STAMP) -> Commit:
        name = self._names.require(table)
        before = self._reading.version(table)
        with self._stamped(stamp), _conflicts(table):
            self._spark.sql(f"DELETE FROM {name} WHERE {quote(column)} <= {int(upto)}")
        if self._reading.version(table) == before and stamp != NO_STAMP:  # it deleted nothing
            return self._append(table, name, self._reading.schema(table), [], stamp)
        return self._reading.last_commit(table)

    def tidy(self, table: str, keep: int, seconds: float = 0) -> None:
        """Delta itself removes the entries of its log that are older than the table's properties say."""
        name = self._names.require(table)
        with _WRITING, spark_errors(""):
            self._spark.sql(f"OPTIMIZE {name}")
            self._spark.sql(f"VACUUM {name} RETAIN {_KEPT_HOURS} HOURS")

    def drop(self, table: str) -> None:
        if self._folder is None:
            name = self._names.sql_name(table) if self._names.exists(table) else self._names.require(table)
            with spark_errors(""):
                self._spark.sql(f"DROP TABLE {name}")
            return
        if not self._names.exists(table):
            self._names.require(table)
        trash = set_aside(self._folder.root, table)
        self._folder.dropped(table)
        remove_folder(trash, f"{table} is dropped, but not all of its files could be removed: {trash} is left")


@contextlib.contextmanager
def _conflicts(table: str) -> Iterator[None]:
    """Translates Delta's error about another writer's commit, such as one with the same stamp."""
    try:
        yield
    except PySparkException as error:
        if "CONCURRENT" not in (error.getCondition() or str(error)).upper():
            raise
        raise Conflict(
            f"{table} was changed by another writer while this write was prepared", todo="repeat the statement"
        ) from error


def table_settings(key: Sequence[str], properties: Mapping[str, str] | None = None) -> dict[str, str]:
    """The properties of a table, its key among them."""
    declared = {KEY_PROPERTY: json.dumps(list(key))} if key else {}
    return {FEED_PROPERTY: "true", **(properties or {}), **declared}
