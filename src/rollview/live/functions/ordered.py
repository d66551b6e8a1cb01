"""MIN and MAX: all values of a group in order, each with the number of its copies."""

from __future__ import annotations

import math
import struct
from bisect import bisect_left, insort
from dataclasses import dataclass, field
from typing import Any

from rollview.live.functions.function import Value
from rollview.live.functions.sums import number_of
from rollview.live.interning import Interner
from rollview.live.words import Kind


@dataclass
class Ordered:
    """Distinct values in order; of each, the number of copies and its words."""

    order: list[Any] = field(default_factory=list)
    copies: dict[Any, tuple[int, Value]] = field(default_factory=dict)


class Extreme:
    """The least or the greatest value. Strings are ordered by their bytes, NaN after all other numbers, as in Spark. Of
    the equal values −0.0 and 0.0 the first is less: otherwise it would depend on the past which of them is shown."""

    def __init__(self, of: Kind, interner: Interner, *, least: bool) -> None:
        self._of, self._interner, self._least = of, interner, least

    def empty(self) -> Ordered:
        return Ordered()

    def add(self, state: Ordered, value: Value, weight: int) -> Ordered:
        key = self._key(value)
        known = state.copies.get(key)
        copies = weight + (known[0] if known else 0)
        if known is None and copies:
            insort(state.order, key)
        if copies:
            state.copies[key] = copies, value
        elif known is not None:
            del state.copies[key]
            del state.order[bisect_left(state.order, key)]
        return state

    def add_sum(self, state: Ordered, number: int, total: int) -> Ordered:
        raise NotImplementedError("the least and greatest values are taken of completed paths")

    def result(self, state: Ordered) -> Value | None:
        if not state.order:
            return None
        return state.copies[state.order[0 if self._least else -1]][1]

    def interned(self, state: Ordered) -> list[int]:
        return [value[0] for _, value in state.copies.values()] if self._of.interned else []

    def _key(self, value: Value) -> Any:
        """By which values are compared."""
        if self._of.interned:
            return self._interner.value(value[0])
        if self._of.floating:
            (double,) = struct.unpack("<d", struct.pack("<q", value[0]))
            if double != double:
                return (True, 0.0, 1.0)
            return (False, double, math.copysign(1.0, double))
        return number_of(value)
