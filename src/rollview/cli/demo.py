"""``rollview demo``: a shop, three views, a small change, and the cost of refreshing compared with recomputing."""

from __future__ import annotations

import shutil
import tempfile
import time
from pathlib import Path
from typing import Any, Literal

from rich.text import Text

from rollview.cli.render import Screen
from rollview.errors import InternalError, UserError
from rollview.session import Rollview, connect
from rollview.store.protocol import CHANGE_TYPE, UPDATE_BEFORE
from rollview.views.definition import Vector
from rollview.views.results import since

TABLES = (
    "CREATE TABLE customers (cust_id INT, name STRING, city STRING, segment STRING, PRIMARY KEY (cust_id))",
    "CREATE TABLE products (prod_id INT, title STRING, category STRING, price DECIMAL(10,2), PRIMARY KEY (prod_id))",
    "CREATE TABLE orders (order_id INT, cust_id INT, placed DATE, status STRING, PRIMARY KEY (order_id))",
    "CREATE TABLE items (order_id INT, line INT, prod_id INT, qty INT, PRIMARY KEY (order_id, line))",
)

VIEWS = {
    "order_lines": "SELECT i.order_id, i.line, o.placed, o.status, c.city, p.category, i.qty * p.price AS gross "
    "FROM items i JOIN orders o ON i.order_id = o.order_id JOIN customers c ON o.cust_id = c.cust_id "
    "JOIN products p ON i.prod_id = p.prod_id",
    "city_sales": "SELECT c.city, o.status, count(*) AS lines, sum(i.qty) AS pieces FROM items i "
    "JOIN orders o ON i.order_id = o.order_id JOIN customers c ON o.cust_id = c.cust_id GROUP BY c.city, o.status",
    "best_sellers": "SELECT category, city, count(*) AS lines, sum(gross) AS gross FROM order_lines "
    "GROUP BY category, city HAVING sum(gross) > 1000",
}


