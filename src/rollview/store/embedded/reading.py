"""Versions of embedded tables, their rows and their changes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from rollview.errors import Damaged
from rollview.store.embedded.folder import Folder, key_of
from rollview.store.embedded.frames import (
    changed_rows,
    check_rows,
    few_changes,
    missing_file,
    plain_files,
    snapshot_rows,
)
from rollview.store.embedded.rows_here import NotHere, Readers
from rollview.store.progress import progress_of
from rollview.store.protocol import Commit, CommitRows, Identity, Progress, no_such_commit
from rollview.store.spark_sql.fetched import fetched_batches, fetched_commits


class EmbeddedReading:
    """Implements the protocol ``Reading``."""

    def __init__(self, folder: Folder) -> None:
        self._folder, self._here = folder, Readers()

    def versioned(self, table: str) -> bool:
        return True

    def damage(self, table: str) -> Damaged | None:
        try:
            return missing_file(self._folder.snapshot(table))
        except Damaged as error:
            return error

    def past_properties(self, table: str) -> Iterator[Mapping[str, str]]:
        return self._folder.log(table).told_properties()

    def identity(self, table: str) -> Identity:
        snapshot = self._folder.snapshot(table)
        return Identity(snapshot.table_id, snapshot.version, snapshot.mark)

    def version(self, table: str) -> int:
        return self._folder.snapshot(table).version

    def commit_mark(self, table: str, version: int) -> str | None:
        return self._folder.log(table).commit_mark(version)

    def schema(self, table: str, version: int | None = None) -> StructType:
        return self._folder.snapshot(table, version).schema

    def columns(self, table: str, version: int | None = None) -> list[tuple[str, str]]:
        return [(f.name, f.dataType.simpleString()) for f in self.schema(table, version).fields]

    def key(self, table: str) -> tuple[str, ...]:
        return key_of(self._folder.snapshot(table))

    def properties(self, table: str) -> Mapping[str, str]:
        return self._folder.snapshot(table).properties

    def count(self, table: str, version: int | None = None) -> int:
        return sum(file.rows for file in self._folder.snapshot(table, version).files)

    def size(self, table: str, version: int | None = None) -> int | None:
        return sum(file.size for file in self._folder.snapshot(table, version).files)

    def bounds(self, table: str, column: str, version: int | None = None) -> tuple[Any, Any] | None:
        return self._folder.snapshot(table, version).bounds(column)

    def files(self, table: str, version: int | None = None) -> list[str] | None:
        return plain_files(self._folder.snapshot(table, version))

    def read(self, table: str, version: int | None = None) -> DataFrame:
        newest = version is None or version == self._folder.log(table).latest()
        snapshot = self._folder.snapshot(table, version)
        check_rows(snapshot, newest=newest)  # before Spark is started
        return snapshot_rows(self._folder.spark, snapshot)

    def changes(self, table: str, after: int, upto: int, columns: Sequence[str] | None = None) -> DataFrame:
        self._folder.snapshot(table, upto)
        return changed_rows(self._folder.spark, self._folder.log(table), table, after, upto)

    def dates_changes(self, table: str, after: int, upto: int) -> bool:
        return True

    def few_changes(self, table: str, after: int, upto: int, columns: Sequence[str], most: int) -> pa.Table | None:
        bytes_most = self._folder.limits.changes_here_bytes
        return few_changes(self._folder.log(table), table, after, upto, columns, most, bytes_most)

    def commits(
        self, table: str, after: int, columns: Sequence[str] | None = None, upto: int | None = None
    ) -> Iterator[CommitRows]:
        at = after
        try:
            for each in self._here.of(self._folder.log(table)).commits(after, columns, upto):
                at = each.commit.version
                yield each
        except NotHere:
            yield from fetched_commits(self, table, at, columns, upto)
        except FileNotFoundError:
            raise self._folder.not_found(table) from None

    def batches(
        self, table: str, version: int | None = None, columns: Sequence[str] | None = None
    ) -> Iterator[pa.RecordBatch]:
        snapshot = self._folder.snapshot(table, version)
        check_rows(snapshot, newest=version is None)
        try:
            return self._here.of(self._folder.log(table)).batches(snapshot, columns)
        except NotHere:
            return fetched_batches(self.read(table, version), columns)

    def last_commit(self, table: str, having: str | None = None) -> Commit:
        log = self._folder.log(table)
        if log.latest() is None:
            raise self._folder.not_found(table)
        if having is None:
            return log.last()
        found = next((commit for commit in log.commits() if having in commit.metadata), None)
        if found is None:
            raise no_such_commit(table, having)
        return found

    def history(self, table: str, limit: int | None = None, after: int | None = None) -> list[Commit]:
        log = self._folder.log(table)
        if log.latest() is None:
            raise self._folder.not_found(table)
        return log.history(limit, after)

    def progress(self, table: str, known: Identity | None) -> Progress:
        return self._folder.log(table).progress(known) or progress_of(self, table, known)

    def commits_between(self, table: str, after: int, upto: int) -> int:
        return upto - after

    def versions_at(self, time: datetime, tables: Sequence[str] | None = None) -> dict[str, int]:
        names = self._folder.tables() if tables is None else tables
        found = {name: self._folder.log(name).version_at(time) for name in names}
        return {name: version for name, version in found.items() if version is not None}
