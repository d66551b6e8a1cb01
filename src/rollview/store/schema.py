"""The rules for rows that every store follows: names and types of columns, store assignment, keys."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import col
from pyspark.sql.types import (
    ArrayType,
    AtomicType,
    BinaryType,
    DataType,
    DateType,
    DoubleType,
    FloatType,
    IntegralType,
    MapType,
    NullType,
    NumericType,
    StringType,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from rollview.errors import BadName, ColumnNotFound, KeyViolated, Place, SqlError, Unsupported, nearest
from rollview.parse.names import quote
from rollview.plan.reserved import DELETED
from rollview.store.protocol import CHANGE_TYPE, COMMIT_TIME, COMMIT_VERSION

_TIMES = (DateType, TimestampType, TimestampNTZType)
_FORBIDDEN = set(" ,;{}()\n\t=")
RESERVED = {CHANGE_TYPE, COMMIT_VERSION, COMMIT_TIME, DELETED.label}


def sql_type(kind: DataType) -> str:
    """A type as SQL writes it."""
    if isinstance(kind, ArrayType):
        return f"ARRAY<{sql_type(kind.elementType)}>"
    if isinstance(kind, MapType):
        return f"MAP<{sql_type(kind.keyType)}, {sql_type(kind.valueType)}>"
    if isinstance(kind, StructType):
        return f"STRUCT<{', '.join(f'{quote(f.name)}: {sql_type(f.dataType)}' for f in kind.fields)}>"
    return kind.simpleString()


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
            assignable(a.dataType, b.dataType) for a, b in zip(source, target, strict=True)
        )
    if isinstance(target, StringType):
        return isinstance(source, AtomicType) and not isinstance(source, BinaryType)
    if isinstance(source, NumericType) and isinstance(target, NumericType):
        return True
    return isinstance(source, _TIMES) and isinstance(target, _TIMES)


def check_assignable(table: str, column: str, source: DataType, target: DataType) -> None:
    if not assignable(source, target):
        raise SqlError(
            f"A {source.simpleString().upper()} cannot be stored in column {column} of {table}",
            why=f"the column's type is {target.simpleString().upper()}, and values are not converted "
            "where something could be lost silently",
            todo=f"write CAST(… AS {target.simpleString().upper()}) to convert it",
        )


def column_named(schema: StructType, name: str, table: str) -> str:
    """The column's own spelling of a name written in any case."""
    for column in schema.names:
        if column.casefold() == name.casefold():
            return column
    raise ColumnNotFound(
        f"{table} has no column named {name}",
        todo=nearest(name, schema.names) or f"its columns are {', '.join(schema.names)}",
    )


def check_columns(table: str, schema: StructType) -> None:
    """Raises an error for names that columns of a Delta table cannot have."""
    seen: set[str] = set()
    if not schema.fields:
        raise Unsupported(f"{table} would have no columns")
    for column in schema.fields:
        folded = column.name.casefold()
        if bad := _FORBIDDEN & set(column.name):
            raise BadName(
                f"{column.name!r} cannot be the name of a column of {table}",
                why=f"Delta tables allow no {' '.join(repr(c) for c in sorted(bad))} in column names",
                todo="give the column another name",
            )
        if folded in RESERVED or folded.startswith("__rv_"):
            raise BadName(
                f"{column.name} cannot be the name of a column of {table}",
                why="the change feed uses that name",
                todo="give the column another name",
            )
        if folded in seen:
            raise BadName(
                f"{table} would have two columns named {column.name}",
                why="names are compared without regard to case",
                todo="rename one of them",
            )
        seen.add(folded)


def simple_types(schema: StructType, within: str = "") -> Iterator[tuple[str, DataType]]:
    """The types of the columns, and of the values in their arrays, maps and structs."""
    for field in schema.fields:
        pending = [field.dataType]
        while pending:
            kind = pending.pop()
            if isinstance(kind, ArrayType):
                pending.append(kind.elementType)
            elif isinstance(kind, MapType):
                pending += [kind.keyType, kind.valueType]
            elif isinstance(kind, StructType):
                yield from simple_types(kind, f"{within}{field.name}.")
            else:
                yield f"{within}{field.name}", kind


def check_types(table: str, schema: StructType) -> None:
    """Raises an error for types that no table can hold."""
    for column, kind in simple_types(schema):
        shown = kind.simpleString()
        if shown.startswith(("interval", "time(", "string collate")):
            raise Unsupported(
                f"Column {column} of {table} has type {shown.upper()}",
                why="Delta tables hold no intervals, no times of day and no strings with a collation",
                todo=f"convert it, for instance CAST({quote(column)} AS STRING)"
                if column in schema.names
                else "convert it in the query, for instance CAST(… AS STRING)",
            )


