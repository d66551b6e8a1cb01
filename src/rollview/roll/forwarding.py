"""Rolling propagation without data: how far each table is forwarded, and the query of each step.

For each place i of the join, f(i) is the position up to which its changes are forwarded. A step takes the changes
of one place after f(i), up to y, and joins them with every other place j as it stood at f(j). Then f(i) = y.

f(j) is seen in one of two ways. The sums are multiplied out by the join, and their weights multiply:

    history    R(g) + ΔR(g, f(j)]    over the versions at g = min f; time = the greatest of the changes
    presence   R(e) − ΔR(f(j), e]    over the tables as read at e ≥ y; time = the least of the changes

The rows of all steps with a time up to the mark, min f, are a timed delta of the view: those with a time in (a, b]
take it from a to b. Why: take a joined row whose tables changed at t(1) … t(n). A step adds the row at the greatest of
the times not yet forwarded before the step, and takes it away at the greatest of those not forwarded after it. This
telescopes: the row stays at its greatest time alone. It does not hold if one query mixes the two ways, or if the way
changes from step to step. Only where all of f are equal may the next step change it.

The paper compensates forward queries for the tables before them only, and keeps lists of queries for that (Figure 10).
From three tables on, this loses rows if a third table changes between two forward queries; see tests/roll.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import product
from math import prod

from rollview.errors import InternalError
from rollview.roll.queries import Changes, Part, Query, State, Time


@dataclass(frozen=True)
class Signed:
    """A part of a sum, added or taken away."""

    sign: int
    part: Part


@dataclass(frozen=True)
class ForwardQuery:
    """The query of one step with all its compensation: a sum of parts for each place. It is one SELECT over unions."""

    places: tuple[tuple[Signed, ...], ...]
    time: Time

    def expanded(self) -> list[Query]:
        """The propagation queries that this is the sum of."""
        return [
            Query(tuple(each.part for each in chosen), prod(each.sign for each in chosen))
            for chosen in product(*self.places)
        ]

    def __str__(self) -> str:
        return " ⋈ ".join(map(_sum, self.places))


def _sum(terms: Iterable[Signed]) -> str:
    first, *others = terms
    text = str(first.part) + "".join(f" {'+−'[each.sign < 0]} {each.part}" for each in others)
    return f"({text})" if others else text


@dataclass(frozen=True)
class Forwarded:
    """How far the changes of each place are forwarded. A table that stands in the join twice has two places."""

    tables: tuple[str, ...]
    at: tuple[int, ...]

    @classmethod
    def level(cls, tables: Iterable[str], at: int) -> Forwarded:
        """All places stand at one position, as a view does after a refresh."""
        names = tuple(tables)
        return cls(names, (at,) * len(names))

    @property
    def mark(self) -> int:
        """The high-water mark: the timed delta is complete up to this position."""
        return min(self.at)

    @property
    def is_level(self) -> bool:
        return len(set(self.at)) == 1

    def next_place(self) -> int:
        """The place that holds the mark back: the first of those that are forwarded least."""
        return self.at.index(self.mark)

    def advanced(self, place: int, upto: int) -> Forwarded:
        """After a step of this place. A place without changes up to there needs no query."""
        if upto <= self.at[place]:
            raise InternalError(f"{self.tables[place]} is forwarded to {self.at[place]} already, not to {upto}")
        return Forwarded(self.tables, (*self.at[:place], upto, *self.at[place + 1 :]))

    def by_history(self, place: int, upto: int) -> ForwardQuery:
        """The step of a place, over the versions of the other tables at the mark."""
        base = self.mark

        def stood(table: str, at: int) -> tuple[Signed, ...]:
            later = [Signed(1, Changes(table, base, at))] if at > base else []
            return (Signed(1, State(table, base)), *later)

        return self._query(
            place, upto, [stood(*each) for each in zip(self.tables, self.at, strict=True)], Time.GREATEST
        )

    def by_presence(self, place: int, upto: int, moments: Iterable[int]) -> ForwardQuery:
        """The step of a place, over the other tables as they were read: each place at a moment of its own, or all at
        the same one. The changes end no later than the oldest of them."""
        read = tuple(moments)
        oldest = min(read[:place] + read[place + 1 :], default=upto)
        if upto > oldest or any(moment < at for moment, at in zip(read, self.at, strict=True)):
            raise InternalError(f"tables read at {read} are too old for changes up to {upto} and tables at {self.at}")

        def stood(table: str, at: int, moment: int) -> tuple[Signed, ...]:
            later = [Signed(-1, Changes(table, at, moment))] if moment > at else []
            return (Signed(1, State(table, moment)), *later)

        seen = [stood(*each) for each in zip(self.tables, self.at, read, strict=True)]
        return self._query(place, upto, seen, Time.LEAST)

    def _query(self, place: int, upto: int, stood: list[tuple[Signed, ...]], time: Time) -> ForwardQuery:
        self.advanced(place, upto)  # checks the interval
        changes = (Signed(1, Changes(self.tables[place], self.at[place], upto)),)
        return ForwardQuery((*stood[:place], changes, *stood[place + 1 :]), time)
