"""TPC-H as 22 views: 0.1 % of the orders and their lines replaced, refreshed against recomputed, in one session.

Two changes warm both ways up, three are measured. What is recomputed is a second view of the same query, made to be:
it has no helpers to keep. Every view is compared with its query at the end.
"""

from __future__ import annotations

import math
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from rollview.bench.report import Report
from rollview.bench.rows import COMPARED, Counting, Rows, compared
from rollview.bench.tpch import TABLES, queries
from rollview.errors import InternalError, UserError
from rollview.refresh.results import NO_OP
from rollview.session import Rollview, connect

#: Of every so many orders, one goes and one comes.
PART = 1000

#: Changes that warm both ways up, and changes of whose times the median is taken.
WARM_UP, MEASURED = 2, 3


def make_data(folder: Path, scale: float) -> None:
    """TPC-H's tables as Parquet files."""
    tool = shutil.which("tpchgen-cli", path=str(Path(sys.executable).parent)) or shutil.which("tpchgen-cli")
    if tool is None:
        raise UserError("The generator of TPC-H's data is missing", todo="pip install tpchgen-cli")
    command = [tool, "parquet", "-s", str(scale), "--output-dir", str(folder)]
    subprocess.run(command, check=True, capture_output=True)


def load(rv: Rollview, folder: Path) -> None:
    for name, table in TABLES.items():
        rows = rv.spark.read.parquet(str(folder / f"{name}.parquet"))
        picked = rows.selectExpr(*[f"CAST({column} AS {kind}) AS {column}" for column, kind in table.columns])
        rv.store.create(name, picked, key=table.key)


def replace_orders(rv: Rollview, scale: float, turn: int, *, spread: bool = False) -> None:
    """One of PART orders, and its lines, is replaced by another.

    As TPC-H's refresh functions do it: old orders of a range of keys go, new ones come with keys of that range that
    were left free (of 32 keys, 8 are used). The new orders are those of a range far away, under the new keys.
    ``spread`` takes orders of the whole table instead: then no statistics of files can skip anything.
    """
    width = max(32, round(6_000_000 * scale / PART / 32) * 32)
    low, far = turn * width, round(6_000_000 * scale / 64) * 32
    for table, key in (("orders", "o_orderkey"), ("lineitem", "l_orderkey")):
        rest = ", ".join(column for column, _ in TABLES[table].columns if column != key)
        if spread:
            own = f"{key} % 32 < 8 AND pmod(hash({key}), {PART})"
            new, source, old = f"{key} + {8 * turn}", f"{own} = {2 * turn}", f"{own} = {2 * turn + 1}"
        else:
            new, source = (
                f"{key} - {far} + 8",
                f"{key} % 32 < 8 AND {key} BETWEEN {far + low} AND {far + low + width - 1}",
            )
            old = f"{key} % 32 < 8 AND {key} BETWEEN {low} AND {low + width - 1}"
        rv.sql(f"INSERT INTO {table} SELECT {new}, {rest} FROM {table} WHERE {source}")
        rv.sql(f"DELETE FROM {table} WHERE {old}")


def run(scale: float = 1.0, spread: bool = False) -> Report:
    folder = Path(tempfile.mkdtemp(prefix="rollview-tpch-"))
    try:
        make_data(folder / "data", scale)
        counting = Counting(folder / "log")
        rv = connect(folder / "warehouse", spark=counting.spark)
        load(rv, folder / "data")
        views = queries()
        for name, sql in views.items():
            rv.create(name, sql)
            rv.create(f"{name}_full", sql, policy="FULL")
        measured: dict[str, list[tuple[str, float, float, int]]] = {name: [] for name in views}
        for turn in range(1, 1 + WARM_UP + MEASURED):
            replace_orders(rv, scale, turn, spread=spread)
            for name in views:
                with counting.label(f"{name} refresh {turn}"):
                    done = rv.refresh(name)
                with counting.label(f"{name} recompute {turn}"):
                    again = rv.refresh(f"{name}_full", full=True)
                measured[name].append((done.strategy, done.seconds, again.seconds, done.rows_written))
        replace_orders(rv, scale, 1 + WARM_UP + MEASURED, spread=spread)
        for name in views:
            done = rv.refresh(name)
            if not rv.verify(name).ok:
                raise InternalError(f"{name} differs from its query after a refresh by {done.strategy}")
        counted = counting.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    last = WARM_UP + MEASURED
    rows = []
    ratios = []
    for name, turns in measured.items():
        a = counted.get(f"{name} refresh {last}", Rows())
        b = counted.get(f"{name} recompute {last}", Rows())
        strategy = turns[-1][0]
        seconds = statistics.median(turn[1] for turn in turns[WARM_UP:])
        whole = statistics.median(turn[2] for turn in turns[WARM_UP:])
        ratios.append((strategy, whole / seconds))
        rows.append([name, *compared(strategy, seconds, whole, a, b, turns[-1][3])])
    for title, picked in (
        ("geometric mean", [ratio for _, ratio in ratios]),
        ("of those that changed", [ratio for strategy, ratio in ratios if strategy != NO_OP]),
    ):
        mean = math.exp(sum(map(math.log, picked)) / len(picked))
        rows.append([title, "", "", "", round(mean, 2), "", "", "", "", ""])
    how = "anywhere" if spread else "of a range of keys"
    return Report(
        f"TPC-H at scale {scale:g}, 1 of {PART} orders {how} replaced, embedded store", ["view", *COMPARED], rows
    )
