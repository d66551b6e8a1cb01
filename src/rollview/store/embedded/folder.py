"""The shared state of the parts of the embedded store: the folder, the logs of its tables, and the Spark session."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from pyspark.sql import SparkSession

from rollview.engine.sources import SparkSource, source_of
from rollview.errors import TableNotFound
from rollview.limits import Limits
from rollview.parse.stored_names import damaged
from rollview.store.embedded.log import Log
from rollview.store.embedded.snapshot import Snapshot
from rollview.store.protocol import KEY_PROPERTY, no_such_table
from rollview.store.warehouse import LOG_FOLDER, folder_of, open_warehouse, table_of


class Folder:
    """A folder of tables, and the logs that have been read."""

    def __init__(self, spark: SparkSession | SparkSource, folder: str | Path, limits: Limits) -> None:
        self.source, self.limits = source_of(spark), limits
        self.root = open_warehouse(folder)
        self._logs: dict[str, Log] = {}

    @property
    def spark(self) -> SparkSession:
        """The session that reads and writes rows. Reading a log does not need it."""
        return self.source.spark

    def tables(self) -> list[str]:
        found = (table_of(entry.parent.name) for entry in self.root.glob(f"*/{LOG_FOLDER}"))
        return sorted(table for table in found if table is not None and self.log(table).exists())

    def log(self, table: str) -> Log:
        if table not in self._logs:
            self._logs[table] = Log(self.root / folder_of(table))
        return self._logs[table]

    def forget(self, table: str) -> None:
        """Forgets the table's log, because the table has been replaced or dropped."""
        self._logs.pop(table, None)

    def snapshot(self, table: str, version: int | None = None) -> Snapshot:
        """A version of a table, the newest if none is given. Raises TableNotFound."""
        try:
            return self.log(table).snapshot(version)
        except FileNotFoundError:
            raise self.not_found(table) from None

    def not_found(self, table: str) -> TableNotFound:
        return no_such_table(table, self.tables())


def key_of(snapshot: Snapshot) -> tuple[str, ...]:
    return key_in(snapshot.name, snapshot.properties)


def key_in(table: str, properties: Mapping[str, str]) -> tuple[str, ...]:
    """The key among the properties of a table."""
    try:
        return tuple(json.loads(properties.get(KEY_PROPERTY, "[]")))
    except (ValueError, TypeError) as error:
        raise damaged(table, f"its property {KEY_PROPERTY} cannot be read: {error}") from error
