"""Rows that come in order: windows that look backward, the first rows of an order, the latest row of each device.

Readings of devices, one after the other; then 0.1 % more of them, each later than all before. What a refresh reads
should be what came, whatever is there.
"""

from __future__ import annotations

import shutil
import statistics
import tempfile
from pathlib import Path

from rollview.bench.report import Report
from rollview.bench.rows import COMPARED, Counting, Rows, compared
from rollview.errors import InternalError
from rollview.session import connect

READINGS, DEVICES, PART = 2_000_000, 1_000, 0.001
WARM_UP, MEASURED = 2, 3

_EACH, _ALL = "(PARTITION BY device ORDER BY at, id)", "(ORDER BY at, id)"
VIEWS = {
    "running sum and number": f"SELECT id, device, sum(value) OVER {_EACH} AS total, "
    f"row_number() OVER {_EACH} AS n FROM reading",
    "running sum of all": f"SELECT id, sum(value) OVER {_ALL} AS total, count(value) OVER {_ALL} AS n FROM reading",
    "lag, mean of ten before": f"SELECT id, device, lag(value) OVER {_EACH} AS last, "
    "avg(value) OVER (PARTITION BY device ORDER BY at, id ROWS 10 PRECEDING) AS mean FROM reading",
    "first, least, greatest": f"SELECT id, device, first_value(value) OVER {_EACH} AS first, "
    f"min(value) OVER {_EACH} AS least, max(value) OVER {_EACH} AS most FROM reading",
    "all of these, of all": f"SELECT id, sum(value) OVER {_ALL} AS total, lag(value) OVER {_ALL} AS last, "
    f"first_value(value) OVER {_ALL} AS first, max(value) OVER {_ALL} AS most FROM reading",
    "latest of each device": "SELECT device, id, at, value FROM reading "
    "QUALIFY row_number() OVER (PARTITION BY device ORDER BY at DESC, id DESC) = 1",
    "hundred greatest": "SELECT id, device, value FROM reading ORDER BY value DESC, id LIMIT 100",
}  # fmt: skip


def _rows(first: int, count: int) -> str:
    """Readings whose values follow from their number: the same at every run."""
    return (
        f"SELECT id, CAST(pmod(xxhash64(id), {DEVICES}) AS INT) AS device, timestamp_seconds(1700000000 + id) AS at, "
        f"CAST(pmod(xxhash64(id, 'value'), 1000000) AS INT) AS value FROM range({first}, {first + count})"
    )


def run(scale: float = 1.0) -> Report:
    folder = Path(tempfile.mkdtemp(prefix="rollview-append-"))
    there, more = round(READINGS * scale), max(1, round(READINGS * scale * PART))
    measured: dict[str, list[tuple[str, float, float, int]]] = {name: [] for name in VIEWS}
    try:
        counting = Counting(folder / "log")
        rv = connect(folder / "warehouse", spark=counting.spark)
        rv.store.create("reading", rv.spark.sql(_rows(0, there)), key=["id"])
        views = {name: f"v{i}" for i, name in enumerate(VIEWS)}
        for name, view in views.items():
            rv.create(view, VIEWS[name])
            rv.create(f"{view}_full", VIEWS[name], policy="FULL")
        for turn in range(WARM_UP + MEASURED):
            rv.sql(f"INSERT INTO reading {_rows(there, more)}")
            there += more
            for name, view in views.items():
                with counting.label(f"{name} refresh {turn}"):
                    done = rv.refresh(view)
                with counting.label(f"{name} recompute {turn}"):
                    again = rv.refresh(f"{view}_full", full=True)
                measured[name].append((done.strategy, done.seconds, again.seconds, done.rows_written))
        for name, view in views.items():
            if not rv.verify(view).ok:
                raise InternalError(f"{name} differs from its query")
        counted = counting.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    rows = []
    for name, turns in measured.items():
        last = WARM_UP + MEASURED - 1
        a, b = counted.get(f"{name} refresh {last}", Rows()), counted.get(f"{name} recompute {last}", Rows())
        seconds = statistics.median(turn[1] for turn in turns[WARM_UP:])
        whole = statistics.median(turn[2] for turn in turns[WARM_UP:])
        rows.append([name, *compared(turns[-1][0], seconds, whole, a, b, turns[-1][3])])
    title = f"{more:,} rows after {there - more:,}, later than all of them, embedded store"
    return Report(title, ["view", *COMPARED], rows)
