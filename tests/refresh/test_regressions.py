"""Bugs that other engines shipped, each as a statement about views; and commits that look like changes and are none."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from compare import rows
from rollview import Rollview, connect
from rollview.engine.duck import DuckEngine
from rollview.engine.spark import SparkEngine
from rollview.errors import InternalError, SchemaChanged, SqlError


@pytest.fixture(params=["duckdb", pytest.param("embedded", marks=pytest.mark.spark)])
def session(request: pytest.FixtureRequest) -> Rollview:
    """DuckDB and the embedded store, so that both engines are asked."""
    return connect("duckdb:") if request.param == "duckdb" else request.getfixturevalue("rv")


#: On DuckDB in every run, on Spark in the slow half.
BOTH_ENGINES = pytest.mark.parametrize(
    "session", ["duckdb", pytest.param("embedded", marks=pytest.mark.slow)], indirect=True
)


def refreshed(rv: Rollview, *expected: str) -> None:
    """Refreshes all views; each must equal its query and have taken a strategy that is expected, never a full one."""
    for result in rv.refresh_all():
        assert result.strategy in (*expected, "no_op"), result
        assert rv.verify(result.view).ok, result


@BOTH_ENGINES
def test_a_group_emptied_by_two_deletes_comes_back(session: Rollview) -> None:
    rv = session
    rv.sql(
        "CREATE TABLE t (id INT, g STRING, n INT, PRIMARY KEY (id)); INSERT INTO t VALUES (1, 'a', 1), (2, 'a', 2), (3, 'b', 3)"
    )
    rv.create("v", "SELECT g, count(*) AS c, sum(n) AS s, avg(n) AS a, max(n) AS m FROM t GROUP BY g")
    rv.create("w", "SELECT g, count(*) AS c, sum(n) AS s FROM t GROUP BY g")
    for change in ("DELETE FROM t WHERE id = 1", "DELETE FROM t WHERE id = 2", "INSERT INTO t VALUES (9, 'a', NULL)"):
        rv.sql(change)
        refreshed(rv, "aggregate_merge", "group_recompute")
    rv.sql("UPDATE t SET n = NULL")
    refreshed(rv, "aggregate_merge", "group_recompute")


@BOTH_ENGINES
def test_a_mean_over_a_group_that_becomes_all_null_and_a_maximum_that_goes(session: Rollview) -> None:
    rv = session
    rv.sql(
        "CREATE TABLE t (id INT, g INT, x DECIMAL(10,2), PRIMARY KEY (id)); INSERT INTO t VALUES (1, 1, 1.10), (2, 1, 2.25), (3, 2, 9.99)"
    )
    rv.create("v", "SELECT g, avg(x) AS a, sum(x) AS s, count(x) AS c FROM t GROUP BY g")
    rv.create("m", "SELECT g, max(x) AS m, min(x) AS l FROM t GROUP BY g")
    for change in (
        "UPDATE t SET x = NULL WHERE g = 1",
        "UPDATE t SET x = 0.01 WHERE id = 2",
        "DELETE FROM t WHERE id = 3",
        "INSERT INTO t VALUES (4, 2, 0.03), (5, 1, 100)",
    ):
        rv.sql(change)
        refreshed(rv, "aggregate_merge", "group_recompute")


def test_nan_and_infinity_leave_a_sum_again(session: Rollview) -> None:
    rv = session
    rv.sql("CREATE TABLE t (id INT, x DOUBLE, PRIMARY KEY (id)); INSERT INTO t VALUES (1, 1.5), (2, 2.5)")
    rv.create("v", "SELECT sum(x) AS s, avg(x) AS a, count(*) AS n FROM t")
    for change in (
        "INSERT INTO t VALUES (3, CAST('NaN' AS DOUBLE)), (4, CAST('Infinity' AS DOUBLE))",
        "DELETE FROM t WHERE id > 2",
    ):
        rv.sql(change)
        refreshed(rv, "group_recompute")


@BOTH_ENGINES
def test_a_delete_and_an_insert_of_one_key_and_two_changes_of_one_row(session: Rollview) -> None:
    rv = session
    rv.sql("CREATE TABLE t (id INT, g STRING, PRIMARY KEY (id)); INSERT INTO t VALUES (1, 'a'), (2, 'b')")
    rv.create("v", "SELECT id, g FROM t")
    rv.create("w", "SELECT g FROM t")
    rv.create("n", "SELECT g, count(*) AS n FROM t GROUP BY g")
    rv.sql(
        "DELETE FROM t WHERE id = 1; INSERT INTO t VALUES (1, 'z'); UPDATE t SET g = 'y' WHERE id = 2; UPDATE t SET g = 'b' WHERE id = 2"
    )
    refreshed(rv, "row_delta", "aggregate_merge")
    rv.sql("UPDATE t SET g = 'q' WHERE id = 1; UPDATE t SET g = 'z' WHERE id = 1")
    assert [result.strategy for result in rv.refresh_all()] == ["no_op"] * 3


@BOTH_ENGINES
def test_a_self_join_whose_both_sides_change_and_an_outer_join_over_a_bag(session: Rollview) -> None:
    rv = session
    rv.sql("CREATE TABLE t (id INT, boss INT, PRIMARY KEY (id)); INSERT INTO t VALUES (1, NULL), (2, 1), (3, 1)")
    rv.sql("CREATE TABLE b (x INT); INSERT INTO b VALUES (1), (1), (2), (NULL), (NULL)")
    rv.create("s", "SELECT a.id, b.id AS boss FROM t a JOIN t b ON a.boss = b.id")
    rv.create("l", "SELECT b.x, t.id FROM b LEFT JOIN t ON b.x = t.id")
    rv.create("f", "SELECT b.x, t.boss FROM b FULL OUTER JOIN t ON b.x = t.boss")
    for change in (
        "UPDATE t SET boss = 2 WHERE id = 3; DELETE FROM t WHERE id = 1",
        "INSERT INTO t VALUES (1, 1); INSERT INTO b VALUES (1)",
        "DELETE FROM b WHERE x = 1",
    ):
        rv.sql(change)
        refreshed(rv, "row_delta", "append")


@BOTH_ENGINES
def test_not_in_a_list_that_gets_a_null(session: Rollview) -> None:
    rv = session
    rv.sql(
        "CREATE TABLE t (x INT); INSERT INTO t VALUES (1), (2), (NULL); CREATE TABLE u (x INT); INSERT INTO u VALUES (2)"
    )
    rv.create("v", "SELECT x FROM t WHERE x NOT IN (SELECT x FROM u)")
    for change in (
        "INSERT INTO u VALUES (NULL)",
        "DELETE FROM u WHERE x IS NULL",
        "DELETE FROM u",
        "INSERT INTO t VALUES (NULL), (3)",
    ):
        rv.sql(change)
        refreshed(rv, "row_delta", "append")


def test_a_source_overwritten_with_itself_has_not_changed(session: Rollview) -> None:
    rv = session
    rv.sql("CREATE TABLE t (id INT, g STRING, PRIMARY KEY (id)); INSERT INTO t VALUES (1, 'a'), (2, 'b')")
    rv.create("v", "SELECT g, count(*) AS n FROM t GROUP BY g")
    rv.sql("INSERT OVERWRITE t SELECT id, g FROM t")
    result = rv.refresh("v")
    assert (result.strategy, result.to_vector) == ("no_op", {"t": rv.store.version("t")})
    assert rv.views()[0].fresh
    rv.sql("INSERT OVERWRITE t SELECT id, 'a' FROM t")
    assert rv.refresh("v").rows_changed == 2
    assert rv.verify("v").ok


def test_commits_that_change_no_data_are_no_changes(opened: Callable[..., Rollview]) -> None:
    rv = opened("delta")
    rv.sql(
        "CREATE TABLE t (id INT, g STRING, PRIMARY KEY (id)); INSERT INTO t VALUES (1, 'a'); INSERT INTO t VALUES (2, 'b')"
    )
    rv.create("v", "SELECT g, count(*) AS n FROM t GROUP BY g")
    name = rv.store.sql_name("t")
    for statement in (
        f"OPTIMIZE {name}",
        f"ALTER TABLE {name} SET TBLPROPERTIES (x = 'y')",
        f"MERGE INTO {name} AS t USING (SELECT 99 AS id) AS s ON t.id = s.id WHEN MATCHED THEN DELETE",
    ):
        rv.spark.sql(statement)
        assert rv.refresh("v").strategy == "no_op", statement
        assert rv.views()[0].fresh
    rv.sql("INSERT INTO t VALUES (3, 'b')")
    assert rv.refresh("v").strategy == "aggregate_merge"
    assert rv.verify("v").ok


def test_columns_that_come_are_ignored_and_those_that_go_are_told(opened: Callable[..., Rollview]) -> None:
    rv = opened("delta")
    rv.sql(
        "CREATE TABLE t (id INT, g STRING, n INT, PRIMARY KEY (id)) TBLPROPERTIES ('delta.columnMapping.mode' = 'name')"
    )
    rv.sql("INSERT INTO t VALUES (1, 'a', 1), (2, 'b', 2)")
    rv.create("whole", "SELECT * FROM t")
    rv.create("part", "SELECT g FROM t")
    name = rv.store.sql_name("t")
    rv.spark.sql(f"ALTER TABLE {name} ADD COLUMN extra INT")
    rv.sql("INSERT INTO t VALUES (3, 'c', 3, 30)")
    for view in ("whole", "part"):
        assert rv.refresh(view).strategy != "full"
        assert rv.verify(view).ok
    assert rv.table("whole").columns == ["id", "g", "n"]
    before = rows(rv.table("whole"))
    rv.spark.sql(f"ALTER TABLE {name} DROP COLUMN n")
    with pytest.raises(SchemaChanged):
        rv.refresh("whole")
    assert rows(rv.table("whole")) == before
    rv.sql("INSERT INTO t VALUES (4, 'd', 40)")
    assert rv.refresh("part").strategy in ("append", "full")  # Delta may not read a feed across the change
    assert rows(rv.table("part")) == [("a",), ("b",), ("c",), ("d",)]


def test_settings_that_change_results_are_those_of_the_creation(rv: Rollview) -> None:
    rv.sql("CREATE TABLE t (id INT, at TIMESTAMP, a INT, b INT, PRIMARY KEY (id))")
    rv.spark.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    rv.spark.conf.set("spark.sql.ansi.enabled", "false")
    rv.sql("INSERT INTO t VALUES (1, TIMESTAMP'2025-01-01 00:30:00', 1, 0)")
    rv.create("v", "SELECT id, hour(at) AS h, a / b AS q FROM t")
    rv.create("g", "SELECT hour(max(at)) AS h, sum(a) / sum(b) AS q FROM t")
    rv.spark.conf.set("spark.sql.session.timeZone", "UTC")
    rv.spark.conf.set("spark.sql.ansi.enabled", "true")
    rv.sql("INSERT INTO t VALUES (2, TIMESTAMP'2025-01-01 15:30:00', 1, 0)")
    assert [rv.refresh(name).strategy for name in "vg"] == ["append", "aggregate_merge"]
    assert rows(rv.table("v")) == [(1, 0, None), (2, 0, None)]
    assert rows(rv.table("g")) == [(0, None)]
    assert rv.verify("v").ok
    assert rv.verify("g").ok
    assert rv.spark.conf.get("spark.sql.session.timeZone") == "UTC"


def test_settings_that_nobody_set_are_what_they_are_by_default(rv: Rollview) -> None:
    """A session without a time zone of its own has that of the machine."""
    assert isinstance(rv.engine, SparkEngine)
    settings = rv.engine.result_settings()
    assert settings["spark.sql.session.timeZone"] == rv.spark.conf.get("spark.sql.session.timeZone")
    assert rv.engine.has_settings(settings)


def test_quotes_and_escapes_are_those_of_the_creation(rv: Rollview) -> None:
    rv.sql("CREATE TABLE t (id INT, a STRING, PRIMARY KEY (id)); INSERT INTO t VALUES (1, 'x')")
    rv.spark.conf.set("spark.sql.ansi.doubleQuotedIdentifiers", "true")
    try:
        rv.create("v", 'SELECT id, "a" AS b FROM t')
    finally:
        rv.spark.conf.unset("spark.sql.ansi.doubleQuotedIdentifiers")
    rv.create("w", 'SELECT id, "a" AS b FROM t')
    rv.sql("INSERT INTO t VALUES (2, 'y')")
    assert rv.refresh("v").reason == "not_compiled"
    assert rv.refresh("w").strategy == "append"
    assert rows(rv.table("v")) == [(1, "x"), (2, "y")]
    assert rows(rv.table("w")) == [(1, "a"), (2, "a")]


def test_ties_are_decided_the_same_way_at_every_refresh() -> None:
    """The first rows of an order with ties, and the numbers of tied rows: whatever is taken away is what was stored."""
    rv = connect("duckdb:")
    rv.sql("CREATE TABLE t (id INT, g INT, n INT, PRIMARY KEY (id))")
    rv.sql("INSERT INTO t VALUES " + ", ".join(f"({i}, {i % 2}, {i % 3})" for i in range(40, 0, -1)))
    rv.create("best", "SELECT id, n FROM t ORDER BY n LIMIT 5")
    rv.create(
        "numbered",
        "SELECT id, row_number() OVER (PARTITION BY g ORDER BY n) AS k, lag(id) OVER (PARTITION BY g ORDER BY n) AS l FROM t",
    )
    rv.create("groups", "SELECT n, count(*) AS c FROM t GROUP BY n ORDER BY c LIMIT 1")
    decided = {
        "best": "SELECT id, n FROM t ORDER BY n, id LIMIT 5",
        "numbered": "SELECT id, row_number() OVER (PARTITION BY g ORDER BY n, id) AS k, lag(id) OVER (PARTITION BY g ORDER BY n, id) AS l FROM t",
        "groups": "SELECT n, count(*) AS c FROM t GROUP BY n ORDER BY c, n LIMIT 1",
    }
    for change in (
        "DELETE FROM t WHERE id IN (3, 6, 8)",
        "INSERT INTO t VALUES (50, 0, 0), (0, 1, 0), (51, 1, 1)",
        "UPDATE t SET n = 1 WHERE id < 20",
    ):
        rv.sql(change)
        assert {result.strategy for result in rv.refresh_all()} <= {
            "row_delta",
            "partition_recompute",
            "aggregate_merge",
        }
        for name, query in decided.items():
            assert rows(rv.table(name)) == rows(rv.sql(query)), (name, change)


def test_rows_that_come_and_go_between_two_refreshes_make_no_group() -> None:
    """A join row that its other side takes away again in the same refresh adds nothing to a group that is not there."""
    rv = connect("duckdb:")
    rv.sql("CREATE TABLE w (k INT, l INT, a INT, PRIMARY KEY (k, l)); CREATE TABLE x (b INT)")
    rv.create(
        "v",
        "SELECT q1.k, count(*) AS c, sum(q2.k) AS s FROM w q1 RIGHT JOIN w q2 ON q1.a = q2.l LEFT ANTI JOIN x q3 ON q2.l = q3.b GROUP BY q1.k",
    )
    rv.sql("INSERT INTO w VALUES (2, 1, 4), (1, 2, NULL); INSERT INTO x VALUES (1), (2)")
    refreshed(rv, "aggregate_merge")
    rv.sql("DELETE FROM w; DELETE FROM x")
    refreshed(rv, "aggregate_merge")
    assert rows(rv.engine.output(rv.store.read(rv.catalog.state("v")))) == []


def test_a_value_that_equals_several_keys_of_another_type() -> None:
    """2^53 and 2^53 + 1 are one value as a float: while one of them is there, the row has a match."""
    rv = connect("duckdb:")
    rv.sql("CREATE TABLE l (id INT, x DOUBLE, PRIMARY KEY (id)); INSERT INTO l VALUES (1, 9007199254740992), (2, 7)")
    rv.sql("CREATE TABLE r (y BIGINT, n INT); INSERT INTO r VALUES (7, 1)")
    rv.create("there", "SELECT id FROM l LEFT SEMI JOIN r ON x = y")
    rv.create("missing", "SELECT id FROM l LEFT ANTI JOIN r ON x = y")
    for change in (
        "INSERT INTO r VALUES (9007199254740992, 1), (9007199254740993, 2)",
        "DELETE FROM r WHERE n = 2",
        "DELETE FROM r WHERE y > 7",
    ):
        rv.sql(change)
        refreshed(rv, "append", "row_delta")


@pytest.mark.parametrize("keyed", ["", ", PRIMARY KEY (k)"])
def test_rows_that_new_ones_meet_again_are_not_added_again(keyed: str) -> None:
    """Of a semi join on other conditions than equalities, the delta has such rows after and before."""
    rv = connect("duckdb:")
    rv.sql(f"CREATE TABLE t (k INT, b INT{keyed}); INSERT INTO t VALUES (1, 2), (2, 0), (3, 2)")
    rv.create("v", "SELECT k, b FROM t WHERE EXISTS (SELECT 1 FROM t o WHERE o.b <> t.b)")
    rv.sql("INSERT INTO t VALUES (4, 3), (5, NULL), (6, 0)")
    refreshed(rv, "append")


def test_exists_without_a_column_is_no_restriction_to_touched_keys() -> None:
    rv = connect("duckdb:")
    rv.sql("CREATE TABLE t (x INT); INSERT INTO t VALUES (1), (2); CREATE TABLE u (x INT); INSERT INTO u VALUES (1)")
    rv.create("v", "SELECT min(x) AS low, count(*) AS n FROM t WHERE EXISTS (SELECT 1 FROM u WHERE 'p' <=> 'q')")
    for change in ("INSERT INTO t VALUES (0)", "DELETE FROM t WHERE x < 2", "DELETE FROM u"):
        rv.sql(change)
        refreshed(rv, "group_recompute", "aggregate_merge", "no_op")


@pytest.mark.parametrize(
    ("over", "clause"),
    [
        ("w2", "w AS (PARTITION BY g ORDER BY id), w2 AS w"),
        ("w2", "w AS (PARTITION BY g ORDER BY id), w2 AS (w)"),
        ("(w ORDER BY id)", "w AS (PARTITION BY g)"),
        ("w2", "w AS (PARTITION BY g), w2 AS (w ORDER BY id)"),
        ("(W ROWS 1 PRECEDING)", "w AS (PARTITION BY g ORDER BY id)"),
    ],
)
def test_windows_that_refer_to_named_ones_have_their_clauses(over: str, clause: str) -> None:
    rv = connect("duckdb:")
    rv.sql(
        "CREATE TABLE t (id INT, g INT, x INT, PRIMARY KEY (id)); INSERT INTO t VALUES (1, 1, 1), (2, 1, 2), (3, 2, 3)"
    )
    rv.create("v", f"SELECT id, sum(x) OVER {over} AS s FROM t WINDOW {clause}")
    assert rv.verify("v").ok
    rv.sql("INSERT INTO t VALUES (4, 1, 0), (5, 2, 7)")
    refreshed(rv, "partition_recompute")


@pytest.mark.parametrize(
    "query",
    [
        "SELECT q.t FROM {q} WHERE EXISTS (SELECT 1 FROM f WHERE f.ts = q.t)",
        "SELECT q.t, g.n FROM {q} JOIN (SELECT ts, count(*) AS n FROM f GROUP BY ts) g ON g.ts = q.t",
        "SELECT q.t, max(x) AS m FROM {q} GROUP BY q.t",
        "SELECT q.t, sum(x) OVER (ORDER BY q.t, x) AS s FROM {q}",
    ],
)
@BOTH_ENGINES
def test_days_and_moments_in_one_column_of_a_union(session: Rollview, query: str) -> None:
    """Their changes are of two types, which have no order among each other."""
    rv = session
    rv.sql("CREATE TABLE d (t DATE, x INT)")
    rv.sql("CREATE TABLE m (t TIMESTAMP, x INT)")
    rv.sql("CREATE TABLE f (ts TIMESTAMP)")
    rv.create("v", query.format(q="(SELECT t, x FROM d UNION ALL SELECT t, x FROM m) q"))
    for change in (
        "INSERT INTO f VALUES (TIMESTAMP '2024-01-01 00:00:00'), (TIMESTAMP '2024-01-02 00:00:00')",
        "INSERT INTO d VALUES (DATE '2024-01-01', 1); INSERT INTO m VALUES (TIMESTAMP '2024-01-02 00:00:00', 2)",
        "INSERT INTO d VALUES (DATE '2024-01-02', 4); INSERT INTO m VALUES (TIMESTAMP '2024-01-01 00:00:00', 5)",
        "DELETE FROM d; DELETE FROM m WHERE x = 2",
    ):
        for statement in change.split(";"):
            rv.sql(statement)
        refreshed(rv, "append", "row_delta", "aggregate_merge", "group_recompute", "partition_recompute")


@BOTH_ENGINES
def test_rows_with_floats_and_no_key_are_followed_unless_a_window_sums_floats_up(session: Rollview) -> None:
    rv = session
    rv.sql("CREATE TABLE e (g INT, f DOUBLE)")
    rv.sql("CREATE TABLE d (g INT, i INT, x DOUBLE)")
    rv.sql("INSERT INTO e VALUES (1, 0.1), (1, 0.1), (1, 2.5), (2, CAST('NaN' AS DOUBLE)), (3, NULL)")
    rv.sql("INSERT INTO d VALUES (1, 1, 0.5), (1, 2, 0.25), (2, 3, CAST('Infinity' AS DOUBLE))")
    followed = {
        "listed": "SELECT f FROM e WHERE g IN (SELECT g FROM d GROUP BY g HAVING count(*) > 1)",
        "counted": "SELECT e.f, q.n, q.m FROM e JOIN (SELECT g, count(*) AS n, max(x) AS m FROM d GROUP BY g) q ON q.g = e.g",
        "valued": "SELECT f, (SELECT sum(i) FROM d WHERE d.g = e.g) AS n FROM e",
        "ranked": "SELECT g, f, rank() OVER (PARTITION BY g ORDER BY f) AS r, lag(f) OVER (PARTITION BY g ORDER BY f) AS l FROM e",
        "first": "SELECT g, f FROM e QUALIFY row_number() OVER (PARTITION BY g ORDER BY f DESC) <= 2",
        "summed": "SELECT e.f, q.s FROM e JOIN (SELECT g, sum(x) AS s FROM d GROUP BY g) q ON q.g = e.g",
        "lists": "SELECT e.g, q.a FROM e JOIN (SELECT g, array(sum(x)) AS a FROM d GROUP BY g) q ON q.g = e.g",
    }
    drifting = {"mean": "SELECT f, avg(f) OVER (PARTITION BY g) AS m FROM e"}
    for name, query in (followed | drifting).items():
        rv.create(name, query)
        assert rv.catalog.get(name).always_full == ("inexact_rows" if name in drifting else None), name
        if name in drifting:
            rv.drop(name)
    for change in (
        "INSERT INTO e VALUES (1, 0.1), (2, 7.5), (2, CAST('NaN' AS DOUBLE)), (3, -0.5)",
        "INSERT INTO d VALUES (2, 4, 1.5), (3, 5, NULL)",
        "DELETE FROM e WHERE g = 1 AND f < 1",
        "UPDATE d SET x = x * 2, i = i + 1 WHERE g < 3",
        "DELETE FROM d WHERE i > 2",
        "DELETE FROM e WHERE g = 2",
    ):
        rv.sql(change)
        refreshed(rv, "append", "row_delta", "partition_recompute")


def test_a_column_named_twice_in_partition_by() -> None:
    rv = connect("duckdb:")
    rv.sql(
        "CREATE TABLE t (id INT, g INT, x INT, PRIMARY KEY (id)); INSERT INTO t VALUES (1, 1, 5), (2, 1, 6), (3, 2, 7)"
    )
    rv.create("sums", "SELECT id, sum(x) OVER (PARTITION BY g, g ORDER BY id) AS s FROM t")
    rv.create("first", "SELECT id, g FROM t QUALIFY row_number() OVER (PARTITION BY g, t.g ORDER BY x DESC, id) = 1")
    for change in ("INSERT INTO t VALUES (4, 2, 9), (5, 3, 1)", "DELETE FROM t WHERE id IN (2, 5)"):
        rv.sql(change)
        refreshed(rv, "partition_recompute")


def test_a_sum_whose_values_all_go_is_stored_as_one_of_none() -> None:
    rv = connect("duckdb:")
    rv.sql("CREATE TABLE t (g INT, x INT); INSERT INTO t VALUES (1, NULL)")
    rv.create("v", "SELECT g, sum(x) AS s FROM t GROUP BY g")
    before = rv.engine.output(rv.store.read(rv.catalog.state("v"))).fetchall()
    for change in ("INSERT INTO t VALUES (1, 5)", "DELETE FROM t WHERE x = 5"):
        rv.sql(change)
        refreshed(rv, "aggregate_merge")
    assert rv.engine.output(rv.store.read(rv.catalog.state("v"))).fetchall() == before


@BOTH_ENGINES
def test_semi_and_anti_joins_whose_both_sides_change(session: Rollview) -> None:
    """Keys that come, go, or do both; a left row that comes with its key, without it, or with NULL."""
    rv = session
    rv.sql("CREATE TABLE l (id INT, a INT, b INT, PRIMARY KEY (id)); CREATE TABLE r (a INT, b INT, n INT)")
    rv.sql(
        "INSERT INTO l VALUES (1, 1, 1), (2, 2, NULL), (3, 3, 3), (4, NULL, 4); INSERT INTO r VALUES (1, 1, 5), (NULL, 4, 5)"
    )
    for name, kind in (("there", "SEMI"), ("missing", "ANTI")):
        rv.create(name, f"SELECT id, l.a FROM l LEFT {kind} JOIN r ON l.a = r.a AND l.b = r.b AND r.n > 3")
    for change in (
        "INSERT INTO l VALUES (5, 5, 5), (6, NULL, NULL), (7, 1, 1); INSERT INTO r VALUES (3, 3, 4), (5, 5, 1), (1, 1, 9)",
        "UPDATE r SET n = n + 1; DELETE FROM l WHERE id = 3",
        "UPDATE l SET b = 1 WHERE id = 2; DELETE FROM r WHERE a = 1; INSERT INTO r VALUES (2, 1, 4)",
        "DELETE FROM r; INSERT INTO l VALUES (8, 8, 8)",
    ):
        rv.sql(change)
        refreshed(rv, "append", "row_delta")


def test_a_subquery_in_a_condition_below_a_union(rv: Rollview, monkeypatch: pytest.MonkeyPatch) -> None:
    """Spark's optimizer looks for the subquery's columns in a union around it when it infers conditions, and fails. What
    fails in Spark leaves the view as it was, and the error says what can be done."""
    rv.sql(
        "CREATE TABLE u (a INT, b INT); INSERT INTO u VALUES (1, 4), (NULL, 0), (3, 4), (1, 4), (NULL, 3), (3, NULL)"
    )
    rv.sql("CREATE TABLE r (k INT, PRIMARY KEY (k)); INSERT INTO r VALUES (2), (1)")
    rv.sql("CREATE TABLE x (b INT, s STRING); INSERT INTO x VALUES (4, 'p'), (NULL, 'r'), (3, NULL), (1, 'r')")
    query = (
        "SELECT rank() OVER (PARTITION BY 1 ORDER BY u.b) AS place FROM u JOIN u w ON u.a = w.b WHERE w.a > u.b OR NOT EXISTS "
        "(SELECT 1 FROM u z LEFT JOIN r ON z.b = r.k JOIN x ON r.k = x.b WHERE w.a <=> z.a)"
    )
    rv.create("v", query)
    with monkeypatch.context() as patch:
        patch.setattr(SparkEngine, "planning_settings", lambda *_: {})
        rv.create("inferring", query)
    rv.sql("UPDATE u SET a = 1 WHERE a >= 2")
    before = rows(rv.table("inferring"))
    with pytest.raises(InternalError, match=r"as it was\nWhy: .*key not found.*\nWhat to do: REFRESH .* FULL"):
        rv.refresh("inferring")
    assert rows(rv.table("inferring")) == before
    assert rv.refresh("inferring", full=True).strategy == "full"
    refreshed(rv, "partition_recompute")
    assert rv.spark.conf.get("spark.sql.constraintPropagation.enabled") == "true"


def test_an_aggregate_of_the_users_own_is_not_taken_for_a_function_of_each_row() -> None:
    rv = connect("duckdb:")
    assert isinstance(rv.engine, DuckEngine)
    rv.engine.connection.execute("CREATE MACRO total(x) AS sum(x)")
    rv.declare_deterministic("total")
    rv.sql("CREATE TABLE t (n INT); INSERT INTO t VALUES (1), (2)")
    rv.create("v", "SELECT total(n) AS s FROM t")
    rv.sql("INSERT INTO t VALUES (3)")
    result = rv.refresh("v")
    assert (result.strategy, result.reason) == ("full", "not_compiled")
    assert rv.verify("v").ok


def test_a_query_that_duckdb_does_not_take_is_refused_with_its_reason() -> None:
    rv = connect("duckdb:")
    rv.sql("CREATE TABLE t (k INT, s STRING, PRIMARY KEY (k))")
    with pytest.raises(SqlError, match=r"DuckDB refuses this statement(.|\n)*Collation"):
        rv.create("v", "SELECT k, s COLLATE UTF8_LCASE AS s FROM t")
    with pytest.raises(SqlError, match="DuckDB has no function named arrays_overlap"):
        rv.create("v", "SELECT arrays_overlap(array(k), array(1)) AS s FROM t")
    assert not rv.catalog.names()


def test_a_view_is_recomputed_if_so_much_has_changed_that_it_costs_less() -> None:
    """Only under AUTO, and only for many rows: a few are applied, whatever share of their table they are."""
    rv = connect("duckdb:")
    for table, number in (("few", 1000), ("many", 200_000)):
        rv.sql(f"CREATE TABLE {table} AS SELECT id, id % 7 AS g FROM (SELECT explode(sequence(1, {number})) AS id)")
    for table in ("few", "many"):
        for policy in ("AUTO", "INCREMENTAL"):
            rv.create(f"{table}_{policy}_rows", f"SELECT id, g + 1 AS g FROM {table}", policy=policy)
            rv.create(f"{table}_{policy}_groups", f"SELECT g, sum(id) AS n FROM {table} GROUP BY g", policy=policy)

    def strategies(table: str, kind: str) -> list[tuple[str, str | None]]:
        found = [rv.refresh(f"{table}_{policy}_{kind}") for policy in ("AUTO", "INCREMENTAL")]
        assert all(rv.verify(result.view).ok for result in found)
        return [(result.strategy, result.reason) for result in found]

    rv.sql("INSERT INTO many SELECT id + 1000000, 3 FROM many WHERE id <= 150000")
    assert strategies("many", "rows") == [("append", None), ("append", None)]
    much = ("full", "too_much_changed")
    assert strategies("many", "groups") == [much, ("aggregate_merge", None)]
    for table in ("few", "many"):
        rv.sql(f"UPDATE {table} SET g = g + 1")
    assert strategies("few", "rows") == [("row_delta", None), ("row_delta", None)]
    assert strategies("few", "groups") == [("aggregate_merge", None), ("aggregate_merge", None)]
    assert strategies("many", "rows") == [much, ("row_delta", None)]
    assert strategies("many", "groups") == [much, ("aggregate_merge", None)]
    assert "recomputing is cheaper" in rv.explain("many_AUTO_rows")
    assert "recomputing is cheaper" not in rv.explain("many_INCREMENTAL_rows")
