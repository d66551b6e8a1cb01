"""The share of changed rows from which recomputing is faster: ever more rows of a table are updated.

The views are always refreshed incrementally here. Under the policy AUTO they are recomputed if that is cheaper.
"""

from __future__ import annotations

from functools import partial

from rollview.bench.report import Report
from rollview.bench.turns import COMPARED, Runs, bench_folder, check, compared, create_pairs, measure
from rollview.session import Rollview, connect

SALES, ITEMS = 2_000_000, 50_000

#: One of this many rows is updated. Each share is updated twice, and the second refresh is measured.
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

    def update(rv: Rollview, one_of: int, turn: int) -> None:
        rv.sql(f"UPDATE sale SET price = price + 1 WHERE id % {one_of} = {turn}")

    with bench_folder("share") as folder, connect(folder / "warehouse") as rv:
        _load(rv, sales)
        pairs = create_pairs(rv, VIEWS, policy="INCREMENTAL")
        changes = [partial(update, rv, one_of, turn) for one_of in ONE_OF for turn in (1, 2)]
        measured = measure(changes, list(pairs.values()))
        check(way for way, _ in pairs.values())
    rows = [
        [f"{title}, {1 / one_of:.1%}", *compared(Runs([a.each[2 * i + 1]]), Runs([b.each[2 * i + 1]]))]
        for title, (a, b) in zip(pairs, measured, strict=True)
        for i, one_of in enumerate(ONE_OF)
    ]
    return Report(f"Updates of a table of {sales:,} rows, embedded store", ["view, rows updated", *COMPARED], rows)
