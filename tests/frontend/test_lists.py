"""Lists of no values are empty on every engine, and hold no NULL."""

from __future__ import annotations

import pytest

from compare import rows
from rollview import Rollview, connect
from rollview.errors import SqlSyntaxError

TABLES = """
    CREATE TABLE t (id INT, g INT, s STRING, PRIMARY KEY (id));
    CREATE TABLE u (id INT, g INT, PRIMARY KEY (id));
    INSERT INTO t VALUES (1, 1, NULL), (2, 1, 'a'), (3, 2, NULL), (4, 1, 'b');
    INSERT INTO u VALUES (1, 1), (2, 2), (3, 3)
"""

#: Views, and their rows after a row of group 3 with the text c is added to t.
LISTS = {
    "SELECT collect_list(s) AS l, collect_set(s) AS m, array_agg(s) AS a, listagg(s) AS j FROM t WHERE id > 100": [
        ([], [], [], None)
    ],
    "SELECT g, collect_list(s) AS l, array_agg(DISTINCT s) AS a, count(*) AS n FROM t GROUP BY g": [
        (1, ["a", "b"], ["a", "b"], 3), (2, [], [], 1), (3, ["c"], ["c"], 1)
    ],
    "SELECT g, collect_list(s) FILTER (WHERE id > 3) AS l, collect_set(s) FILTER (WHERE id < 3 OR id > 8) AS m FROM t GROUP BY g": [
        (1, ["b"], ["a"]), (2, [], []), (3, ["c"], ["c"])
    ],
    "SELECT id, collect_list(s) OVER (PARTITION BY g ORDER BY id) AS l, collect_set(s) OVER (PARTITION BY g) AS m FROM t": [
        (1, [], ["a", "b"]), (2, ["a"], ["a", "b"]), (3, [], []), (4, ["a", "b"], ["a", "b"]), (9, ["c"], ["c"])
    ],
    "SELECT id, collect_list(s) OVER (PARTITION BY g ORDER BY id ROWS BETWEEN 1 FOLLOWING AND 2 FOLLOWING) AS l FROM t": [
        (1, ["a", "b"]), (2, ["b"]), (3, []), (4, []), (9, [])
    ],
    "SELECT id, (SELECT collect_list(t.s) FROM t WHERE t.g = u.g) AS l FROM u": [(1, ["a", "b"]), (2, []), (3, ["c"])],
    "SELECT u.id, size(l) AS n FROM u LEFT JOIN (SELECT g, collect_list(s) AS l FROM t GROUP BY g) q ON q.g = u.g": [
        (1, 2), (2, 0), (3, 1)
    ],
    "SELECT explode(collect_list(s)) AS e FROM t": [("a",), ("b",), ("c",)],
    "SELECT g, explode(collect_list(s)) AS e FROM t WHERE id > 1 GROUP BY g": [(1, "a"), (1, "b"), (3, "c")],
    "SELECT posexplode(collect_list(s)) AS (p, e), g, count(*) AS n FROM t GROUP BY g": [
        (0, "a", 1, 3), (0, "c", 3, 1), (1, "b", 1, 3)
    ],
    "SELECT g + 1 AS h, explode(array(min(id), max(id))) AS e FROM t GROUP BY g": [(2, 1), (2, 4), (3, 3), (3, 3), (4, 9), (4, 9)],
    "SELECT explode(array(1, 2)) AS e, count(*) AS n FROM t": [(1, 5), (2, 5)],
    "SELECT map_from_entries(collect_list(struct(id, s))) AS m FROM t WHERE id > 100": [({},)],
}  # fmt: skip


def follow(rv: Rollview) -> None:
    rv.sql(TABLES)
    for number, query in enumerate(LISTS):
        rv.create(f"v{number}", query, policy="INCREMENTAL STRICT")
    rv.sql("INSERT INTO t VALUES (9, 3, 'c')")
    for number, (query, expected) in enumerate(LISTS.items()):
        assert rv.refresh(f"v{number}").strategy != "full", query
        assert rv.verify(f"v{number}").ok, query
        assert rows(rv.table(f"v{number}")) == expected, query


def test_a_list_of_no_values_is_empty_on_duckdb() -> None:
    follow(connect("duckdb:"))


def test_a_list_of_no_values_is_empty_on_spark(rv: Rollview) -> None:
    follow(rv)


@pytest.mark.parametrize(
    ("call", "clause"),
    [
        ("sum(id ORDER BY id)", "ORDER BY"),
        ("sum(id order by g) OVER (ORDER BY id)", "order by"),
        ("collect_list(DISTINCT s ORDER BY s)", "ORDER BY"),
        ("listagg(s, ',' ORDER BY id)", "ORDER BY"),
        ("my_own(id, (g + 1) ORDER BY id)", "ORDER BY"),
        ("count(s LIMIT 1)", "LIMIT"),
        ("avg(id HAVING MAX g)", "HAVING"),
    ],
)
def test_no_clause_inside_the_call_of_a_function(call: str, clause: str) -> None:
    rv = connect("duckdb:")
    rv.sql(TABLES)
    for text in (f"CREATE MATERIALIZED VIEW v AS SELECT {call} AS c FROM t", f"SELECT {call} AS c FROM t"):
        with pytest.raises(SqlSyntaxError) as caught:
            rv.sql(text)
        assert caught.value.why == f"Spark knows no {clause.upper()} inside the call of a function"
        assert caught.value.where is not None
        assert caught.value.where.text == clause
    assert rv.views() == []


def test_clauses_in_subqueries_and_names_like_clauses_are_none_of_a_call() -> None:
    rv = connect("duckdb:")
    rv.sql("CREATE TABLE t (id INT, limit STRING); INSERT INTO t VALUES (1, 'a'), (2, 'b')")
    query = (
        "SELECT listagg(limit, ',') WITHIN GROUP (ORDER BY id DESC) AS l, listagg(DISTINCT limit) AS d, "
        "max(coalesce(limit, '')) AS m, coalesce((SELECT id FROM t ORDER BY id DESC LIMIT 1), 0) AS n FROM t"
    )
    rv.create("v", query)
    assert rv.table("v").fetchall() == [("b,a", "ab", "b", 2)]  # type: ignore[operator]
