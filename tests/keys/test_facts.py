"""What is said of the rows of every operator is true of them, through all rounds of the conformance set."""

from __future__ import annotations

import random

import duckdb
import pytest

import duck
import generate
import shop
from facts_hold import check
from rollview import connect
from rollview.frontend.query import compile_view
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
from rollview.state.helpers import helped
from seeds import numbers, sample

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


@pytest.mark.parametrize("one_in", [4, pytest.param(1, marks=pytest.mark.slow)])
def test_keys_dependencies_and_not_null_hold_for_every_operator_in_every_round(one_in: int) -> None:
    """A fourth of the operators, after every fourth round; in the slow half all, after every one."""
    db = duckdb.connect()
    for sql in shop.schema():
        duck.execute_spark_sql(db, sql)
    everything = nodes()
    assert len(everything) > 300
    chosen = sample(everything, one_in)
    for number, turn in enumerate([shop.Round("start", []), *shop.rounds()]):
        for sql in turn.statements:
            duck.execute_spark_sql(db, sql)
        for name, node in chosen if number % one_in == 0 else ():
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
@pytest.mark.one_in(3)
def test_the_key_of_every_operator_is_true_of_random_rows(operator: type[Node]) -> None:
    tables = duck.finder(generate.TABLES)
    plans = [compile_view(sql, tables).keyed for sql in OPERATORS[operator]]
    assert any(type(node) is operator for keyed in plans for node in keyed.plan.walk())
    assert all(keyed.key is not None for keyed in plans)
    db = duckdb.connect()
    for seed in numbers(12):
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


def test_a_full_join_of_views_whose_keys_can_be_null() -> None:
    """The group of NULL on the left, and the one on the right, meet nothing: two rows, told apart by their sides."""
    rv = connect("duckdb:")
    for table in ("p", "q"):
        rv.sql(f"CREATE TABLE {table} (id INT, street STRING, x INT, PRIMARY KEY (id))")
        rv.sql(f"INSERT INTO {table} VALUES (1, NULL, 1), (2, 'a', 2), (3, 'b', 3)")
    rv.create("g", "SELECT street, count(*) AS n, sum(x) AS s FROM p GROUP BY street")
    rv.create("h", "SELECT street, max(x) AS m FROM q GROUP BY street")
    both = "FROM g FULL JOIN h ON g.street = h.street"
    views = {
        "f": f"SELECT g.street, g.n, h.street AS other, h.m {both}",
        "short": f"SELECT g.s, h.m {both}",
        "twice": "SELECT h.m, k.m AS o FROM h FULL JOIN h k ON h.street = k.street",
        "counted": f"SELECT count(*) AS n, sum(h.m) AS m {both}",
        "right": "SELECT g.n, h.street, h.m FROM g RIGHT JOIN h ON g.street = h.street AND g.n > h.m",
        "same": "SELECT g.n, h.m FROM g FULL JOIN h ON g.street <=> h.street",
    }
    for name, sql in views.items():
        rv.create(name, sql, policy="INCREMENTAL")
        assert rv.catalog.get(name).layout.kind in ("keyed", "groups"), name
    for change in (
        "UPDATE p SET x = x + 1 WHERE street IS NULL",
        "UPDATE q SET x = x + 1 WHERE street IS NULL; INSERT INTO p VALUES (4, NULL, 9)",
        "UPDATE p SET street = 'b' WHERE street IS NULL",
        "UPDATE p SET street = NULL WHERE id > 1; UPDATE q SET street = NULL WHERE id = 2",
        "DELETE FROM q WHERE street IS NULL",
    ):
        rv.sql(change)
        rv.refresh_all()
        assert {name for name in views if not rv.verify(name).ok} == set(), change


def test_what_is_known_never_to_be_null_goes_with_a_view() -> None:
    rv = connect("duckdb:")
    rv.sql("CREATE TABLE t (id INT, g STRING, PRIMARY KEY (id))")
    rv.create("v", "SELECT g, count(*) AS n, max(id) AS m FROM t GROUP BY g")
    rv.create("w", "SELECT id, g FROM t")
    assert (rv.catalog.get("v").key, rv.catalog.get("v").not_null) == (("g",), ("n",))
    assert (rv.catalog.get("w").key, rv.catalog.get("w").not_null) == (("id",), ("id",))


def test_the_scan_of_a_helper_does_not_promise_groups_that_are_not_null() -> None:
    tables = duck.finder(duck.shop_tables())
    compiled = compile_view(
        "SELECT c.name, q.city, q.n FROM customers c LEFT JOIN (SELECT city, count(*) AS n FROM customers GROUP BY city) q ON q.city = c.city",
        tables,
    )
    scans = [
        n for n in helped(compiled, lambda _, why: "stored").plan.walk() if isinstance(n, Scan) and n.table == "stored"
    ]
    assert scans
    for scan in scans:
        assert scan.key
        assert not set(scan.key) & set(scan.not_null)


