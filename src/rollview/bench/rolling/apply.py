"""Applying what was propagated, as against a refresh over the same commits. Both go the way several times, forward and
back."""

from __future__ import annotations

import statistics
from collections.abc import Iterator

from rollview.bench.drawing import Chart
from rollview.bench.report import Figure
from rollview.bench.rolling.room import Room, reads
from rollview.bench.rolling.shop import ROWS, VIEWS, Shop
from rollview.bench.turns import Way, check

#: How often the way is gone. The first time warms up.
TIMES = 4

#: The part of a refresh's seconds that applying takes at most: less for few sums than for many rows, which both write.
MOST = {"joined": 2 / 3, "sums": 1 / 3}


def run(room: Room) -> Iterator[Figure]:
    bars: dict[str, float] = {}
    read = 0
    with room.opened("apply") as rv:
        shop = Shop(rv, room.scale)
        shop.load()
        for name, sql in VIEWS.items():
            rv.create(name, sql, policy="INCREMENTAL")
            rv.create(f"{name}_at_once", sql, policy="INCREMENTAL")
            rv.propagate(name)
        start = rv.position()
        for _ in shop.commits(shop.backlog, large=False):
            pass
        assert start is not None
        for name in VIEWS:
            rv.propagate(name)
            applied, refreshed = [], []
            for _ in range(TIMES):
                with reads(rv.store) as found:
                    applied.append(rv.apply(name).seconds)
                    rv.apply(name, as_of=start)
                read += sum(found[table] for table in ROWS)
                refreshed.append(rv.refresh(f"{name}_at_once").seconds)
                rv.refresh(f"{name}_at_once", as_of=start)
            one, other = statistics.median(applied[1:]), statistics.median(refreshed[1:])
            bars |= {f"{name}, applied": one, f"{name}, refreshed": other}
            yield Figure(f"{name}: the apply, as against a refresh of {other:.1f} s", one / other, most=MOST[name])
        yield Figure("reads of base tables by the apply", read, most=0)
        check(Way(rv, view) for name in VIEWS for view in (name, f"{name}_at_once"))
    room.charts.append(Chart(f"{shop.backlog} commits applied, and refreshed over", "seconds", bars=bars))
