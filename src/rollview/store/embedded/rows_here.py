"""Rows and changes of a table in a folder, read in this process: without Spark, and without a replay for each commit.

What columns a table has is replayed once. From then on, the entries of new commits say whether it has changed.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql.types import StructType

from rollview.engine.work import read_here
from rollview.errors import ColumnNotFound, Damaged, SchemaChanged, Unsupported, VersionGone
from rollview.parse.stored_names import damaged
from rollview.store.commit_rows import paired
from rollview.store.embedded.commits import gone
from rollview.store.embedded.files import in_types, read_rows
from rollview.store.embedded.folder import key_in
from rollview.store.embedded.frames import dated, plain_files
from rollview.store.embedded.log import Log
from rollview.store.embedded.snapshot import Action, Snapshot, arrow_schema
from rollview.store.protocol import CHANGE_TYPE, DELETE, INSERT, CommitRows

#: The rows of a batch.
BATCH = 65_536


class NotHere(Exception):
    """Only Spark can read these rows: the files do not hold all columns, or not by their names."""


@dataclass(frozen=True)
class Described:
    """The columns of a table, its key, and whether its files hold the rows as they are."""

    schema: pa.Schema
    key: tuple[str, ...]
    plain: bool

    @staticmethod
    def of(snapshot: Snapshot) -> Described:
        return Described(snapshot.arrow_schema, key_in(snapshot.name, snapshot.properties), _is_plain(snapshot))

    @staticmethod
    def told(table: str, metadata: Mapping[str, Any]) -> Described:
        """The same from the metadata in an entry of a log."""
        properties = metadata.get("configuration") or {}
        try:
            schema = arrow_schema(StructType.fromJson(json.loads(metadata["schemaString"])))
            plain = properties.get("delta.columnMapping.mode", "none") == "none" and not metadata["partitionColumns"]
        except (KeyError, ValueError, TypeError) as error:
            raise damaged(table, f"an entry of its log does not say what columns it has: {error!r}") from error
        return Described(schema, key_in(table, properties), plain)

    def fields(self, table: str, columns: Sequence[str]) -> pa.Schema:
        """Some columns. Raises ColumnNotFound."""
        missing = [name for name in columns if name not in self.schema.names]
        if missing:
            raise ColumnNotFound(f"There is no column named {missing[0]} in {table}")
        return pa.schema([self.schema.field(name) for name in columns])


class RowsHere:
    """Reads one table. All methods raise NotHere."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self._known: tuple[int, str | None, Described] | None = None

    def batches(self, snapshot: Snapshot, columns: Sequence[str] | None) -> Iterator[pa.RecordBatch]:
        """The rows of a version whose files are all there."""
        files = plain_files(snapshot)
        if files is None:
            raise NotHere
        described = Described.of(snapshot)
        self._known = snapshot.version, self._log.commit_mark(snapshot.version), described
        fields = described.fields(snapshot.name, columns if columns is not None else described.schema.names)
        for path in files:
            if not Path(path).exists():
                raise gone(snapshot.name, snapshot.version, f"its file {Path(path).name} has been vacuumed away")
        return self._read(snapshot, files, fields)

    def _read(self, snapshot: Snapshot, files: Sequence[str], fields: pa.Schema) -> Iterator[pa.RecordBatch]:
        for path in files:
            try:
                file = pq.ParquetFile(path, coerce_int96_timestamp_unit="us")
                there = [name for name in fields.names if name in file.schema_arrow.names]
                for batch in file.iter_batches(BATCH, columns=there):
                    read_here(batch.num_rows)
                    yield from in_types(pa.Table.from_batches([batch]), fields, batch.num_rows).to_batches()
            except FileNotFoundError as error:
                raise gone(snapshot.name, snapshot.version, "a file has been vacuumed away") from error
            except (pa.ArrowException, OSError) as error:
                raise damaged(snapshot.name, f"its data file {Path(path).name} cannot be read") from error

    def commits(self, after: int, columns: Sequence[str] | None, upto: int | None) -> Iterator[CommitRows]:
        """The commits after a version, with the rows that they changed."""
        log, version = self._log, after
        if not log.has(after + 1):
            if (newest := log.latest()) is None:
                raise FileNotFoundError(log.root)
            if newest > after and not log.has(after + 1):  # it may just have been written
                raise gone(log.table, after + 1, "its commit is no longer in the log")
        known = self._described(after)
        while (upto is None or version < upto) and log.has(version + 1):
            version += 1
            actions = log.actions(version)
            now = next((a["metaData"] for a in actions if "metaData" in a), None)
            if now is not None:
                known = _followed(log.table, known, Described.told(log.table, now), columns)
            rows = self._changed(version, actions, known, columns)
            self._known = version, log.commit_mark(version), known
            yield CommitRows(log.commit_of(version, actions), rows)
        if upto is not None and version < upto:
            raise VersionGone(f"{log.table} has no version {upto}", why=f"its newest version is {version}")

    def _described(self, version: int) -> Described:
        """What the table looks like at a version."""
        if self._known is None or self._known[:2] != (version, self._log.commit_mark(version)):
            try:
                snapshot = self._log.snapshot(max(version, 0))
            except VersionGone:  # it cannot be replayed any more; the commits after it may still be there
                snapshot = self._log.snapshot()
            self._known = version, self._log.commit_mark(version), Described.of(snapshot)
        return self._known[2]

    def _changed(
        self, version: int, actions: Sequence[Action], known: Described, columns: Sequence[str] | None
    ) -> pa.Table:
        """The rows that one commit changed."""
        table, root = self._log.table, self._log.root
        wanted = list(columns) if columns is not None else known.schema.names
        fields = known.fields(table, list(dict.fromkeys([*wanted, *known.key])))
        tagged = fields.append(pa.field(CHANGE_TYPE, pa.string()))
        parts = [tagged.empty_table()]
        try:
            found = dated(table, {version: actions})
        except Unsupported as error:  # deletion vectors
            raise NotHere from error
        if any(found) and not known.plain:
            raise NotHere
        for files, kind in zip(found, (None, INSERT, DELETE), strict=True):
            for name, _ in files:
                path = root / name
                try:
                    rows = read_rows(path, tagged if kind is None else fields)
                except FileNotFoundError as error:
                    raise gone(table, version, f"its file {path.name} has been vacuumed away") from error
                except (pa.ArrowException, OSError) as error:
                    raise damaged(table, f"its file {path.name} cannot be read") from error
                if kind is not None:
                    rows = rows.append_column(tagged.field(CHANGE_TYPE), pa.repeat(kind, rows.num_rows))
                parts.append(rows)
        return paired(pa.concat_tables(parts), wanted, known.key)


class Readers:
    """The readers of the tables of a folder."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[Log, RowsHere]] = {}

    def of(self, log: Log) -> RowsHere:
        """The reader of the table that has this log."""
        known = self._known.get(log.table)
        if known is None or known[0] is not log:
            known = self._known[log.table] = log, RowsHere(log)
        return known[1]


def _is_plain(snapshot: Snapshot) -> bool:
    try:
        snapshot.check_readable()
    except (Unsupported, Damaged):
        return False
    return not snapshot.partitions


def _followed(table: str, old: Described, new: Described, columns: Sequence[str] | None) -> Described:
    """The new description. Raises SchemaChanged if it cannot describe the columns that are asked for."""
    for name in columns if columns is not None else old.schema.names:
        there = new.schema.field(name).type if name in new.schema.names else None
        if there is None or there != old.schema.field(name).type:
            raise SchemaChanged(
                f"{table} changed its schema",
                why=f"column {name} {'is gone' if there is None else 'has another type'}",
                todo="read the table again, in the columns that it has now",
            )
    return new
