"""Values of different types that an engine compares or puts into one column: equal values need not be the same."""

from __future__ import annotations

import pytest

from compare import rows
from rollview import Rollview, connect
from rollview.errors import BadName, NotIncremental

#: Texts that are equal to one number, numbers that are equal to one float, and zeros that are not the same.
TABLES = """
CREATE TABLE t (id INT, g INT, PRIMARY KEY (id)); INSERT INTO t VALUES (1, 0), (2, 1);
CREATE TABLE u (k INT, h STRING, y INT, d DECIMAL(10, 2), PRIMARY KEY (k));
INSERT INTO u VALUES (1, '1', 10, 1.00), (2, '01', 20, 2.50), (3, '2', 30, NULL);
CREATE TABLE w (k INT, h STRING, PRIMARY KEY (k)); INSERT INTO w VALUES (1, '2');
CREATE TABLE s (h STRING, k INT, v INT, PRIMARY KEY (h, k)); INSERT INTO s VALUES ('1', 5, 1), ('01', 5, 2);
CREATE TABLE f (id INT, f DOUBLE, PRIMARY KEY (id));
INSERT INTO f VALUES (1, CAST('0.0' AS DOUBLE)), (2, CAST('-0.0' AS DOUBLE)), (3, 9007199254740992);
CREATE TABLE b (k BIGINT, y INT, PRIMARY KEY (k)); INSERT INTO b VALUES (9007199254740992, 1), (9007199254740993, 2)
"""

#: What is asked, and what then changes.
VIEWS = {
    "a string key compared with a number": (
        "SELECT h, k, v FROM s WHERE h = 1",
        "UPDATE s SET v = 7 WHERE h = '1'",
    ),
    "a correlated sum": (
        "SELECT id, (SELECT sum(y) FROM u WHERE u.h = t.id) AS s FROM t",
        "INSERT INTO u VALUES (4, '001', 5, 0.1)",
    ),
    "a correlated sum of large numbers": (
        "SELECT id, (SELECT sum(y) FROM b WHERE b.k = f.f) AS s FROM f",
        "UPDATE b SET y = 5 WHERE k = 9007199254740993",
    ),
    "a count of partners, counted": (
        "SELECT n, count(*) AS c FROM (SELECT t.id, count(u.y) AS n FROM t LEFT JOIN u ON t.id = u.h GROUP BY t.id) q GROUP BY n",
        "INSERT INTO u VALUES (4, '001', 5, 0.1)",
    ),
    "a = b and b = c": (
        "SELECT u.h, w.h AS wh FROM t JOIN u ON t.id = u.h JOIN w ON w.h = t.id",
        "INSERT INTO w VALUES (3, '0001')",
    ),
    "groups by the text": (
        "SELECT u.h, max(t.g) AS m FROM t JOIN u ON t.id = u.h GROUP BY u.h",
        "UPDATE t SET g = 5 WHERE id = 1",
    ),
    "groups by the number": (
        "SELECT t.id, count(DISTINCT u.y) AS n FROM t JOIN u ON t.id = u.h GROUP BY t.id",
        "UPDATE u SET y = 5 WHERE k = 2",
    ),
    "no text that is equal": (
        "SELECT id FROM t WHERE NOT EXISTS (SELECT 1 FROM u WHERE u.h = t.id AND y > 15)",
        "UPDATE u SET y = 5 WHERE k = 2",
    ),
    "tags 1 and 1.0": (
        "SELECT 1 AS src, id, g FROM t UNION ALL SELECT 1.0, k, y FROM u",
        "UPDATE u SET y = 9 WHERE k = 1",
    ),
    "a condition on what a union converts": (
        "SELECT v FROM (SELECT id AS v FROM t UNION ALL SELECT d FROM u) z WHERE CAST(v AS STRING) LIKE '%.00'",
        "INSERT INTO t VALUES (7, 7)",
    ),
    "what a union makes of a new row": (
        "SELECT CAST(v AS STRING) AS c FROM (SELECT id AS v FROM t UNION ALL SELECT d FROM u) z",
        "INSERT INTO t VALUES (7, 7)",
    ),
    "what a union makes of a row of the other side": (
        "SELECT c, count(*) AS n FROM (SELECT CAST(v AS STRING) AS c FROM (SELECT d AS v FROM u UNION SELECT id FROM t) z) q GROUP BY c",
        "DELETE FROM t WHERE id = 2",
    ),
    "a key that a union makes one": (
        "SELECT 'a' AS s, k FROM b UNION ALL SELECT 'b', f FROM f",
        "DELETE FROM b WHERE k = 9007199254740992",
    ),
    "two zeros": (
        "SELECT DISTINCT f, CAST(f AS STRING) AS s FROM f",
        "DELETE FROM f WHERE id = 1",
    ),
}

ON_SPARK = [
    "a string key compared with a number",
    "a correlated sum",
    "a = b and b = c",
    "groups by the text",
    "what a union makes of a new row",
]


def follows(rv: Rollview, names: list[str]) -> None:
    rv.sql(TABLES)
    for i, name in enumerate(names):
        rv.create(f"v{i}", VIEWS[name][0], policy="INCREMENTAL STRICT")
        assert rv.verify(f"v{i}").ok, name
        rv.sql(VIEWS[name][1])
        assert rv.refresh(f"v{i}").strategy not in ("full", "no_op"), name
        assert rv.verify(f"v{i}").ok, name


