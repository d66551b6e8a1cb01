"""A version of a table: its schema, properties and files, replayed from the log by the ``deltalake`` package."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import DeltaTable, Schema
from pyspark.sql.types import StructType

from rollview.errors import Unsupported, UserError
from rollview.store.warehouse import table_of

Action = dict[str, Any]

#: The folder of the change feed's files.
CHANGE_FOLDER = "_change_data"

_WRITABLE = {
    "appendOnly",
    "invariants",
    "changeDataFeed",
    "timestampNtz",
    "domainMetadata",
    "v2Checkpoint",
    "vacuumProtocolCheck",
    "deletionVectors",
}


def now() -> int:
    """Milliseconds since 1970."""
    return time.time_ns() // 1_000_000


@dataclass(frozen=True)
class DataFile:
    """A Parquet file of a table; ``path`` is relative to the table's folder."""

    path: str
    size: int
    rows: int
    modified: int
    nulls: Mapping[str, int] = field(default_factory=dict)
    stats: str | None = None

    def add(self) -> Action:
        action = {
            "path": self.path,
            "partitionValues": {},
            "size": self.size,
            "modificationTime": self.modified,
            "dataChange": True,
        }
        return {"add": action | ({"stats": self.stats} if self.stats else {})}

    def remove(self) -> Action:
        return {
            "remove": {
                "path": self.path,
                "deletionTimestamp": now(),
                "dataChange": True,
                "extendedFileMetadata": True,
                "partitionValues": {},
                "size": self.size,
            }
        }


@dataclass(frozen=True)
class Snapshot:
    """One version of a table; ``mark`` tells its commit from another one of the same version."""

    root: Path
    version: int
    mark: str | None
    table: DeltaTable = field(repr=False, compare=False)

    @property
    def name(self) -> str:
        """The table's name, for messages."""
        return table_of(self.root.name) or self.root.name

    @cached_property
    def table_id(self) -> str:
        return str(self.table.metadata().id)

    @cached_property
    def schema(self) -> StructType:
        return StructType.fromJson(json.loads(self.table.schema().to_json()))

    @cached_property
    def properties(self) -> dict[str, str]:
        return {k: v for k, v in self.table.metadata().configuration.items() if v is not None}

    @cached_property
    def partitions(self) -> list[str]:
        return list(self.table.metadata().partition_columns)

    @cached_property
    def _adds(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = pa.table(self.table.get_add_actions(flatten=False)).to_pylist()
        return found

    @cached_property
    def files(self) -> tuple[DataFile, ...]:
        return tuple(
            DataFile(path, row["size_bytes"], self._count(path, row["num_records"]), 0, row.get("null_count") or {})
            for row in self._adds
            for path in [unquote(row["path"])]
        )

    def bounds(self, column: str) -> tuple[Any, Any] | None:
        """The least and the greatest value of a column, if the log has them for every file."""
        found = [each for each in self.file_bounds(column) if each is not None]
        if not found or len(found) < len(self._adds):
            return None
        return min(low for low, _ in found), max(high for _, high in found)

    def file_bounds(self, column: str) -> list[tuple[Any, Any] | None]:
        """The same of each of the ``files``."""
        pairs = [((row.get("min") or {}).get(column), (row.get("max") or {}).get(column)) for row in self._adds]
        return [None if None in pair else pair for pair in pairs]

    def _count(self, path: str, told: int | None) -> int:
        """The number of rows of a file: from the log, or from the file if the log does not have it."""
        if told is not None:
            return told
        return int(pq.read_metadata(self.root / path).num_rows) if (self.root / path).exists() else 0

    @property
    def arrow_schema(self) -> pa.Schema:
        return arrow_schema(self.schema)

    def path(self, file: DataFile) -> str:
        return str(self.root / file.path)

    def transaction(self, application: str) -> int | None:
        return self.table.transaction_version(application)

    def check_readable(self) -> None:
        features = set(self.table.protocol().reader_features or [])
        if self.properties.get("delta.columnMapping.mode", "none") != "none" or features & {"columnMapping"}:
            raise self._feature("column mapping")
        if "deletionVectors" in features and pa.table(self.table.deletion_vectors()).num_rows:
            raise self._feature("deletion vectors")

    def check_writable(self, *, appending: bool = False) -> None:
        protocol = self.table.protocol()
        extra = set(protocol.writer_features or []) - _WRITABLE
        if self.partitions:
            raise self._feature("partitions", "write")
        if extra:
            raise self._feature(", ".join(sorted(extra)), "write")
        if self.properties.get("delta.appendOnly", "false").lower() == "true" and not appending:
            raise UserError(f"{self.name} is append-only", why="its property delta.appendOnly is true")
        if any(name.startswith("delta.constraints.") for name in self.properties):
            raise self._feature("CHECK constraints", "write")
        if any("delta.generationExpression" in f.metadata for f in self.schema.fields):
            raise self._feature("generated columns", "write")

    def upgrade(self, schema: StructType) -> list[Action]:
        """The action that must precede this schema: the protocol feature for TIMESTAMP_NTZ, if the table lacks it."""
        protocol = self.table.protocol()
        features = set(protocol.writer_features or [])
        if "timestamp_ntz" not in schema.json() or "timestampNtz" in features:
            return []
        if protocol.min_writer_version < 7:
            raise self._feature("an old protocol without TIMESTAMP_NTZ", "write")
        readers = sorted({*(protocol.reader_features or []), "timestampNtz"})
        return [
            {
                "protocol": {
                    "minReaderVersion": 3,
                    "minWriterVersion": 7,
                    "readerFeatures": readers,
                    "writerFeatures": sorted({*features, "timestampNtz"}),
                }
            }
        ]

    def _feature(self, feature: str, verb: str = "read") -> Unsupported:
        return not_handled(self.name, feature, verb)


def not_handled(table: str, feature: str, verb: str = "read") -> Unsupported:
    """The error for a table with a feature that only Spark's Delta supports."""
    return Unsupported(
        f"The embedded store cannot {verb} {table}",
        why=f"the table uses {feature}",
        todo="open the warehouse with rollview.connect(folder, store='delta')",
    )


def arrow_schema(schema: StructType) -> pa.Schema:
    """The Arrow types of a table's columns, all of them nullable."""
    found = pa.schema(Schema.from_json(schema.json()).to_arrow())
    return pa.schema([field.with_nullable(True) for field in found])


def delete_files(files: Iterable[DataFile], root: Path) -> None:
    """Removes files, and the folder that a writer made for them."""
    for file in files:
        path = root / file.path
        path.unlink(missing_ok=True)
        if path.parent not in (root, root / CHANGE_FOLDER):
            with contextlib.suppress(OSError):
                path.parent.rmdir()
