"""COUNT, SUM and AVG over integers and decimals: exact numbers, which cannot drift."""

from __future__ import annotations

import struct

from rollview.errors import SqlError
from rollview.live.functions.function import Value
from rollview.live.graph.protocol import joined, split
from rollview.live.words import Kind

#: How many values there are, and their sum.
State = tuple[int, int]

#: Spark divides decimals to this scale, and then rounds to the scale of the result.
_SCALE = 38


class Overflow(SqlError):
    """A sum does not fit its type: under ANSI the query fails."""


class Count:
    """The number of values."""

    def empty(self) -> int:
        return 0

    def add(self, state: int, value: Value, weight: int) -> int:
        return state + weight

    def add_sum(self, state: int, number: int, total: int) -> int:
        return state + number

    def result(self, state: int) -> Value | None:
        return (state,)

    def interned(self, state: int) -> list[int]:
        return []


class Sum:
    """The sum of integers, or of the unscaled numbers of decimals."""

    def __init__(self, of: Kind, kind: Kind) -> None:
        self.of, self.kind = of, kind

    def empty(self) -> State:
        return 0, 0

    def add(self, state: State, value: Value, weight: int) -> State:
        return state[0] + weight, state[1] + number_of(value) * weight

    def add_sum(self, state: State, number: int, total: int) -> State:
        return state[0] + number, state[1] + total

    def result(self, state: State) -> Value | None:
        return words_of(state[1], self.kind) if state[0] else None

    def interned(self, state: State) -> list[int]:
        return []


class Mean(Sum):
    """The mean: of integers a double, of decimals a decimal, rounded as Spark does."""

    def result(self, state: State) -> Value | None:
        number, total = state
        if not number:
            return None
        if not self.kind.decimal:
            return bits(total / number if abs(total) < 2**53 else float(total) / number)
        precision, scale = self.of.arrow.precision, self.of.arrow.scale
        check(total, min(precision + 10, 38), "avg")
        fine = rounded(total * 10 ** (_SCALE - scale), number)
        return words_of(rounded(fine, 10 ** (_SCALE - self.kind.arrow.scale)), self.kind)


def rounded(number: int, divisor: int) -> int:
    """The quotient, half up: away from zero if it is in the middle."""
    whole, rest = divmod(abs(number), divisor)
    whole += 2 * rest >= divisor
    return whole if number >= 0 else -whole


def number_of(value: Value) -> int:
    """The number that one or two words are."""
    return value[0] if len(value) == 1 else joined(value[0], value[1])


def words_of(number: int, kind: Kind) -> Value:
    """The words of a result. Raises Overflow if it does not fit the type."""
    if not kind.decimal:
        if not -(2**63) <= number < 2**63:
            raise _overflow(number, kind.name)
        return (number,)
    check(number, kind.arrow.precision, "sum")
    return (number,) if kind.width == 1 else split(number)


def check(number: int, digits: int, function: str) -> None:
    """Raises Overflow if a number has more digits."""
    if abs(number) >= 10**digits:
        raise _overflow(number, f"the {digits} digits of {function}")


def _overflow(number: int, kind: str) -> Overflow:
    return Overflow(
        f"A sum overflows: {number} does not fit {kind}",
        why="the query fails, too, over these rows",
        todo="take the change back, or define the view with a sum over a CAST to a larger type",
    )


def bits(number: float) -> Value:
    """The word of a double."""
    return struct.unpack("<q", struct.pack("<d", number))
