"""Views on views of any depth and shape: order, one vector for all, and what a change far upstream does."""

from __future__ import annotations

from itertools import pairwise
from threading import Barrier
from typing import Any

import pytest

from rollview import Rollview, connect
from rollview.refresh.results import RefreshResult
from rollview.refresh.together import levels
from rollview.refresh.views import View


@pytest.fixture(params=["duckdb", "embedded"])
def session(request: pytest.FixtureRequest) -> Rollview:
    rv: Rollview = connect("duckdb:") if request.param == "duckdb" else request.getfixturevalue("rv")
    rv.sql("CREATE TABLE t (id INT, g STRING, n INT, PRIMARY KEY (id))")
    rv.sql("INSERT INTO t VALUES (1, 'a', 1), (2, 'a', 2), (3, 'b', 3), (4, 'b', 3)")
    return rv


def test_a_diamond_comes_to_one_vector(session: Rollview) -> None:
    rv = session
    rv.create("top", "SELECT g, sum(n) AS s, count(*) AS c FROM t GROUP BY g")
    rv.create("kept", "SELECT s AS x FROM top WHERE c > 1")
    rv.create("most", "SELECT max(s) AS m FROM top")
    rv.create("both", "SELECT kept.x, most.m, t.id FROM kept CROSS JOIN most JOIN t ON t.n = kept.x")
    rv.create("few", "SELECT g, s FROM top ORDER BY s DESC, g LIMIT 1")
    rv.create("counted", "SELECT count(*) AS n, max(g) AS g FROM few")
    for change in (
        "INSERT INTO t VALUES (5, 'c', 9), (6, 'c', 6)",
        "UPDATE t SET n = 6 WHERE id = 3",
        "DELETE FROM t WHERE g = 'a'",
    ):
        rv.sql(change)
        results = rv.refresh_all()
        order = [result.view for result in results]
        assert all(
            order.index(a) < order.index(b)
            for a, b in (("top", "kept"), ("top", "most"), ("kept", "both"), ("most", "both"), ("few", "counted"))
        )
        assert all(result.strategy != "full" for result in results)
        for view in rv.views():
            assert view.fresh
            assert view.vector.get("t", rv.store.version("t")) == rv.store.version("t")
            assert rv.verify(view.name).ok, (change, view.name)
    assert [result.strategy for result in rv.refresh_all()] == ["no_op"] * 6


def test_a_base_table_that_moves_on_meanwhile_is_seen_by_all_or_none(
    session: Rollview, monkeypatch: pytest.MonkeyPatch
) -> None:
    rv = session
    rv.create("v", "SELECT g, sum(n) AS s FROM t GROUP BY g")
    rv.create("w", "SELECT v.g, v.s, t.id FROM v JOIN t ON v.g = t.g")
    rv.sql("INSERT INTO t VALUES (5, 'a', 10)")
    from rollview.refresh import together
    from rollview.refresh.running import refresh_view

    plain, writes = refresh_view, iter(["INSERT INTO t VALUES (6, 'a', 100)", "DELETE FROM t WHERE id = 1"])

    def with_a_writer(*arguments: object, **options: object) -> object:
        done = plain(*arguments, **options)  # type: ignore[arg-type]
        rv.sql(next(writes))
        return done

    monkeypatch.setattr(together, "refresh_view", with_a_writer)
    rv.refresh_all()
    vectors = {view.name: view.vector["t"] for view in rv.views()}
    assert vectors == {"v": 2, "w": 2}
    assert rv.verify("w").ok
    monkeypatch.undo()
    rv.refresh_all()
    assert {view.vector["t"] for view in rv.views()} == {4}
    assert rv.verify("w").ok


def test_upstream_views_are_refreshed_on_demand(session: Rollview) -> None:
    rv = session
    names = ["t", *(f"v{i}" for i in range(6))]
    for below, name in pairwise(names):
        rv.create(name, f"SELECT id, g, n + 1 AS n FROM {below}")
    rv.sql("INSERT INTO t VALUES (9, 'z', 0)")
    assert rv.refresh("v5").strategy == "no_op"
    result = rv.refresh("v5", upstream=True)
    assert (result.view, result.strategy, result.rows_written) == ("v5", "append", 1)
    assert all(rv.verify(name).ok and view.fresh for name, view in ((v.name, v) for v in rv.views()))


def test_levels() -> None:
    class Fake:
        def __init__(self, *tables: str) -> None:
            self.tables = list(tables)

    views: dict[str, View] = {"d": Fake("b", "c"), "b": Fake("a", "t"), "c": Fake("a"), "a": Fake("t")}  # type: ignore[dict-item]
    assert levels(views) == [["a"], ["b", "c"], ["d"]]


def test_siblings_are_refreshed_side_by_side(rv: Rollview, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each waits for the other to begin, twice."""
    from rollview.refresh import together
    from rollview.refresh.running import refresh_view

    rv.sql("CREATE TABLE t (id INT, g STRING, n INT, PRIMARY KEY (id)); INSERT INTO t VALUES (1, 'a', 1)")
    rv.create("v", "SELECT g, sum(n) AS s FROM t GROUP BY g")
    rv.create("w", "SELECT g, max(n) AS s FROM t GROUP BY g")
    plain, both = refresh_view, Barrier(2, timeout=60)

    def waiting(*args: Any, **named: Any) -> RefreshResult:
        both.wait()
        return plain(*args, **named)

    monkeypatch.setattr(together, "refresh_view", waiting)
    for change in ("INSERT INTO t VALUES (2, 'b', 2)", "UPDATE t SET n = n + 1"):
        rv.sql(change)
        assert all(result.strategy != "full" for result in rv.refresh_all())
        assert all(rv.verify(name).ok for name in "vw")
