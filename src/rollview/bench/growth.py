"""How a refresh grows with its tables: TPC-H at one scale and at four times it, side by side in one session.

Everything is four times as much, the changed rows too. In each turn every view is refreshed at both scales, one after
the other, and which comes first alternates; after the turns that warm up, medians are taken. At the end the views are
compared with their queries.
"""

from __future__ import annotations

import shutil
import statistics
import tempfile
from pathlib import Path

from rollview.bench.counting import Counting, Rows
from rollview.bench.report import Report
from rollview.bench.tpch import queries
from rollview.bench.tpch_refresh import PART, load, make_data, replace_orders
from rollview.errors import InternalError
from rollview.session import Rollview, connect
from rollview.strategy.no_op import NO_OP
from rollview.views.results import RefreshResult

FACTOR = 4

#: Turns that warm up, and turns that are measured: what is compared is down to a few tenths of a second.
WARM_UP, MEASURED = 5, 5


def run(scale: float = 1.0) -> Report:
    scales = (scale, FACTOR * scale)
    folder = Path(tempfile.mkdtemp(prefix="rollview-growth-"))
    turns = WARM_UP + MEASURED
    seen: dict[tuple[float, str], list[RefreshResult]] = {(s, name): [] for s in scales for name in queries()}
    try:
        counting = Counting(folder / "log")
        shops = {s: _shop(counting, folder, s) for s in scales}
        for turn in range(1, turns + 1):
            for s, rv in shops.items():
                replace_orders(rv, s, turn)
            for name in queries():
                for s in scales if turn % 2 else reversed(scales):
                    with counting.label(f"{name} {s} {turn}"):
                        seen[s, name].append(shops[s].refresh(name))
        for s, rv in shops.items():
            for name in queries():
                if not rv.verify(name).ok:
                    raise InternalError(f"{name} differs from its query at scale {s:g}")
        counted = counting.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    rows, grown, total = [], [], [0.0, 0.0]
    for name in queries():
        last = seen[scales[1], name][-1]
        if last.strategy == NO_OP:  # its tables do not change
            continue
        small, large = (statistics.median(r.seconds for r in seen[s, name][WARM_UP:]) for s in scales)
        a, b = (counted.get(f"{name} {s} {turns}", Rows()) for s in scales)
        grown.append(large / small)
        total = [total[0] + small, total[1] + large]
        ratio = round(large / small, 2)
        rows.append([name, last.strategy, round(small, 2), round(large, 2), ratio, a.jobs, b.jobs, a.read, b.read])
    rows.append(["geometric mean", "", "", "", round(statistics.geometric_mean(grown), 2), "", "", "", ""])
    rows.append(["all together", "", *(round(t, 2) for t in total), round(total[1] / total[0], 2), "", "", "", ""])
    columns = ["view", "strategy"]
    columns += [f"refresh s at {s:g}" for s in scales] + ["grown"]
    columns += [f"jobs at {s:g}" for s in scales] + [f"rows read at {s:g}" for s in scales]
    how = f"1 of {PART} orders of a range of keys replaced, embedded store"
    return Report(f"TPC-H at scales {scales[0]:g} and {scales[1]:g}, {how}", columns, rows)


def _shop(counting: Counting, folder: Path, scale: float) -> Rollview:
    rv = connect(folder / f"warehouse{scale:g}", spark=counting.spark)
    data = folder / f"data{scale:g}"
    make_data(data, scale)
    load(rv, data)
    shutil.rmtree(data)
    for name, sql in queries().items():
        rv.create(name, sql)
    return rv
