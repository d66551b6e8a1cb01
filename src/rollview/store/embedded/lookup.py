"""The rows of a table that an edit of a few rows may touch, found in this process by the values of its columns.

Row groups whose statistics exclude all values are not read. In the others, the compared columns are read first, and
then the rows that match.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark.sql import DataFrame
from pyspark.sql.types import DataType, StringType

from rollview.engine.work import read_here
from rollview.limits import Limits
from rollview.plan.literals import predicate
from rollview.store.embedded.files import in_types
from rollview.store.embedded.snapshot import DataFile, Snapshot
from rollview.store.spark_sql.row_changes import FILE, POSITION


def found_rows(snapshot: Snapshot, wanted: Mapping[str, pa.ChunkedArray], limits: Limits) -> pa.Table | None:
    """The rows, with file and position, that have wanted values in each of some columns, NULL equal to NULL; the result
    may have other rows, too. None if they cannot be found in this process, or if there are too many to keep."""
    values = _comparable(snapshot, wanted, limits.lookup_columns)
    if not values or snapshot.partitions or sum(file.rows for file in snapshot.files) > limits.lookup_rows_most:
        return None
    with ThreadPoolExecutor(max_workers=4) as pool:
        done = list(pool.map(lambda file: _of_file(snapshot, file, values), snapshot.files))
    read_here(sum(read for _, read in done))
    parts = [rows for rows, _ in done]
    place = [pa.field(FILE, pa.string()), pa.field(POSITION, pa.int64())]
    found = pa.concat_tables([pa.schema([*snapshot.arrow_schema, *place]).empty_table(), *parts])
    return found if found.num_rows <= limits.rows_here else None


def _comparable(snapshot: Snapshot, wanted: Mapping[str, pa.ChunkedArray], most: int) -> dict[str, pa.Array]:
    """The values to look for in up to ``most`` columns, the column with the most values first."""
    found: dict[str, pa.Array] = {}
    for name, values in wanted.items():
        kind = snapshot.arrow_schema.field(name).type
        if _exact(kind, snapshot.schema[name].dataType):
            try:
                found[name] = values.unique().cast(kind)
            except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
                continue  # values that the column cannot have: Spark compares them
    return dict(sorted(found.items(), key=lambda item: -len(item[1]))[:most])


def _exact(kind: pa.DataType, spark: DataType) -> bool:
    """Whether values of a type are equal in this process exactly if they are equal in Spark."""
    if isinstance(spark, StringType):
        return bool(spark == StringType())  # with no other collation
    types = pa.types
    tests = (types.is_integer, types.is_date, types.is_decimal, types.is_timestamp)
    return any(test(kind) for test in tests)


def _of_file(snapshot: Snapshot, file: DataFile, values: Mapping[str, pa.Array]) -> tuple[pa.Table, int]:
    """The wanted rows of a file, and the number of its rows that were read for them."""
    path = snapshot.path(file)
    source = pq.ParquetFile(path, coerce_int96_timestamp_unit="us")
    compared = pa.schema([snapshot.arrow_schema.field(name) for name in values])
    begin, read, tables, places = 0, 0, [], []
    for group in range(source.num_row_groups):
        size = source.metadata.row_group(group).num_rows
        if _may_hold(source, group, values):
            rows = in_types(source.read_row_group(group, _there(source, compared)), compared, size)
            read += size
            masks = [pc.is_in(rows[name], value_set=each) for name, each in values.items()]
            here = np.flatnonzero(np.logical_and.reduce([mask.to_numpy() for mask in masks]))
            if len(here):
                whole = source.read_row_group(group, _there(source, snapshot.arrow_schema)).take(pa.array(here))
                tables.append(in_types(whole, snapshot.arrow_schema, len(here)))
                places.append(here + begin)
        begin += size
    found = pa.concat_tables([snapshot.arrow_schema.empty_table(), *tables])
    named = found.append_column(FILE, pa.array([Path(path).name] * found.num_rows, pa.string()))
    at = pa.array(np.concatenate([np.empty(0, np.int64), *places]), pa.int64())
    return named.append_column(POSITION, at), read


def _there(source: pq.ParquetFile, schema: pa.Schema) -> list[str]:
    return [name for name in schema.names if name in source.schema_arrow.names]


def _may_hold(source: pq.ParquetFile, group: int, values: Mapping[str, pa.Array]) -> bool:
    """Whether a row group can have wanted values, by its statistics."""
    told = source.metadata.row_group(group)
    for index in range(told.num_columns):
        column = told.column(index)
        wanted, stats = values.get(column.path_in_schema), column.statistics
        if wanted is None or stats is None or not stats.has_min_max or wanted.null_count:
            continue
        if isinstance(stats.min, int) and not isinstance(stats.min, bool) and pa.types.is_integer(wanted.type):
            within = pc.and_(pc.greater_equal(wanted, stats.min), pc.less_equal(wanted, stats.max))
            if not pc.any(within).as_py():
                return False
    return True


def looking_for(given: pa.Table, copies: str | None) -> pa.Table:
    """The given rows that must be looked up in the table."""
    return given if copies is None else given.filter(pc.less(given.column(copies), 0))


def rows_near(rows: DataFrame, wanted: Mapping[str, pa.ChunkedArray], listed: int) -> DataFrame:
    """The rows whose columns have wanted values. Files that their statistics exclude are not read."""
    for name, values in wanted.items():
        # pyarrow has no distinct arrays or structs, and Python lacks some years
        with contextlib.suppress(pa.ArrowNotImplementedError, ValueError, OverflowError):
            test = predicate(name, values.unique().to_pylist(), strict=False, listed=listed)
            if test is not None:
                rows = rows.where(test.sql("spark"))
    return rows
