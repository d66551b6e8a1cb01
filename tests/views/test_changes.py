"""Change sets: what is read once, and what can be asked of it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from rollview import Rollview, connect
from rollview.engine.duck import DuckEngine
from rollview.limits import Limits
from rollview.views.changes import ChangeSet
from rollview.views.relation import relation


@pytest.fixture
def rv() -> Rollview:
    rv = connect("duckdb:")
    rv.sql("CREATE TABLE t (id INT, g STRING, n INT, PRIMARY KEY (id)); CREATE TABLE u (g STRING, x INT)")
    rv.sql("INSERT INTO t VALUES (1, 'a', 1), (2, 'a', 2), (3, 'b', 3); INSERT INTO u VALUES ('a', 1), ('b', 2)")
    rv.create("positive", "SELECT id, g, n FROM t WHERE n > 0")
    rv.create("labels", "SELECT g FROM t")  # a bag
    rv.create("large", "SELECT g, sum(n) AS s FROM t GROUP BY g HAVING sum(n) > 2")
    return rv


def changes(rv: Rollview, name: str, columns: list[str], after: int, upto: int) -> ChangeSet:
    return ChangeSet(rv.engine, rv.catalog.limits, relation(rv.catalog, name), after, upto, columns)


def fetched(rv: Rollview, frame: object) -> list[tuple[object, ...]]:
    return sorted(rv.engine.output(frame).fetchall(), key=repr)


def test_a_net_change_has_one_row_for_each_different_tuple(rv: Rollview) -> None:
    before = rv.store.version("t")
    rv.sql("UPDATE t SET n = 7 WHERE id = 1; UPDATE t SET n = 1 WHERE id = 1; UPDATE t SET n = 5 WHERE id = 2")
    rv.sql("INSERT INTO t VALUES (4, 'c', 4); DELETE FROM t WHERE id = 3")
    found = changes(rv, "t", ["id", "g", "n"], before, rv.store.version("t"))
    net = found.net(["id", "n"])
    assert fetched(rv, net.rows.frame) == [(2, 2, -1), (2, 5, 1), (3, 3, -1), (4, 4, 1)]
    assert not net.only_inserts
    assert fetched(rv, found.net(["g"]).rows.frame) == [("b", -1), ("c", 1)]
    assert found.reads == 1


def test_update_pairs_have_the_values_before_and_after(rv: Rollview) -> None:
    before = rv.store.version("t")
    rv.sql("UPDATE t SET n = 5 WHERE id = 2; INSERT INTO t VALUES (4, 'c', 4); DELETE FROM t WHERE id = 3")
    pairs = changes(rv, "t", ["id", "g", "n"], before, rv.store.version("t")).pairs(["id"], ["n"])
    assert fetched(rv, pairs) == [(2, 5, 2, 2), (4, 4, None, None), (None, None, 3, 3)]


@pytest.mark.parametrize(
    ("name", "columns", "changed"),
    [
        ("t", ["g"], [("b", -1, 1), ("c", 1, 0)]),
        ("positive", ["g"], [("b", -1, 1), ("c", 1, 0)]),
        ("labels", ["g"], [("b", -1, 1), ("c", 1, 0)]),
        ("large", ["g", "s"], [("b", 3, -1, 1), ("c", 4, 1, 0)]),
    ],
)
def test_rows_keep_their_commits_in_tables_and_in_views(
    rv: Rollview, name: str, columns: list[str], changed: list[tuple[object, ...]]
) -> None:
    stored = rv.catalog.stored(name)
    before = rv.store.version(stored)
    for sql in ("INSERT INTO t VALUES (4, 'c', 4)", "DELETE FROM t WHERE id = 3"):
        rv.sql(sql)
        rv.refresh_all()
    found = changes(rv, name, columns, before, rv.store.version(stored))
    first = rv.store.version(stored) - 1
    assert fetched(rv, found.timed(columns)) == sorted(
        ((*row[:-1], first + int(str(row[-1]))) for row in changed), key=repr
    )


def test_views_that_are_refreshed_together_read_each_change_once(rv: Rollview, monkeypatch: pytest.MonkeyPatch) -> None:
    reads: list[tuple[str, str]] = []
    for name in ("changes", "few_changes"):
        monkeypatch.setattr(rv.store, name, counted(getattr(rv.store, name), name, reads))
    rv.create("joined", "SELECT t.id, t.n, u.x FROM t JOIN u ON t.g = u.g")
    rv.sql("INSERT INTO t VALUES (4, 'a', 4); INSERT INTO u VALUES ('b', 9)")
    del reads[:]
    assert all(outcome.strategy != "full" for outcome in rv.refresh_all())
    assert sorted({table for _, table in reads}) == ["t", "u"]
    for name in ("changes", "few_changes"):
        tables = [table for kind, table in reads if kind == name]
        assert len(tables) == len(set(tables)), reads
    assert all(found.ok for found in rv.verify_all())


def test_a_view_and_its_helper_read_each_change_once_and_leave_nothing() -> None:
    rv = connect("duckdb:", limits=Limits(helper_rows=0, helper_rows_per_group=0))
    rv.sql("CREATE TABLE line (id INT, part INT, qty INT, note STRING, PRIMARY KEY (id))")
    rv.sql("INSERT INTO line VALUES (1, 1, 5, 'a'), (2, 1, 7, 'b'), (3, 2, 1, 'c')")
    means = "SELECT part, avg(qty) AS mean FROM line GROUP BY part"
    rv.create("small", f"SELECT l.id, l.note FROM line l JOIN ({means}) m ON m.part = l.part WHERE l.id < m.mean")
    assert rv.catalog.get("small").helpers
    reads: list[tuple[str, str]] = []
    with pytest.MonkeyPatch.context() as patched:
        for name in ("changes", "few_changes"):
            patched.setattr(rv.store, name, counted(getattr(rv.store, name), name, reads))
        rv.sql("UPDATE line SET qty = 9 WHERE id = 1")
        done = rv.refresh("small")
    assert (done.strategy, done.changed) == ("row_delta", {"line": 2})
    assert [table for _, table in reads if table == "line"] == ["line"]
    assert isinstance(rv.engine, DuckEngine)
    kept = rv.engine.connection.execute("SELECT table_name FROM duckdb_tables() WHERE temporary").fetchall()
    assert kept == []
    assert rv.verify("small").ok


def counted(plain: Callable[..., object], kind: str, reads: list[tuple[str, str]]) -> Callable[..., object]:
    def run(table: str, *rest: object, **more: object) -> object:
        reads.append((kind, table))
        return plain(table, *rest, **more)

    return run


def test_rows_that_are_too_many_for_this_process_are_changes_all_the_same() -> None:
    rv = connect("duckdb:", limits=Limits(changes_here=2))
    rv.sql("CREATE TABLE t (id INT, n INT, PRIMARY KEY (id)); INSERT INTO t VALUES (1, 1)")
    rv.create("v", "SELECT n, count(*) AS c FROM t GROUP BY n")
    rv.sql("INSERT INTO t SELECT CAST(id AS INT), CAST(id % 3 AS INT) FROM (SELECT explode(sequence(10, 30)) AS id)")
    assert rv.refresh("v").strategy == "aggregate_merge"
    assert rv.verify("v").ok
