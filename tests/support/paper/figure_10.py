"""Figure 10, RollingPropagate: each table has intervals of its own, and compensation waits.

As printed it gets nowhere. With all corrections it is right for two tables, and wrong from three on.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from paper.compute_delta import Execute, Unexecuted, compute_delta
from rollview.roll.queries import Query


@dataclass(frozen=True)
class Corrections:
    """What the figure needs to be right for two tables."""

    #: t_fwd[1] is advanced after a forward query of the first table. Printed, that happens inside of "if i > 1".
    advanced: bool = True
    #: What is compensated for is taken away, not added.
    negated: bool = True
    #: CompTime is t_fwd[j] if no query is listed. Printed, it has no value then; here it is the time of execution.
    unlisted: bool = True


AS_PRINTED = Corrections(advanced=False, negated=False, unlisted=False)


@dataclass(frozen=True)
class Listed:
    """A forward query that is not fully compensated for."""

    after: int
    upto: int
    executed: int


class RollingPropagate:
    def __init__(self, tables: Sequence[str], initial: int, corrections: Corrections = Corrections()) -> None:
        self.tables, self.corrections = tuple(tables), corrections
        self.t_fwd = [initial] * len(tables)
        self.t_comp = [initial] * len(tables)
        self.lists: list[list[Listed]] = [[] for _ in tables]

    @property
    def mark(self) -> int:
        return min(self.t_comp)

    def next_place(self) -> int:
        return self.t_fwd.index(min(self.t_fwd))

    def iterate(self, place: int, upto: int, execute: Execute) -> Iterator[Query]:
        """One iteration of the loop, for one of the places with the smallest t_fwd."""
        assert self.t_fwd[place] == min(self.t_fwd) < upto
        self.prune(self.t_fwd[place])
        view = Unexecuted(self.tables)
        after = self.t_fwd[place]
        forward = view.changed(place, after, upto)
        executed = execute()
        yield forward.executed(executed)
        if place < len(self.tables) - 1:
            self.lists[place].append(Listed(after, upto, executed))
        if place > 0:
            while after < upto:
                until = min(upto, self._comp_interval(place, after))
                back = [self._comp_time(j, after, executed) for j in range(place)]
                old = back + [executed] * (len(self.tables) - place)
                part = view.changed(place, after, until)
                yield from compute_delta(-part if self.corrections.negated else part, old, executed, execute)
                after = self.t_fwd[place] = until
        elif self.corrections.advanced:
            self.t_fwd[place] = upto

    def _comp_interval(self, place: int, after: int) -> int:
        """Up to where the region to compensate for is a rectangle. Printed, this is a length."""
        found = [each.executed for listed in self.lists[:place] for each in listed if each.executed > after]
        return min(found, default=10**9)

    def _comp_time(self, place: int, after: int, executed: int) -> int:
        found = [each for each in self.lists[place] if each.executed > after]
        if found:
            return min(found, key=lambda each: each.executed).after
        return self.t_fwd[place] if self.corrections.unlisted else executed

    def prune(self, upto: int) -> None:
        for place, listed in enumerate(self.lists):
            listed[:] = [each for each in listed if each.executed > upto]
            oldest = min(listed, key=lambda each: each.executed, default=None)
            self.t_comp[place] = oldest.after if oldest else self.t_fwd[place]
