"""Views from creation to drop, on both stores: what they show is what their query returns."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from pyspark.sql.functions import lit

from compare import bag, rows
from rollview import Rollview, UserError
from rollview.errors import InUse, NameTaken, NotIncremental, SchemaChanged, SqlError, VersionGone, ViewNotFound
from rollview.store.edits import Append, Edit, Replace, Upsert
from rollview.store.protocol import NO_STAMP, Commit, Stamp


def shop(rv: Rollview) -> Rollview:
    rv.sql(
        "CREATE TABLE t (id INT, g STRING, n INT, PRIMARY KEY (id));"
        "INSERT INTO t VALUES (1, 'a', 10), (2, 'a', 20), (3, 'b', 5), (4, NULL, 1)"
    )
    return rv


def test_a_view_follows_its_query(rv_each: Rollview) -> None:
    rv = shop(rv_each)
    made = rv.sql("CREATE MATERIALIZED VIEW v COMMENT 'totals' AS SELECT g, sum(n) AS s, count(*) FROM t GROUP BY g")
    assert made.select("view", "strategy", "reason").collect()[0] == ("v", "full", "created")
    assert rv.table("v").columns == ["g", "s", "count(1)"]
    assert rows(rv.table("v")) == [("a", 30, 2), ("b", 5, 1), (None, 1, 1)]
    assert rows(rv.sql("SELECT g, `count(1)` FROM v WHERE s > 4")) == [("a", 2), ("b", 1)]
    rv.sql("UPDATE t SET n = n + 1 WHERE g = 'a'; DELETE FROM t WHERE id = 3; INSERT INTO t VALUES (7, 'c', 7)")
    before = rv.store.version("t")
    assert rows(rv.table("v")) == [("a", 30, 2), ("b", 5, 1), (None, 1, 1)]
    result = rv.refresh("v")
    assert (result.strategy, result.reason) == ("aggregate_merge", None)
    assert (result.from_vector, result.to_vector) == ({"t": 1}, {"t": before})
    assert (result.rows_changed, result.rows_written) == (6, 3)
    assert (result.rows_read or 0) >= 6
    assert rows(rv.table("v")) == [("a", 32, 2), ("c", 7, 1), (None, 1, 1)]
    assert rows(rv.sql("SELECT * FROM v")) == rows(rv.table("v"))
    check = rv.verify("v")
    assert (check.ok, check.missing, check.extra) == (True, 0, 0)
    again = rv.refresh("v")
    assert (again.strategy, again.reason, again.rows_written) == ("no_op", None, 0)
    rv.drop("v")
    assert rv.views() == []
    with pytest.raises(UserError):
        rv.sql("SELECT * FROM v")


def test_views_on_views_and_what_is_known_of_them(rv_each: Rollview) -> None:
    rv = shop(rv_each)
    rv.create("v", "SELECT g, sum(n) AS s FROM t GROUP BY g", policy="FULL", comment="per group")
    rv.create("w", "SELECT sum(s) AS total FROM v JOIN t ON v.g = t.g")
    rv.sql("INSERT INTO t VALUES (5, 'b', 100)")
    status = {view.name: view for view in rv.views()}
    assert status["v"].policy == "FULL"
    assert status["v"].comment == "per group"
    assert (status["v"].behind, status["v"].fresh) == ({"t": 1}, False)
    assert (status["w"].behind, status["w"].vector) == ({"t": 1}, {"t": 1, "v": 0})
    assert rv.refresh("v").reason == "policy"
    assert rv.refresh("w").to_vector == {"t": 2, "v": 1}
    assert rows(rv.table("w")) == [(30 + 30 + 105 + 105,)]
    assert rv.verify("w").ok
    assert all(view.fresh for view in rv.views())
    with pytest.raises(InUse, match="w read it"):
        rv.sql("DROP MATERIALIZED VIEW v")
    rv.sql("DROP MATERIALIZED VIEW w; DROP MATERIALIZED VIEW v; DROP MATERIALIZED VIEW IF EXISTS v")
    with pytest.raises(ViewNotFound):
        rv.refresh("v")


def test_replacing_and_creating_again(rv_each: Rollview) -> None:
    rv = shop(rv_each)
    rv.create("v", "SELECT g FROM t")
    with pytest.raises(NameTaken):
        rv.create("v", "SELECT n FROM t")
    with pytest.raises(NameTaken):
        rv.create("t", "SELECT 1 AS a")
    with pytest.raises(NameTaken):
        rv.sql("CREATE TABLE v (a INT)")
    assert rv.create("v", "SELECT 1 AS other FROM t", if_not_exists=True).strategy == "no_op"
    assert rv.create("v", "SELECT id, n FROM t WHERE n > 5", or_replace=True).reason == "replaced"
    assert rows(rv.table("v")) == [(1, 10), (2, 20)]
    assert rows(rv.sql("SELECT * FROM v")) == [(1, 10), (2, 20)]
    assert rv.verify("v").ok
    rv.create("w", "SELECT id FROM v")
    with pytest.raises(InUse, match="other columns"):
        rv.create("v", "SELECT g FROM t", or_replace=True)
    with pytest.raises(SqlError, match="itself"):
        rv.create("v", "SELECT id, id AS n FROM w", or_replace=True)


def test_verify_finds_what_is_missing_and_what_is_extra(rv: Rollview) -> None:
    shop(rv)
    rv.create("v", "SELECT g, CAST(n AS DOUBLE) / 3 AS x FROM t")
    state = rv.store.read("__rollview__v")
    changed = state.where("g = 'b'").withColumn("x", lit(99.0))
    rv.store.commit("__rollview__v", [Upsert(changed, ["g"])])
    rv.store.commit("__rollview__v", [Append(changed.withColumn("g", lit("z")))])
    check = rv.verify("v")
    assert (check.ok, check.missing, check.extra) == (False, 1, 2)
    assert [row["g"] for row in check.missing_sample] == ["b"]
    assert sorted(row["g"] for row in check.extra_sample) == ["b", "z"]


def test_verify_counts_copies_and_forgives_only_the_last_digits(rv: Rollview) -> None:
    rv.sql(
        "CREATE TABLE d (x DOUBLE, f FLOAT); INSERT INTO d VALUES (1.0D, 1.5), (1.0D, 1.5), (double('NaN'), NULL), (NULL, 2)"
    )
    rv.create("v", "SELECT x, f FROM d")
    assert rv.verify("v").ok
    state = "__rollview__v"
    rv.store.commit(
        state,
        [
            Replace(
                rv.spark.sql(
                    "SELECT *, 1L AS __n FROM VALUES (1.00000000000001D, 1.5F), (0.99999999999999D, 1.5F), "
                    "(CAST('NaN' AS DOUBLE), NULL), (NULL, 2F) AS t(x, f)"
                )
            )
        ],
        _same_stamp(rv, state),
    )
    assert rv.verify("v").ok
    one = rv.spark.sql("SELECT 1.0D AS x, 1.5F AS f, 1L AS __n")
    rv.store.commit(state, [Replace(one)], _same_stamp(rv, state))
    assert (rv.verify("v").missing, rv.verify("v").extra) == (3, 0)
    rv.store.commit(
        state,
        [
            Replace(
                rv.spark.sql(
                    "SELECT 1.0000001D AS x, 1.5F AS f, 2L AS __n UNION ALL SELECT 'NaN', NULL, 1 UNION ALL SELECT NULL, 2, 1"
                )
            )
        ],
        _same_stamp(rv, state),
    )
    assert (rv.verify("v").missing, rv.verify("v").extra) == (2, 2)


def _same_stamp(rv: Rollview, state: str):  # type: ignore[no-untyped-def]
    return Stamp(rv.store.last_commit(state, having="rollview.vector").metadata)


def test_policies(rv: Rollview) -> None:
    shop(rv)
    for policy in ("INCREMENTAL", "INCREMENTAL STRICT"):
        with pytest.raises(NotIncremental, match="the current time"):
            rv.sql(f"CREATE MATERIALIZED VIEW v REFRESH POLICY {policy} AS SELECT current_date() AS d FROM t")
    assert rv.views() == []
    rv.sql("CREATE MATERIALIZED VIEW s REFRESH POLICY INCREMENTAL STRICT AS SELECT g, count(*) AS n FROM t GROUP BY g")
    rv.sql("CREATE MATERIALIZED VIEW i REFRESH POLICY INCREMENTAL AS SELECT g, count(*) AS n FROM t GROUP BY g")
    rv.sql("INSERT INTO t VALUES (9, 'z', 9)")
    assert [rv.refresh(name).strategy for name in ("s", "i")] == ["aggregate_merge", "aggregate_merge"]
    rv.sql("DROP TABLE t; CREATE TABLE t (id INT, g STRING, n INT)")
    before = rows(rv.table("s"))
    with pytest.raises(NotIncremental, match=r"table_replaced(.|\n)*nothing was done"):
        rv.refresh("s")
    assert rows(rv.table("s")) == before
    assert rv.refresh("i").reason == "table_replaced"
    assert rv.refresh("s", full=True).reason == "requested"
    assert rows(rv.table("s")) == rows(rv.table("i")) == []


def test_show_describe_explain_and_refresh_full(rv_each: Rollview) -> None:
    rv = shop(rv_each)
    rv.create("v", "SELECT g, max(n) AS m\nFROM t\nGROUP BY g", comment="c")
    shown = rv.sql("SHOW MATERIALIZED VIEWS").collect()
    assert [(row.name, row.policy, row.fresh, row.vector) for row in shown] == [("v", "AUTO", True, {"t": 1})]
    assert rows(rv.sql("DESCRIBE MATERIALIZED VIEW v")) == [("g", "string"), ("m", "int")]
    text = rv.sql("EXPLAIN MATERIALIZED VIEW v").collect()[0][0]
    assert text == rv.explain("v")
    for part in ("materialized view v", "t at version 1: up to date, key (id)", "GROUP BY g", "no_op"):
        assert part in text
    rv.sql("INSERT INTO t VALUES (9, 'z', 9)")
    assert "1 commit behind" in rv.explain("v")
    assert "refresh: group_recompute" in rv.explain("v", verbose=True)
    rv.refresh("v")
    assert rv.sql("REFRESH MATERIALIZED VIEW v FULL").collect()[0].reason == "requested"
    assert rv.sql("REFRESH MATERIALIZED VIEW v").collect()[0].strategy == "no_op"
    assert rows(rv.sql("SHOW TABLES")) == [("t",)]


def test_a_base_table_with_another_schema_leaves_the_view_as_it_was(rv_each: Rollview) -> None:
    rv = shop(rv_each)
    rv.create("v", "SELECT g, n FROM t")
    before = bag(rv.table("v"))
    rv.sql("CREATE OR REPLACE TABLE t (id INT, g STRING)")
    with pytest.raises(SchemaChanged, match=r"no longer fits(.|\n)*CREATE OR REPLACE"):
        rv.refresh("v")
    rv.sql("CREATE OR REPLACE TABLE t (id INT, g STRING, n STRING)")
    with pytest.raises(SchemaChanged, match="n was INT and is STRING"):
        rv.refresh("v")
    rv.sql("DROP TABLE t")
    with pytest.raises(SchemaChanged, match="gone"):
        rv.refresh("v")
    assert bag(rv.table("v")) == before
    rv.sql("CREATE TABLE t (n INT, g STRING, extra INT); INSERT INTO t VALUES (1, 'new', 0)")
    assert rv.views()[0].behind == {"t": None}
    assert rv.refresh("v").reason == "table_replaced"
    assert rows(rv.table("v")) == [("new", 1)]


def test_a_vacuumed_version_is_told_and_full_refresh_helps(rv: Rollview) -> None:
    from deltalake import DeltaTable

    shop(rv)
    rv.create("v", "SELECT g, n FROM t")
    rv.sql("UPDATE t SET n = 0")
    DeltaTable(str(rv.store.root / "t")).vacuum(  # type: ignore[attr-defined]
        retention_hours=0, dry_run=False, enforce_retention_duration=False
    )
    with pytest.raises(VersionGone, match=r"vacuumed(.|\n)*REFRESH MATERIALIZED VIEW … FULL"):
        rv.verify("v")
    rv.sql("REFRESH MATERIALIZED VIEW v FULL")
    assert rv.verify("v").ok


def test_views_made_through_one_store_are_kept_through_the_other(opened: Callable[..., Rollview]) -> None:
    embedded, delta = opened("embedded"), opened("delta")
    shop(embedded)
    embedded.create("v", "SELECT g, sum(n) AS s FROM t GROUP BY g")
    delta.sql("UPDATE t SET n = 0 WHERE id = 1")
    assert delta.refresh("v").strategy == "aggregate_merge"
    assert embedded.refresh("v").strategy == "no_op"
    assert rows(embedded.table("v")) == rows(delta.sql("SELECT * FROM v")) == [("a", 20), ("b", 5), (None, 1)]
    assert embedded.verify("v").ok
    assert delta.verify("v").ok


def test_a_no_op_refresh_starts_no_spark_job(rv: Rollview) -> None:
    shop(rv)
    rv.create("v", "SELECT g FROM t")
    tracker = rv.spark.sparkContext.statusTracker()
    jobs = set(tracker.getJobIdsForGroup(None))
    for _ in range(10):
        assert rv.refresh("v").strategy == "no_op"
    assert set(tracker.getJobIdsForGroup(None)) == jobs


def test_views_are_not_changed_by_statements(rv_each: Rollview) -> None:
    rv = shop(rv_each)
    rv.create("v", "SELECT g, n FROM t")
    for sql in (
        "INSERT INTO v VALUES ('q', 1)",
        "UPDATE v SET n = 1",
        "DELETE FROM v",
        "DROP TABLE v",
        "DELETE FROM __rollview__v",
        "CREATE TABLE __rollview__x (a INT)",
        "MERGE INTO v USING t ON v.g = t.g WHEN MATCHED THEN DELETE",
    ):
        with pytest.raises(UserError):
            rv.sql(sql)
    assert rv.verify("v").ok
    assert rv.refresh("v").strategy == "no_op"


KILLED = """
    import os, sys
    import rollview
    from rollview.store.embedded.log import Log

    rv = rollview.connect(sys.argv[1])
    commit = Log.commit

    def commit_and_die(self, *arguments):
        done = commit(self, *arguments)
        if self.root.name.startswith("__rollview__"):
            os._exit(9)
        return done

    Log.commit = commit_and_die
    getattr(rv, sys.argv[2])(*sys.argv[3:])
