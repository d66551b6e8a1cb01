"""Views on views of any depth and shape: order, one vector for all, what a change far upstream does, and what a view
that fails stops."""

from __future__ import annotations

from itertools import pairwise
from threading import Barrier
from typing import Any

import pytest

from rollview import InternalError, Rollview, UserError, connect
from rollview.errors import SchemaChanged, ViewNotFound
from rollview.limits import Limits
from rollview.refresh.batch import levels, refresh_all
from rollview.refresh.refresh import refresh_view
from rollview.views.definition import View
from rollview.views.results import Outcome, RefreshResult


@pytest.fixture(params=["duckdb", pytest.param("embedded", marks=pytest.mark.spark)])
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


def test_a_base_table_that_moves_on_meanwhile_is_seen_by_all_or_none(session: Rollview) -> None:
    rv = session
    rv.create("v", "SELECT g, sum(n) AS s FROM t GROUP BY g")
    rv.create("w", "SELECT v.g, v.s, t.id FROM v JOIN t ON v.g = t.g")
    rv.sql("INSERT INTO t VALUES (5, 'a', 10)")
    plain, writes = refresh_view, iter(["INSERT INTO t VALUES (6, 'a', 100)", "DELETE FROM t WHERE id = 1"])

    def with_a_writer(*arguments: Any, **options: Any) -> RefreshResult:
        done = plain(*arguments, **options)
        rv.sql(next(writes))
        return done

    refresh_all(rv.catalog, refresh=with_a_writer)
    vectors = {view.name: view.vector["t"] for view in rv.views()}
    assert vectors == {"v": 2, "w": 2}
    assert rv.verify("w").ok
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


def test_siblings_are_refreshed_side_by_side(rv: Rollview) -> None:
    """Each waits for the other to begin, twice."""
    rv.sql("CREATE TABLE t (id INT, g STRING, n INT, PRIMARY KEY (id)); INSERT INTO t VALUES (1, 'a', 1)")
    rv.create("v", "SELECT g, sum(n) AS s FROM t GROUP BY g")
    rv.create("w", "SELECT g, max(n) AS s FROM t GROUP BY g")
    plain, both = refresh_view, Barrier(2, timeout=60)

    def waiting(*args: Any, **named: Any) -> RefreshResult:
        both.wait()
        return plain(*args, **named)

    for change in ("INSERT INTO t VALUES (2, 'b', 2)", "UPDATE t SET n = n + 1"):
        rv.sql(change)
        assert all(result.strategy != "full" for result in refresh_all(rv.catalog, refresh=waiting))
        assert all(rv.verify(name).ok for name in "vw")


# Outcomes


@pytest.fixture
def medal() -> Rollview:
    """silver over raw, gold over silver, platinum over gold and more; other over more; both tables have moved on, and
    column x, which silver reads, is gone."""
    rv = connect("duckdb:")
    rv.sql("CREATE TABLE raw (id INT, g STRING, x INT, PRIMARY KEY (id)); CREATE TABLE more (id INT, PRIMARY KEY (id))")
    rv.sql("INSERT INTO raw VALUES (1, 'a', 1), (2, 'b', 2); INSERT INTO more VALUES (1)")
    rv.create("silver", "SELECT id, g, x FROM raw")
    rv.create("gold", "SELECT g, sum(x) AS s FROM silver GROUP BY g")
    rv.create("platinum", "SELECT gold.g, gold.s, more.id FROM gold CROSS JOIN more")
    rv.create("other", "SELECT count(*) AS n FROM more")
    rv.sql("CREATE OR REPLACE TABLE raw AS SELECT 1 AS id, 'a' AS g; INSERT INTO more VALUES (2)")
    return rv


def mend(rv: Rollview) -> None:
    rv.sql(
        "CREATE OR REPLACE TABLE raw (id INT, g STRING, x INT, PRIMARY KEY (id)); INSERT INTO raw VALUES (3, 'c', 7)"
    )


def told(outcomes: list[Outcome]) -> list[tuple[str, str, str | None]]:
    return [(each.view, each.outcome, each.because) for each in outcomes]


