"""Whether numbering new commits takes longer the more commits there are: 100 after 100, and 100 after 10,000."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator

import pyarrow as pa

from rollview.bench.report import Figure
from rollview.bench.rolling.room import Room
from rollview.session import Rollview
from rollview.store.edits import Append

NEW, MANY = 100, 10_000

#: So often 100 commits are numbered, at each of both places. The median counts.
TIMES = 5

ROW = pa.table({"id": pa.array([1], pa.int64())})


def run(room: Room) -> Iterator[Figure]:
    new = min(NEW, max(5, round(10 * NEW * room.scale)))
    many = max(4 * new, round(MANY * room.scale))
    with room.opened("numbering") as rv:
        rv.store.create("commits", ROW.slice(0, 0))
        early = _median(rv, new, after=new)
        late = _median(rv, new, after=many)
    yield Figure(f"numbering {new} commits after {many:,}, as against after {new}: seconds", late / early, most=1.5)


def _median(rv: Rollview, new: int, after: int) -> float:
    """The seconds in which new commits are numbered, after ``many`` others."""
    _commit(rv, after - (rv.position() or 0))
    times = []
    for _ in range(TIMES):
        _commit(rv, new)
        start = time.perf_counter()
        rv.position()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def _commit(rv: Rollview, count: int) -> None:
    for _ in range(count):
        rv.store.commit("commits", [Append(ROW)])
