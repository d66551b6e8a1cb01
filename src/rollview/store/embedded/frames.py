"""Snapshots and changes as frames: Spark reads the Parquet files that the log names."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import LongType, StringType, StructField, StructType, TimestampType

from rollview.errors import Damaged, SchemaChanged, Unsupported
from rollview.parse.names import quote
from rollview.parse.stored_names import damaged
from rollview.store.embedded.commits import gone
from rollview.store.embedded.files import read_rows
from rollview.store.embedded.log import Log
from rollview.store.embedded.snapshot import CHANGE_FOLDER, Action, Snapshot, not_handled
from rollview.store.protocol import CHANGE_TYPE, COMMIT_TIME, COMMIT_VERSION, DELETE, INSERT
from rollview.store.schema import sql_type
from rollview.store.spark_sql.row_changes import FILE, POSITION, located

#: Files with the commits that they belong to; a file that is restored belongs to several.
Dated = list[tuple[str, int]]


def snapshot_rows(spark: SparkSession, snapshot: Snapshot) -> DataFrame:
    """The rows of a version that has been checked."""
    return _frame(spark, snapshot, snapshot.root, [file.path for file in snapshot.files], snapshot.schema)


def check_rows(snapshot: Snapshot, *, newest: bool) -> None:
    """Raises Damaged if a file of the newest version is missing. For older versions, reading raises VersionGone."""
    snapshot.check_readable()
    if newest and (lost := missing_file(snapshot)):
        raise lost


def missing_file(snapshot: Snapshot) -> Damaged | None:
    """The error for a newest version with a missing or truncated data file; None if all files are intact."""
    for file in snapshot.files:
        elsewhere = re.match(r"\w+:", file.path)  # an address: the table is a clone, and its files are another's
        if elsewhere:
            continue
        try:
            size = os.stat(snapshot.path(file)).st_size
        except OSError:
            return damaged(snapshot.name, f"its data file {file.path} is missing in {snapshot.root}")
        if size < file.size:
            return damaged(
                snapshot.name,
                f"its data file {file.path} in {snapshot.root} has {size} bytes and should have {file.size}",
            )
    return None


def plain_files(snapshot: Snapshot) -> list[str] | None:
    """The files of a snapshot, if they hold its rows as they are."""
    try:
        snapshot.check_readable()
    except Unsupported:
        return None
    if snapshot.partitions or any(re.match(r"\w+:", file.path) for file in snapshot.files):
        return None
    return [snapshot.path(file) for file in snapshot.files]


def located_rows(spark: SparkSession, snapshot: Snapshot) -> DataFrame:
    """The rows of the newest snapshot with their file and position."""
    check_rows(snapshot, newest=True)
    rows = snapshot_rows(spark, snapshot)
    if snapshot.files:
        return located(rows)
    return rows.selectExpr("*", f"CAST(NULL AS STRING) AS {FILE}", f"CAST(NULL AS BIGINT) AS {POSITION}")


def empty_frame(spark: SparkSession, schema: StructType) -> DataFrame:
    """A frame without rows, which is read without a job."""
    columns = [f"CAST(NULL AS {sql_type(f.dataType)}) AS {quote(f.name)}" for f in schema.fields]
    return spark.range(0).selectExpr(*columns)


def _frame(spark: SparkSession, snapshot: Snapshot, base: Path, paths: Sequence[str], schema: StructType) -> DataFrame:
    """The rows of Parquet files of a table. Their paths below ``base`` have the values of partition columns."""
    if not paths:
        return empty_frame(spark, schema)
    full = [str(snapshot.root / path) for path in paths]
    for path in full:
        if not os.path.exists(path):
            raise gone(snapshot.name, snapshot.version, f"its file {Path(path).name} has been vacuumed away")
    reader = spark.read.schema(schema)
    if not snapshot.partitions:
        return reader.parquet(*full)
    partitioned = reader.option("basePath", str(base)).parquet(*full)
    return partitioned.select(*[quote(name) for name in schema.names])  # partition columns come last


def changed_rows(spark: SparkSession, log: Log, table: str, after: int, upto: int) -> DataFrame:
    """The rows that the commits after ``after``, up to ``upto``, changed.

    A commit with a change feed is read from the feed. A commit without one inserts the rows of the files that it adds
    and deletes those of the files that it removes, unless it says that it changes no data.
    """
    snapshot = log.snapshot(upto)
    snapshot.check_readable()
    commits = {version: log.actions(version) for version in range(after + 1, upto + 1)}
    if after >= 0 and any("metaData" in action for actions in commits.values() for action in actions):
        _check_same_schema(table, log.snapshot(after), snapshot)
    fed, added, removed = dated(table, commits)
    times = {version: log.info(version).time for version in commits}
    tagged = StructType([*snapshot.schema.fields, StructField(CHANGE_TYPE, StringType())])
    feed_root = snapshot.root / CHANGE_FOLDER
    parts = [
        _placed(spark, snapshot, feed_root, fed, tagged, quote(CHANGE_TYPE), times),
        _placed(spark, snapshot, snapshot.root, added, snapshot.schema, f"'{INSERT}'", times),
        _placed(spark, snapshot, snapshot.root, removed, snapshot.schema, f"'{DELETE}'", times),
    ]
    found = [part for part in parts if part is not None]
    if not found:
        position = [StructField(COMMIT_VERSION, LongType()), StructField(COMMIT_TIME, TimestampType())]
        return empty_frame(spark, StructType([*tagged.fields, *position]))
    whole = found[0]
    for part in found[1:]:
        whole = whole.unionAll(part)
    return whole


def few_changes(
    log: Log, table: str, after: int, upto: int, columns: Sequence[str], most: int, bytes_most: int
) -> pa.Table | None:
    """The changed rows in some columns, read in this process; None if there are more than ``most``, or if they have
    more bytes than ``bytes_most``."""
    snapshot = log.snapshot(upto)
    snapshot.check_readable()
    commits = {version: log.actions(version) for version in range(after + 1, upto + 1)}
    if snapshot.partitions:
        return None
    if after >= 0 and any("metaData" in action for actions in commits.values() for action in actions):
        _check_same_schema(table, log.snapshot(after), snapshot)
    fields = [snapshot.arrow_schema.field(name) for name in columns]
    tagged = pa.schema([*fields, pa.field(CHANGE_TYPE, pa.string())])
    placed = [pa.field(COMMIT_VERSION, pa.int64()), pa.field(COMMIT_TIME, pa.timestamp("us", "UTC"))]
    parts = [pa.schema([*tagged, *placed]).empty_table()]
    times = {version: log.info(version).time for version in commits}
    found = taken = 0
    for files, kind in zip(dated(table, commits), (None, INSERT, DELETE), strict=True):
        for name, version in files:
            path = snapshot.root / name
            if not path.exists():
                raise gone(table, upto, f"its file {path.name} has been vacuumed away")
            footer = pq.read_metadata(path)
            found, taken = found + footer.num_rows, taken + _bytes(footer, set(columns))
            if found > most or taken > bytes_most:
                return None
            rows = read_rows(str(path), tagged if kind is None else pa.schema(fields))
            constants = [] if kind is None else [pa.scalar(kind, pa.string())]
            constants += [pa.scalar(version, placed[0].type), pa.scalar(times[version], placed[1].type)]
            every = [pa.repeat(constant, footer.num_rows) for constant in constants]
            parts.append(pa.table([*rows.columns, *every], schema=parts[0].schema))
    return pa.concat_tables(parts)


def _bytes(footer: pq.FileMetaData, columns: set[str]) -> int:
    """The size of some columns of a file in memory."""
    groups = (footer.row_group(i) for i in range(footer.num_row_groups))
    parts = (group.column(i) for group in groups for i in range(group.num_columns))
    return sum(part.total_uncompressed_size for part in parts if part.path_in_schema.split(".")[0] in columns)


def _check_same_schema(table: str, old: Snapshot, new: Snapshot) -> None:
    """Raises SchemaChanged unless the new schema only adds columns: otherwise it cannot read the old rows."""
    now = {field.name: field.dataType for field in new.schema.fields}
    for field in old.schema.fields:
        if now.get(field.name) != field.dataType:
            raise SchemaChanged(
                f"{table} changed its schema between versions {old.version} and {new.version}",
                why=f"column {field.name} {'has another type' if field.name in now else 'is gone'}",
                todo="ask for a later version; REFRESH MATERIALIZED VIEW … FULL recomputes a view at the newest",
            )


def dated(table: str, commits: Mapping[int, Sequence[Action]]) -> tuple[Dated, Dated, Dated]:
    """The files of commits: those of the change feed; where there is none, those added and those removed."""
    fed: Dated = []
    added: Dated = []
    removed: Dated = []
    for version, actions in commits.items():
        feed = [(unquote(action["cdc"]["path"]), version) for action in actions if "cdc" in action]
        fed += feed
        for action in actions if not feed else ():
            for kind, files in (("add", added), ("remove", removed)):
                if kind in action and action[kind].get("dataChange", True):
                    if action[kind].get("deletionVector"):
                        raise not_handled(table, "deletion vectors")
                    files.append((unquote(action[kind]["path"]), version))
    return fed, added, removed


def _placed(
    spark: SparkSession,
    snapshot: Snapshot,
    base: Path,
    files: Dated,
    schema: StructType,
    kind: str,
    times: Mapping[int, datetime],
) -> DataFrame | None:
    """The rows of changed files, once for each commit to which a file belongs."""
    if not files:
        return None
    rows = _frame(spark, snapshot, base, sorted({path for path, _ in files}), schema)
    by_file = ", ".join(
        f"('{Path(path).name}', {version}L, timestamp_micros({round(times[version].timestamp() * 1000)}000L))"
        for path, version in sorted({(path, version) for path, version in files})
    )
    commits = spark.sql(f"SELECT * FROM VALUES {by_file} AS c(__rv_name, {COMMIT_VERSION}, {COMMIT_TIME})")
    names = [quote(name) for name in snapshot.schema.names]
    placed = rows.selectExpr(*names, f"{kind} AS {CHANGE_TYPE}", "_metadata.file_name AS __rv_name")
    return placed.join(commits.hint("broadcast"), "__rv_name").drop("__rv_name")