def _sizes(rows: int) -> tuple[int, int, int]:
    """The numbers of customers, products and orders; the other rows are items."""
    return max(10, rows // 50), max(10, rows // 500), max(10, rows * 238 // 1000)


def fill_statements(rows: int) -> tuple[str, ...]:
    """Fills a shop of about this many rows, the same in every run. A quarter of the rows are orders, with about three
    lines each."""
    customers, products, orders = _sizes(rows)
    return (
        f"INSERT INTO customers SELECT CAST(id AS INT), concat('customer ', id), concat('city ', pmod(hash(id), 97)), "
        f"element_at(array('gold', 'silver', 'bronze'), CAST(pmod(hash(id, 1), 3) + 1 AS INT)) FROM range({customers})",
        f"INSERT INTO products SELECT CAST(id AS INT), concat('product ', id), concat('kind ', pmod(hash(id), 23)), "
        f"CAST(pmod(hash(id, 2), 20000) / 100 AS DECIMAL(10,2)) FROM range({products})",
        f"INSERT INTO orders SELECT CAST(id AS INT), CAST(pmod(hash(id, 3), {customers}) AS INT), "
        f"date_add(DATE'2025-01-01', CAST(pmod(hash(id, 4), 365) AS INT)), "
        f"element_at(array('paid', 'open', 'void'), CAST(pmod(hash(id, 5), 3) + 1 AS INT)) FROM range({orders})",
        f"INSERT INTO items SELECT CAST(id DIV 4 AS INT), CAST(id % 4 AS INT), "
        f"CAST(pmod(hash(id, 6), {products}) AS INT), CAST(pmod(hash(id, 7), 9) + 1 AS INT) "
        f"FROM range({4 * orders}) WHERE id % 4 < 3 OR hash(id) % 9 = 0",
    )


def change_statements(rows: int, turn: int = 0) -> tuple[str, ...]:
    """Inserts new orders, and updates and deletes some of the latest: about 0.1 % of the rows, others in each turn."""
    orders, step = _sizes(rows)[2], max(1, rows // 1000)
    few = max(1, step // 10)
    first, latest = orders + turn * few, f"order_id >= {orders - orders // 20}"

    def every(part: int, shift: int) -> str:
        """This many of the latest orders, spread evenly."""
        return f"{latest} AND order_id % {max(1, orders // 20 // max(1, part))} = {shift + turn}"

    return (
        f"INSERT INTO orders SELECT CAST(id + {first} AS INT), CAST(id AS INT), DATE'2026-01-01', 'paid' "
        f"FROM range({few})",
        f"INSERT INTO items SELECT CAST(id DIV 2 + {first} AS INT), CAST(id % 2 AS INT), 1, 3 FROM range({2 * few})",
        f"UPDATE items SET qty = qty + 1 WHERE {every(step * 2 // 15, 1)}",
        f"UPDATE orders SET status = 'void' WHERE {every(few, 3)} AND status <> 'void'",
        f"DELETE FROM items WHERE {every(step // 15, 5)}",
    )


def run_demo(screen: Screen, rows: int, folder: Path | None, store: Literal["embedded", "delta"]) -> None:
    if rows < 1000:
        raise UserError("The demo needs at least 1000 rows", todo="leave out --rows for five million rows")
    if folder is not None and folder.exists() and any(folder.iterdir()):
        raise UserError(f"{folder} is not empty", todo="name a new folder: the demo builds its own shop")
    home = folder or Path(tempfile.mkdtemp(prefix="rollview-demo-"))
    try:
        _run(screen, rows, home, store)
    finally:
        if folder is None:
            shutil.rmtree(home, ignore_errors=True)


def _step(screen: Screen, what: str) -> Any:
    if not screen.err.is_terminal and not screen.as_json:
        screen.err.print(f"{what} …", highlight=False)
    return screen.busy(what)


def _run(screen: Screen, rows: int, home: Path, store: Literal["embedded", "delta"]) -> None:
    with _step(screen, "starting Spark"):
        rv = connect(home, store=store)
        rv.spark  # noqa: B018  started here, so that no step below takes the time
    _build(screen, rv, rows)
    total = sum(rv.store.count(table) for table in rv.tables())
    for name, query in VIEWS.items():
        with _step(screen, f"creating view {name}"):
            rv.create(name, query)
    with _step(screen, "warming up with a first change"):
        _change(rv, rows, 0)
        for name in VIEWS:
            rv.refresh(name)
    with _step(screen, "changing 0.1 % of the rows"):
        _change(rv, rows, 1)
    lines = [_refreshed(screen, rv, name) for name in VIEWS]
    for line in lines:
        _recompute(screen, rv, line)
    _show(screen, total, lines)


def _build(screen: Screen, rv: Rollview, rows: int) -> None:
    """Creates and fills the tables of the shop."""
    for statement in TABLES:
        rv.sql(statement)
    for statement in fill_statements(rows):
        with _step(screen, f"filling {statement.split()[2]}"):
            rv.sql(statement)


def _change(rv: Rollview, rows: int, turn: int) -> None:
    for statement in change_statements(rows, turn):
        rv.sql(statement)


def _refreshed(screen: Screen, rv: Rollview, name: str) -> dict[str, Any]:
    """Refreshes and verifies a view; returns the figures of the refresh."""
    with _step(screen, f"refreshing {name}"):
        result = rv.refresh(name)
    with _step(screen, f"verifying {name}"):
        changed = _changed_rows(rv, result.from_vector, result.to_vector)
        if not rv.verify(name).ok:
            raise InternalError(f"{name} differs from its query after a refresh by {result.strategy}")
    return {
        "view": name,
        "strategy": result.strategy,
        "reason": result.explanation,
        "rows_changed": changed,
        "refresh_seconds": result.seconds,
    }


def _recompute(screen: Screen, rv: Rollview, line: dict[str, Any]) -> None:
    """Recomputes the view of a line, and adds the time that it took to the line."""
    with _step(screen, f"recomputing {line['view']}"):
        begin = time.monotonic()
        rv.refresh(line["view"], full=True)
        line["recompute_seconds"] = since(begin)
        line["ratio"] = round(line["recompute_seconds"] / max(line["refresh_seconds"], 1e-3), 3)


def _show(screen: Screen, total: int, lines: list[dict[str, Any]]) -> None:
    if screen.as_json:
        screen.emit({"rows": total, "views": lines})
        return
    screen.table(
        ["view", "strategy", "rows changed", "refresh s", "recompute s", "ratio", "equal to its query"],
        [
            [
                line["view"],
                line["strategy"],
                line["rows_changed"],
                f"{line['refresh_seconds']:.2f}",
                f"{line['recompute_seconds']:.2f}",
                f"{line['ratio']:.1f}×",
                Text("yes", style="green"),
            ]
            for line in lines
        ],
        f"{total:,} rows, 0.1 % of them changed",
    )
    for reason in sorted({str(line["reason"]) for line in lines if line["strategy"] == "full"}):
        screen.out.print(f"full: {reason}", style="yellow", highlight=False)


def _changed_rows(rv: Rollview, before: Vector, after: Vector) -> int:
    """The rows inserted, updated and deleted in a view's base tables between two vectors."""
    changed = 0
    for table, version in after.items():
        first = before[table]
        if version is not None and first is not None and version != first:
            feed = rv.store.changes(rv.catalog.stored(table), first, version)
            changed += feed.where(f"{CHANGE_TYPE} <> '{UPDATE_BEFORE}'").count()
    return changed
