"""The 22 queries of TPC-H as views: refreshing against recomputing after 0.1 % of the orders were replaced."""

from __future__ import annotations

import shutil
import statistics
import subprocess
import sys
from pathlib import Path

from rollview.bench.report import Report
from rollview.bench.tpch import TABLES, queries
from rollview.bench.turns import COMPARED, compare_views, compared
from rollview.errors import UserError
from rollview.session import Rollview
from rollview.strategy.no_op import NO_OP

#: One of this many orders is deleted, and one inserted.
PART = 1000


def make_data(folder: Path, scale: float) -> None:
    """Writes TPC-H's tables as Parquet files."""
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
    """Replaces one of PART orders, and its lines, by another.

    As in TPC-H's refresh functions, old orders of a range of keys are deleted, and new ones are inserted under unused
    keys of that range (8 of 32 keys are used). The new orders are copies of those of a distant range.
    With ``spread``, the orders are spread over the whole table, so that no file can be skipped by its statistics.
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
    def load_tables(rv: Rollview, folder: Path) -> None:
        make_data(folder / "data", scale)
        load(rv, folder / "data")

    def change(rv: Rollview, turn: int) -> None:
        replace_orders(rv, scale, turn, spread=spread)

    found = compare_views("tpch", queries(), load_tables, change)
    rows = [[title, *compared(*runs)] for title, runs in found.items()]
    ratios = {title: b.seconds / a.seconds for title, (a, b) in found.items()}
    for title, picked in (
        ("geometric mean", list(ratios.values())),
        ("of those that changed", [ratios[name] for name in found if found[name][0].last.result.strategy != NO_OP]),
    ):
        rows.append([title, "", "", "", round(statistics.geometric_mean(picked), 2), "", "", "", "", ""])
    how = "anywhere" if spread else "of a range of keys"
    return Report(
        f"TPC-H at scale {scale:g}, 1 of {PART} orders {how} replaced, embedded store", ["view", *COMPARED], rows
    )
