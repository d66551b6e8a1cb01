"""A small warehouse in DuckDB with two tables and a live view over their join."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from rollview import Rollview, connect
from rollview.limits import DEFAULT, Limits

JOIN = "SELECT id, price, city FROM sale JOIN shop ON sale.shop = shop.name"
SUMS = "SELECT city, sum(price) AS total, count(*) AS n FROM sale JOIN shop ON sale.shop = shop.name GROUP BY city"
TABLES = (
    "CREATE TABLE sale (id INT, shop STRING, price INT, PRIMARY KEY (id))",
    "CREATE TABLE shop (name STRING, city STRING, PRIMARY KEY (name))",
)


def opened(path: str = "", limits: Limits = DEFAULT) -> Rollview:
    """The warehouse: sales 1 to 3 in the shops a (Oslo) and b (Turin)."""
    rv = connect(f"duckdb:{path}", limits=limits)
    for sql in TABLES:
        rv.sql(sql)
    rv.sql("INSERT INTO sale VALUES (1, 'a', 10), (2, 'b', 5), (3, 'a', 7)")
    rv.sql("INSERT INTO shop VALUES ('a', 'Oslo'), ('b', 'Turin')")
    return rv


def sales(*rows: tuple[int, str | None, int | None, int]) -> dict[str, Any]:
    """A change of the table sale, as a live view takes it: id, shop, price, weight."""
    ids, shops, prices, weights = zip(*rows, strict=True)
    columns = {
        "id": pa.array(ids, pa.int32()),
        "shop": pa.array(shops, pa.string()),
        "price": pa.array(prices, pa.int32()),
        "__w": pa.array(weights, pa.int64()),
    }
    return {"sale": pa.table(columns)}
