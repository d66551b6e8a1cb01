"""The tables of a folder: their names, versions, snapshots and changes."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from rollview.engine.sources import SparkSource, source_of
from rollview.errors import Damaged, TableNotFound
from rollview.limits import DEFAULT, Limits
from rollview.parse.names import Name, quote
from rollview.parse.stored_names import damaged
from rollview.store.embedded.log import Log
from rollview.store.embedded.reading import changed_rows, check_rows, few_changes, missing_file, snapshot_rows
from rollview.store.embedded.snapshot import Snapshot
from rollview.store.embedded.temp_views import Published
from rollview.store.protocol import KEY_PROPERTY, Commit, Identity, no_such_commit, no_such_table
from rollview.store.warehouse import LOG_FOLDER, flat_name, folder_of, open_warehouse, table_of


class EmbeddedTables:
    """The part of the store that names and reads."""

    def __init__(self, spark: SparkSession | SparkSource, folder: str | Path, limits: Limits = DEFAULT) -> None:
        self.source, self.limits = source_of(spark), limits
        self.root = open_warehouse(folder)
        self._logs: dict[str, Log] = {}
        self._published = Published(self.source, str(self.root), self.identity, self.read)

    @property
    def spark(self) -> SparkSession:
        """The session that reads and writes rows; what the log tells is known without it."""
        return self.source.spark

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
        found = (table_of(entry.parent.name) for entry in self.root.glob(f"*/{LOG_FOLDER}"))
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
            raise self._not_found(table) from None

    def _not_found(self, table: str) -> TableNotFound:
        return no_such_table(table, self.tables())

    # what is left of a damaged table

    def damage(self, table: str) -> Damaged | None:
        try:
            return missing_file(self._snapshot(table))
        except Damaged as error:
            return error

    def past_properties(self, table: str) -> Iterator[Mapping[str, str]]:
        return self._log(table).told_properties()

    # reading

    def versioned(self, table: str) -> bool:
        return True

    def identity(self, table: str) -> Identity:
        snapshot = self._snapshot(table)
        return Identity(snapshot.table_id, snapshot.version)

    def version(self, table: str) -> int:
        return self._snapshot(table).version

    def schema(self, table: str, version: int | None = None) -> StructType:
        return self._snapshot(table, version).schema

    def key(self, table: str) -> tuple[str, ...]:
        return key_of(self._snapshot(table))

    def properties(self, table: str) -> Mapping[str, str]:
        return self._snapshot(table).properties

    def count(self, table: str, version: int | None = None) -> int:
        return sum(file.rows for file in self._snapshot(table, version).files)

    def size(self, table: str, version: int | None = None) -> int | None:
        return sum(file.size for file in self._snapshot(table, version).files)

    def bounds(self, table: str, column: str, version: int | None = None) -> tuple[Any, Any] | None:
        return self._snapshot(table, version).bounds(column)

    def read(self, table: str, version: int | None = None) -> DataFrame:
        newest = version is None or version == self._log(table).latest()
        snapshot = self._snapshot(table, version)
        check_rows(snapshot, newest=newest)  # before Spark is started
        return snapshot_rows(self.spark, snapshot)

    def changes(self, table: str, after: int, upto: int, columns: Sequence[str] | None = None) -> DataFrame:
        self._snapshot(table, upto)
        return changed_rows(self.spark, self._log(table), table, after, upto)

    def few_changes(self, table: str, after: int, upto: int, columns: Sequence[str], most: int) -> pa.Table | None:
        bytes_most = self.limits.changes_here_bytes
        return few_changes(self._log(table), table, after, upto, columns, most, bytes_most)

    def columns(self, table: str, version: int | None = None) -> list[tuple[str, str]]:
        return [(f.name, f.dataType.simpleString()) for f in self._snapshot(table, version).schema.fields]

    def last_commit(self, table: str, having: str | None = None) -> Commit:
        log = self._log(table)
        latest = log.latest()
        if latest is None:
            raise self._not_found(table)
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


def key_of(snapshot: Snapshot) -> tuple[str, ...]:
    try:
        return tuple(json.loads(snapshot.properties.get(KEY_PROPERTY, "[]")))
    except (ValueError, TypeError) as error:
        raise damaged(snapshot.name, f"its property {KEY_PROPERTY} cannot be read: {error}") from error
