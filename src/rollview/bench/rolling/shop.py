"""Four tables of a shop, a view of their join and one of its sums per group, and a backlog of commits.

All values are computed from row numbers, so every run has the same. Each commit changes one table, most of them the
lines of orders; some insert, some update, some delete. One is a hundred times as large.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from rollview.session import Rollview
from rollview.store.edits import Append

#: The rows of each table at scale 1: five million together.
ROWS = {"customer": 1_000_000, "item": 1_000_000, "orders": 1_000_000, "line": 2_000_000}

#: The rows of a commit at scale 1, and the number of commits of a backlog. One more commit has this many times as many.
COMMIT_ROWS, COMMITS, LARGE = 5_000, 200, 100

#: From this scale on, a backlog has all of its commits.
FULL_BACKLOG = 0.01

CITIES, KINDS = 100, 50

JOINED = """
SELECT line.line, line.qty, item.kind, item.price, customer.city
FROM line
JOIN orders ON line.ord = orders.ord
JOIN item ON line.item = item.item
JOIN customer ON orders.cust = customer.cust
"""
SUMS = """
SELECT customer.city, item.kind, sum(line.qty * item.price) AS total, count(*) AS sold
FROM line
JOIN orders ON line.ord = orders.ord
JOIN item ON line.item = item.item
JOIN customer ON orders.cust = customer.cust
GROUP BY customer.city, item.kind
"""
VIEWS = {"joined": JOINED, "sums": SUMS}

#: What commits do, over and over: eight in twenty insert lines, and so on.
PATTERN = (
    *("insert line",) * 3, "insert orders", "update line", "delete line", "insert line", "update orders",
    *("insert line",) * 2, "insert orders", "update line", "update customer", "insert line", "delete line",
    "insert orders", "insert line", "update customer", "update item", "update orders",
)  # fmt: skip


def spread(numbers: npt.NDArray[np.int64], salt: int, most: int) -> npt.NDArray[np.int64]:
    """A number below ``most`` for each row number, spread evenly."""
    mixed = (numbers.astype(np.uint64) + np.uint64(salt * 1_000_003)) * np.uint64(0x9E3779B97F4A7C15)
    mixed ^= mixed >> np.uint64(29)
    mixed *= np.uint64(0xBF58476D1CE4E5B9)
    mixed ^= mixed >> np.uint64(32)
    return np.asarray(mixed % np.uint64(most), np.int64)


@dataclass
class Shop:
    """The tables at a scale. ``next`` is the next unused key of each; ``gone`` is how many lines are deleted: the first
    ones."""

    rv: Rollview
    scale: float

    def __post_init__(self) -> None:
        self.next = {table: max(50, round(rows * self.scale)) for table, rows in ROWS.items()}
        self.size = dict(self.next)
        self.gone = 0
        self.commit_rows = max(5, round(COMMIT_ROWS * self.scale))
        self.large_rows = LARGE * self.commit_rows
        self.backlog = COMMITS if self.scale >= FULL_BACKLOG else COMMITS // 10

    def load(self) -> None:
        keys = {"customer": "cust", "item": "item", "orders": "ord", "line": "line"}
        for table, key in keys.items():
            self.rv.store.create(table, self._rows(table, 0, self.size[table]), key=[key])

    def create_views(self, policy: str = "INCREMENTAL") -> None:
        for name, sql in VIEWS.items():
            self.rv.create(name, sql, policy=policy)

    def commits(self, count: int, *, large: bool = True) -> Iterator[int]:
        """Makes commits one by one, and yields the number of rows of each. One in the middle is large."""
        for number in range(count):
            if large and number == count // 2:
                yield self._insert("line", self.large_rows)
            yield self.commit(number)

    def commit(self, number: int) -> int:
        what, table = PATTERN[number % len(PATTERN)].split()
        if what == "insert":
            return self._insert(table, self.commit_rows)
        return self._update(table, number) if what == "update" else self._delete()

    def append(self, number: int) -> int:
        """A commit without a query: every fifth one of orders, the others of lines."""
        return self._insert("line" if number % 5 else "orders", self.commit_rows)

    def _insert(self, table: str, rows: int) -> int:
        first = self.next[table]
        self.next[table] += rows
        self.rv.store.commit(table, [Append(self._rows(table, first, rows))])
        return rows

    def _update(self, table: str, number: int) -> int:
        """The rows of a range of keys, another one for each commit."""
        key, change = {
            "line": ("line", "qty = qty + 1"),
            "orders": ("ord", f"cust = (cust + 7) % {self.size['customer']}"),
            "customer": ("cust", f"city = (city + 1) % {CITIES}"),
            "item": ("item", "price = price + 1"),
        }[table]
        least = self.gone if table == "line" else 0
        low = least + (number * 3 * self.commit_rows) % max(1, self.size[table] - least - self.commit_rows)
        self.rv.sql(f"UPDATE {table} SET {change} WHERE {key} BETWEEN {low} AND {low + self.commit_rows - 1}")
        return self.commit_rows

    def _delete(self) -> int:
        self.rv.sql(f"DELETE FROM line WHERE line < {self.gone + self.commit_rows}")
        self.gone += self.commit_rows
        return self.commit_rows

    def _rows(self, table: str, first: int, count: int) -> pa.Table:
        ids = np.arange(first, first + count, dtype=np.int64)
        if table == "customer":
            return pa.table({"cust": ids, "city": spread(ids, 1, CITIES)})
        if table == "item":
            return pa.table({"item": ids, "kind": spread(ids, 2, KINDS), "price": spread(ids, 3, 1000)})
        if table == "orders":
            return pa.table({"ord": ids, "cust": spread(ids, 4, self.size["customer"])})
        orders, items = spread(ids, 5, self.size["orders"]), spread(ids, 6, self.size["item"])
        return pa.table({"line": ids, "ord": orders, "item": items, "qty": 1 + spread(ids, 7, 9)})