def test_a_view_that_fails_stops_those_that_read_it_and_no_others(medal: Rollview) -> None:
    rv = medal
    outcomes = rv.refresh_all()
    assert told(outcomes) == [
        ("other", "refreshed", None),
        ("silver", "failed", None),
        ("gold", "skipped", "silver"),
        ("platinum", "skipped", "silver"),
    ]
    other, silver, gold, _ = outcomes
    assert [bool(each) for each in outcomes] == [each.ok for each in outcomes] == [True, False, False, False]
    assert isinstance(other.result, RefreshResult)
    assert (other.strategy, other.rows_changed, other.to_vector) == ("aggregate_merge", 1, {"more": 2})
    assert isinstance(silver.error, SchemaChanged)
    assert "silver" in silver.error.what
    with pytest.raises(SchemaChanged):
        silver.strategy  # noqa: B018
    with pytest.raises(UserError, match="gold was not refreshed"):
        gold.rows_written  # noqa: B018
    assert gold.explanation == "it reads silver, which failed"
    assert rv.table("other").fetchall() == [(2,)]  # type: ignore[operator]
    assert rv.verify("platinum").ok  # as it was
    mend(rv)
    assert all(rv.refresh_all())
    assert all(rv.verify(view.name).ok and view.fresh for view in rv.views())
    assert sorted(rv.table("platinum").fetchall()) == [("c", 7, 1), ("c", 7, 2)]  # type: ignore[operator]


def test_some_views_are_refreshed_together(medal: Rollview) -> None:
    assert told(medal.refresh_all(["platinum", "other"])) == [
        ("other", "refreshed", None),
        ("platinum", "refreshed", None),
    ]
    assert told(medal.refresh_all(["gold", "silver"])) == [("silver", "failed", None), ("gold", "skipped", "silver")]
    with pytest.raises(ViewNotFound, match="nothing"):
        medal.refresh_all(["other", "nothing"])


def test_upstream_a_failure_is_raised_and_named(medal: Rollview) -> None:
    with pytest.raises(SchemaChanged) as caught:
        medal.refresh("platinum", upstream=True)
    assert str(caught.value).startswith("platinum was not refreshed, because silver failed: ")
    with pytest.raises(SchemaChanged, match=r"^The query of silver"):
        medal.refresh("silver", upstream=True)
    assert medal.refresh("other", upstream=True).strategy == "aggregate_merge"
    mend(medal)
    assert medal.refresh("platinum", upstream=True).strategy == "row_delta"


def test_a_failure_that_nobody_foresaw_is_a_bug_and_stays_where_it_is(medal: Rollview) -> None:
    def failing(catalog: Any, name: str, **named: Any) -> RefreshResult:
        if name == "silver":
            raise ZeroDivisionError("by chance")
        return refresh_view(catalog, name, **named)

    silver = next(each for each in refresh_all(medal.catalog, refresh=failing) if each.view == "silver")
    assert isinstance(silver.error, InternalError)
    assert "silver could not be refreshed: ZeroDivisionError: by chance" in str(silver.error)
    assert isinstance(silver.error.__cause__, ZeroDivisionError)


@pytest.mark.parametrize("parallel", [False, True])
def test_ctrl_c_stops_everything(medal: Rollview, monkeypatch: pytest.MonkeyPatch, parallel: bool) -> None:
    begun = []

    def interrupted(catalog: Any, name: str, **named: Any) -> RefreshResult:
        begun.append(name)
        raise KeyboardInterrupt

    monkeypatch.setattr(medal.engine, "parallel", parallel)
    medal.catalog.limits = Limits(views_at_a_time=1)
    with pytest.raises(KeyboardInterrupt):
        refresh_all(medal.catalog, refresh=interrupted)
    assert "gold" not in begun


