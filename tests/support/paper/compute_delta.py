"""Figure 4, ComputeDelta, and Figure 5, Propagate.

``execute`` returns the position at which a query is executed. What is yielded has been executed there; before the next
query, the tables may change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from rollview.roll.queries import Changes, Part, Query, State

Execute = Callable[[], int]


@dataclass(frozen=True)
class Unexecuted:
    """A query that is not executed yet: its tables are as they will be found then, and so have a name only."""

    parts: tuple[str | Changes, ...]
    sign: int = 1

    def __neg__(self) -> Unexecuted:
        return Unexecuted(self.parts, -self.sign)

    def changed(self, place: int, after: int, upto: int) -> Unexecuted:
        """With the changes of the table at a place instead of the table."""
        table = self.parts[place]
        assert isinstance(table, str)
        return Unexecuted((*self.parts[:place], Changes(table, after, upto), *self.parts[place + 1 :]), self.sign)

    @property
    def has_tables(self) -> bool:
        return any(isinstance(part, str) for part in self.parts)

    def executed(self, at: int) -> Query:
        parts: list[Part] = [State(part, at) if isinstance(part, str) else part for part in self.parts]
        return Query(tuple(parts), self.sign)


def compute_delta(query: Unexecuted, old: Sequence[int], new: int, execute: Execute) -> Iterator[Query]:
    """The delta of a query from the vector ``old`` to the position ``new``."""
    for i, part in enumerate(query.parts):
        if isinstance(part, str) and old[i] < new:
            forward = query.changed(i, old[i], new)
            at = execute()
            yield forward.executed(at)
            if forward.has_tables:
                # Equation 2 wants the tables before i as they were at old, and those after it as they were at new.
                intended = [*old[:i], *[new] * (len(old) - i)]
                yield from compute_delta(-forward, intended, at, execute)


def propagate(tables: Sequence[str], initial: int, ends: Sequence[int], execute: Execute) -> Iterator[list[Query]]:
    """One interval after the other, each of them as the queries of ComputeDelta."""
    current = initial
    for end in ends:
        yield list(compute_delta(Unexecuted(tuple(tables)), [current] * len(tables), end, execute))
        current = end
