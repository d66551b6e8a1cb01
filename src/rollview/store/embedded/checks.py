"""What the embedded store checks before it commits: types, NOT NULL, and the declared key."""

from __future__ import annotations

from collections.abc import Sequence

import duckdb
import pyarrow as pa
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    DataType,
    DateType,
    MapType,
    NumericType,
    StringType,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from rollview.errors import Unsupported
from rollview.store.embedded.files import nulls_in
from rollview.store.embedded.log import DataFile
from rollview.store.rows import check_columns, key_repeated, null_in_key

_KNOWN = (NumericType, StringType, BooleanType, BinaryType, DateType, TimestampType, TimestampNTZType)


def check_schema(table: str, schema: StructType) -> None:
    """Raises an error for columns that an embedded table cannot have."""
    check_columns(table, schema)
    for column in schema.fields:
        _check_type(table, column.name, column.dataType)


def _check_type(table: str, column: str, kind: DataType) -> None:
    if isinstance(kind, ArrayType):
        _check_type(table, column, kind.elementType)
    elif isinstance(kind, MapType):
        _check_type(table, column, kind.keyType)
        _check_type(table, column, kind.valueType)
    elif isinstance(kind, StructType):
        for inner in kind.fields:
            _check_type(table, f"{column}.{inner.name}", inner.dataType)
    elif (
        not isinstance(kind, _KNOWN)
        or type(kind).__name__ in ("CharType", "VarcharType")
        or (isinstance(kind, StringType) and kind != StringType())
    ):
        raise Unsupported(
            f"Column {column} of {table} has type {kind.simpleString().upper()}",
            why="embedded tables hold numbers, STRING, BOOLEAN, BINARY, DATE, TIMESTAMP, TIMESTAMP_NTZ, "
            "and ARRAY, MAP and STRUCT of these",
            todo="use one of them (STRING for CHAR and VARCHAR), or connect with store='delta'",
        )


def check_not_null(table: str, schema: StructType, key: Sequence[str], files: Sequence[DataFile]) -> None:
    """Raises KeyViolated if the files hold NULL in a column that is NOT NULL or part of the key."""
    for column in schema.fields:
        if (column.name in key or not column.nullable) and nulls_in(files, column.name):
            raise null_in_key(table, column.name, "part of the key" if column.name in key else "declared NOT NULL")


def check_key(
    table: str, key: Sequence[str], kept: Sequence[str], new: Sequence[str], fresh: pa.Table | None = None
) -> None:
    """Raises KeyViolated if a key of the new rows occurs twice among the files that will make up the table.

    ``fresh`` holds the new rows' keys where they are fewer than what the new files hold.
    """
    if not key or not new:
        return
    columns = ", ".join(_quoted(c) for c in key)
    with duckdb.connect() as db:
        db.execute("SET enable_progress_bar = false")
        if fresh is None:
            db.execute(f"CREATE VIEW fresh AS SELECT {columns} FROM read_parquet({_list(new)})")
        else:
            db.register("fresh", fresh)
        rows = db.execute(
            f"SELECT {columns}, count(*) FROM read_parquet({_list([*kept, *new])}) "
            f"SEMI JOIN fresh USING ({columns}) GROUP BY {columns} HAVING count(*) > 1 ORDER BY ALL LIMIT 3"
        ).fetchall()
    if rows:
        raise key_repeated(table, key, rows)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _list(paths: Sequence[str]) -> str:
    return "[" + ", ".join("'" + p.replace("'", "''") + "'" for p in paths) + "]"