def test_a_view_whose_definition_cannot_be_read_is_one_that_fails(
    medal: Rollview, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = medal.catalog.get

    def unreadable(name: str) -> View:
        if name == "gold":
            raise OSError("no such disk")
        return plain(name)

    monkeypatch.setattr(medal.catalog, "get", unreadable)
    mend(medal)
    outcomes = medal.refresh_all()
    assert sorted(told(outcomes)) == [
        ("gold", "failed", None),
        ("other", "refreshed", None),
        ("platinum", "skipped", "gold"),
        ("silver", "refreshed", None),
    ]
    assert "OSError: no such disk" in outcomes[0].explanation


# Freshness


def test_a_view_over_a_stale_view_is_not_fresh_and_its_refresh_says_so(session: Rollview) -> None:
    rv = session
    rv.create("silver", "SELECT id, g, n FROM t WHERE n > 1")
    rv.create("gold", "SELECT g, sum(n) AS s FROM silver GROUP BY g")
    rv.create("platinum", "SELECT gold.s, t.id FROM gold JOIN t ON gold.g = t.g")
    assert all(view.fresh for view in rv.views())
    rv.sql("INSERT INTO t VALUES (9, 'a', 9)")
    status = {view.name: view for view in rv.views()}
    assert [(name, status[name].fresh, status[name].behind, status[name].stale) for name in sorted(status)] == [
        ("gold", False, {}, ("silver",)),
        ("platinum", False, {"t": 1}, ("gold", "silver")),
        ("silver", False, {"t": 1}, ()),
    ]
    result = rv.refresh("gold")
    assert (result.strategy, result.stale) == ("no_op", ("silver",))
    assert (
        result.explanation
        == "nothing that the view uses has changed since the last refresh; upstream, silver is behind the base tables"
    )
    result = rv.refresh("platinum")
    assert (result.strategy, result.stale) == ("append", ("gold", "silver"))
    assert "upstream, gold, silver are behind" in result.explanation
    assert "upstream, silver is behind the base tables" in rv.explain("gold")
    assert rv.create("late", "SELECT count(*) AS n FROM gold").stale == ("gold", "silver")
    assert rv.refresh("silver").stale == ()
    assert {view.name: view.stale for view in rv.views()}["platinum"] == ("gold",)
    assert all(outcome.stale == () for outcome in rv.refresh_all())
    assert all(view.fresh and rv.verify(view.name).ok for view in rv.views())


def test_after_a_failed_refresh_nothing_downstream_is_fresh(medal: Rollview) -> None:
    medal.refresh_all()
    assert {view.name: view.fresh for view in medal.views()} == {
        "silver": False, "gold": False, "platinum": False, "other": True,
    }  # fmt: skip
    gold = medal.refresh("gold")
    assert (gold.strategy, gold.stale) == ("no_op", ("silver",))
    shown = dict(medal.sql("SHOW MATERIALIZED VIEWS").project("name, fresh").fetchall())  # type: ignore[operator]
    assert shown == {"silver": False, "gold": False, "platinum": False, "other": True}


def test_a_view_over_views_that_cannot_be_refreshed_says_so(session: Rollview) -> None:
    rv = session
    rv.create("silver", "SELECT id, g, n FROM t WHERE n > 1")
    rv.create("gold", "SELECT g, sum(n) AS s FROM silver GROUP BY g")
    rv.create("platinum", "SELECT count(*) AS n FROM gold")
    rv.sql("DROP TABLE t")
    said = "upstream, silver cannot be refreshed (t, which it reads, is gone)"
    assert said in rv.explain("gold").splitlines()[-1]
    assert rv.explain("gold").splitlines()[-1].endswith("is gone)")
    last = "upstream, gold is behind the base tables; silver cannot be refreshed (t, which it reads, is gone)"
    assert rv.explain("platinum").splitlines()[-1].strip() == last
    result = rv.refresh("gold")
    assert (result.strategy, result.stale, list(result.stuck)) == ("no_op", ("silver",), ["silver"])
    assert result.explanation == f"nothing that the view uses has changed since the last refresh; {said}"
    assert {view.name: (view.fresh, list(view.stuck)) for view in rv.views()} == {
        "silver": (False, []), "gold": (False, ["silver"]), "platinum": (False, ["silver"]),
    }  # fmt: skip
    assert list(rv.create("late", "SELECT count(*) AS n FROM gold").stuck) == ["silver"]
