"""Arrow columns as int64 words, and back: all that a join graph holds are words.

| type | words |
|---|---|
| boolean, integers, date, timestamp | the number |
| double, float | the bits of the double; one NaN |
| decimal up to 18 digits | the unscaled number |
| decimal of more digits | its low and its high 64 bits |
| string, binary, array, struct | the number of the interned value |

Tuples of several columns end with words for NULL, a bit for each column: see ``Layout``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from rollview.errors import Unsupported
from rollview.live.interning import Interner, Words

Flags = npt.NDArray[np.bool_]

_FIXED = {
    "boolean": pa.bool_(),
    "tinyint": pa.int8(),
    "smallint": pa.int16(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", tz="UTC"),
    "timestamp_ntz": pa.timestamp("us"),
    "float": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
    "binary": pa.binary(),
    "void": pa.null(),
}

#: Types whose values are numbers of a fixed width, and as which numbers they can be read.
_PLAIN = {
    "tinyint": pa.int8(),
    "smallint": pa.int16(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "date": pa.int32(),
    "timestamp": pa.int64(),
    "timestamp_ntz": pa.int64(),
}
_NUMPY = {name: kind.to_pandas_dtype() for name, kind in _PLAIN.items()}

_DECIMAL = re.compile(r"decimal\((\d+),\s*(\d+)\)")

#: Columns for whose NULLs one word has room.
_FLAGS = 63

#: The bits of the one NaN.
_NAN = np.float64("nan").view(np.int64)

INTEGERS = ("tinyint", "smallint", "int", "bigint")


@dataclass(frozen=True)
class Kind:
    """A type: its name in Spark, its type in Arrow, and how many words a value takes."""

    name: str
    arrow: pa.DataType
    width: int = 1

    @property
    def interned(self) -> bool:
        return pa.types.is_string(self.arrow) or pa.types.is_binary(self.arrow) or self.nested

    @property
    def nested(self) -> bool:
        return bool(pa.types.is_nested(self.arrow))

    @property
    def floating(self) -> bool:
        return bool(pa.types.is_floating(self.arrow))

    @property
    def has_floats_inside(self) -> bool:
        """Whether the values are arrays or structs of floats: equal ones can differ, in 0.0 and −0.0."""
        return self.nested and _has_floats(self.arrow)

    @property
    def decimal(self) -> bool:
        return bool(pa.types.is_decimal(self.arrow))

    @property
    def integer(self) -> bool:
        return self.name in INTEGERS


def _has_floats(kind: pa.DataType) -> bool:
    if not pa.types.is_nested(kind):
        return bool(pa.types.is_floating(kind))
    return any(_has_floats(kind.field(i).type) for i in range(kind.num_fields))


@lru_cache(maxsize=1024)
def kind_of(name: str) -> Kind:
    """The type that Spark calls so. Raises Unsupported if live views cannot hold its values."""
    text = name.lower()
    if text.startswith(("varchar(", "char(")):
        text = "string"
    if text in _FIXED:
        return Kind(text, _FIXED[text])
    if (match := _DECIMAL.fullmatch(text)) is not None:
        precision, scale = int(match[1]), int(match[2])
        return Kind(f"decimal({precision},{scale})", pa.decimal128(precision, scale), 1 if precision <= 18 else 2)
    if text.startswith("array<") and text.endswith(">"):
        return Kind(text, pa.list_(kind_of(text[6:-1]).arrow))
    if text.startswith("struct<") and text.endswith(">"):
        return Kind(text, pa.struct([(n, kind_of(k).arrow) for n, k in _members(name[7:-1])]))
    raise Unsupported(
        f"A live view cannot hold values of type {name}",
        why="they have no form of a fixed width, or equal values of the type can have different forms",
        todo="CAST them to another type in the query, or leave the column out",
    )


def _members(text: str) -> list[tuple[str, str]]:
    """The names and types between the brackets of a struct."""
    parts, depth, start = [], 0, 0
    for at, letter in enumerate(text + ","):
        depth += (letter in "<(") - (letter in ">)")
        if letter == "," and not depth:
            name, _, kind = text[start:at].partition(":")
            parts.append((name.strip().strip("`"), kind.strip()))
            start = at + 1
    return parts


def column_words(values: pa.Array | pa.ChunkedArray, kind: Kind, interner: Interner) -> Words:
    """The words of a column, a row of ``kind.width`` words for each value; zeros for NULL."""
    array = values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
    if (quick := plain_words(array, kind)) is not None:
        return quick.reshape(-1, 1)
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if array.type != kind.arrow:
        array = array.cast(kind.arrow)
    if kind.interned:
        return interner.numbers(array).reshape(-1, 1)
    if kind.decimal:
        return _decimal_words(array, kind)
    if kind.floating:
        doubles = array.cast(pa.float64()).fill_null(0.0).to_numpy(zero_copy_only=False)
        bits: Words = np.where(np.isnan(doubles), _NAN, doubles.view(np.int64))
        return bits.reshape(-1, 1)
    if kind.name == "void":
        return np.zeros((len(array), 1), dtype=np.int64)
    if kind.name == "boolean":
        array = array.cast(pa.int8())
    if kind.name == "date":
        array = array.cast(pa.int32())
    found: Words = array.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)
    return found.reshape(-1, 1)


def plain_words(array: pa.Array, kind: Kind) -> npt.NDArray[Any] | None:
    """The numbers of an array of some types without NULLs, as they are in its memory; None of other arrays."""
    plain = _PLAIN.get(kind.name)
    if plain is None or array.null_count or array.type != kind.arrow:
        return None
    if array.type != plain:
        array = array.view(plain)
    numbers: npt.NDArray[Any] = array.to_numpy()
    return numbers


def _decimal_words(array: pa.Array, kind: Kind) -> Words:
    if not len(array):
        return np.zeros((0, kind.width), dtype=np.int64)
    pairs = np.frombuffer(array.buffers()[1], dtype=np.int64).reshape(-1, 2)[array.offset : array.offset + len(array)]
    known = array.is_valid().to_numpy(zero_copy_only=False)
    return np.where(known[:, None], pairs[:, : kind.width], 0)


def column_array(words: Words, nulls: Flags | None, kind: Kind, interner: Interner) -> pa.Array:
    """The column whose words these are; ``nulls`` says where it is NULL, None if nowhere."""
    if (plain := _NUMPY.get(kind.name)) is not None:
        return _fixed(words[:, 0].astype(plain, order="C", copy=False), nulls, kind)
    if kind.interned:
        return interner.array(words[:, 0], kind.arrow)
    if kind.decimal:
        low = words[:, 0]
        high = words[:, 1] if kind.width == 2 else low >> 63
        return _fixed(np.stack([low, high], axis=1), nulls, kind)
    if kind.name == "void":
        return pa.nulls(len(words))
    if kind.name == "boolean":
        return _fixed(np.packbits(words[:, 0] != 0, bitorder="little"), nulls, kind, len(words))
    doubles = np.ascontiguousarray(words[:, 0]).view(np.float64)
    return _fixed(doubles.astype(np.float32) if kind.name == "float" else doubles, nulls, kind)


def _fixed(values: npt.NDArray[Any], nulls: Flags | None, kind: Kind, rows: int | None = None) -> pa.Array:
    """An array of values of a fixed width; what they are where there is NULL does not count."""
    known = None if nulls is None else pa.py_buffer(np.packbits(~nulls, bitorder="little"))
    plain = pa.py_buffer(np.ascontiguousarray(values))
    return pa.Array.from_buffers(kind.arrow, len(values) if rows is None else rows, [known, plain])


def plain_array(values: npt.NDArray[Any], kind: pa.DataType) -> pa.Array:
    """Numbers that lie side by side, as an array without NULLs."""
    return pa.Array.from_buffers(kind, len(values), [None, pa.py_buffer(values)])


def normalised(words: Words, kind: Kind) -> Words:
    """The words as keys compare them: −0.0 is 0.0."""
    if not kind.floating:
        return words
    return np.where(words == np.int64(-(2**63)), 0, words)


@dataclass(frozen=True)
class Layout:
    """Tuples of columns of some types: the words of each column, then the flags for NULL, a bit for each column.
    With ``flagged`` off there are none: no column is ever NULL."""

    kinds: tuple[Kind, ...]
    flagged: bool = True

    @cached_property
    def places(self) -> tuple[int, ...]:
        """Where the words of each column begin, and where the last one's end."""
        found = [0]
        for kind in self.kinds:
            found.append(found[-1] + kind.width)
        return tuple(found)

    def places_of(self, columns: Sequence[int]) -> list[int]:
        """Where the words of some columns are, without those for NULL."""
        return [at for column in columns for at in range(self.places[column], self.places[column + 1])]

    def identities(self, words: Words, columns: Sequence[int]) -> Words:
        """The words of some columns, and of each whether it is NULL: equal for equal values."""
        nulls = [self.nulls(words, column).astype(np.int64) for column in columns]
        found: Words = np.concatenate([words[:, self.places_of(columns)], *(each[:, None] for each in nulls)], axis=1)
        return found

    @cached_property
    def flags(self) -> int:
        """The number of words for NULLs."""
        return -(-len(self.kinds) // _FLAGS) if self.flagged else 0

    @cached_property
    def width(self) -> int:
        return self.places[-1] + self.flags

    def encode(self, columns: Sequence[pa.Array | pa.ChunkedArray], rows: int, interner: Interner) -> Words:
        """Rows as tuples of words."""
        found = np.zeros((rows, self.width), dtype=np.int64)
        for i, column in enumerate(columns):
            self.put(found, i, column, interner)
        return found

    def put(self, words: Words, column: int, values: pa.Array | pa.ChunkedArray, interner: Interner) -> None:
        """Writes one column into tuples that were zero."""
        array = values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
        self.words(words, column)[:] = column_words(array, self.kinds[column], interner)
        if self.flagged and array.null_count:
            self.set_null(words, column, array.is_null().to_numpy(zero_copy_only=False))

    def set_null(self, words: Words, column: int, nulls: Flags) -> None:
        """Sets the flags of a column that is NULL in some rows."""
        word, bit = self.null_place(column)
        words[:, word] |= nulls.astype(np.int64) << bit

    def null_place(self, column: int) -> tuple[int, int]:
        """The word that says where a column is NULL, and which bit of it."""
        return self.places[-1] + column // _FLAGS, column % _FLAGS

    def nulls(self, words: Words, column: int) -> Flags:
        """Where a column is NULL."""
        if not self.flagged:
            return np.zeros(len(words), dtype=np.bool_)
        word, bit = self.null_place(column)
        return (words[:, word] >> bit & 1).astype(np.bool_)

    def words(self, words: Words, column: int) -> Words:
        """The words of one column."""
        return words[:, self.places[column] : self.places[column + 1]]

    def array(self, words: Words, column: int, interner: Interner) -> pa.Array:
        """One column of the tuples."""
        return column_array(self.words(words, column), self.nulls(words, column), self.kinds[column], interner)

    def arrays(self, words: Words, interner: Interner) -> list[pa.Array]:
        """The columns of the tuples."""
        if any(np.count_nonzero(words[:, at]) for at in range(self.places[-1], self.width)):
            return [self.array(words, i, interner) for i in range(len(self.kinds))]
        return [
            column_array(words[:, at : at + kind.width], None, kind, interner)
            if plain is None
            else plain_array(words[:, at].astype(plain, order="C", copy=False), kind.arrow)
            for at, kind, plain in self._columns
        ]

    @cached_property
    def _columns(self) -> list[tuple[int, Kind, type | None]]:
        """Where each column begins, its type, and as which numbers it can be handed over."""
        return [(at, kind, _NUMPY.get(kind.name)) for at, kind in zip(self.places, self.kinds, strict=False)]