"""


def killed(folder: Path, *arguments: str) -> None:
    """Does something in a process that dies right after the commit of the view's rows."""
    script = folder / "killed.py"
    script.write_text(textwrap.dedent(KILLED))
    command = [sys.executable, str(script), str(folder / "warehouse"), *arguments]
    assert subprocess.run(command, env=os.environ, check=False).returncode == 9


@pytest.mark.slow
def test_a_creation_killed_after_its_commit_is_not_lost(rv: Rollview, tmp_path: Path) -> None:
    shop(rv)
    killed(tmp_path, "create", "v", "SELECT g, sum(n) AS s FROM t GROUP BY g")
    assert rows(rv.sql("SELECT * FROM v")) == [("a", 30), ("b", 5), (None, 1)]
    assert rv.refresh("v").strategy == "no_op"


def test_a_refresh_killed_after_its_commit_is_neither_lost_nor_repeated(rv: Rollview, tmp_path: Path) -> None:
    shop(rv)
    rv.create("v", "SELECT g, sum(n) AS s FROM t GROUP BY g")
    rv.sql("INSERT INTO t VALUES (5, 'b', 100)")
    killed(tmp_path, "refresh", "v")
    assert rv.views()[0].vector == {"t": 2}
    assert rv.store.version("__rollview__v") == 1
    assert rv.refresh("v").strategy == "no_op"
    assert rows(rv.table("v")) == [("a", 30), ("b", 105), (None, 1)]
    assert rv.verify("v").ok


