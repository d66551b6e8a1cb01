"""The join benchmark of the OpenIVM thesis (chapter 7) at a tenth of its sizes: refreshing a join against recomputing
it, after changes of 0.1 %, 1 % and 5 % of the tables.

Symmetric: both sides have the same number of rows, and both change. Fact and dimension: one side is a hundred times as
large, and only that side changes. The fewer distinct join keys there are, the larger the result. The thesis only
inserts rows; here the last change also deletes some.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from functools import partial
from typing import Any

from rollview.bench.report import Report
from rollview.bench.turns import COMPARED, Runs, Way, bench_folder, check, compared, measure
from rollview.session import Rollview, connect

VIEW = "SELECT * FROM left_side INNER JOIN right_side ON tid_left = tid_right"
PARTS = (0.001, 0.01, 0.05)

#: The number of refreshes that warm up Spark before the measured ones.
WARM_UP = 4


@dataclass(frozen=True)
class Workload:
    """The rows of the two sides, the number of distinct join keys, and whether both sides change."""

    name: str
    left: int
    right: int
    keys: int
    both: bool


WORKLOADS = (
    Workload("symmetric, one partner", 2_000_000, 2_000_000, 2_000_000, both=True),
    Workload("symmetric, ten partners", 2_000_000, 2_000_000, 200_000, both=True),
    Workload("fact and dimension", 20_000_000, 200_000, 200_000, both=False),
)


def _rows(side: str, first: int, count: int, keys: int) -> str:
    """Rows whose values are computed from their number, so that every run has the same ones."""
    number, text = ("increment_id", "dummy_name") if side == "left" else ("geo_id", "dummy_location")
    key = f"CAST(pmod(xxhash64(id, '{side}'), {keys}) AS INT) AS tid_{side}"
    return (
        f"SELECT CAST(id AS INT) AS {number}, concat('{side} ', id % 1000) AS {text}, {key} "
        f"FROM range({first}, {first + count})"
    )


def _grow(rv: Rollview, workload: Workload, sizes: dict[str, int], part: float, *, delete: bool) -> None:
    """Inserts new rows, a ``part`` of the table's size; with ``delete``, also deletes as many old ones."""
    for side in ("left", "right") if workload.both else ("left",):
        count = max(1, round(getattr(workload, side) * part))
        if delete:
            number = "increment_id" if side == "left" else "geo_id"
            rv.sql(f"DELETE FROM {side}_side WHERE {number} % {round(1 / part)} = 7 AND {number} < {sizes[side]}")
        rv.sql(f"INSERT INTO {side}_side {_rows(side, sizes[side], count, workload.keys)}")
        sizes[side] += count


def _run(rv: Rollview, workload: Workload) -> list[list[Any]]:
    sizes = {"left": workload.left, "right": workload.right}
    for side, count in sizes.items():
        rv.store.create(f"{side}_side", rv.spark.sql(_rows(side, 0, count, workload.keys)))
    rv.create("simple_join", VIEW)
    measured = [*((part, False) for part in PARTS), (PARTS[0], True)]
    changes = [
        partial(_grow, rv, workload, sizes, part, delete=delete)
        for part, delete in [*[(PARTS[0], False)] * WARM_UP, *measured]
    ]
    refresh, recompute = Way(rv, "simple_join"), Way(rv, "simple_join", full=True, since=WARM_UP)
    [(followed, whole)] = measure(changes, [(refresh, recompute)])
    _grow(rv, workload, sizes, PARTS[0], delete=True)
    check([refresh])
    lines = []
    for (part, delete), a, b in zip(measured, followed.since(WARM_UP).each, whole.each, strict=True):
        what = f"{workload.name}, +{part:.1%}" + (f" −{part:.1%}" if delete else "")
        lines.append([what, *compared(Runs([a]), Runs([b]))])
    return lines


def run(scale: float = 1.0) -> Report:
    rows = []
    with bench_folder("openivm") as folder:
        for workload in WORKLOADS:
            sized = Workload(
                workload.name,
                round(workload.left * scale),
                round(workload.right * scale),
                round(workload.keys * scale),
                workload.both,
            )
            home = folder / workload.name.replace(" ", "_").replace(",", "")
            with connect(home) as rv:
                rows += _run(rv, sized)
            shutil.rmtree(home, ignore_errors=True)
    title = f"Joins of the OpenIVM thesis at {scale / 10:g} of its sizes, embedded store"
    return Report(title, ["change", *COMPARED], rows)
