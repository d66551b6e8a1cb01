"""Checks of the embedded store before a commit: types, NOT NULL, and the declared key."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import duckdb
import pyarrow as pa
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    DateType,
    MapType,
    NullType,
    NumericType,
    StringType,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from rollview.errors import Unsupported
from rollview.parse.stored_names import damaged
from rollview.store.embedded.files import nulls_in
from rollview.store.embedded.snapshot import DataFile
from rollview.store.schema import check_columns, check_types, key_repeated, null_in_key, simple_types

_KNOWN = (NumericType, StringType, BooleanType, BinaryType, DateType, TimestampType, TimestampNTZType)


#: Properties with a meaning for Delta that the embedded store respects.
_HONOURED = {
    "delta.enableChangeDataFeed": ("true",),
    "delta.appendOnly": ("true", "false"),
    "delta.logRetentionDuration": None,
    "delta.deletedFileRetentionDuration": None,
    "delta.checkpointInterval": None,
}


def check_schema(table: str, schema: StructType, key: Sequence[str] = ()) -> None:
    """Raises an error for columns that an embedded table cannot have."""
    check_columns(table, schema)
    check_stored_types(table, schema)
    for column in schema.fields:
        if column.name in key and isinstance(column.dataType, ArrayType | MapType | StructType):
            raise Unsupported(
                f"{column.name} cannot be part of the key of {table}",
                why=f"its type is {column.dataType.simpleString().upper()}",
                todo="declare a key of columns with simple types",
            )


def check_properties(table: str, properties: Mapping[str, str]) -> None:
    """Raises an error for properties whose promise the embedded store does not keep."""
    for name, value in properties.items():
        if name.lower().startswith("delta."):
            allowed = _HONOURED.get(name, ())
            if allowed is not None and value.lower() not in allowed:
                raise Unsupported(
                    f"{table} cannot have the property {name} = {value}",
                    why="the embedded store would not respect it",
                    todo="omit it, or create the table with store='delta'",
                )


def check_stored_types(table: str, schema: StructType) -> None:
    """Raises an error for types that an embedded table cannot hold."""
    check_types(table, schema)
    for column, kind in simple_types(schema):
        if not isinstance(kind, _KNOWN) or type(kind).__name__ in ("CharType", "VarcharType"):
            raise Unsupported(
                f"Column {column} of {table} has type {kind.simpleString().upper()}",
                why="embedded tables hold numbers, STRING, BOOLEAN, BINARY, DATE, TIMESTAMP, TIMESTAMP_NTZ, "
                "and ARRAY, MAP and STRUCT of these",
                todo="give it a type: CAST(NULL AS …)"
                if isinstance(kind, NullType)
                else "use one of them (STRING for CHAR and VARCHAR), or connect with store='delta'",
            )


def check_not_null(table: str, schema: StructType, key: Sequence[str], files: Sequence[DataFile], root: Path) -> None:
    """Raises KeyViolated if the files hold NULL in a column that is NOT NULL or part of the key."""
    for column in schema.fields:
        if (column.name in key or not column.nullable) and _has_null(table, files, column.name, root):
            raise null_in_key(table, column.name, "part of the key" if column.name in key else "declared NOT NULL")


def _has_null(table: str, files: Sequence[DataFile], column: str, root: Path) -> bool:
    """Whether the files hold NULL in a column: by their statistics, or by reading a file without statistics."""
    if any(nulls_in(file, column) for file in files):
        return True
    silent = [str(root / file.path) for file in files if nulls_in(file, column) is None]
    if not silent:
        return False
    with _reading(table, silent) as db:
        query = f"SELECT 1 FROM {_parquet(silent)} WHERE {_quoted(column)} IS NULL LIMIT 1"
        return db.execute(query).fetchone() is not None


def check_key(
    table: str, key: Sequence[str], kept: Sequence[str], new: Sequence[str], fresh: pa.Table | None = None
) -> None:
    """Raises KeyViolated if a key of the new rows occurs twice among the files that will make up the table.

    ``fresh`` has the keys of the new rows, if these are fewer than the rows of the new files.
    """
    if not key or not new:
        return
    columns = ", ".join(_quoted(c) for c in key)
    with _reading(table, [*kept, *new]) as db:
        if fresh is None:
            db.execute(f"CREATE VIEW fresh AS SELECT {columns} FROM {_parquet(new)}")
        else:
            db.register("fresh", fresh)
        rows = db.execute(
            f"SELECT {columns}, count(*) FROM {_parquet([*kept, *new])} "
            f"SEMI JOIN fresh USING ({columns}) GROUP BY {columns} HAVING count(*) > 1 ORDER BY ALL LIMIT 3"
        ).fetchall()
    if rows:
        raise key_repeated(table, key, rows)


@contextlib.contextmanager
def _reading(table: str, paths: Sequence[str]) -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection that reads files of a table. Raises Damaged if one of them cannot be read."""
    try:
        with duckdb.connect() as db:
            db.execute("SET enable_progress_bar = false")
            yield db
    except (duckdb.IOException, duckdb.InvalidInputException) as error:
        lost = next((Path(path) for path in paths if not os.path.exists(path)), None)
        why = f"its data files cannot be read: {str(error).splitlines()[0]}"
        raise damaged(table, f"its data file {lost.name} is missing in {lost.parent}" if lost else why) from error


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _parquet(paths: Sequence[str]) -> str:
    """Files as a relation of DuckDB. The names of their folders are not read as columns."""
    listed = ", ".join("'" + path.replace("'", "''") + "'" for path in paths)
    return f"read_parquet([{listed}], hive_partitioning = false)"
