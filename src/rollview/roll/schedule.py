"""Which changes the next forward query takes in. Nothing is read here but the numbers of changed rows.

The table that is forwarded least goes next, so the mark moves on with each query. It takes in commits up to a number
of rows: a table with few changes is forwarded far by one query, a busy one needs many. So a table is ahead of the
others by one query at most; until they have followed, its changes are read again by each of theirs. A commit with more
rows is cut into parts. It goes when all other tables have come as far, so none of them reads its changes again. While
its parts are forwarded, no other table is, because each part must see the others at the same position.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

from rollview.roll.extent import Cut


@dataclass(frozen=True)
class Backlog:
    """The commits of one table, as positions and numbers of changed rows, and the position ``upto`` which they are
    known."""

    commits: Sequence[tuple[int, int]]
    upto: int

    @cached_property
    def _positions(self) -> list[int]:
        return [position for position, _ in self.commits]

    @cached_property
    def _sums(self) -> list[int]:
        return [0, *accumulate(rows for _, rows in self.commits)]

    def rows(self, after: int, upto: int) -> int:
        """The changed rows of the commits after one position, up to another one."""
        return self._until(max(upto, after)) - self._until(after)

    def _until(self, position: int) -> int:
        return self._sums[bisect_right(self._positions, position)]

    def after(self, position: int) -> list[int]:
        """The positions of the commits after a position."""
        return self._positions[bisect_right(self._positions, position) :]

    def free(self, position: int) -> int:
        """The position before the next commit: up to there, nothing has to be forwarded."""
        at = bisect_right(self._positions, position)
        return self._positions[at] - 1 if at < len(self._positions) else max(self.upto, position)


@dataclass(frozen=True)
class Interval:
    """The changes of a table after one position, up to another one: all of them, or those of a part of one commit."""

    table: str
    after: int
    upto: int
    cut: Cut | None = None


def freely(forwarded: Mapping[str, int], backlogs: Mapping[str, Backlog]) -> dict[str, int]:
    """How far the tables are forwarded if those intervals count in which nothing was changed."""
    return {table: backlogs[table].free(at) for table, at in forwarded.items()}


def next_interval(
    forwarded: Mapping[str, int], backlogs: Mapping[str, Backlog], most: Mapping[str, int]
) -> Interval | None:
    """What is forwarded next; None if there is nothing. ``forwarded`` counts intervals without changes (``freely``);
    ``most`` are the rows that a query of each table takes in."""
    waiting = {table: backlogs[table].after(at) for table, at in forwarded.items()}
    order = sorted((forwarded[table], table) for table, found in waiting.items() if found)
    if not order:
        return None
    at, table = order[0]
    bound, own, stops = max(most[table], 1), backlogs[table], waiting[table]
    fitting = bisect_right(stops, bound, key=lambda upto: own.rows(at, upto))
    upto = stops[max(fitting - 1, 0)]
    rows = own.rows(at, upto)
    if rows > bound:
        return Interval(table, at, upto, Cut(table, upto, bound, 0, -(-rows // bound)))
    return Interval(table, at, upto)