def test_a_refresh_that_dies_before_its_commit_leaves_the_old_view(
    rv: Rollview, monkeypatch: pytest.MonkeyPatch
) -> None:
    from rollview.store.embedded.log import Log

    shop(rv)
    rv.create("v", "SELECT g, n FROM t")
    before = bag(rv.table("v"))
    rv.sql("DELETE FROM t WHERE id = 1")

    def die(*_: object) -> None:
        raise RuntimeError("power cut")

    with monkeypatch.context() as patch:
        patch.setattr(Log, "commit", die)
        with pytest.raises(RuntimeError, match="power cut"):
            rv.refresh("v")
    assert bag(rv.table("v")) == before
    assert rv.verify("v").ok
    assert rv.refresh("v").rows_written == 1
    assert rv.verify("v").ok


WRITER = """
    import sys
    import rollview
    from rollview.store.embedded import EmbeddedStore

    folder, me, n = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    rv = rollview.connect(folder)
    for i in range(n):
        rv.sql(f"INSERT INTO t VALUES ({me * 1000 + i}, 'w{me}', 1)")
        rv.sql(f"UPDATE t SET n = n + 1 WHERE g = 'counter'")
        rv.refresh("v")
"""


@pytest.mark.slow
def test_several_processes_write_one_warehouse(rv: Rollview, tmp_path: Path) -> None:
    rv.sql("CREATE TABLE t (id INT, g STRING, n INT, PRIMARY KEY (id)); INSERT INTO t VALUES (0, 'counter', 0)")
    rv.create("v", "SELECT g, count(*) AS c, sum(n) AS s FROM t GROUP BY g")
    script = tmp_path / "writer.py"
    script.write_text(textwrap.dedent(WRITER))
    command = [sys.executable, str(script), str(tmp_path / "warehouse")]
    other = subprocess.Popen([*command, "1", "3"])
    for i in range(3):
        rv.sql(f"INSERT INTO t VALUES ({2000 + i}, 'w2', 1)")
        rv.sql("UPDATE t SET n = n + 1 WHERE g = 'counter'")
        rv.refresh("v")
    while other.poll() is None:  # so that the two certainly meet
        rv.sql("UPDATE t SET n = n + 1 WHERE g = 'counter'")
        rv.sql("UPDATE t SET n = n - 1 WHERE g = 'counter'")
    assert other.wait(timeout=120) == 0
    rv.refresh("v")
    assert rows(rv.table("v")) == [("counter", 1, 6), ("w1", 3, 3), ("w2", 3, 3)]
    assert rv.verify("v").ok
    feed = rv.store.changes("t", 1, rv.store.version("t"))
    assert feed.where("_change_type = 'insert'").count() == 6


