"""What a join graph takes and gives: changed rows of one part, and completed paths, both as words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import pairwise
from typing import Protocol

import numpy as np
import numpy.typing as npt

from rollview.live.interning import Words
from rollview.live.shape import Shape


class LookAhead(str, Enum):
    """What is known of a join tuple before it is visited: nothing; whether it has neighbours on its other sides; or
    whether a path can be completed there."""

    NONE = "none"
    LOCAL = "local"
    GLOBAL = "global"


class Rows:
    """Changed rows of one part: the key at each of its vertices, the projected values, how many copies come or go, and
    for each sum of the part three words: the number of values that are not NULL, and the sum, low and high.

    ``all`` has all these words of each row side by side. ``begins`` says where in it each key begins, and then where
    the projected values, and where the number of copies is."""

    __slots__ = ("all", "begins")

    def __init__(self, all: Words, begins: tuple[int, ...]) -> None:
        self.all, self.begins = all, begins

    def __len__(self) -> int:
        return len(self.all)

    @property
    def keys(self) -> tuple[Words, ...]:
        *begins, _ = self.begins
        return tuple(self.all[:, a:b] for a, b in pairwise(begins))

    @property
    def fields(self) -> Words:
        return self.all[:, self.begins[-2] : self.begins[-1]]

    @property
    def counts(self) -> Words:
        return self.all[:, self.begins[-1]]

    @property
    def sums(self) -> Words:
        return self.all[:, self.begins[-1] + 1 :]

    def negated(self) -> Rows:
        """The change that undoes this one."""
        found, at = self.all.copy(), self.begins[-1]
        found[:, at] = -self.counts
        found[:, at + 1 :] = negated_sums(self.sums)
        return Rows(found, self.begins)


class Paths:
    """Completed paths: the projected values of all parts, in their order, the weight, and the sums of all parts, as
    ``Rows`` has them, already multiplied by the counts of the other parts.

    If the graph ``shows`` the view's rows, they stand in the place of the projected values."""

    __slots__ = ("fields", "sums", "weights")

    def __init__(self, fields: Words, weights: Words, sums: Words) -> None:
        self.fields, self.weights, self.sums = fields, weights, sums

    def __len__(self) -> int:
        return len(self.weights)


@dataclass(frozen=True)
class Size:
    """How much a graph holds."""

    vertex_values: int
    join_tuples: int
    projected_tuples: int
    bytes: int


class Graph(Protocol):
    """A join graph."""

    @property
    def shows(self) -> bool:
        """Whether what it gives are rows of the view instead of the parts' projected values."""

    @property
    def distinct(self) -> bool:
        """Whether all rows that the last change gave differ, those that are deleted first."""

    @property
    def visited(self) -> int:
        """How many join tuples traversals have visited."""

    def expect(self, rows: Mapping[int, int]) -> None:
        """Announces the number of rows of each part that are loaded next, so that room can be made at once."""

    def change(self, part: int, rows: Rows, *, push: bool = True) -> Iterator[Paths]:
        """Changes the rows of a part, and yields what this does to the completed paths, in pieces of bounded size.
        The change is made when all pieces are taken; without ``push`` there are none. Raises NoSuchRow, before anything
        is changed, if more copies of a row are taken away than there are."""

    def generate(self, part: int, vertex: int | None = None, keys: Sequence[tuple[int, ...]] = ()) -> Iterator[Paths]:
        """All completed paths, found from the join tuples of a part; or, if a vertex of the part is given, those that
        have one of these keys there."""

    def size(self) -> Size: ...

    def numbers(self) -> npt.NDArray[np.int64]:
        """The numbers of interned values that are in use."""


class GraphOf(Protocol):
    """Makes an empty graph; its pieces have up to about ``piece`` paths."""

    def __call__(self, shape: Shape, look_ahead: LookAhead, piece: int) -> Graph: ...


def negated_sums(sums: Words) -> Words:
    """The sums, each with the other sign: two's complement of 128 bits."""
    found: Words = sums.copy()
    found[:, 0::3] = -sums[:, 0::3]
    found[:, 1::3] = -sums[:, 1::3]
    found[:, 2::3] = ~sums[:, 2::3] + (sums[:, 1::3] == 0)
    return found


def joined(low: int, high: int) -> int:
    """A number of 128 bits from its words."""
    return (high << 64) | (low & 0xFFFFFFFFFFFFFFFF)


def split(number: int) -> tuple[int, int]:
    """The low and high word of a number of 128 bits."""
    low = number & 0xFFFFFFFFFFFFFFFF
    return (low - (1 << 64) if low >= 1 << 63 else low), number >> 64
