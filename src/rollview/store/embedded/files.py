"""Parquet files of a table: written by Spark in parallel, or in this process for a few rows; and their statistics."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import shutil
import uuid
from datetime import date, datetime, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame

from rollview.engine.spark import settings
from rollview.engine.work import read_here, wrote_here
from rollview.store.embedded.snapshot import DataFile
from rollview.store.warehouse import storage_errors, table_of

_LONGEST_STRING = 32

#: The rows of one row group: as many as a reader must read to get one of them, if the pages have no index.
_ROWS_TOGETHER = 131_072


def write_frame(frame: DataFrame, root: Path, folder: str = "") -> list[DataFile]:
    """Spark writes the frame into a new folder of the table; files without rows are not kept."""
    relative = Path(folder) / uuid.uuid4().hex
    target = root / relative
    found: list[DataFile] = []
    with storage_errors(f"{table_of(root.name) or root.name} cannot be written"):
        target.parent.mkdir(parents=True, exist_ok=True)  # Spark's error would be less clear
        if not os.access(target.parent, os.W_OK):
            raise PermissionError(errno.EACCES, "Permission denied", str(target.parent))
    try:
        with settings(frame.sparkSession, {"spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS"}):
            frame.write.option("mapreduce.fileoutputcommitter.marksuccessfuljobs", "false").parquet(str(target))
        for path in sorted(target.iterdir()):
            file = describe(path, root) if path.suffix == ".parquet" and not path.name.startswith(".") else None
            if file is not None and file.rows:
                found.append(file)
            else:
                path.unlink()
    except BaseException:
        found.clear()
        raise
    finally:
        if not found:
            shutil.rmtree(target, ignore_errors=True)
    return found


def write_rows(rows: pa.Table, root: Path, folder: str = "") -> DataFile:
    """This process writes a few rows into one new file."""
    path = root / folder / f"part-{uuid.uuid4().hex}.parquet"
    with storage_errors(f"{table_of(root.name) or root.name} cannot be written"):
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(
            rows.replace_schema_metadata(None),
            path,
            compression="snappy",
            coerce_timestamps="us",
            store_schema=False,
            row_group_size=_ROWS_TOGETHER,
            write_page_index=True,
        )
        written = describe(path, root)
    wrote_here(written.size)
    return written


def read_rows(path: str | Path, schema: pa.Schema) -> pa.Table:
    """All rows of one file in some columns, in the table's types."""
    file = pq.ParquetFile(path, coerce_int96_timestamp_unit="us")
    rows = file.read([name for name in schema.names if name in file.schema_arrow.names])
    read_here(file.metadata.num_rows)
    return in_types(rows, schema, file.metadata.num_rows)


def in_types(rows: pa.Table, schema: pa.Schema, size: int) -> pa.Table:
    """``size`` rows of a file in the table's types; columns that the file does not have are NULL."""
    columns = [
        (rows[field.name] if field.name in rows.column_names else pa.nulls(size)).cast(field.type) for field in schema
    ]
    return pa.table(columns, schema=schema)


def describe(path: Path, root: Path) -> DataFile:
    """A file with its statistics, read from its footer."""
    footer = pq.read_metadata(path)
    lows: dict[str, Any] = {}
    highs: dict[str, Any] = {}
    nulls: dict[str, int] = {}
    for index in range(footer.num_columns if footer.num_row_groups else 0):
        name = footer.schema.column(index).path
        if "." in name and name not in footer.schema.names:
            continue
        parts = [footer.row_group(g).column(index).statistics for g in range(footer.num_row_groups)]
        if footer.row_group(0).column(index).path_in_schema != name or not parts or any(p is None for p in parts):
            continue
        if all(p.has_null_count for p in parts):
            nulls[name] = sum(p.null_count for p in parts)
        if all(p.has_min_max for p in parts):
            with contextlib.suppress(ValueError, OverflowError):  # Python cannot represent some values
                low = _bound(min(p.min for p in parts), top=False)
                high = _bound(max(p.max for p in parts), top=True)
                if low is not None and high is not None:
                    lows[name], highs[name] = low, high
    stats = {"numRecords": footer.num_rows, "minValues": lows, "maxValues": highs, "nullCount": nulls}
    stat = os.stat(path)
    return DataFile(
        str(path.relative_to(root)),
        stat.st_size,
        footer.num_rows,
        stat.st_mtime_ns // 1_000_000,
        nulls,
        json.dumps(stats, ensure_ascii=False),
    )


def _bound(value: Any, *, top: bool) -> Any:
    """A statistic as the log writes it; None if it could mislead a reader."""
    if isinstance(value, bool | bytes | float):
        return None
    if isinstance(value, int):
        return value
    if isinstance(value, Decimal):
        return float(value) if len(value.as_tuple().digits) <= 15 else None
    if isinstance(value, str):
        if len(value) <= _LONGEST_STRING:
            return value
        return value[:_LONGEST_STRING] + ("\U0010ffff" if top else "")
    if isinstance(value, datetime):
        if value.tzinfo is None:
            return value.isoformat(timespec="microseconds")
        return value.astimezone(timezone.utc).replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"
    if isinstance(value, date):
        return value.isoformat()
    return None


def nulls_in(file: DataFile, column: str) -> int | None:
    """How many NULLs a file holds in a column; None if its statistics do not say."""
    folded = column.casefold()
    return next((n for name, n in file.nulls.items() if name.casefold() == folded), None)
