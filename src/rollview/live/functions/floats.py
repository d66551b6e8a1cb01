"""SUM and AVG over floats, exactly: a double is a whole number of 2⁻¹⁰⁷⁴, so a sum of doubles is one, too.

Nothing is rounded before a result is asked for: values that are added and taken away again leave no trace. NaN and the
infinities are counted, and leave with the rows that had them.
"""

from __future__ import annotations

import math
import struct

from rollview.live.functions.function import Value
from rollview.live.functions.sums import bits

_UNIT = 1074

#: How many values there are, their sum in units, and how many of them are NaN, ∞ and −∞.
State = tuple[int, int, int, int, int]


class FloatSum:
    """The sum of doubles, rounded once."""

    def empty(self) -> State:
        return 0, 0, 0, 0, 0

    def add(self, state: State, value: Value, weight: int) -> State:
        number, total, nan, up, down = state
        (double,) = struct.unpack("<d", struct.pack("<q", value[0]))
        if math.isfinite(double):
            total += units(double) * weight
        elif math.isnan(double):
            nan += weight
        elif double > 0:
            up += weight
        else:
            down += weight
        return number + weight, total, nan, up, down

    def add_sum(self, state: State, number: int, total: int) -> State:
        raise NotImplementedError("sums of floats are taken of completed paths")

    def result(self, state: State) -> Value | None:
        return bits(total(state)) if state[0] else None

    def interned(self, state: State) -> list[int]:
        return []


class FloatMean(FloatSum):
    """The mean of doubles: their sum, rounded, by their number."""

    def result(self, state: State) -> Value | None:
        return bits(total(state) / state[0]) if state[0] else None


def total(state: State) -> float:
    """The sum as a double."""
    _, whole, nan, up, down = state
    if nan or (up and down):
        return math.nan
    if up or down:
        return math.inf if up else -math.inf
    try:
        return whole / (1 << _UNIT)
    except OverflowError:
        return math.inf if whole > 0 else -math.inf


def units(double: float) -> int:
    """A finite double in units of 2⁻¹⁰⁷⁴."""
    top, bottom = double.as_integer_ratio()  # bottom is a power of two
    return top << (_UNIT + 1 - bottom.bit_length())
