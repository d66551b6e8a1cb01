"""What is said of the rows of every operator is true of them, through all rounds of the conformance set."""

from __future__ import annotations

from typing import Any

import duckdb
import pytest

import duck
import shop
from rollview.compile.printing import print_plan
from rollview.compile.view import compile_view
from rollview.keys import facts_of
from rollview.plan.nodes import Node, RecursiveRef

GOOD = [view for view in shop.views() if view.expect != "error"]


def nodes() -> list[tuple[str, Node]]:
    """Every operator of every conformance view, with and without its hidden columns, each once."""
    tables = duck.finder(duck.shop_tables())
    found: dict[Node, str] = {}
    for view in GOOD:
        compiled = compile_view(view.sql, tables)
        for plan in (compiled.plan, compiled.keyed.plan):
            for node in plan.walk():
                inside = any(isinstance(part, RecursiveRef) for part in node.walk())
                if node.columns and not node.free and not inside:
                    found.setdefault(node, view.name)
    return [(name, node) for node, name in found.items()]


def check(db: duckdb.DuckDBPyConnection, name: str, node: Node) -> None:
    facts = facts_of(node)
    if facts.key is None and not facts.dependencies and not facts.not_null:
        return
    names = [column.name for column in node.columns]
    rows = [
        dict(zip(names, map(repr, row), strict=True))
        for row in db.execute(print_plan(node, "duckdb", names)).fetchall()
    ]
    where = f"{name}: {node.title} {node.details}"

    def values(row: dict[str, Any], columns: frozenset[str]) -> tuple[Any, ...]:
        return tuple(row[column] for column in sorted(columns))

    if facts.key is not None:
        assert len({values(row, facts.key) for row in rows}) == len(rows), f"{where}: key {set(facts.key)}"
    for given, decided in facts.dependencies:
        pairs = {(values(row, given), row[decided]) for row in rows}
        assert len(pairs) == len({pair[0] for pair in pairs}), f"{where}: {set(given)} → {decided}"
    for column in facts.not_null:
        assert not any(row[column] == "None" for row in rows), f"{where}: {column} is NULL"


def test_keys_dependencies_and_not_null_hold_for_every_operator_in_every_round() -> None:
    shop.need_shop()
    db = duckdb.connect()
    for sql in shop.schema():
        duck.execute_spark_sql(db, sql)
    everything = nodes()
    assert len(everything) > 300
    for turn in [shop.Round("start", []), *shop.rounds()]:
        for sql in turn.statements:
            duck.execute_spark_sql(db, sql)
        for name, node in everything:
            check(db, f"{turn.name} {name}", node)


@pytest.mark.parametrize(
    ("sql", "key", "hidden"),
    [
        ("SELECT city FROM customers", {"cust_id"}, {"cust_id"}),
        ("SELECT order_id, name FROM orders o JOIN customers c ON o.cust_id = c.cust_id", {"order_id"}, set()),
        ("SELECT line FROM items WHERE order_id = 7", {"line"}, set()),
        ("SELECT city, count(*) AS n FROM customers GROUP BY city", {"city"}, set()),
        ("SELECT count(*) AS n FROM customers", set(), set()),
        ("SELECT cust_id, name, city, count(*) AS n FROM customers GROUP BY cust_id, name, city", {"cust_id"}, set()),
        ("SELECT DISTINCT cust_id, name FROM customers", {"cust_id"}, set()),
        ("SELECT c.cust_id, o.order_id FROM customers c LEFT JOIN orders o ON c.cust_id = o.cust_id", {"cust_id", "order_id"}, set()),
        ("SELECT o.order_id, c.name FROM orders o LEFT JOIN customers c ON c.cust_id = o.cust_id", {"order_id"}, set()),
        ("SELECT page FROM visits", None, set()),
    ],
)  # fmt: skip
def test_keys_are_as_small_as_what_is_known_allows(sql: str, key: set[str] | None, hidden: set[str]) -> None:
    keyed = compile_view(sql, duck.finder(duck.shop_tables())).keyed
    labels = {column.name: column.label for column in keyed.plan.columns}
    assert (None if keyed.key is None else {labels[name] for name in keyed.key}) == key
    assert {labels[name] for name in keyed.hidden} == hidden
