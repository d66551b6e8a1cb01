"""The types of values that can be evaluated here, as Spark names them, with their types in Arrow and DuckDB."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

import pyarrow as pa
from sqlglot import exp

from rollview.engine.expressions.refused import Refused


@dataclass(frozen=True)
class Type:
    """A type of Spark. ``precision`` and ``scale`` are those of a decimal."""

    name: str
    precision: int = 0
    scale: int = 0

    def __str__(self) -> str:
        return f"decimal({self.precision},{self.scale})" if self.name == "decimal" else self.name

    @property
    def is_decimal(self) -> bool:
        return self.name == "decimal"

    @property
    def is_numeric(self) -> bool:
        return self.is_decimal or self in NUMBERS

    @property
    def duck(self) -> str:
        return f"DECIMAL({self.precision}, {self.scale})" if self.is_decimal else _DUCK[self.name]

    @property
    def arrow(self) -> pa.DataType:
        return pa.decimal128(self.precision, self.scale) if self.is_decimal else _ARROW[self.name]


VOID, BOOLEAN, STRING, BINARY = Type("void"), Type("boolean"), Type("string"), Type("binary")
TINYINT, SMALLINT, INT, BIGINT = Type("tinyint"), Type("smallint"), Type("int"), Type("bigint")
FLOAT, DOUBLE = Type("float"), Type("double")
DATE, TIMESTAMP, NTZ = Type("date"), Type("timestamp"), Type("timestamp_ntz")

#: Narrow to wide.
INTEGERS = (TINYINT, SMALLINT, INT, BIGINT)
FLOATS = (FLOAT, DOUBLE)
NUMBERS = (*INTEGERS, *FLOATS)
PLAIN = (VOID, BOOLEAN, *NUMBERS, STRING, BINARY, DATE, TIMESTAMP, NTZ)
MAX_PRECISION = 38

_BITS = {TINYINT: 8, SMALLINT: 16, INT: 32, BIGINT: 64}
_DIGITS = {TINYINT: 3, SMALLINT: 5, INT: 10, BIGINT: 20}

_ARROW = {
    "void": pa.null(), "boolean": pa.bool_(), "tinyint": pa.int8(), "smallint": pa.int16(), "int": pa.int32(),
    "bigint": pa.int64(), "float": pa.float32(), "double": pa.float64(), "string": pa.string(), "binary": pa.binary(),
    "date": pa.date32(), "timestamp": pa.timestamp("us", "UTC"), "timestamp_ntz": pa.timestamp("us"),
}  # fmt: skip
_DUCK = {
    "void": '"NULL"', "boolean": "BOOLEAN", "tinyint": "TINYINT", "smallint": "SMALLINT", "int": "INTEGER",
    "bigint": "BIGINT", "float": "REAL", "double": "DOUBLE", "string": "VARCHAR", "binary": "BLOB", "date": "DATE",
    "timestamp": "TIMESTAMPTZ", "timestamp_ntz": "TIMESTAMP",
}  # fmt: skip

_NAMES = {"integer": "int", "long": "bigint", "short": "smallint", "byte": "tinyint", "real": "float"}
_NAMES |= {"timestamp_ltz": "timestamp", "bool": "boolean", "null": "void", "dec": "decimal", "numeric": "decimal"}
_PLAIN = {kind.name: kind for kind in PLAIN}

#: Types in sqlglot's trees of Spark SQL.
_WRITTEN = {
    "boolean": BOOLEAN, "tinyint": TINYINT, "smallint": SMALLINT, "int": INT, "bigint": BIGINT, "float": FLOAT,
    "double": DOUBLE, "text": STRING, "binary": BINARY, "date": DATE, "timestamp": TIMESTAMP, "timestamptz": TIMESTAMP,
    "timestampltz": TIMESTAMP, "timestampntz": NTZ,
}  # fmt: skip


def decimal(precision: int, scale: int) -> Type:
    return Type("decimal", precision, scale)


@lru_cache(maxsize=4096)
def spark_type(text: str) -> Type:
    """The type that Spark writes so. Raises Refused for a type whose values are not evaluated here."""
    name = text.strip().lower()
    if match := re.fullmatch(r"(?:decimal|dec|numeric)(?:\((\d+)(?:,\s*(\d+))?\))?", name):
        return decimal(int(match[1] or 10), int(match[2] or 0))
    if (found := _PLAIN.get(_NAMES.get(name, name))) is None:
        why = "its comparisons follow the collation" if "collate" in name else ""
        raise Refused(f"Values of type {text}", why=why)
    return found


def written_type(node: exp.DataType) -> Type:
    """The type that a CAST names."""
    name = node.this.name.lower()
    if name == "decimal":
        digits = [int(part.this.this) for part in node.expressions]
        return decimal(*(digits + [10, 0][len(digits) :]))
    if name not in _WRITTEN or (node.expressions and name != "text"):
        raise Refused(f"CAST to {node.sql('spark')}")
    return _WRITTEN[name]


def arrow_type(text: str) -> pa.DataType:
    """The Arrow type in which the values of a type of Spark are given and returned."""
    return spark_type(text).arrow


def least(kind: Type) -> int:
    """The least value of an integer type."""
    return -(1 << (_BITS[kind] - 1))


def greatest(kind: Type) -> int:
    """The greatest value of an integer type."""
    return (1 << (_BITS[kind] - 1)) - 1


def holding(kind: Type) -> Type:
    """The decimal type that holds all values of an integer type."""
    return decimal(_DIGITS[kind], 0)


def bounded(precision: int, scale: int) -> Type:
    """A decimal of at most 38 digits. As Spark does, digits after the point are dropped down to six, before the type
    becomes too narrow for the digits in front of it."""
    if precision <= MAX_PRECISION:
        return decimal(precision, scale)
    whole = precision - scale
    return decimal(MAX_PRECISION, max(MAX_PRECISION - whole, min(scale, 6)))


def truncated(precision: int, scale: int) -> Type:
    """A decimal of at most 38 digits, as Spark bounds the common type of two decimals."""
    if precision <= MAX_PRECISION:
        return decimal(precision, scale)
    return decimal(MAX_PRECISION, max(0, scale - (precision - MAX_PRECISION)))
