"""How the time of a refresh grows with its tables: TPC-H at one scale and at four times that scale, in one session.

Tables and changes both grow by a factor of four. In each turn every view is refreshed at both scales, one after the
other, and the first one alternates. Medians are taken over the turns after the warm-up. At the end the views are
compared with their queries.
"""

from __future__ import annotations

import shutil
import statistics
from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from rollview.bench.report import Report
from rollview.bench.tpch import queries
from rollview.bench.tpch_refresh import PART, load, make_data, replace_orders
from rollview.bench.turns import Way, bench_folder, check, measure
from rollview.session import Rollview, connect
from rollview.strategy.no_op import NO_OP

FACTOR = 4

#: Turns that warm up, and turns that are measured. There are many, because some times are a few tenths of a second.
WARM_UP, MEASURED = 5, 5


def run(scale: float = 1.0) -> Report:
    scales = (scale, FACTOR * scale)

    def change(shops: Sequence[Rollview], turn: int) -> None:
        for s, rv in zip(scales, shops, strict=True):
            replace_orders(rv, s, turn)

    with bench_folder("growth") as folder, ExitStack() as stack:
        shops = [stack.enter_context(_shop(folder, s)) for s in scales]
        pairs = [(Way(shops[0], name), Way(shops[1], name)) for name in queries()]
        changes = [partial(change, shops, turn) for turn in range(1, WARM_UP + MEASURED + 1)]
        found = measure(changes, pairs, alternating=True)
        check(way for pair in pairs for way in pair)
    rows, grown, total = [], [], [0.0, 0.0]
    for name, runs in zip(queries(), found, strict=True):
        small, large = (each.since(WARM_UP) for each in runs)
        a, b = small.last, large.last
        if b.result.strategy == NO_OP:  # its tables do not change
            continue
        ratio = large.seconds / small.seconds
        grown.append(ratio)
        total = [total[0] + small.seconds, total[1] + large.seconds]
        times = [round(small.seconds, 2), round(large.seconds, 2), round(ratio, 2)]
        rows.append([name, b.result.strategy, *times, a.jobs, b.jobs, a.rows_read, b.rows_read])
    rows.append(["geometric mean", "", "", "", round(statistics.geometric_mean(grown), 2), "", "", "", ""])
    rows.append(["all together", "", *(round(t, 2) for t in total), round(total[1] / total[0], 2), "", "", "", ""])
    columns = ["view", "strategy"]
    columns += [f"refresh s at {s:g}" for s in scales] + ["grown"]
    columns += [f"jobs at {s:g}" for s in scales] + [f"rows read at {s:g}" for s in scales]
    how = f"1 of {PART} orders of a range of keys replaced, embedded store"
    return Report(f"TPC-H at scales {scales[0]:g} and {scales[1]:g}, {how}", columns, rows)


def _shop(folder: Path, scale: float) -> Rollview:
    rv = connect(folder / f"warehouse{scale:g}")
    data = folder / f"data{scale:g}"
    make_data(data, scale)
    load(rv, data)
    shutil.rmtree(data)
    for name, sql in queries().items():
        rv.create(name, sql)
    return rv
