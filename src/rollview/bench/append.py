"""Rows inserted in order: windows that look backward, the first rows in an order, the latest row of each device.

The table has readings of devices, ordered by time; then 0.1 % more are inserted, all of them later. A refresh should
read only the new rows, whatever the size of the table.
"""

from __future__ import annotations

from pathlib import Path

from rollview.bench.report import Report
from rollview.bench.turns import COMPARED, MEASURED, WARM_UP, compare_views, compared
from rollview.session import Rollview

READINGS, DEVICES, PART = 2_000_000, 1_000, 0.001

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
    """Readings whose values are computed from their number, so that every run has the same ones."""
    return (
        f"SELECT id, CAST(pmod(xxhash64(id), {DEVICES}) AS INT) AS device, timestamp_seconds(1700000000 + id) AS at, "
        f"CAST(pmod(xxhash64(id, 'value'), 1000000) AS INT) AS value FROM range({first}, {first + count})"
    )


def run(scale: float = 1.0) -> Report:
    there, more = round(READINGS * scale), max(1, round(READINGS * scale * PART))

    def load(rv: Rollview, _: Path) -> None:
        rv.store.create("reading", rv.spark.sql(_rows(0, there)), key=["id"])

    def change(rv: Rollview, turn: int) -> None:
        rv.sql(f"INSERT INTO reading {_rows(there + (turn - 1) * more, more)}")

    found = compare_views("append", VIEWS, load, change)
    lines = [[title, *compared(*runs)] for title, runs in found.items()]
    before = there + (WARM_UP + MEASURED - 1) * more
    title = f"{more:,} rows inserted after {before:,}, in order, embedded store"
    return Report(title, ["view", *COMPARED], lines)
