"""Changed rows as a frame of Spark: the place of the old row, its values before and after, and the kind of change.

Rows are addressed by their place, so tables with and without a key are treated alike: two equal rows are two rows.
"""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import DataFrame
from pyspark.sql.types import AtomicType, DataType, NullType, StructType

from rollview.parse.names import quote
from rollview.store.schema import sql_type

#: Columns of a changed row.
FILE, POSITION, BEFORE, AFTER, KIND = "__rv_file", "__rv_position", "__rv_before", "__rv_after", "__rv_kind"

#: The place of a stored row.
PLACE = (FILE, POSITION)

#: Kinds of changed rows beside INSERT and DELETE of the change feed.
UPDATE = "update"


def located(frame: DataFrame) -> DataFrame:
    """The rows of files with the name of their file, which is unique in a table, and their position. Readers spell the
    path of one file in different ways."""
    return frame.selectExpr("*", f"_metadata.file_name AS {FILE}", f"_metadata.row_index AS {POSITION}")


def struct_of(schema: StructType, values: Mapping[str, str] | None = None, prefix: str = "") -> str:
    """The table's columns as one struct, some of them with other values."""
    dot = f"{prefix}." if prefix else ""
    given = values or {}
    return "struct(" + ", ".join(f"{given.get(c, dot + quote(c))} AS {quote(c)}" for c in schema.names) + ")"


def nulls_of(schema: StructType) -> str:
    """A row of NULLs as a struct."""
    return "struct(" + ", ".join(f"CAST(NULL AS {sql_type(f.dataType)}) AS {quote(f.name)}" for f in schema) + ")"


def by_value(rows: DataFrame, schema: StructType) -> DataFrame:
    """The rows with their values as their place, if there is no other address: equal rows have the same place."""
    return rows.selectExpr("*", f"{value_of(schema)} AS {FILE}", f"0L AS {POSITION}")


def value_of(schema: StructType, alias: str = "") -> str:
    """A row's values as one value that differs from that of any other row, also for 0.0 and -0.0, and for maps."""
    dot = f"{alias}." if alias else ""
    parts = [_distinct(field.dataType, dot + quote(field.name)) for field in schema.fields]
    return f"struct({', '.join(f'{part} AS v{i}' for i, part in enumerate(parts))})"


def value_type(schema: StructType) -> str:
    """The type of such a value."""
    kinds = ["STRING" if _as_text(field.dataType) else sql_type(field.dataType) for field in schema.fields]
    return f"STRUCT<{', '.join(f'v{i}: {kind}' for i, kind in enumerate(kinds))}>"


#: The options by which a value is written as JSON, so that different values are different texts.
_EXACTLY = (
    "map('ignoreNullFields', 'false', 'timestampFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSSXXX', "
    "'timestampNTZFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS')"
)


def _as_text(kind: DataType) -> bool:
    """Whether a type has no equality, or one by which different values are equal."""
    return any(part in kind.simpleString() for part in ("float", "double", "map<", "variant", "void"))


def _distinct(kind: DataType, value: str) -> str:
    if not _as_text(kind):
        return value
    if isinstance(kind, AtomicType | NullType) and "variant" not in kind.simpleString():
        return f"CAST({value} AS STRING)"
    return f"to_json(named_struct('v', {value}), {_EXACTLY})"
