"""Orders and customers, and views on them: a diamond over three levels."""

from __future__ import annotations

from collections import Counter
from typing import Any

from compare import rows
from rollview import Rollview, connect
from rollview.limits import Limits

#: Helpers are made whatever they save; times are settled at once.
EVERYWHERE = Limits(helper_rows=0, helper_rows_per_group=0, settle_seconds=0)
PLAIN = Limits(settle_seconds=0)


def filled(limits: Limits = PLAIN) -> Rollview:
    """Orders and customers, changed in seven commits."""
    rv = connect("duckdb:", limits=limits)
    rv.sql("CREATE TABLE orders (id INT, customer INT, amount INT, PRIMARY KEY (id))")
    rv.sql("CREATE TABLE customers (id INT, city STRING, PRIMARY KEY (id))")
    rv.sql("INSERT INTO customers VALUES (1, 'Ulm'), (2, 'Bonn')")
    rv.sql("INSERT INTO orders VALUES (1, 1, 10), (2, 1, 20), (3, 2, 5)")
    rv.sql("UPDATE orders SET amount = 7 WHERE id = 3")
    rv.sql("INSERT INTO orders VALUES (4, 2, 50)")
    rv.sql("DELETE FROM orders WHERE id = 1")
    return rv


def now(rv: Rollview) -> int:
    """The newest position of the clock."""
    position = rv.position()
    assert position is not None
    return position


CITIES = "SELECT c.city, SUM(o.amount) AS total FROM orders o JOIN customers c ON c.id = o.customer GROUP BY c.city"
LARGE = "SELECT city, total FROM cities WHERE total > 20"
BOTH = "SELECT o.id, l.total FROM orders o JOIN customers c ON c.id = o.customer LEFT JOIN large l ON l.city = c.city"


def with_views(rv: Rollview, policy: str = "INCREMENTAL") -> Rollview:
    """A diamond over three levels."""
    for name, query in (("cities", CITIES), ("large", LARGE), ("both", BOTH)):
        rv.create(name, query, policy=policy)
    return rv


def bag(frame: Any) -> Counter[Any]:
    return Counter(rows(frame))
