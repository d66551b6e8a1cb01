"""Values without a fixed width (strings, binaries, arrays, structs) as numbers: equal values have the same number."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Words = npt.NDArray[np.int64]


class Interner:
    """Numbers of values. Number 0 is free for NULL. ``sweep`` frees the numbers that are no longer used."""

    def __init__(self) -> None:
        self._numbers: dict[Any, int] = {}
        self._values: list[Any] = [None]
        self._free: list[int] = []
        self.bytes = 0

    def __len__(self) -> int:
        return len(self._numbers)

    def numbers(self, values: pa.Array) -> Words:
        """The numbers of the values of an array; 0 for NULL."""
        nested = pa.types.is_nested(values.type)
        if nested:
            return np.array([self._number(each, repr(each)) for each in values.to_pylist()], dtype=np.int64)
        coded = values.dictionary_encode()
        known = np.array([self._number(each, each) for each in coded.dictionary.to_pylist()], dtype=np.int64)
        known = np.append(known, 0).astype(np.int64)
        places = coded.indices.fill_null(len(known) - 1).to_numpy(zero_copy_only=False)
        found: Words = known[places]
        return found

    def number(self, value: Any) -> int | None:
        """The number of a string or binary; None if no row has had it."""
        return self._numbers.get(value)

    def values(self, numbers: Iterable[int]) -> list[Any]:
        """The values that have these numbers."""
        return [self._values[number] for number in numbers]

    def sweep(self, used: Iterable[int]) -> None:
        """Forgets all values but those with these numbers."""
        kept = set(used)
        for key, number in list(self._numbers.items()):
            if number not in kept:
                self.bytes -= _size(self._values[number])
                del self._numbers[key]
                self._values[number] = None
                self._free.append(number)

    def _number(self, value: Any, key: Any) -> int:
        if value is None:
            return 0
        found = self._numbers.get(key)
        if found is None:
            found = self._free.pop() if self._free else len(self._values)
            if found == len(self._values):
                self._values.append(value)
            self._values[found] = value
            self._numbers[key] = found
            self.bytes += _size(value)
        return found


def _size(value: Any) -> int:
    """About how many bytes a value takes, with its entries in the tables."""
    return 150 + (len(value) if isinstance(value, str | bytes) else len(repr(value)))
