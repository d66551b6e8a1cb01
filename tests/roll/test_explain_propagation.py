"""What explain says of propagating a view."""

from __future__ import annotations

import pytest

from rolled import AT_ONCE
from rollview import Rollview, connect

PAIRS = "SELECT o.id, c.city FROM orders o JOIN customers c ON c.id = o.customer"


@pytest.fixture
def rv() -> Rollview:
    found = connect("duckdb:", limits=AT_ONCE)
    found.sql("CREATE TABLE orders (id INT, customer INT, PRIMARY KEY (id))")
    found.sql("CREATE TABLE customers (id INT, city STRING, PRIMARY KEY (id))")
    found.sql("INSERT INTO customers VALUES (1, 'Ulm'), (2, 'Bonn')")
    found.create("pairs", PAIRS, policy="INCREMENTAL")
    return found


def section(rv: Rollview, name: str) -> list[str]:
    lines = rv.explain(name).splitlines()
    begin = lines.index("  propagation") + 1
    return [line.strip() for line in lines[begin : lines.index("  next refresh")]]


def test_whether_a_view_can_be_propagated_and_how(rv: Rollview, monkeypatch: pytest.MonkeyPatch) -> None:
    assert section(rv, "pairs") == ["yes  by history: earlier versions of its tables are read"]
    monkeypatch.setattr(rv.store, "keeps_history", lambda table: False)
    assert section(rv, "pairs")[0].startswith("yes  by presence")


@pytest.mark.parametrize(
    ("query", "why"),
    [
        ("SELECT o.id, c.city FROM orders o LEFT JOIN customers c ON c.id = o.customer", "LEFT JOIN"),
        ("SELECT max(id) AS m FROM orders", "MAX("),
        ("SELECT id FROM orders ORDER BY id LIMIT 2", "LIMIT"),
        ("SELECT id, row_number() OVER (ORDER BY id) AS n FROM orders", "a window function"),
        ("SELECT now() AS t, id FROM orders", "current time"),
    ],
)
def test_what_is_in_the_way_is_named(rv: Rollview, query: str, why: str) -> None:
    rv.create("v", query)
    (line,) = section(rv, "v")
    assert line.startswith("no ")
    assert why in line


def test_what_has_been_propagated_and_the_next_refresh(rv: Rollview) -> None:
    first = rv.position()
    rv.sql("INSERT INTO orders VALUES (1, 1)")
    rv.propagate("pairs")
    mark = rv.position()
    assert section(rv, "pairs")[1] == f"changes are kept from position {first} to {mark}, up to date"
    told = rv.explanation("pairs")
    assert (told.next.strategy, told.next.why) == (
        "apply",
        f"what was propagated is applied, up to position {mark}",
    )
    rv.sql("UPDATE customers SET city = 'Jena' WHERE id = 1")
    assert section(rv, "pairs")[1] == f"changes are kept from position {first} to {mark}, 1 commit behind"
    told = rv.explanation("pairs")
    assert told.next.strategy == "row_delta"
    assert told.next.why == f"what was propagated is applied, up to position {mark}; then 2 changed rows of customers"
    assert told.to_json()["propagation"]["applies"] is True
    result = rv.refresh("pairs")
    assert (result.strategy, result.steps) == ("row_delta", 2)
    assert rv.explanation("pairs").next.strategy == "no_op"
    rv.refresh("pairs", full=True)
    assert len(section(rv, "pairs")) == 1