#: Queries of one row at most: aggregates beside each other, as values, and with a LIMIT that changes nothing.
ONE_ROW = {
    "cross": "SELECT a.s, b.m, b.d FROM (SELECT sum(x) AS s FROM t WHERE g = 1) a CROSS JOIN "
    "(SELECT avg(x) AS m, count(DISTINCT x) AS d FROM t WHERE g = 2) b LIMIT 100",
    "buckets": "SELECT CASE WHEN (SELECT count(*) FROM t WHERE g = 1) > 8 THEN (SELECT avg(x) FROM t WHERE g = 1) "
    "ELSE (SELECT avg(x + 1) FROM t WHERE g = 2) END AS b FROM reason WHERE id = 1",
    "picked": "SELECT r.id, a.s FROM reason r, (SELECT sum(x) AS s FROM t) a WHERE r.id = 2",
}


@pytest.mark.parametrize("sql", ONE_ROW.values(), ids=ONE_ROW)
@pytest.mark.one_in(2)
def test_the_empty_key_is_a_key(sql: str) -> None:
    """One row over floating-point sums is found again, whatever its values have become."""
    rv = connect("duckdb:")
    rv.sql("CREATE TABLE t (id INT, g INT, x DOUBLE, PRIMARY KEY (id)); CREATE TABLE reason (id INT, PRIMARY KEY (id))")
    rv.sql("INSERT INTO t VALUES " + ", ".join(f"({i}, {i % 3}, {i} / 7.0D)" for i in range(30)))
    rv.sql("INSERT INTO reason VALUES (1), (2), (3)")
    rv.create("v", sql, policy="INCREMENTAL")
    rv.create("w", "SELECT v.*, u.s AS other FROM v, (SELECT sum(x) AS s FROM t) u", policy="INCREMENTAL")
    assert {rv.catalog.get(name).layout.kind for name in "vw"} == {"keyed"}
    for change in (
        "DELETE FROM t WHERE id = 4",
        "UPDATE t SET x = x / 3 WHERE id < 12",
        "DELETE FROM reason",
        "INSERT INTO reason VALUES (1)",
        "DELETE FROM t",
        "INSERT INTO reason VALUES (2); INSERT INTO t VALUES (1, 1, 0.1), (2, 2, 0.2)",
    ):
        rv.sql(change)
        assert all(rv.refresh(name).strategy != "full" and rv.verify(name).ok for name in "vw"), change


def test_rows_of_sums_are_told_apart_by_a_key_of_any_size() -> None:
    """Months beside the month before and the month after: each has a key of its own, of five columns."""
    rv = connect("duckdb:")
    rv.sql(
        "CREATE TABLE sale (id INT, category STRING, brand STRING, store STRING, year INT, month INT, price DOUBLE, PRIMARY KEY (id))"
    )
    rows_ = ", ".join(
        f"({i}, 'c{i % 2}', 'b{i % 3}', 's{i % 2}', {1999 + i % 2}, {i % 12 + 1}, {i * 37 % 101} / 7.0D)"
        for i in range(240)
    )
    rv.sql(f"INSERT INTO sale VALUES {rows_}")
    by = "category, brand, store"
    same = " AND ".join(f"m.{c} <=> o.{c} AND m.{c} <=> n.{c}" for c in by.split(", "))
    rv.create(
        "v",
        f"WITH months AS (SELECT {by}, year, month, sum(price) AS total, avg(sum(price)) OVER (PARTITION BY {by}, year) AS mean, "
        f"rank() OVER (PARTITION BY {by} ORDER BY year, month) AS n FROM sale GROUP BY {by}, year, month) "
        f"SELECT concat(m.category, m.brand) AS label, m.mean, m.total, o.total AS before, n.total AS after FROM months m, months o, months n "
        f"WHERE {same} AND m.n = o.n + 1 AND m.n = n.n - 1 AND m.year = 1999 ORDER BY m.total - m.mean, 1 LIMIT 20",
        policy="INCREMENTAL",
    )
    assert len(rv.catalog.get("v").layout.on) > 6
    for change in ("DELETE FROM sale WHERE id % 11 = 3", "UPDATE sale SET price = price * 1.1D WHERE month = 4"):
        rv.sql(change)
        assert rv.refresh("v").strategy != "full"
        assert rv.verify("v").ok