def plain_columns(rows: DataFrame) -> DataFrame:
    """The rows without the metadata of the columns that they come from, which says that these are CHAR or VARCHAR, have
    a default, or are generated. A table created from the rows would inherit it."""
    if not any(field.metadata for field in rows.schema):
        return rows
    return rows.select(*(col(quote(field.name)).alias(field.name, metadata={}) for field in rows.schema))


def store_cast(spark: SparkSession, value: str, kind: DataType) -> str:
    """The value, converted to a column's type. A value that does not fit is an error, also if ANSI mode is off."""
    cast = f"CAST({value} AS {sql_type(kind)})"
    if not isinstance(kind, NumericType) or spark.conf.get("spark.sql.ansi.enabled", "true") == "true":
        return cast
    fits = f"{cast} IS NOT NULL"
    if isinstance(kind, IntegralType):
        bound = 2 ** (8 * {"tinyint": 1, "smallint": 2, "int": 4}.get(kind.simpleString(), 8) - 1)
        fits = f"CAST({value} AS DECIMAL(38, 6)) BETWEEN {-bound} AND {bound - 1}"
    error = f"raise_error(concat('the value ', string({value}), ' does not fit into {kind.simpleString()}'))"
    return f"CASE WHEN {value} IS NULL THEN NULL WHEN {fits} THEN {cast} ELSE {error} END"


def aligned(
    rows: DataFrame, schema: StructType, table: str, columns: Sequence[str] = (), *, by_name: bool = False
) -> DataFrame:
    """The rows in the table's columns and types, by Spark's rules of store assignment."""
    if by_name:
        columns = [column_named(schema, name, table) for name in rows.columns]
    targets = [column_named(schema, name, table) for name in columns] or schema.names
    if len(set(targets)) != len(targets):
        raise SqlError(f"A column of {table} is named twice: {', '.join(targets)}")
    if len(targets) != len(rows.columns):
        raise wrong_width(table, targets, len(rows.columns))
    given = dict(zip(targets, rows.schema.fields, strict=True))
    unique = rows.toDF(*[f"c{i}" for i in range(len(targets))])
    exprs = []
    for field in schema.fields:
        kind = sql_type(field.dataType)
        if field.name in given:
            check_assignable(table, field.name, given[field.name].dataType, field.dataType)
            value = store_cast(rows.sparkSession, f"c{targets.index(field.name)}", field.dataType)
            exprs.append(f"{value} AS {quote(field.name)}")
        else:
            exprs.append(f"CAST(NULL AS {kind}) AS {quote(field.name)}")
    return unique.selectExpr(*exprs)


def wrong_width(table: str, columns: Sequence[str], given: int, where: Place | None = None) -> SqlError:
    """The error for rows of another number of values than a table, or the columns that are named of it, takes."""
    return SqlError(
        f"{table} takes {len(columns)} values per row, but {given} are given",
        where=where,
        why=f"the columns are {', '.join(columns)}",
        todo="name the columns: INSERT INTO t (a, b) …",
    )


def differs(schema: StructType, columns: Sequence[str], old: str, new: str) -> str:
    """A condition: whether the row ``new`` differs from the row ``old``; what cannot be compared counts as changed."""
    return any_differs(schema, {name: (f"{old}.{quote(name)}", f"{new}.{quote(name)}") for name in columns})


def any_differs(schema: StructType, pairs: Mapping[str, tuple[str, str]]) -> str:
    """The same for the old and the new value of each column."""
    tests = []
    for name, (a, b) in pairs.items():
        kind = schema[name].dataType
        if "map<" in kind.simpleString():
            return "true"
        if isinstance(kind, NullType):
            continue
        tests.append(f"NOT ({a} <=> {b})")
        if isinstance(kind, DoubleType | FloatType):  # 0.0 = -0.0, yet they are not the same value
            tests.append(f"NOT (CAST({a} AS STRING) <=> CAST({b} AS STRING))")
    return "(" + (" OR ".join(tests) or "false") + ")"


def check_source(source: DataFrame, schema: StructType, table: str) -> None:
    """Raises unless the rows of a merge have all of the table's columns."""
    names = [column_named(schema, name, table) for name in source.columns if name != DELETED.label]
    if missing := [name for name in schema.names if name not in names]:
        raise SqlError(f"The rows to merge into {table} lack {', '.join(missing)}")


def null_in_key(table: str, column: str, why: str) -> KeyViolated:
    return KeyViolated(f"Column {column} of {table} cannot be NULL", why=f"it is {why}")


def key_repeated(table: str, key: Sequence[str], rows: Sequence[Sequence[object]]) -> KeyViolated:
    shown = "; ".join(", ".join(f"{c} = {v}" for c, v in zip(key, row, strict=False)) for row in rows)
    return KeyViolated(
        f"Two rows of {table} would have the key {shown}",
        why=f"{table} declares PRIMARY KEY ({', '.join(key)})",
        todo="change the rows, or use MERGE to update the ones that are there",
    )
