"""The right form, ``rollview.roll.forwarding``, on every schedule; and ways to get it wrong, each of them a trap."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import product

from paper.cover import Counts, added, counts
from rollview.roll.forwarding import Forwarded, ForwardQuery, Signed
from rollview.roll.queries import Changes, State, Time

#: A step: what is forwarded so far, the place, up to where, and the position at which each place is read.
Step = Callable[[Forwarded, int, int, tuple[int, ...]], ForwardQuery]
#: What a place other than the forwarded one is joined as: its table, f there, the mark, the position where it is read.
Seen = Callable[[str, int, int, int], list[Signed]]


def by_history(forwarded: Forwarded, place: int, upto: int, moments: tuple[int, ...]) -> ForwardQuery:
    return forwarded.by_history(place, upto)


def by_presence(forwarded: Forwarded, place: int, upto: int, moments: tuple[int, ...]) -> ForwardQuery:
    return forwarded.by_presence(place, upto, moments)


def step_of(time: Time, seen: Callable[[int, int], Seen]) -> Step:
    """A step in which ``seen`` says what place j is joined as if place i is forwarded."""

    def step(forwarded: Forwarded, place: int, upto: int, moments: tuple[int, ...]) -> ForwardQuery:
        def joined(j: int) -> tuple[Signed, ...]:
            if j == place:
                return (Signed(1, Changes(forwarded.tables[j], forwarded.at[j], upto)),)
            return tuple(seen(place, j)(forwarded.tables[j], forwarded.at[j], forwarded.mark, moments[j]))

        return ForwardQuery(tuple(map(joined, range(len(forwarded.tables)))), time)

    return step


def history(table: str, at: int, mark: int, executed: int) -> list[Signed]:
    return [Signed(1, State(table, mark)), *([Signed(1, Changes(table, mark, at))] if at > mark else [])]


def presence(table: str, at: int, mark: int, executed: int) -> list[Signed]:
    back = [Signed(-1, Changes(table, at, executed))] if executed > at else []
    on = [Signed(1, Changes(table, executed, at))] if executed < at else []
    return [Signed(1, State(table, executed)), *back, *on]


def uncompensated(table: str, at: int, mark: int, executed: int) -> list[Signed]:
    return [Signed(1, State(table, executed))]


def old_version(table: str, at: int, mark: int, executed: int) -> list[Signed]:
    return [Signed(1, State(table, at))]


#: Presence that does not ask whether the changes end after a read.
LATE = step_of(Time.LEAST, lambda i, j: presence)

#: Each correction of the right form, switched off.
TRAPS: dict[str, Step] = {
    "history with the least time": step_of(Time.LEAST, lambda i, j: history),
    "presence with the greatest time": step_of(Time.GREATEST, lambda i, j: presence),
    "presence without compensation": step_of(Time.LEAST, lambda i, j: uncompensated),
    "only the places before are compensated": step_of(Time.LEAST, lambda i, j: presence if j < i else uncompensated),
    "old versions where f is, with the least time: Equation 2": step_of(Time.LEAST, lambda i, j: old_version),
    "old versions where f is, with the greatest time": step_of(Time.GREATEST, lambda i, j: old_version),
    "both ways in one query, the least time": step_of(Time.LEAST, lambda i, j: history if j % 2 else presence),
    "both ways in one query, the greatest time": step_of(Time.GREATEST, lambda i, j: history if j % 2 else presence),
    "the ways change from step to step": lambda forwarded, place, upto, moments: (by_presence if place else by_history)(
        forwarded, place, upto, moments
    ),
}


def every_schedule(
    tables: int, last: int, step: Step, *, apart: bool = False, late: bool = False
) -> Iterator[tuple[Forwarded, Counts]]:
    """What is counted after every step of every schedule: any place next, up to anywhere, read at any position that is
    not before those of the previous step. If ``apart``, each place is read at a position of its own, and the changes
    end at the oldest of them, or later if ``late``.

    Two schedules that forwarded, read and counted the same go on alike, so one of them is followed."""
    reached: list[tuple[Forwarded, int, Counts]] = [(Forwarded.level(names(tables), 0), 1, Counter())]
    known: set[object] = set()
    while reached:
        forwarded, present, found = reached.pop()
        yield forwarded, found
        for place, at in enumerate(forwarded.at):
            for moments in _moments(tables, present, last, apart):
                for upto in range(at + 1, (max if late else min)(moments) + 1):
                    query = step(forwarded, place, upto, moments)
                    both = added(found, counts(query.expanded(), last, query.time))
                    after = forwarded.advanced(place, upto)
                    if (key := (after, max(moments), frozenset(both.items()))) not in known:
                        known.add(key)
                        reached.append((after, max(moments), both))


def names(tables: int) -> tuple[str, ...]:
    return tuple(f"R{i + 1}" for i in range(tables))


def _moments(tables: int, present: int, last: int, apart: bool) -> Iterable[tuple[int, ...]]:
    if apart:
        return product(range(present, last + 1), repeat=tables)
    return ((moment,) * tables for moment in range(present, last + 1))
