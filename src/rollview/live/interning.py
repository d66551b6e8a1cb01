"""Values without a fixed width (strings, binaries, arrays, structs) as numbers: equal values have the same number.

Strings and binaries have even numbers, which are given to their bytes; arrays and structs have odd ones.
"""

from __future__ import annotations

import builtins
from collections.abc import Iterable
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from rollview.live.kernel.build import available, kernel

Words = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]


class Texts(Protocol):
    """Numbers of bytes, from 1 on; 0 is NULL."""

    @property
    def bytes(self) -> int: ...

    def __len__(self) -> int: ...

    def numbers(self, values: pa.Array) -> Words: ...

    def array(self, numbers: Words, kind: pa.DataType) -> pa.Array: ...

    def sweep(self, used: Words) -> None:
        """Frees all numbers but these."""


class Interner:
    """Numbers of values. Number 0 is free for NULL. ``sweep`` frees the numbers that are no longer used."""

    def __init__(self, texts: Texts | None = None) -> None:
        self._texts: Texts = texts or (CompiledTexts() if available() else PlainTexts())
        self._nested = PlainValues()

    def __len__(self) -> int:
        return len(self._texts) + len(self._nested)

    @property
    def bytes(self) -> int:
        return self._texts.bytes + self._nested.bytes

    def numbers(self, values: pa.Array) -> Words:
        """The numbers of the values of an array; 0 for NULL."""
        if pa.types.is_nested(values.type):
            found = np.array([self._nested.number(each, repr(each)) for each in values.to_pylist()], dtype=np.int64)
            odd: Words = 2 * found + (found != 0)
            return odd
        return 2 * self._texts.numbers(values)

    def array(self, numbers: Words, kind: pa.DataType) -> pa.Array:
        """The values that have these numbers, as an array of a type."""
        if pa.types.is_nested(kind):
            return pa.array([self._nested.values[number] for number in (numbers >> 1).tolist()], type=kind)
        return self._texts.array(numbers >> 1, kind)

    def value(self, number: int) -> builtins.bytes:
        """The bytes of a string or binary."""
        found: builtins.bytes = self._texts.array(np.array([number >> 1], dtype=np.int64), pa.binary())[0].as_py()
        return found

    def sweep(self, used: Iterable[int]) -> None:
        """Forgets all values but those with these numbers."""
        numbers = np.array(sorted(used), dtype=np.int64)
        odd = (numbers & 1).astype(bool)
        self._texts.sweep(numbers[~odd] >> 1)
        self._nested.sweep(numbers[odd] >> 1)


class PlainValues:
    """Numbers of Python's objects, by keys that are equal for equal values."""

    def __init__(self) -> None:
        self.values: list[Any] = [None]
        self.bytes = 0
        self._numbers: dict[Any, int] = {}
        self._free: list[int] = []

    def __len__(self) -> int:
        return len(self._numbers)

    def number(self, value: Any, key: Any) -> int:
        if value is None:
            return 0
        found = self._numbers.get(key)
        if found is None:
            found = self._free.pop() if self._free else len(self.values)
            if found == len(self.values):
                self.values.append(value)
            self.values[found] = value
            self._numbers[key] = found
            self.bytes += _size(value)
        return found

    def sweep(self, used: Words) -> None:
        kept = set(used.tolist())
        for key, number in list(self._numbers.items()):
            if number not in kept:
                self.bytes -= _size(self.values[number])
                del self._numbers[key]
                self.values[number] = None
                self._free.append(number)


class PlainTexts(PlainValues):
    """Implements ``Texts`` in plain Python."""

    def numbers(self, values: pa.Array) -> Words:
        coded = values.cast(pa.binary()).dictionary_encode()
        known = np.array([self.number(each, each) for each in coded.dictionary.to_pylist()], dtype=np.int64)
        known = np.append(known, 0).astype(np.int64)
        found: Words = known[coded.indices.fill_null(len(known) - 1).to_numpy(zero_copy_only=False)]
        return found

    def array(self, numbers: Words, kind: pa.DataType) -> pa.Array:
        return pa.array([self.values[number] for number in numbers.tolist()], type=pa.binary()).cast(kind)


class CompiledTexts:
    """Implements ``Texts`` over Arrow's buffers: no object is made of a value."""

    def __init__(self) -> None:
        self._meta = np.array([0, 1, 0, 0], dtype=np.int64)
        self._text = np.empty(1024, dtype=np.uint8)
        self._spans = np.zeros(64, dtype=np.int64)
        self._table = np.zeros(64, dtype=np.int64)

    def __len__(self) -> int:
        return int(self._meta[3])

    @property
    def bytes(self) -> int:
        """The memory that is in use: what was only reserved does not count."""
        return int(self._meta[0]) + 16 * int(self._meta[1]) + 8 * len(self._table)

    def numbers(self, values: pa.Array) -> Words:
        found = np.empty(len(values), dtype=np.int64)
        _, ends, data = values.buffers()
        offsets = np.frombuffer(ends, dtype=np.int32)[values.offset : values.offset + len(values) + 1] if ends else _NO
        known = _NONE if not values.null_count else values.is_valid().to_numpy(zero_copy_only=False).view(np.uint8)
        text = _NONE if data is None or not data.size else np.frombuffer(data, dtype=np.uint8)
        own = (self._meta, self._text, self._spans, self._table)
        self._text, self._spans, self._table = kernel().interned(*own, text, offsets, known, found)
        return found

    def array(self, numbers: Words, kind: pa.DataType) -> pa.Array:
        numbers = np.ascontiguousarray(numbers)
        offsets = np.empty(len(numbers) + 1, dtype=np.int32)
        data = kernel().gathered(self._text, self._spans, numbers, offsets)
        known = None
        if np.count_nonzero(numbers) < len(numbers):
            known = pa.py_buffer(np.packbits(numbers != 0, bitorder="little"))
        return pa.Array.from_buffers(kind, len(numbers), [known, pa.py_buffer(offsets), pa.py_buffer(data)])

    def sweep(self, used: Words) -> None:
        kept = np.zeros(int(self._meta[1]) + 1, dtype=np.uint8)
        kept[used] = 1
        own = (self._meta, self._text, self._spans, kept, len(self._table))
        self._text, self._table = kernel().swept(*own)


#: An array of no bytes, and the offsets of no values; they cannot be written to, like those of Arrow.
_NONE = np.frombuffer(b"", dtype=np.uint8)
_NO = np.frombuffer(bytes(4), dtype=np.int32)


def _size(value: Any) -> int:
    """About how many bytes a value takes, with its entries in the tables."""
    return 150 + (len(value) if isinstance(value, bytes) else len(repr(value)))
