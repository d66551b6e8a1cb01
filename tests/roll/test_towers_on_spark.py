"""Views on views, DISTINCT and pruning on Spark, over embedded tables and Delta's own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from compare import bag
from rollview import Limits, Rollview
from stores import KINDS

VIEWS = {
    "cities": "SELECT c.city, COUNT(*) AS n, SUM(o.price) AS total, AVG(o.price) AS mean FROM orders o "
    "JOIN customers c ON c.id = o.customer GROUP BY c.city HAVING COUNT(*) > 1",
    "buyers": "SELECT DISTINCT o.customer, c.city FROM orders o JOIN customers c ON c.id = o.customer",
    "both": "SELECT b.customer, x.city, x.total, x.mean FROM cities x JOIN buyers b ON b.city = x.city",
    "totals": "SELECT city, SUM(total) AS total, COUNT(*) AS n FROM both GROUP BY city",
}

CHANGES = (
    "INSERT INTO orders VALUES (4, 2, 7.25), (5, NULL, 1.00)",
    "UPDATE customers SET city = 'Ulm' WHERE id = 2",
    "DELETE FROM orders WHERE id = 1",
    "INSERT INTO orders VALUES (6, 1, 2.50), (7, 2, 3.75)",
)


@pytest.mark.parametrize("store", KINDS)
@pytest.mark.one_in(2)
def test_a_tower_of_views_goes_to_every_position(opened: Callable[..., Rollview], tmp_path: Path, store: str) -> None:
    limits = Limits(settle_seconds=0, grace_seconds=0)
    rv = opened(store, folder=tmp_path, limits=limits)
    rv.sql("CREATE TABLE orders (id INT, customer INT, price DECIMAL(8, 2), PRIMARY KEY (id))")
    rv.sql("CREATE TABLE customers (id INT, city STRING, PRIMARY KEY (id))")
    rv.sql("INSERT INTO customers VALUES (1, 'Ulm'), (2, 'Bonn')")
    rv.sql("INSERT INTO orders VALUES (1, 1, 10.50), (2, 1, 20.00), (3, 2, 5.00)")
    for name, query in VIEWS.items():
        rv.create(name, query, policy="INCREMENTAL", keep_changes="0 seconds")
    rv.propagate_all()
    expected = {}
    for change in CHANGES if store == "embedded" else CHANGES[:2]:  # each takes longer on Delta
        rv.sql(change)
        position = rv.position()
        expected[position] = {name: bag(rv.sql(query)) for name, query in VIEWS.items() if name in ("cities", "buyers")}
    outcomes = rv.propagate_all(step_rows=3)
    assert [(each.view, each.outcome) for each in outcomes if not each.ok] == []
    for position, rows in expected.items():
        assert rv.apply("totals", as_of=position).position == position
        for name, wanted in rows.items():
            assert bag(rv.table(name)) == wanted, (name, position)
        assert all(rv.verify(name).ok for name in VIEWS), position
    if store == "embedded":
        rv.propagate_all()
        rv.propagate_all()
        for name in VIEWS:
            delta = rv.catalog.delta(name)
            assert rv.store.count(delta) == 0
            assert not list((tmp_path / delta).rglob("part-*.parquet"))
