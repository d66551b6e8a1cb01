"""What Spark has and DuckDB has not, or has with another meaning: there it means what it means on Spark."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import duckdb
import pytest

from rollview import Rollview, connect
from rollview.engine.duck import translate

ROWS = """
CREATE TABLE t (k INT, kind STRING, val INT, s STRING);
INSERT INTO t VALUES (1, 'in', 3, 'x'), (1, 'in', NULL, 'y'), (2, 'out', NULL, 'z');
CREATE TABLE lists (id INT, xs ARRAY<STRING>);
INSERT INTO lists VALUES (1, array('a', 'b')), (2, array('b', NULL)), (3, NULL);
INSERT INTO lists VALUES (4, array())
"""

#: Queries, and what Spark returns.
CASES = {
    "PIVOT (count(val) FOR kind IN ('in' AS i, 'out' AS o))": ("k, kind, val", [(1, 1, None), (2, None, 0)]),
    "PIVOT (count(*) FOR kind IN ('in' AS i, 'out' AS o))": ("k, kind", [(1, 2, None), (2, None, 1)]),
    "PIVOT (count(DISTINCT val) FOR kind IN ('in' AS i, 'out' AS o))": ("k, kind, val", [(1, 1, None), (2, None, 0)]),
    "PIVOT (count_if(val > 2) FOR kind IN ('in' AS i, 'out' AS o))": ("k, kind, val", [(1, 1, None), (2, None, 0)]),
    "PIVOT (count(val) AS c, sum(val) AS s FOR kind IN ('in' AS i, 'out' AS o))": (
        "k, kind, val",
        [(1, 1, 3, None, None), (2, None, None, 0, None)],
    ),
    "PIVOT (count(val) AS c, max(s) AS s FOR kind IN ('in' AS i, 'out' AS o))": (
        "k, kind, val, s",
        [(1, 1, "y", 0, None), (2, 0, None, 0, "z")],
    ),
}

QUERIES = {
    "SELECT id, exists(xs, x -> x = 'a') AS e FROM lists": [(1, True), (2, None), (3, None), (4, False)],
    "SELECT id, forall(xs, x -> x <> 'c') AS e FROM lists": [(1, True), (2, None), (3, None), (4, True)],
    "SELECT k, every(val > 2) AS e, some(val > 3) AS s FROM t GROUP BY k": [(1, True, False), (2, None, None)],
    "SELECT k, count_if(val > 2) AS n FROM t GROUP BY k": [(1, 1), (2, 0)],
    "SELECT k FROM t ORDER BY k LIMIT ALL": [(1,), (1,), (2,)],
} | {f"SELECT * FROM (SELECT {columns} FROM t) {pivot}": found for pivot, (columns, found) in CASES.items()}


def sorted_rows(found: Any) -> list[tuple[object, ...]]:
    return sorted(found.fetchall(), key=lambda row: row[0])


@pytest.fixture
def on_duckdb() -> Rollview:
    rv = connect("duckdb:")
    rv.sql(ROWS)
    return rv


@pytest.mark.parametrize("sql", QUERIES)
def test_a_query_and_a_view_return_what_spark_returns(on_duckdb: Rollview, sql: str) -> None:
    rv = on_duckdb
    assert sorted_rows(rv.sql(sql)) == QUERIES[sql]
    rv.create("v", sql)
    assert sorted_rows(rv.table("v")) == QUERIES[sql]
    rv.sql("INSERT INTO t VALUES (2, 'in', 7, 'w'), (3, 'out', 4, 'v'); DELETE FROM t WHERE s = 'x'")
    rv.sql("INSERT INTO lists VALUES (5, array('c')), (6, array())")
    rv.refresh("v")
    assert rv.verify("v").ok


def test_spark_returns_the_same(opened: Callable[..., Rollview]) -> None:
    on_spark = opened()
    on_spark.sql(ROWS)
    for sql, expected in QUERIES.items():
        assert sorted(map(tuple, on_spark.sql(sql).collect()), key=lambda row: row[0]) == expected, sql


def test_a_fault_of_duckdb_is_told_from_a_mistake() -> None:
    told = translate(duckdb.InternalException("INTERNAL Error: no such binding\nStack Trace:\n0x1"), "SELECT 1")
    assert "no such binding; this is a fault of DuckDB" in str(told)
    assert "Stack" not in str(told)
