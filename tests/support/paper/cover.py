"""Which points of the time space queries count, how often, and at which time.

A joined row is a point: for each table the time at which its row came, 0 for a row that was there from the start. A
query counts the points that its parts hold. So that is all there is to know about queries, and it needs no data.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from functools import cache
from itertools import product

from rollview.roll.queries import Query, State, Time

Point = tuple[int, ...]
#: How often each point is counted at each time; what adds up to nothing is left out.
Counts = Counter[tuple[Point, int]]


@cache
def covered(query: Query, last: int, time: Time) -> tuple[tuple[Point, int], ...]:
    """The points with coordinates up to ``last`` that a query counts, each with the time that it takes there."""
    spans = [range(p.at + 1) if isinstance(p, State) else range(p.after + 1, p.upto + 1) for p in query.parts]
    timed = [i for i, part in enumerate(query.parts) if not isinstance(part, State)]
    pick = min if time is Time.LEAST else max
    inside = product(*([t for t in span if t <= last] for span in spans))
    return tuple((point, pick(point[i] for i in timed)) for point in inside)


def counts(queries: Iterable[Query], last: int, time: Time = Time.LEAST) -> Counts:
    found: Counts = Counter()
    for query in queries:
        for point_and_time in covered(query, last, time):
            found[point_and_time] += query.sign
    return added(found)


def added(*each: Counts) -> Counts:
    total: Counts = Counter()
    for found in each:
        total.update(found)
    return Counter({key: count for key, count in total.items() if count})


def wrong(found: Counts, tables: int, mark: int, last: int) -> dict[Point, dict[int, int]]:
    """The points that break the law: up to the mark, each is counted once, at its greatest coordinate, and what was
    there from the start is not counted. Of the points above, nothing is left at or below the mark."""
    at: dict[Point, dict[int, int]] = {point: {} for point in product(range(last + 1), repeat=tables)}
    for (point, time), count in found.items():
        if time <= mark:
            at[point][time] = count
    return {point: times for point, times in at.items() if times != ({max(point): 1} if 0 < max(point) <= mark else {})}


def drawn(queries: Iterable[Query], last: int) -> str:
    """How often each point of two tables is counted. R1 goes up and R2 to the right, as in the figures."""
    found: Counter[Point] = Counter()
    for query in queries:
        for point, _ in covered(query, last, Time.LEAST):
            found[point] += query.sign
    return "\n".join(
        "".join(".123456789"[n] if (n := found[t1, t2]) >= 0 else "abc"[-n - 1] for t2 in range(last + 1))
        for t1 in reversed(range(last + 1))
    )