def test_the_definition_is_in_the_state_table(rv: Rollview) -> None:
    shop(rv)
    rv.create("v", "SELECT '{}' AS braces, g FROM t WHERE g <> '{x}'")
    stored = json.loads(rv.store.properties("__rollview__v")["rollview.view"])
    assert stored["query"]["text"] == "SELECT '{}' AS braces, g FROM t WHERE g <> '{x}'"
    assert rows(rv.table("v"))[0] == ("{}", "a")


def test_a_cte_named_like_its_table_in_another_case(rv_each: Rollview) -> None:
    rv = shop(rv_each)
    rv.create("v", "WITH T AS (SELECT id FROM t WHERE id > 2) SELECT * FROM t; -- done")
    assert rows(rv.table("v")) == [(3,), (4,)]


def test_a_view_without_tables_and_with_braces(rv: Rollview) -> None:
    rv.create("v", "SELECT '{}' AS b, '{{x}}' AS c", policy="full")
    assert rows(rv.table("v")) == [("{}", "{{x}}")]
    assert rv.refresh("v").strategy == "no_op"


def test_a_refresh_that_lost_a_race_is_done_again(
    rv: Rollview, opened: Callable[..., Rollview], monkeypatch: pytest.MonkeyPatch
) -> None:
    shop(rv)
    rv.create("v", "SELECT count(*) AS n FROM t")
    other = opened()
    rv.sql("INSERT INTO t VALUES (5, 'e', 5)")
    commit, once = rv.store.commit, [True]

    def overtaken(table: str, edits: Sequence[Edit], stamp: Stamp = NO_STAMP) -> Commit:
        if once and once.pop():
            other.refresh("v")
            if not isinstance(edits[0], Replace):
                other.sql("INSERT INTO t SELECT max(id) + 1, 'f', 6 FROM t")
        return commit(table, edits, stamp)

    monkeypatch.setattr(rv.store, "commit", overtaken)
    result = rv.refresh("v")
    assert result.to_vector == rv.views()[0].vector == {"t": 3}
    assert rows(rv.table("v")) == [(6,)]
    once.append(True)
    rv.sql("INSERT INTO t VALUES (9, 'g', 7)")
    with pytest.raises(UserError, match="another session"):
        rv.create("v", "SELECT 0 AS n FROM t", or_replace=True)
    assert rv.verify("v").ok


def test_verify_knows_a_table_made_anew(rv: Rollview) -> None:
    shop(rv)
    rv.create("v", "SELECT g FROM t")
    rv.sql("DROP TABLE t; CREATE TABLE t (g STRING); INSERT INTO t VALUES ('q')")
    with pytest.raises(VersionGone, match="dropped and created again"):
        rv.verify("v")


def test_names_that_views_cannot_have_and_statements_that_are_not_for_them(rv: Rollview) -> None:
    shop(rv)
    rv.create("v", "SELECT g AS _change_type FROM t")
    assert rv.table("v").columns == ["_change_type"]
    for sql in ("DROP VIEW v", "CREATE MATERIALIZED VIEW __rollview__x AS SELECT 1 AS a"):
        with pytest.raises(UserError):
            rv.sql(sql)
    with pytest.raises(UserError, match="no refresh policy"):
        rv.create("w", "SELECT 1 AS a", policy="sometimes")
    with pytest.raises(UserError, match="no table named it's"):
        rv.table("it's")
    assert rows(rv.sql("SELECT * FROM v WHERE _change_type = 'b'")) == [("b",)]
