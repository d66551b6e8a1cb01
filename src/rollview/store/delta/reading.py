"""Versions, snapshots and changes of Delta tables through Spark."""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timezone
from typing import Any
from urllib.parse import unquote, urlsplit

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql.types import StructType

from rollview.engine.spark_errors import damage_in, spark_errors
from rollview.errors import Damaged, InternalError, RollviewError, SchemaChanged, SqlError, Unsupported, VersionGone
from rollview.limits import Limits
from rollview.parse.names import parse_name, quote_name
from rollview.parse.stored_names import damaged
from rollview.store.delta.compare import Between, compared
from rollview.store.delta.names import FolderNames
from rollview.store.embedded.frames import few_changes, plain_files
from rollview.store.embedded.rows_here import NotHere, Readers
from rollview.store.progress import progress_of
from rollview.store.protocol import (
    CHANGE_TYPE,
    COMMIT_TIME,
    COMMIT_VERSION,
    FEED_PROPERTY,
    KEY_PROPERTY,
    Commit,
    CommitRows,
    Identity,
    Progress,
    metadata_of,
    no_such_commit,
)
from rollview.store.row_counts import rows_in_and_out, rows_written
from rollview.store.spark_sql.fetched import fetched_batches, fetched_commits
from rollview.store.spark_sql.names import SparkNames
from rollview.store.warehouse import LOG_FOLDER


