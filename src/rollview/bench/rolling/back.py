"""What going back costs: a view goes a way forward and the same way back, in turns."""

from __future__ import annotations

import statistics
from collections.abc import Iterator

from rollview.bench.drawing import Chart
from rollview.bench.report import Figure
from rollview.bench.rolling.room import Room
from rollview.bench.rolling.shop import VIEWS, Shop
from rollview.bench.turns import Way, check

#: The commits between the two ends, and how often the way is gone in each direction. The first time warms up.
COMMITS, TIMES = 20, 4


def run(room: Room) -> Iterator[Figure]:
    bars: dict[str, float] = {}
    with room.opened("back") as rv:
        shop = Shop(rv, room.scale)
        shop.load()
        shop.create_views()
        start = rv.position()
        for _ in shop.commits(COMMITS, large=False):
            pass
        end = rv.position()
        assert start is not None
        assert end is not None
        for view in VIEWS:
            there = [(rv.refresh(view, as_of=end).seconds, rv.refresh(view, as_of=start).seconds) for _ in range(TIMES)]
            forward, back = (statistics.median(each) for each in zip(*there[1:], strict=True))
            bars |= {f"{view}, forward": forward, f"{view}, back": back}
            yield Figure(f"refreshing {view} back, as against the same way forward: seconds", back / forward, most=1.3)
        check(Way(rv, view) for view in VIEWS)
    room.charts.append(Chart(f"A refresh over {COMMITS} commits, forward and back", "seconds", bars=bars))
