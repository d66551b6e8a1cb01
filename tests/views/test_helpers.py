"""Helpers: the groups inside a query, stored beside the view. Nobody sees them, and the view equals its query."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

import duck
from compare import rows
from rollview import Rollview, connect
from rollview.errors import NotIncremental, SchemaChanged
from rollview.frontend.query import compile_view
from rollview.limits import Limits
from rollview.plan.nodes import Node, show_plan
from rollview.refresh import refresh
from rollview.state.helpers import helped, helper_id
from rollview.state.types import FORMAT
from rollview.store.protocol import Commit
from rollview.views.catalog import DEFINITION
from rollview.views.goal import Goal
from rounds import VIEWS, followed, judged

#: Lines of the parts of a brand that are below the mean of their part; and parts with what there is of them.
BELOW_MEAN = (
    "SELECT count(*) AS n, sum(l.qty) AS total FROM line l JOIN part p ON p.id = l.part "
    "WHERE p.brand = 'a' AND l.qty < (SELECT avg(m.qty) FROM line m WHERE m.part = l.part)"
)
STOCK = (
    "SELECT p.id, p.brand, coalesce(s.n, 0) AS n, s.total FROM part p "
    "LEFT JOIN (SELECT part, count(*) AS n, sum(qty) AS total FROM line GROUP BY part) s ON s.part = p.id"
)
MOST = (
    "WITH s AS (SELECT part, sum(qty) AS total FROM line GROUP BY part) "
    "SELECT part, total FROM s WHERE total = (SELECT max(total) FROM s)"
)
SOLD = "SELECT p.id, p.brand FROM part p WHERE EXISTS (SELECT 1 FROM line l WHERE l.part = p.id AND l.qty > 2)"
UNSOLD = (
    "SELECT brand, count(*) AS n FROM part p WHERE NOT EXISTS (SELECT 1 FROM line l WHERE l.part = p.id) GROUP BY brand"
)
CHANGES = [
    "INSERT INTO line VALUES (20, 1, 3), (21, 2, 50), (22, 9, 1)",
    "DELETE FROM line WHERE part = 3",
    "UPDATE part SET brand = 'a' WHERE id = 2; INSERT INTO part VALUES (9, 'a')",
    "UPDATE line SET qty = NULL WHERE id < 4",
    "INSERT INTO line VALUES (30, 3, 7); DELETE FROM line WHERE id = 21; DELETE FROM part WHERE id = 1",
]


#: Tables are small here: helpers are made whatever they save.
EVERYWHERE = Limits(helper_rows=0, helper_rows_per_group=0)


@pytest.fixture
def session() -> Rollview:
    rv = connect("duckdb:", limits=EVERYWHERE)
    filled(rv)
    return rv


def filled(rv: Rollview) -> None:
    rv.sql("CREATE TABLE part (id INT, brand STRING, PRIMARY KEY (id))")
    rv.sql("INSERT INTO part VALUES (1, 'a'), (2, 'b'), (3, 'a'), (4, NULL)")
    rv.sql("CREATE TABLE line (id INT, part INT, qty INT, PRIMARY KEY (id))")
    rv.sql("INSERT INTO line VALUES " + ", ".join(f"({i}, {i % 4}, {i * 7 % 11})" for i in range(16)))


def helpers(rv: Rollview, name: str) -> list[str]:
    return [helper.name for helper in rv.catalog.get(name).helpers]


def test_views_with_helpers_follow_every_change_and_nobody_sees_them(session: Rollview) -> None:
    rv = session
    views = {"below_mean": BELOW_MEAN, "stock": STOCK, "most": MOST, "sold": SOLD, "unsold": UNSOLD}
    for name, query in views.items():
        rv.create(name, query)
        assert len(helpers(rv, name)) == 1, name
    rv.create("reader", "SELECT brand, sum(n) AS n FROM stock GROUP BY brand")
    for change in CHANGES:
        rv.sql(change)
        for outcome in rv.refresh_all():
            assert outcome.strategy in ("row_delta", "aggregate_merge", "no_op"), outcome
            assert rv.verify(outcome.view).ok, (outcome, change)
            assert set(outcome.to_vector) <= {"line", "part", "stock"}
    before = rows(rv.table("sold"))
    rv.sql("INSERT INTO line VALUES (40, 3, 8)")
    result = rv.refresh("sold")  # the part has other lines: that is seen in the helper, and nothing else is done
    assert (result.strategy, rows(rv.table("sold"))) == ("aggregate_merge", before)
    rv.refresh_all()
    assert [view.name for view in rv.views()] == ["below_mean", "most", "reader", "sold", "stock", "unsold"]
    assert all(view.fresh for view in rv.views())
    assert all(set(view.vector) <= {"line", "part", "stock"} for view in rv.views())
    assert rv.tables() == ["line", "part"]
    assert "helper" in rv.explain("most")
    assert "aggregate by" in rv.explain("most", verbose=True)
    for name in ("reader", *views):
        rv.drop(name)
    assert rv.store.tables() == ["line", "part"]


def test_a_helper_is_made_where_it_is_worth_it() -> None:
    small = connect("duckdb:")
    many = connect("duckdb:", limits=Limits(helper_rows=16, helper_rows_per_group=5))
    few = connect("duckdb:", limits=Limits(helper_rows=16, helper_rows_per_group=4))
    for rv in (small, many, few):
        filled(rv)
        rv.create("stock", STOCK)
    assert [len(helpers(rv, "stock")) for rv in (small, many, few)] == [0, 0, 1]
    few.create("always", STOCK, policy="FULL")
    few.create(
        "not_added_to",
        "SELECT p.id, m.kinds FROM part p JOIN (SELECT part, count(DISTINCT qty) AS kinds FROM line GROUP BY part) m ON m.part = p.id",
    )
    assert [len(helpers(few, name)) for name in ("always", "not_added_to")] == [0, 0]
    assert len([table for table in few.store.tables() if "helper" in table]) == 1


def test_another_spelling_keeps_the_helpers_and_another_query_gets_others(session: Rollview) -> None:
    rv = session
    rv.create("v", STOCK)
    before = helpers(rv, "v")
    rv.sql(CHANGES[0])
    again = rv.create("v", STOCK.replace("SELECT p.id", "select  P.id"), or_replace=True, comment="the same")
    assert again.strategy == "no_op"
    assert helpers(rv, "v") == before
    assert rv.refresh("v").strategy == "row_delta"
    assert rv.verify("v").ok
    assert rv.create("v", BELOW_MEAN, or_replace=True).reason == "replaced"
    assert helpers(rv, "v") != before
    assert not any(rv.catalog.has(name) for name in before)
    assert rv.create("v", BELOW_MEAN, or_replace=True, policy="FULL").strategy == "full"
    assert [table for table in rv.store.tables() if "helper" in table] == []
    assert rv.verify("v").ok


def test_a_refresh_that_was_cut_off_after_its_helper_goes_on(session: Rollview) -> None:
    rv = session
    rv.create("v", STOCK)
    rv.sql(CHANGES[0])
    refresh.refresh_view(rv.catalog, helpers(rv, "v")[0])
    assert rv.verify("v").ok
    rv.sql(CHANGES[1])
    assert rv.refresh("v").strategy == "row_delta"
    assert rv.verify("v").ok


def test_a_helper_that_is_lost_costs_a_recomputation_and_no_more(session: Rollview) -> None:
    rv = session
    for name, query in (("v", STOCK), ("w", BELOW_MEAN)):
        rv.create(name, query)
        rv.store.drop(rv.catalog.state(helpers(rv, name)[0]))
    for change in CHANGES[:2]:
        rv.sql(change)
        for name in ("v", "w"):
            rv.refresh(name)
            assert rv.verify(name).ok
    assert {rv.refresh(name).strategy for name in ("v", "w")} == {"no_op"}
    assert not any(helpers(rv, name) for name in ("v", "w"))


def test_an_interrupted_creation_leaves_no_helper(session: Rollview, monkeypatch: pytest.MonkeyPatch) -> None:
    rv, write = session, session.store.create
    state = rv.catalog.state("v")

    def interrupted(table: str, *arguments: Any, **named: Any) -> Commit:
        if table == state:
            raise KeyboardInterrupt
        return write(table, *arguments, **named)

    def written_and_interrupted(table: str, *arguments: Any, **named: Any) -> Commit:
        done = write(table, *arguments, **named)
        if table == state:
            raise KeyboardInterrupt
        return done

    monkeypatch.setattr(rv.store, "create", interrupted)
    with pytest.raises(KeyboardInterrupt):
        rv.create("v", STOCK)
    assert rv.store.tables() == ["line", "part"]
    monkeypatch.setattr(rv.store, "create", written_and_interrupted)
    with pytest.raises(KeyboardInterrupt):
        rv.create("v", STOCK)
    monkeypatch.undo()
    rv.sql(CHANGES[0])
    assert rv.refresh("v").strategy == "row_delta"
    assert rv.verify("v").ok


def test_a_view_and_its_helpers_do_not_go_back() -> None:
    """Two sessions: one fixed its versions early, the other has refreshed since."""
    rv = connect("duckdb:", limits=EVERYWHERE)
    filled(rv)
    rv.create("v", STOCK)
    rv.create("plain", "SELECT id, qty FROM line")
    early = {table: rv.catalog.identity(table) for table in rv.tables()}
    rv.sql(CHANGES[0])
    rv.refresh_all()
    late = rv.catalog.reflected(rv.catalog.get("v")).vector
    for name in ("v", "plain"):
        assert refresh.refresh_view(rv.catalog, name, goal=Goal(early)).strategy == "no_op"
        assert rv.verify(name).ok
    rv.sql(CHANGES[1])
    refresh.refresh_view(rv.catalog, helpers(rv, "v")[0])
    refresh.refresh_view(rv.catalog, "v", goal=Goal(late))  # the helper is further, and is brought back
    assert rv.verify("v").ok
    shown = rv.catalog.reflected(rv.catalog.get("v")).vector
    assert shown["line"] == late["line"] != rv.catalog.identity("line")
    assert rv.refresh("v").strategy != "no_op"
    assert rv.verify("v").ok


def test_a_helper_of_another_layout_is_recomputed_and_the_result_says_so(session: Rollview) -> None:
    rv = session
    rv.create("v", STOCK)
    for name in helpers(rv, "v"):
        view = rv.catalog.get(name)
        other = replace(view, layout=replace(view.layout, format=FORMAT - 1))
        rv.store.set_properties(rv.catalog.state(name), {DEFINITION: other.to_json()})
    rv.sql(CHANGES[0])
    result = rv.refresh("v")
    assert (result.strategy, result.reason) == ("full", "layout_changed")
    assert rv.verify("v").ok


def test_errors_speak_of_the_view_and_recomputing_takes_the_helpers_along(session: Rollview) -> None:
    rv = session
    rv.create("v", BELOW_MEAN, policy="INCREMENTAL STRICT")
    shown = rows(rv.table("v"))
    rv.sql(
        "DROP TABLE line; CREATE TABLE line (id INT, part INT, qty INT, PRIMARY KEY (id)); INSERT INTO line VALUES (1, 1, 5), (2, 1, 6)"
    )
    with pytest.raises(NotIncremental) as caught:
        rv.refresh("v")
    assert "__rollview" not in str(caught.value)
    assert rows(rv.table("v")) == shown
    assert rv.refresh("v", full=True).reason == "requested"
    assert rv.verify("v").ok
    rv.sql("INSERT INTO line VALUES (3, 1, 1)")
    assert rv.refresh("v").strategy == "aggregate_merge"
    assert rv.verify("v").ok
    rv.sql("DROP TABLE line; CREATE TABLE line (id INT, part INT, PRIMARY KEY (id))")
    with pytest.raises((NotIncremental, SchemaChanged)) as caught_again:
        rv.refresh("v", full=True)
    assert "__rollview" not in str(caught_again.value)


@pytest.mark.slow
def test_conformance_views_with_helpers_follow_the_rounds() -> None:
    rv = connect("duckdb:", limits=EVERYWHERE)
    candidates = [view for view in VIEWS if has_inner_groups(view.sql)]
    found = followed(rv, candidates, 5)
    assert len([view for view in candidates if helpers(rv, view.name)]) >= 8
    for view in candidates:
        judged(view, found[view.name])


def has_inner_groups(sql: str) -> bool:
    """Whether a query has anything that may get a helper."""
    asked: list[str] = []
    try:
        compiled = compile_view(sql, duck.finder(duck.shop_tables()))
    except Exception:
        return False
    helped(compiled, lambda node, _: asked.append(helper_id(node)))
    return bool(asked)


@pytest.mark.parametrize("kind", ["embedded", pytest.param("delta", marks=pytest.mark.slow)])
def test_helpers_on_spark(opened: Callable[..., Rollview], kind: str) -> None:
    rv = opened(kind, limits=EVERYWHERE)
    filled(rv)
    rv.create("v", BELOW_MEAN)
    over = "PARTITION BY part ORDER BY id"
    rv.create(
        "w",
        f"SELECT id, lag(qty) OVER ({over}) AS l, sum(qty) OVER ({over}) AS s, first_value(qty) OVER ({over}) AS f, "
        f"sum(qty) OVER ({over} ROWS 3 PRECEDING) AS n FROM line",
    )
    assert [len(helpers(rv, name)) for name in "vw"] == [1, 3]
    rv.sql("; ".join(CHANGES[:3]))
    assert rv.refresh("v").strategy == "aggregate_merge"
    assert rv.refresh("w").strategy == "partition_recompute"
    assert rv.verify("v").ok
    assert rv.verify("w").ok
    rv.drop("v")
    rv.drop("w")
    assert rv.store.tables() == ["line", "part"]


#: Running sums and numbers, from both ends, with and without PARTITION BY, and over two partitionings.
RUNNING = {
    "running": "SELECT id, sum(x) OVER (PARTITION BY g ORDER BY d, id) AS s, row_number() OVER (PARTITION BY g ORDER BY d, id) AS n, count(x) OVER (PARTITION BY g ORDER BY d, id) AS c FROM t",
    "ranks": "SELECT id, rank() OVER (PARTITION BY g ORDER BY d DESC) AS r, sum(x) OVER (PARTITION BY g ORDER BY d DESC) AS s FROM t",
    "of_all": "SELECT id, sum(x) OVER (ORDER BY d, id ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS s, row_number() OVER (ORDER BY d, id) AS n FROM t",
    "of_both": "SELECT id, sum(x) OVER (PARTITION BY g ORDER BY d, id) AS s, row_number() OVER (ORDER BY d, id) AS n FROM t",
}


def test_a_cast_between_the_partners_is_no_equality() -> None:
    """Groups are those of all keys that the join can find: 1.5 is found by 1 if it is cast to it."""
    rv = connect("duckdb:", limits=EVERYWHERE)
    rv.sql("CREATE TABLE part (id INT, brand STRING, PRIMARY KEY (id)); INSERT INTO part VALUES (1, 'a'), (2, 'b')")
    rv.sql("CREATE TABLE offer (k DECIMAL(4,1), price INT); INSERT INTO offer VALUES (1.2, 9), (2.0, 9)")
    rv.sql("CREATE TABLE line (id INT, k DECIMAL(4,1), qty INT, PRIMARY KEY (id)); INSERT INTO line VALUES (1, 1.2, 5)")
    rv.create(
        "v",
        "SELECT o.k, o.price, g.n FROM (SELECT * FROM offer LEFT SEMI JOIN (SELECT id FROM part WHERE brand = 'a') p ON CAST(offer.k AS INT) = p.id) o JOIN (SELECT k, sum(qty) AS n FROM line GROUP BY k) g ON g.k = o.k",
    )
    assert len(rows(rv.table("v"))) == 1
    rv.sql("INSERT INTO line VALUES (2, 1.2, 4), (3, 2.0, 1)")
    assert rv.refresh("v").strategy == "row_delta"
    assert rv.verify("v").ok


def test_windows_that_look_backward_do_not_read_what_comes_before() -> None:
    rv, rng = connect("duckdb:", limits=EVERYWHERE), random.Random(1)

    def value() -> str:
        return "NULL" if rng.random() < 0.2 else str(rng.randrange(12))

    def rows_from(first: int, count: int) -> str:
        return ", ".join(f"({i}, {value()}, {value()}, {value()})" for i in range(first, first + count))

    rv.sql(f"CREATE TABLE t (id INT, g INT, d INT, x INT, PRIMARY KEY (id)); INSERT INTO t VALUES {rows_from(0, 60)}")
    for name, query in RUNNING.items():
        rv.create(name, query)
        assert len(helpers(rv, name)) == (2 if name == "of_both" else 1)
        script = rv.explain(name, verbose=True).split("refresh: ")[1]
        assert "__position" in script
        assert "< __position" not in script.replace("_d > __position", "_d < __position")
    for turn in range(4):
        rv.sql(
            [
                f"INSERT INTO t VALUES {rows_from(1000 + turn * 5, 3)}",
                f"DELETE FROM t WHERE id % 17 = {rng.randrange(17)}",
                f"UPDATE t SET x = {value()} WHERE id % 13 = {rng.randrange(13)}",
                f"UPDATE t SET g = {value()}, d = {value()} WHERE id % 19 = {rng.randrange(19)}",
            ][turn % 4]
        )
        for name in RUNNING:
            assert rv.refresh(name).strategy in ("partition_recompute", "no_op")
            assert rv.verify(name).ok, (turn, name)


BACKWARD = [
    ("sum(qty) OVER w AS a, lag(qty) OVER w AS b, first_value(qty) OVER w AS c", 3),
    ("min(qty) OVER w AS a, max(qty) OVER w AS b, avg(qty) OVER w AS c", 1),
    ("lag(qty, 3, -1) OVER w AS a, sum(qty) OVER (w rows 2 preceding) AS b, row_number() OVER w AS c", 2),
    ("rank() OVER w AS a, count(qty) OVER w AS b", 1),
    ("count(*) OVER (w ROWS BETWEEN 3 PRECEDING AND 1 PRECEDING) AS a, first_value(qty) OVER w AS b, min(qty) OVER w AS c", 3),
]  # fmt: skip
ORDERS = ["PARTITION BY part ORDER BY id", "ORDER BY id", "PARTITION BY part ORDER BY qty DESC NULLS LAST, id"]


@pytest.mark.parametrize("over", [ORDERS[0], *(pytest.param(over, marks=pytest.mark.slow) for over in ORDERS[1:])])
def test_windows_that_look_backward_have_helpers_for_all_that_is_before(session: Rollview, over: str) -> None:
    rv = session
    for i, (functions, count) in enumerate(BACKWARD):
        calls = functions.replace("OVER w", f"OVER ({over})").replace("OVER (w", f"OVER ({over}")
        rv.create(f"v{i}", f"SELECT id, part, {calls} FROM line", policy="INCREMENTAL STRICT")
        assert len(helpers(rv, f"v{i}")) == count, calls
    rng = random.Random(over)
    for change in [
        CHANGES[0],
        CHANGES[3],
        "INSERT INTO line VALUES (40, 1, 2), (41, 1, NULL); DELETE FROM line WHERE id = 0",
    ]:
        rv.sql(change)
        rv.sql(f"UPDATE line SET part = {rng.randrange(4)} WHERE id = {rng.randrange(30)}")
        for result in rv.refresh_all():
            assert rv.verify(result.view).ok, (result, change)


@pytest.mark.parametrize("over", ORDERS[:2])
@pytest.mark.one_in(2)
def test_appending_in_order_reads_nothing_of_what_was_there(
    session: Rollview, over: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rv = session
    found: list[str] = []
    for i, (functions, _) in enumerate(BACKWARD):
        calls = functions.replace("OVER w", f"OVER ({over})").replace("OVER (w", f"OVER ({over}")
        rv.create(f"v{i}", f"SELECT id, part, {calls} FROM line")
    select = rv.engine.select

    def noted(plan: Node, frames: Any, *more: Any) -> Any:
        found.append(show_plan(plan))
        return select(plan, frames, *more)

    monkeypatch.setattr(rv.engine, "select", noted)
    rv.sql("INSERT INTO line VALUES (50, 1, 3), (51, 2, 9), (52, 1, NULL)")
    for result in rv.refresh_all():
        assert rv.verify(result.view).ok, result
    # Rows of the table are asked for from the first new one on, those before never.
    reading = [plan for plan in found if "scan line new" in plan or "scan line old" in plan]
    assert reading
    for plan in reading:
        asked = len(re.findall(r"filter (#\d+ )?t0_id >= 50", plan))
        assert asked == plan.count("scan line new") + plan.count("scan line old"), plan


def test_frames_of_a_range_read_what_is_in_their_reach() -> None:
    rv = connect("duckdb:", limits=EVERYWHERE)
    rv.sql("CREATE TABLE sale (id INT, shop INT, day DATE, n INT, PRIMARY KEY (id))")
    days = ", ".join(f"({i}, {i % 3}, DATE '2024-01-01' + {i}, {i * 7 % 11})" for i in range(60))
    rv.sql(f"INSERT INTO sale VALUES {days}, (60, 1, NULL, 5)")
    week = "RANGE BETWEEN INTERVAL 7 DAYS PRECEDING AND CURRENT ROW"
    views = {
        "week": f"SELECT id, sum(n) OVER (PARTITION BY shop ORDER BY day {week}) AS s FROM sale",
        "weeks": f"SELECT id, max(n) OVER (ORDER BY day DESC {week}) AS s, count(*) OVER (ORDER BY day DESC) AS c FROM sale",
        "near": "SELECT id, min(n) OVER (ORDER BY id RANGE 4 PRECEDING) AS s, lag(n) OVER (ORDER BY id) AS l, "
        "first_value(n) OVER (ORDER BY id) AS f FROM sale",
        "two": "SELECT id, sum(n) OVER (ORDER BY id RANGE 4 PRECEDING) AS s, sum(n) OVER (ORDER BY id RANGE 9 PRECEDING) AS t FROM sale",
    }
    for name, query in views.items():
        rv.create(name, query, policy="INCREMENTAL STRICT")
    assert "__from" in rv.explain("week", verbose=True)
    for change in (
        "INSERT INTO sale VALUES (61, 1, DATE '2024-03-01', 3), (62, 2, DATE '2024-03-02', NULL)",
        "DELETE FROM sale WHERE id IN (20, 60); UPDATE sale SET n = 8 WHERE id = 41",
        "UPDATE sale SET day = NULL WHERE id = 30; INSERT INTO sale VALUES (63, 0, DATE '2023-12-30', 9)",
    ):
        rv.sql(change)
        for result in rv.refresh_all():
            assert rv.verify(result.view).ok, (result, change)


def test_a_window_over_groups_that_a_helper_stores(session: Rollview) -> None:
    rv = session
    stock = "SELECT part, sum(qty) AS total FROM line GROUP BY part"
    rv.create(
        "v", f"SELECT part, sum(total) OVER (ORDER BY part) AS s, lag(total) OVER (ORDER BY part) AS l FROM ({stock})"
    )
    assert len(helpers(rv, "v")) == 1
    for change in CHANGES:
        rv.sql(change)
        rv.refresh("v")
        assert rv.verify("v").ok, change
