"""Orders and customers in DuckDB: a small pair of tables that are joined."""

from __future__ import annotations

from rollview import Rollview, connect
from rollview.limits import Limits


def orders_and_customers(limits: Limits) -> Rollview:
    """Two customers, and no orders."""
    rv = connect("duckdb:", limits=limits)
    rv.sql("CREATE TABLE orders (id INT, customer INT, PRIMARY KEY (id))")
    rv.sql("CREATE TABLE customers (id INT, city STRING, PRIMARY KEY (id))")
    rv.sql("INSERT INTO customers VALUES (1, 'Ulm'), (2, 'Bonn')")
    return rv


def ordered(rv: Rollview, *numbers: int) -> int:
    """An order in a commit of its own for each number; the newest position."""
    for number in numbers:
        rv.sql(f"INSERT INTO orders VALUES ({number}, {number % 2 + 1})")
    position = rv.position()
    assert position is not None
    return position