class DeltaReading:
    """Implements the protocol ``Reading``. If the tables are in a ``folder``, their logs are read without Spark."""

    def __init__(self, spark: SparkSession, names: SparkNames, folder: FolderNames | None, limits: Limits) -> None:
        self._spark, self._names, self._folder, self._limits = spark, names, folder, limits
        self._here = Readers()

    def _detail(self, table: str) -> Row | None:
        """The result of DESCRIBE DETAIL; None if it is not a Delta table: of another format, or a view of Spark's."""
        name = self._names.require(table)
        try:
            with _readable(table):
                found = self._spark.sql(f"DESCRIBE DETAIL {name}").collect()[0]
        except (SqlError, InternalError):  # in many words: this is not a Delta table
            if self._provider(table) == "delta":
                raise
            return None
        return found if found["format"] == "delta" else None

    def _provider(self, table: str) -> str | None:
        """The provider of a table in Spark's catalog; None for a view."""
        if table.startswith("`"):
            return "delta"
        with _readable(table):
            told = self._spark.sql(f"DESCRIBE TABLE EXTENDED {self._names.sql_name(table)}").collect()
        return next((row["data_type"].lower() for row in told if row["col_name"] == "Provider"), None)

    def versioned(self, table: str) -> bool:
        return self._folder is not None or self._detail(table) is not None

    def damage(self, table: str) -> Damaged | None:
        if self._folder is not None:
            return self._folder.damage(table)
        try:
            with _readable(table):
                detail = self._detail(table)
                if detail is None:
                    return None
                self.last_commit(table)
                # only Spark can look for files on other file systems, and it does so when it reads them
                here = str(detail["location"]).startswith("file:")
                files = self.read(table).inputFiles() if here else []
        except Damaged as error:
            return error
        for uri in files:
            path = unquote(urlsplit(uri).path)
            if not os.path.exists(path):
                folder, file = os.path.split(path)
                return damaged(table, f"its data file {file} is missing in {folder}")
        return None

    def _check_not_empty(self, table: str, entry: Row) -> None:
        """Raises Damaged if an entry of the log is an empty file, which Delta reads as a commit that did nothing."""
        if entry["operation"] is not None or self._folder is not None:
            return
        detail = self._detail(table)
        if detail is not None:
            place = f"{detail['location']}/{LOG_FOLDER}/{entry['version']:020}.json"
            if self._spark.read.format("binaryFile").load(place).isEmpty():  # Spark skips empty files
                raise damaged(table, f"its log entry {entry['version']:020}.json is empty")

    def past_properties(self, table: str) -> Iterator[Mapping[str, str]]:
        if self._folder is not None:
            return self._folder.log(table).told_properties()
        return self._told_properties(table)

    def _told_properties(self, table: str) -> Iterator[Mapping[str, str]]:
        """The past properties of a table of the catalog, whose log may be readable only by Spark."""
        *space, last = parse_name(self._names.sql_name(table))
        try:
            with _readable(table):
                shown = self._spark.sql(f"SHOW TABLE EXTENDED IN {quote_name(tuple(space))} LIKE '{last}'").collect()
                place = re.search(r"^Location: (.*)$", shown[0]["information"], re.MULTILINE) if shown else None
                if place is None:
                    return
                entries = self._spark.read.option("ignoreCorruptFiles", "true").text(f"{place[1]}/{LOG_FOLDER}/*.json")
                told = entries.where("startswith(value, '{\"metaData\"')").select("_metadata.file_name", "value")
                lines = [row["value"] for row in sorted(told.collect(), reverse=True)]
        except (Damaged, SqlError):
            return
        for line in lines:
            with contextlib.suppress(ValueError, KeyError, TypeError):
                yield dict(json.loads(line)["metaData"]["configuration"])

    def identity(self, table: str) -> Identity:
        detail = self._detail(table)
        if detail is None:
            return Identity("", None)
        commit = self.last_commit(table)
        # elsewhere, the entry is only Spark's to read: it tells the time of the file
        mark = commit.time.isoformat() if self._folder is None else self.commit_mark(table, commit.version)
        return Identity(str(detail["id"]), commit.version, mark)

    def version(self, table: str) -> int:
        return self.last_commit(table).version

    def commit_mark(self, table: str, version: int) -> str | None:
        return None if self._folder is None else self._folder.log(table).commit_mark(version)

    def schema(self, table: str, version: int | None = None) -> StructType:
        with _readable(table):
            return self.read(table, version).schema

    def key(self, table: str) -> tuple[str, ...]:
        return tuple(json.loads(self.properties(table).get(KEY_PROPERTY, "[]")))

    def properties(self, table: str) -> Mapping[str, str]:
        detail = self._detail(table)
        return {} if detail is None else dict(detail["properties"])

    def count(self, table: str, version: int | None = None) -> int:
        with _readable(table):
            return self.read(table, version).count()

    def size(self, table: str, version: int | None = None) -> int | None:
        return None

    def bounds(self, table: str, column: str, version: int | None = None) -> tuple[Any, Any] | None:
        return None

    def files(self, table: str, version: int | None = None) -> list[str] | None:
        return None if self._folder is None else plain_files(self._folder.log(table).snapshot(version))

    def read(self, table: str, version: int | None = None) -> DataFrame:
        name = self._names.require(table)
        folder = self._folder
        if folder is not None and version in (None, folder.log(table).latest()) and (lost := folder.damage(table)):
            raise lost
        if version is None:
            with _readable(table):
                return self._spark.sql(f"SELECT * FROM {name}")
        with _readable(table), _gone(table, version):
            return self._spark.sql(f"SELECT * FROM {name} VERSION AS OF {version}")

    def changes(self, table: str, after: int, upto: int, columns: Sequence[str] | None = None) -> DataFrame:
        name = self._names.require(table)
        if after >= upto:
            return self._no_changes(table, upto)
        with _readable(table):
            return self._changes(table, name, after, upto, columns)

    def _changes(self, table: str, name: str, after: int, upto: int, columns: Sequence[str] | None) -> DataFrame:
        feed = self._feed(table, name, after, upto)
        return self._compare(table, after, upto, columns) if feed is None else feed

    def dates_changes(self, table: str, after: int, upto: int) -> bool:
        name = self._names.require(table)
        with _readable(table):
            return after >= upto or self._feed(table, name, after, upto) is not None

    def _feed(self, table: str, name: str, after: int, upto: int) -> DataFrame | None:
        """The change feed; None if the table keeps none, or kept none for some of these commits."""
        if self.properties(table).get(FEED_PROPERTY, "false").lower() != "true":
            return None
        reader = self._spark.read.option("readChangeFeed", "true").option("startingVersion", after + 1)
        try:
            with _gone(table, after + 1):
                feed = reader.option("endingVersion", upto).table(name)
                self._probe(feed)
                return self._dated(feed, table, after, upto)
        except PySparkException as error:
            if "CHANGE_DATA" not in (error.getCondition() or "").upper():
                raise
        return None

    def few_changes(self, table: str, after: int, upto: int, columns: Sequence[str], most: int) -> pa.Table | None:
        if self._folder is None:  # only Spark may reach the files
            return None
        self._names.require(table)
        try:
            most_bytes = self._limits.changes_here_bytes
            return few_changes(self._folder.log(table), table, after, upto, columns, most, most_bytes)
        except Unsupported:  # deletion vectors, or names of columns that are not those of the files
            return None

    def commits(
        self, table: str, after: int, columns: Sequence[str] | None = None, upto: int | None = None
    ) -> Iterator[CommitRows]:
        self._names.require(table)
        at = after
        if self._folder is not None:
            try:
                for each in self._here.of(self._folder.log(table)).commits(after, columns, upto):
                    at = each.commit.version
                    yield each
                return
            except NotHere:
                pass
        with _readable(table):
            yield from fetched_commits(self, table, at, columns, upto)

    def batches(
        self, table: str, version: int | None = None, columns: Sequence[str] | None = None
    ) -> Iterator[pa.RecordBatch]:
        self._names.require(table)
        if self._folder is not None:
            log = self._folder.log(table)
            with contextlib.suppress(NotHere):
                return self._here.of(log).batches(log.snapshot(version), columns)
        with _readable(table):
            return fetched_batches(self.read(table, version), columns)

    def columns(self, table: str, version: int | None = None) -> list[tuple[str, str]]:
        return [(field.name, field.dataType.simpleString()) for field in self.schema(table, version).fields]

    def _dated(self, feed: DataFrame, table: str, after: int, upto: int) -> DataFrame:
        """The feed with the times of the entries in the log, as ``history`` has them: Spark dates rows by the files."""
        if self._folder is None:
            return feed
        log = self._folder.log(table)
        times = (round(log.info(version).time.timestamp() * 1000) for version in range(after + 1, upto + 1))
        of_each = f"array({', '.join(f'{time}L' for time in times)})"
        time = f"timestamp_millis({of_each}[int({COMMIT_VERSION} - {after + 1}L)]) AS {COMMIT_TIME}"
        return feed.selectExpr(*(time if name == COMMIT_TIME else quote_name((name,)) for name in feed.columns))

    def _probe(self, feed: DataFrame) -> None:
        """Plans a read of the change feed: only then does Delta report that a part was never recorded."""
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
        new = self.read(table, upto)
        old = new.where("false") if after < 0 else self.read(table, after)
        if self._folder is not None:
            time = self._folder.log(table).info(upto).time
        else:
            time = self._history(table).where(f"version = {upto}").collect()[0]["timestamp"]
        between = Between(table, self._names.sql_name(table), after, upto, time)
        return compared(self._spark, between, old, new, columns)

    def _history(self, table: str, limit: int | None = None) -> DataFrame:
        return self._spark.sql(f"DESCRIBE HISTORY {self._names.sql_name(table)}" + (f" LIMIT {limit}" if limit else ""))

    def last_commit(self, table: str, having: str | None = None) -> Commit:
        self._names.require(table)
        with _readable(table):
            found = self._history(table, 1).collect()
            self._check_not_empty(table, found[0])
            if having is not None and having not in metadata_of(found[0]["userMetadata"]):
                told = self._history(table).where("userMetadata IS NOT NULL")
                found = told.orderBy("version", ascending=False).collect()
                found = [row for row in found if having in metadata_of(row["userMetadata"])]
        if not found:
            raise no_such_commit(table, having)
        if self._folder is not None:  # its time is that of its entry; Spark has the time of the file
            return self._folder.log(table).info(found[0]["version"])
        return _commit(found[0])

    def history(self, table: str, limit: int | None = None, after: int | None = None) -> list[Commit]:
        self._names.require(table)
        if self._folder is not None:
            return self._folder.log(table).history(limit, after)
        with _readable(table):
            if after is not None:  # Delta reads as many entries of its log as are asked for
                newer = self._history(table, 1).collect()[0]["version"] - after
                if newer <= 0:
                    return []
                limit = newer if limit is None else min(limit, newer)
            found = self._history(table, limit).collect()
        commits = [_commit(row) for row in found if after is None or row["version"] > after]
        return _in_order(commits)

    def progress(self, table: str, known: Identity | None) -> Progress:
        told = None if self._folder is None else self._folder.log(table).progress(known)
        return told or progress_of(self, table, known)

    def commits_between(self, table: str, after: int, upto: int) -> int:
        return upto - after

    def versions_at(self, time: datetime, tables: Sequence[str] | None = None) -> dict[str, int]:
        asked = self._names.tables() if tables is None else tables
        found = {table: self._version_at(table, time) for table in asked}
        return {table: version for table, version in found.items() if version is not None}

    def _version_at(self, table: str, time: datetime) -> int | None:
        if self._folder is not None:
            return self._folder.log(table).version_at(time)
        micros = int(time.timestamp() * 1_000_000)
        past = self._history(table).where(f"timestamp <= timestamp_micros({micros}L)").selectExpr("max(version)")
        version: int | None = past.collect()[0][0]
        return version