@pytest.mark.parametrize("name", VIEWS)
@pytest.mark.one_in(3)
def test_equal_values_of_different_types_need_not_be_the_same(name: str) -> None:
    follows(connect("duckdb:"), [name])


def test_equal_values_of_different_types_on_spark(rv: Rollview) -> None:
    follows(rv, ON_SPARK)


def test_a_union_of_texts_and_numbers_is_left_to_the_engine() -> None:
    """Which of the two is converted depends on the engine and its settings."""
    rv = connect("duckdb:")
    rv.sql(TABLES)
    rv.create("v", "SELECT id FROM t UNION ALL SELECT h FROM u")
    rv.sql("INSERT INTO t VALUES (9, 9)")
    assert rv.refresh("v").reason == "not_compiled"
    assert rv.verify("v").ok
    assert "none: a set operation of INT and STRING in one column, without a CAST, cannot be" in rv.explain(
        "v", verbose=True
    )
    with pytest.raises(NotIncremental, match="a set operation of INT and STRING in one column, without a CAST"):
        rv.create("x", "SELECT id FROM t UNION ALL SELECT h FROM u", policy="INCREMENTAL")
    rv.create("cast", "SELECT CAST(id AS STRING) AS h FROM t UNION ALL SELECT h FROM u", policy="INCREMENTAL STRICT")
    rv.sql("DELETE FROM u WHERE k = 1")
    assert rv.refresh("cast").strategy == "row_delta"
    assert rv.verify("cast").ok


@pytest.mark.parametrize(
    "query",
    [
        "SELECT t.id, l.c FROM t JOIN LATERAL (SELECT DISTINCT u.y > 0 AS c FROM u WHERE u.k % 2 = t.g) l ON true",
        "SELECT t.id, (SELECT DISTINCT u.y > 0 FROM u WHERE u.k % 2 = t.g) AS c FROM t",
    ],
)
def test_distinct_rows_of_a_correlated_subquery_are_distinct_for_each_outer_row(query: str) -> None:
    rv = connect("duckdb:")
    rv.sql(TABLES)
    rv.create("v", query, policy="INCREMENTAL STRICT")
    assert rv.verify("v").ok
    rv.sql("INSERT INTO u VALUES (6, 'x', 1, 1); INSERT INTO t VALUES (8, 0); DELETE FROM u WHERE k = 2")
    assert rv.refresh("v").strategy != "full"
    assert rv.verify("v").ok


@pytest.mark.parametrize(
    "query",
    [
        "SELECT id, count(*) OVER (PARTITION BY st) AS n FROM t",
        "SELECT DISTINCT st, arr FROM t",
        "SELECT arr, count(DISTINCT id) AS n FROM t GROUP BY arr",
        "SELECT a.id, b.id AS other FROM t AS a LEFT JOIN t AS b ON a.st = b.st AND a.id < b.id",
        "SELECT id FROM t AS a WHERE NOT EXISTS (SELECT 1 FROM t AS b WHERE b.arr = a.arr AND b.id > a.id)",
        "SELECT st FROM t EXCEPT ALL SELECT st FROM t WHERE id > 1",
    ],
)
def test_arrays_and_structs_as_keys(query: str) -> None:
    rv = connect("duckdb:")
    rv.sql("CREATE TABLE t (id INT, st STRUCT<a: INT>, arr ARRAY<INT>, PRIMARY KEY (id))")
    rv.sql("INSERT INTO t VALUES (1, named_struct('a', 1), array(1, 2)), (2, NULL, array(1))")
    rv.create("v", query, policy="INCREMENTAL STRICT")
    for change in (
        "INSERT INTO t VALUES (3, named_struct('a', 1), array(1)), (4, named_struct('a', 2), NULL)",
        "DELETE FROM t WHERE id = 1",
        "UPDATE t SET st = named_struct('a', 1), arr = array(1, 2) WHERE id = 4",
    ):
        rv.sql(change)
        assert rv.refresh("v").strategy not in ("full", "no_op")
        assert rv.verify("v").ok


def test_names_that_rollview_uses_itself() -> None:
    rv = connect("duckdb:")
    rv.sql("CREATE TABLE t (id INT, `__w` INT, PRIMARY KEY (id)); INSERT INTO t VALUES (3, 7)")
    rv.create("weights", "SELECT sum(`__w`) AS s FROM t")
    rv.create("others", "SELECT count(*) AS n FROM t", policy="INCREMENTAL STRICT")
    rv.sql("INSERT INTO t VALUES (4, -1)")
    assert rv.refresh("weights").reason == "not_compiled"
    assert rv.refresh("others").strategy == "aggregate_merge"
    assert rows(rv.table("weights")) == [(6,)]
    for name in ("_change_type", "RowId", "__from"):
        with pytest.raises(BadName, match=name):
            rv.sql(f"CREATE TABLE x (id INT, `{name}` INT)")


def test_a_count_of_no_rows_is_zero() -> None:
    rv = connect("duckdb:")
    rv.sql(TABLES)
    rv.create("v", "SELECT id, (SELECT regr_count(y, k) FROM u WHERE u.k = t.g) AS n FROM t")
    assert rows(rv.table("v")) == [(1, 0), (2, 1)]
