"""The rules that rows obey when they enter a table: store assignment, NOT NULL, and the declared key."""

from __future__ import annotations

from collections.abc import Sequence

import duckdb
import pyarrow as pa
from pyspark.sql.types import (
    ArrayType,
    AtomicType,
    BinaryType,
    BooleanType,
    DataType,
    DateType,
    MapType,
    NullType,
    NumericType,
    StringType,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from rollview.errors import BadName, ColumnNotFound, KeyViolated, SqlError, Unsupported, nearest
from rollview.store.embedded.files import nulls_in
from rollview.store.embedded.log import DataFile
from rollview.store.protocol import CHANGE_TYPE, COMMIT_TIME, COMMIT_VERSION

_TIMES = (DateType, TimestampType, TimestampNTZType)
_KNOWN = (NumericType, StringType, BooleanType, BinaryType, *_TIMES)
_FORBIDDEN = set(" ,;{}()\n\t=")
_RESERVED = {CHANGE_TYPE, COMMIT_VERSION, COMMIT_TIME}


def assignable(source: DataType, target: DataType) -> bool:
    """Whether a value of one type may be stored in a column of another: Spark's ANSI store assignment."""
    if isinstance(source, NullType) or source == target:
        return True
    if isinstance(source, ArrayType) and isinstance(target, ArrayType):
        return assignable(source.elementType, target.elementType)
    if isinstance(source, MapType) and isinstance(target, MapType):
        return assignable(source.keyType, target.keyType) and assignable(source.valueType, target.valueType)
    if isinstance(source, StructType) and isinstance(target, StructType):
        return len(source) == len(target) and all(
            assignable(a.dataType, b.dataType) for a, b in zip(source, target, strict=True))
    if isinstance(target, StringType):
        return isinstance(source, AtomicType) and not isinstance(source, BinaryType)
    if isinstance(source, NumericType) and isinstance(target, NumericType):
        return True
    return isinstance(source, _TIMES) and isinstance(target, _TIMES)


def check_assignable(table: str, column: str, source: DataType, target: DataType) -> None:
    if not assignable(source, target):
        raise SqlError(f"A {source.simpleString().upper()} cannot be stored in column {column} of {table}",
                       why=f"the column's type is {target.simpleString().upper()}, and values are not converted "
                           "where something could be lost silently",
                       todo=f"write CAST(… AS {target.simpleString().upper()}) if that is what you mean")


def column_named(schema: StructType, name: str, table: str) -> str:
    """The column's own spelling of a name written in any case."""
    for column in schema.names:
        if column.casefold() == name.casefold():
            return column
    raise ColumnNotFound(f"{table} has no column named {name}",
                         todo=nearest(name, schema.names) or f"its columns are {', '.join(schema.names)}")


def check_schema(table: str, schema: StructType) -> None:
    """Raises an error for columns that a Delta table cannot have."""
    seen: set[str] = set()
    if not schema.fields:
        raise Unsupported(f"{table} would have no columns")
    for column in schema.fields:
        folded = column.name.casefold()
        if bad := _FORBIDDEN & set(column.name):
            raise BadName(f"{column.name!r} cannot be the name of a column of {table}",
                          why=f"Delta tables allow no {' '.join(repr(c) for c in sorted(bad))} in column names",
                          todo="give the column another name")
        if folded in _RESERVED or folded.startswith("__rv_"):
            raise BadName(f"{column.name} cannot be the name of a column of {table}",
                          why="the change feed uses that name", todo="give the column another name")
        if folded in seen:
            raise BadName(f"{table} would have two columns named {column.name}",
                          why="names are compared without regard to case", todo="rename one of them")
        seen.add(folded)
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
    elif not isinstance(kind, _KNOWN) or type(kind).__name__ in ("CharType", "VarcharType") or (
            isinstance(kind, StringType) and not kind == StringType()):
        raise Unsupported(f"Column {column} of {table} has type {kind.simpleString().upper()}",
                          why="embedded tables hold numbers, STRING, BOOLEAN, BINARY, DATE, TIMESTAMP, TIMESTAMP_NTZ, "
                              "and ARRAY, MAP and STRUCT of these",
                          todo="use one of them (STRING for CHAR and VARCHAR), or connect with store='delta'")


def check_not_null(table: str, schema: StructType, key: Sequence[str], files: Sequence[DataFile]) -> None:
    """Raises KeyViolated if the files hold NULL in a column that is NOT NULL or part of the key."""
    for column in schema.fields:
        if (column.name in key or not column.nullable) and nulls_in(files, column.name):
            what = "part of the key" if column.name in key else "declared NOT NULL"
            raise KeyViolated(f"Column {column.name} of {table} cannot be NULL", why=f"it is {what}")


def check_key(table: str, key: Sequence[str], kept: Sequence[str], new: Sequence[str],
              fresh: pa.Table | None = None) -> None:
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
        shown = "; ".join(", ".join(f"{c} = {v}" for c, v in zip(key, row, strict=False)) for row in rows)
        raise KeyViolated(f"Two rows of {table} would have the key {shown}",
                          why=f"{table} declares PRIMARY KEY ({', '.join(key)})",
                          todo="change the rows, or use MERGE to update the ones that are there")


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _list(paths: Sequence[str]) -> str:
    return "[" + ", ".join("'" + p.replace("'", "''") + "'" for p in paths) + "]"
