"""Reading a view as it was a hundred commits back: from its delta, as against its query over the tables there."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any

from rollview.bench.drawing import Chart
from rollview.bench.report import Figure
from rollview.bench.rolling.room import Room, reads
from rollview.bench.rolling.shop import ROWS, VIEWS, Shop
from rollview.session import Rollview

#: How far back, the commits before that, and how often it is read. The first time warms up.
BACK, BEFORE, TIMES = 100, 10, 4


def run(room: Room) -> Iterator[Figure]:
    bars: dict[str, float] = {}
    read = 0
    with room.opened("read") as rv:
        shop = Shop(rv, room.scale)
        shop.load()
        shop.create_views()
        for view in VIEWS:
            rv.propagate(view)
        for _ in shop.commits(BEFORE + BACK, large=False):
            pass
        for view in VIEWS:
            then = rv.propagate(view).newest - BACK
            rv.apply(view)
            with reads(rv.store) as found:
                delta = _seconds(lambda view=view, then=then: rv.table(view, as_of=then))  # type: ignore[misc]
            read += sum(found[table] for table in ROWS)
            query = _seconds(lambda view=view, then=then: _queried(rv, view, then))  # type: ignore[misc]
            bars |= {f"{view}, delta": delta, f"{view}, query": query}
            yield Figure(f"{view} {BACK} commits back by its query, as against its delta", query / delta, least=5)
        yield Figure("reads of base tables for that", read, most=0)
    room.charts.append(Chart(f"Reading a view {BACK} commits back", "seconds", bars=bars))


def _queried(rv: Rollview, name: str, position: int) -> Any:
    """The query over the tables as they were at a position."""
    view, vector = rv.catalog.get(name), rv.catalog.clock.vector(position)
    frames = {each: rv.store.read(table, vector[table].version) for each, table in view.sources.items()}
    return rv.engine.output(rv.engine.query(view.query.text, frames))


def _seconds(rows: Callable[[], Any]) -> float:
    """The seconds until all rows are here."""
    times = []
    for _ in range(TIMES):
        start = time.perf_counter()
        found = rows()
        found.toArrow() if hasattr(found, "toArrow") else found.to_arrow_table()
        times.append(time.perf_counter() - start)
    return statistics.median(times[1:])