def _in_order(commits: Sequence[Commit]) -> list[Commit]:
    """Commits, newest first, with times that never decrease: without in-commit timestamps, they are those of files."""
    times = itertools.accumulate((commit.time for commit in reversed(commits)), max)
    return [dataclasses.replace(commit, time=time) for commit, time in zip(commits, reversed([*times]), strict=True)]


def _commit(row: Row) -> Commit:
    """A commit as DESCRIBE HISTORY shows it."""
    metrics, operation = row["operationMetrics"] or {}, row["operation"] or ""
    time, metadata = row["timestamp"].astimezone(timezone.utc), metadata_of(row["userMetadata"])
    in_and_out = rows_in_and_out(operation, metrics, row["operationParameters"] or {})
    rows = rows_written(operation, metrics)
    return Commit(row["version"], time, metadata, operation, rows, *in_and_out, mark=time.isoformat())


@contextlib.contextmanager
def _readable(table: str) -> Iterator[None]:
    """Translates Spark's errors about a table that it cannot read."""
    try:
        with spark_errors(""):
            yield
    except RollviewError as error:
        if error.__cause__ is not None and (found := damage_in(error.__cause__, table)):
            raise found from error.__cause__
        raise


#: Parts of the names of Delta's errors about versions that it does not have, or no longer reads: it refuses those
#: that are older than the table keeps removed files, even if the files are there.
_NO_VERSION = ("VERSION_NOT_FOUND", "TIMESTAMP_EARLIER", "LOG_FILE", "BEYOND_DELETED_FILE_RETENTION")


@contextlib.contextmanager
def _gone(table: str, version: int) -> Iterator[None]:
    """Translates Delta's errors about a version that it no longer has."""
    try:
        yield
    except PySparkException as error:
        condition = error.getCondition() or ""
        if "INCOMPATIBLE" in condition and "SCHEMA" in condition:
            raise SchemaChanged(
                f"{table} changed its schema after version {version}",
                why=str(error).split("\n")[0],
                todo="ask for a later version; REFRESH MATERIALIZED VIEW … FULL recomputes a view at the newest",
            ) from error
        if any(part in condition for part in _NO_VERSION):
            raise VersionGone(
                f"Version {version} of {table} is no longer there",
                why=str(error).split("\n")[0],
                todo="ask for a later version; REFRESH MATERIALIZED VIEW … FULL recomputes a view at the newest",
            ) from error
        raise
