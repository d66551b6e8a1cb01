"""What is said of the rows of every operator is true of them, through all rounds of the conformance set."""

from __future__ import annotations

import random
from typing import Any

import duckdb
import pytest

import duck
import generate
import shop
from rollview.compile.printing import print_plan
from rollview.compile.view import compile_view
from rollview.keys import facts_of
from rollview.plan.nodes import (
    Aggregate,
    Distinct,
    Filter,
    Generate,
    Join,
    Limit,
    MultiJoin,
    Node,
    Project,
    RecursiveRef,
    Scan,
    SetOperation,
    UnionAll,
    Values,
    Window,
)

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


@pytest.mark.parametrize("checked", [4, pytest.param(1, marks=pytest.mark.slow)])
def test_keys_dependencies_and_not_null_hold_for_every_operator_in_every_round(checked: int) -> None:
    """After every fourth round; in the slow half after every one."""
    db = duckdb.connect()
    for sql in shop.schema():
        duck.execute_spark_sql(db, sql)
    everything = nodes()
    assert len(everything) > 300
    for number, turn in enumerate([shop.Round("start", []), *shop.rounds()]):
        for sql in turn.statements:
            duck.execute_spark_sql(db, sql)
        for name, node in everything if number % checked == 0 else ():
            check(db, f"{turn.name} {name}", node)


#: For each kind of operator: queries over tables with declared keys whose operators all have a key.
OPERATORS = {
    Scan: ["SELECT * FROM r", "SELECT * FROM w"],
    Values: ["SELECT * FROM (VALUES (1, 2)) v(a, b)"],
    Filter: ["SELECT * FROM w WHERE k = 2", "SELECT * FROM w WHERE k = l", "SELECT * FROM r WHERE s = 'p' OR a > 2"],
    Project: ["SELECT a + k AS x, s FROM r", "SELECT l, k AS m, k AS n FROM w WHERE a > 0", "SELECT 3 AS c, l FROM w WHERE k = 1"],
    Join: [
        *(f"SELECT * FROM r {kind} JOIN w ON r.{c} = w.{d}" for kind in ("INNER", "LEFT", "RIGHT", "FULL") for c in "ka" for d in "ka"),
        "SELECT * FROM r CROSS JOIN w", "SELECT * FROM w LEFT SEMI JOIN u ON w.a = u.a", "SELECT * FROM w LEFT ANTI JOIN u ON w.k < u.a",
        "SELECT k, l, a IN (SELECT b FROM u) AS m FROM w", "SELECT k, (SELECT max(b) FROM u WHERE u.a = r.a) AS m FROM r",
        "SELECT r.k, w.l FROM r LEFT JOIN w ON r.k = w.k AND r.a = w.l", "SELECT r.k, q.k AS k2 FROM r FULL JOIN r q ON r.k = q.a AND r.s = q.s",
    ],
    MultiJoin: ["SELECT r.s, w.a, q.b FROM r JOIN w ON r.k = w.k JOIN r q ON q.k = w.l", "SELECT r.k FROM r, w, r q WHERE r.a = w.k AND q.k = 3"],
    Aggregate: ["SELECT a, s, count(*) AS n FROM r GROUP BY a, s", "SELECT sum(a) AS n FROM r", "SELECT k, s, max(a) AS m FROM r GROUP BY k, s"],
    Distinct: ["SELECT DISTINCT a, s FROM r", "SELECT DISTINCT k, a FROM r"],
    UnionAll: ["SELECT a FROM r UNION ALL SELECT l FROM w", "SELECT s FROM r UNION ALL SELECT s FROM r UNION ALL SELECT s FROM r",
               "SELECT a, b, count(*) AS n FROM r GROUP BY CUBE (a, b)", "SELECT a, 1 AS t FROM r UNION ALL SELECT a, 2 FROM r"],
    SetOperation: [f"SELECT {a} FROM r {kind} SELECT {b} FROM w" for kind in ("EXCEPT", "INTERSECT") for a, b in (("a", "a"), ("k", "l"))]
    + ["SELECT k, a FROM r EXCEPT ALL SELECT k, a FROM w", "SELECT k, a FROM r INTERSECT ALL SELECT k, a FROM w"],
    Window: ["SELECT s, rank() OVER (PARTITION BY a ORDER BY b) AS n FROM r", "SELECT k, sum(a) OVER (ORDER BY l) AS n FROM w"],
    Limit: ["SELECT k, a FROM r ORDER BY a, k LIMIT 3 OFFSET 1", "SELECT a FROM r ORDER BY k LIMIT 1"],
    Generate: ["SELECT k, p FROM r LATERAL VIEW posexplode(array(a, b, a)) t AS p, e"],
}  # fmt: skip


@pytest.mark.parametrize("operator", OPERATORS, ids=lambda operator: operator.__name__)
def test_the_key_of_every_operator_is_true_of_random_rows(operator: type[Node]) -> None:
    tables = duck.finder(generate.TABLES)
    plans = [compile_view(sql, tables).keyed for sql in OPERATORS[operator]]
    assert any(type(node) is operator for keyed in plans for node in keyed.plan.walk())
    assert all(keyed.key is not None for keyed in plans)
    db = duckdb.connect()
    for seed in range(30):
        generate.fill(db, random.Random(seed), rows=12)
        for keyed, sql in zip(plans, OPERATORS[operator], strict=True):
            for node in keyed.plan.walk():
                if node.columns:
                    check(db, f"seed {seed}: {sql}", node)


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
        ("SELECT cust_id AS id, 'a' AS k FROM customers UNION ALL SELECT prod_id, 'b' FROM products", {"id", "k"}, set()),
        ("SELECT name AS x FROM customers UNION ALL SELECT title FROM products", {"cust_id", "__branch"}, {"cust_id", "__branch"}),
        ("SELECT name AS x FROM customers UNION ALL SELECT city FROM targets", {"x", "cust_id", "__branch"}, {"cust_id", "__branch"}),
        ("SELECT 1 AS x FROM customers UNION ALL SELECT 1 FROM products UNION ALL SELECT 1 FROM orders", {"cust_id", "__branch"}, {"cust_id", "__branch"}),
        ("SELECT segment, count(*) AS n FROM customers GROUP BY ROLLUP (segment)", {"segment", "__branch"}, {"__branch"}),
        ("SELECT name AS x FROM customers UNION ALL SELECT page FROM visits", None, set()),
        ("SELECT name AS x FROM customers UNION SELECT title FROM products", {"x"}, set()),
    ],
)  # fmt: skip
def test_keys_are_as_small_as_what_is_known_allows(sql: str, key: set[str] | None, hidden: set[str]) -> None:
    keyed = compile_view(sql, duck.finder(duck.shop_tables())).keyed
    labels = {column.name: column.label for column in keyed.plan.columns}
    assert (None if keyed.key is None else {labels[name] for name in keyed.key}) == key
    assert {labels[name] for name in keyed.hidden} == hidden
