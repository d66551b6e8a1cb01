"""How much may change until recomputing takes less time: rows of a table are updated, ever more of them.

The views are followed whatever it costs. Under the policy AUTO they are recomputed instead from where that is cheaper.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from rollview.bench.counting import COMPARED, Counting, Rows, compared
from rollview.bench.report import Report
from rollview.errors import InternalError
from rollview.session import Rollview, connect

SALES, ITEMS = 2_000_000, 50_000

#: Of so many rows, one is updated; of each, the second time is measured.
ONE_OF = (1000, 100, 50, 20, 10, 4)

VIEWS = {
    "sums of groups": "SELECT shop, sum(price) AS total, count(*) AS n FROM sale GROUP BY shop",
    "greatest of groups": "SELECT shop, max(price) AS most FROM sale GROUP BY shop",
    "rows": "SELECT id, shop, price * 2 AS twice FROM sale WHERE price > 100",
    "joined rows": "SELECT sale.id, sale.price, item.kind FROM sale JOIN item ON sale.item = item.item",
}


def _load(rv: Rollview, sales: int) -> None:
    numbers = (
        "id, pmod(xxhash64(id), 1000) AS shop, CAST(pmod(xxhash64(id, 1), 97700) / 100 AS DECIMAL(12, 2)) AS price"
    )
    rows = f"SELECT {numbers}, pmod(xxhash64(id, 2), {ITEMS}) AS item FROM range({sales})"
    rv.store.create("sale", rv.spark.sql(rows), key=["id"])
    items = f"SELECT id AS item, id % 100 AS kind FROM range({ITEMS})"
    rv.store.create("item", rv.spark.sql(items), key=["item"])


def run(scale: float = 1.0) -> Report:
    sales = round(SALES * scale)
    names = {title: f"v{i}" for i, title in enumerate(VIEWS)}
    folder = Path(tempfile.mkdtemp(prefix="rollview-share-"))
    measured = []
    try:
        counting = Counting(folder / "log")
        rv = connect(folder / "warehouse", spark=counting.spark)
        _load(rv, sales)
        for title, name in names.items():
            rv.create(name, VIEWS[title], policy="INCREMENTAL")
            rv.create(f"{name}_full", VIEWS[title], policy="FULL")
        for one_of in ONE_OF:
            for turn in (1, 2):
                rv.sql(f"UPDATE sale SET price = price + 1 WHERE id % {one_of} = {turn}")
                for title, name in names.items():
                    label = f"{name} {one_of} {turn}"
                    with counting.label(f"{label} refresh"):
                        done = rv.refresh(name)
                    with counting.label(f"{label} recompute"):
                        again = rv.refresh(f"{name}_full")
                    if turn == 2:
                        measured.append((f"{title}, {1 / one_of:.1%}", label, done, again.seconds))
        for title, name in names.items():
            if not rv.verify(name).ok:
                raise InternalError(f"{title} differ from their query")
        counted = counting.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    rows = []
    for what, label, done, whole in sorted(measured, key=lambda each: list(names.values()).index(each[1].split()[0])):
        a, b = counted.get(f"{label} refresh", Rows()), counted.get(f"{label} recompute", Rows())
        rows.append([what, *compared(done.strategy, done.seconds, whole, a, b, done.rows_written)])
    return Report(f"Updates of a table of {sales:,} rows, embedded store", ["view, rows updated", *COMPARED], rows)
