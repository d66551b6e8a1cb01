"""AS OF: a view goes to any moment that its tables still have, forward and back, and is read at one without moving."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta, timezone
from typing import Any
from zoneinfo import ZoneInfo

import pytest

import shop
from compare import rows
from diamond import CITIES, EVERYWHERE, LARGE, PLAIN, bag, filled, now, with_views
from rollview import Rollview, connect
from rollview.errors import (
    NotIncremental,
    RollviewError,
    SchemaChanged,
    SqlSyntaxError,
    UserError,
    VersionGone,
    ViewNotFound,
)
from rollview.limits import Limits
from rollview.views.results import Outcome
from rounds import INCREMENTAL, VIEWS
from seeds import sample


def checked(outcomes: list[Outcome]) -> None:
    for outcome in outcomes:
        outcome.refreshed()


def test_a_view_goes_forward_and_back() -> None:
    rv = filled()
    rv.create("cities", CITIES, policy="INCREMENTAL")
    last = now(rv)
    there = rv.refresh("cities", as_of=last - 2)
    assert (there.strategy, there.position) == ("aggregate_merge", last - 2)
    assert bag(rv.table("cities")) == Counter([("Ulm", 30), ("Bonn", 7)])
    assert rv.refresh("cities", as_of=last - 1).strategy == "aggregate_merge"
    assert bag(rv.table("cities")) == Counter([("Ulm", 30), ("Bonn", 57)])
    assert rv.refresh("cities", as_of=last - 1).strategy == "no_op"
    assert rv.refresh("cities").to_vector == {t: rv.store.version(t) for t in ("customers", "orders")}
    assert bag(rv.table("cities")) == Counter([("Ulm", 20), ("Bonn", 57)])


def test_a_moment_is_a_position_a_time_or_a_vector() -> None:
    rv = filled()
    rv.create("cities", CITIES)
    unit = rv.commits()[-2]
    vector = {table: identity.version for table, identity in rv.catalog.clock.vector(unit.position).items()}
    moments = [unit.position, unit.time, unit.time.isoformat(), vector, f"{unit.time:%Y-%m-%d %H:%M:%S.%f}+00:00"]
    found = []
    moment: Any
    for moment in moments:
        rv.refresh("cities")
        found.append(rv.refresh("cities", as_of=moment))
    assert {result.position for result in found} == {unit.position}
    assert all(result.to_vector == vector for result in found)


def test_statements_go_to_a_moment() -> None:
    rv = filled()
    rv.create("cities", CITIES, policy="INCREMENTAL")
    last, time = now(rv), rv.commits()[-2].time
    rv.sql(f"REFRESH MATERIALIZED VIEW cities AS OF POSITION {last - 2}")
    assert bag(rv.table("cities")) == Counter([("Ulm", 30), ("Bonn", 7)])
    rv.sql(f"REFRESH MATERIALIZED VIEW cities AS OF TIMESTAMP '{time.isoformat()}'")
    assert bag(rv.table("cities")) == Counter([("Ulm", 30), ("Bonn", 57)])
    rv.sql(f"REFRESH MATERIALIZED VIEW cities AS OF POSITION {last - 2} FULL")
    assert rv.catalog.reflected(rv.catalog.get("cities")).strategy == "full"
    rv.sql("REFRESH MATERIALIZED VIEW cities AS OF TIMESTAMP :time", {"time": time})
    assert bag(rv.table("cities")) == Counter([("Ulm", 30), ("Bonn", 57)])
    rv.sql("REFRESH MATERIALIZED VIEW cities AS OF POSITION ?", [last - 2])
    assert bag(rv.table("cities")) == Counter([("Ulm", 30), ("Bonn", 7)])
    for wrong in (
        "AS OF",
        "AS OF POSITION",
        "AS OF POSITION 'x'",
        "AS OF 3",
        "AS OF TIMESTAMP 3",
        "AS OF POSITION 1.5",
    ):
        with pytest.raises(SqlSyntaxError):
            rv.sql(f"REFRESH MATERIALIZED VIEW cities {wrong}")


def test_a_view_is_created_and_read_at_a_moment() -> None:
    rv = filled()
    last = now(rv)
    made = rv.create("cities", CITIES, policy="INCREMENTAL", as_of=last - 2)
    assert made.position == last - 2
    assert bag(rv.table("cities")) == Counter([("Ulm", 30), ("Bonn", 7)])
    version = rv.store.version(rv.catalog.state("cities"))
    assert bag(rv.table("cities", as_of=last)) == Counter([("Ulm", 20), ("Bonn", 57)])
    assert bag(rv.table("orders", as_of=last - 3)) == Counter([(1, 1, 10), (2, 1, 20), (3, 2, 5)])
    assert bag(rv.table("cities")) == Counter([("Ulm", 30), ("Bonn", 7)])
    assert rv.store.version(rv.catalog.state("cities")) == version
    assert rv.create("cities", CITIES, policy="INCREMENTAL", or_replace=True, as_of=last - 1).position == last - 1
    assert bag(rv.table("cities")) == Counter([("Ulm", 30), ("Bonn", 57)])
    assert rv.create("cities", CITIES, if_not_exists=True, as_of=last).strategy == "no_op"
    assert bag(rv.table("cities")) == Counter([("Ulm", 30), ("Bonn", 57)])


def test_all_views_come_to_one_moment_while_a_writer_commits() -> None:
    """Views on views and a diamond: one vector, and the same rows if the moment is asked for again."""
    rv = with_views(filled(EVERYWHERE))
    seen: dict[tuple[str, int], Counter[Any]] = {}
    choose = random.Random(7)
    for turn in range(10):
        rv.sql(f"INSERT INTO orders VALUES ({100 + turn}, {turn % 3}, {turn * 3})")
        if turn % 4 == 0:
            rv.sql(f"DELETE FROM orders WHERE id = {98 + turn}")
            rv.sql(f"UPDATE customers SET city = 'Jena{turn}' WHERE id = {turn % 2 + 1}")
        position = choose.randint(3, now(rv))
        before = {name: bag(rv.table(name, as_of=position)) for name in ("cities", "large", "both")}
        done = rv.refresh_all(as_of=position)
        checked(done)
        assert {outcome.result.position for outcome in done if outcome.result} == {position}
        at = {table: identity.version for table, identity in rv.catalog.clock.vector(position).items()}
        for outcome in done:
            assert outcome.strategy in INCREMENTAL
            assert all(at[table] == version for table, version in outcome.to_vector.items() if table in at)
            assert rv.verify(outcome.view).ok
            shown = bag(rv.table(outcome.view))
            assert seen.setdefault((outcome.view, position), shown) == shown == before[outcome.view]


def test_a_view_on_a_view_needs_the_one_below_at_the_moment() -> None:
    rv = with_views(filled())
    last = now(rv)
    with pytest.raises(VersionGone, match="no stored version of cities"):
        rv.refresh("large", as_of=last - 2)
    assert rv.refresh("large").strategy == "no_op"
    rv.refresh("cities", as_of=last - 2)
    rv.refresh("cities")
    rv.refresh("large", as_of=last - 2)  # a stored version of cities shows the moment
    assert bag(rv.table("large")) == Counter([("Ulm", 30)])
    assert rv.refresh("both", as_of=last - 3, upstream=True).position == last - 3
    assert rv.verify("both").ok


def test_optimizing_a_table_is_no_moment_of_its_own() -> None:
    rv = with_views(filled())
    last = now(rv)
    rv.store.set_properties("orders", {"comment": "looked after"})
    rv.refresh_all()
    assert now(rv) == last
    assert rv.refresh("large", as_of=last).strategy == "no_op"


@pytest.mark.parametrize(
    ("moment", "error", "told"),
    [
        (0, UserError, "no position 0"),
        (99, UserError, "no position 99"),
        (-1, UserError, "position"),
        (True, UserError, "moment"),
        (1.5, UserError, "moment"),
        (object(), UserError, "moment"),
        ("five o'clock", UserError, "time"),
        ({}, UserError, "names no table"),
        ({"orders": 2}, UserError, "customers"),
        ({"orders": 2, "customers": 99}, UserError, "99"),
        ({"orders": -2, "customers": 1}, UserError, "-2"),
        ({"orders": "x", "customers": 1}, UserError, "x"),
        ({"orders": 2, "customers": 1, "nothing": 1}, UserError, "nothing"),
        ({"orders": 2, "customers": 1, "cities": 1}, UserError, "cities"),
        (datetime(2001, 1, 1, tzinfo=timezone.utc), UserError, "2001"),
        (datetime.now(timezone.utc) + timedelta(days=2), UserError, "future"),
    ],
)
@pytest.mark.one_in(3)
def test_a_moment_that_cannot_be_reached_is_refused(moment: Any, error: type[RollviewError], told: str) -> None:
    rv = filled()
    rv.create("cities", CITIES)
    for call in (rv.refresh, rv.table):
        with pytest.raises(error, match=told):
            call("cities", as_of=moment)
    assert rv.refresh("cities").strategy == "no_op"


def test_a_table_that_was_created_again_has_no_past() -> None:
    rv = filled()
    rv.create("large", "SELECT id FROM orders WHERE amount > 9")
    last = now(rv)
    rv.sql("DROP TABLE orders")
    rv.sql("CREATE TABLE orders (id INT, customer INT, amount INT, PRIMARY KEY (id))")
    rv.sql("INSERT INTO orders VALUES (8, 1, 80)")
    for call in (rv.refresh, rv.table):
        with pytest.raises(VersionGone, match="orders"):
            call("large", as_of=last - 1)
    assert rv.refresh("large", as_of=now(rv)).reason == "table_replaced"
    assert rv.verify("large").ok


@pytest.mark.parametrize(
    ("column", "told"),
    [("town STRING", "no longer fits its base tables"), ("city INT", "columns of cities would change")],
)
def test_a_table_that_has_other_columns_by_now_is_told(column: str, told: str) -> None:
    rv = filled()
    rv.create("cities", "SELECT id, city FROM customers")
    first = now(rv)
    rv.sql(f"DROP TABLE customers; CREATE TABLE customers (id INT, {column})")
    last = now(rv)
    with pytest.raises(SchemaChanged, match=told):
        rv.table("cities", as_of=last)
    with pytest.raises(SchemaChanged, match=told):
        rv.changes("cities", first, last)


def test_a_view_that_is_recomputed_goes_back_too() -> None:
    rv = filled()
    rv.create("cities", CITIES, policy="FULL")
    result = rv.refresh("cities", as_of=now(rv) - 2)
    assert (result.strategy, result.reason) == ("full", "policy")
    assert bag(rv.table("cities")) == Counter([("Ulm", 30), ("Bonn", 7)])


def test_a_helper_goes_back_with_its_view() -> None:
    rv = filled(EVERYWHERE)
    rv.create("most", f"SELECT city FROM ({CITIES}) WHERE total = (SELECT max(total) FROM ({CITIES}))")
    assert rv.catalog.get("most").helpers
    last = now(rv)
    for position in (last - 2, last, last - 1, last - 3, last):
        assert rv.refresh("most", as_of=position).strategy in INCREMENTAL
        assert rv.verify("most").ok
    assert {result.outcome for result in rv.refresh_all(as_of=last - 2)} == {"refreshed"}


def long_way(rv: Rollview, commits: int = 12, rows_each: int = 10) -> int:
    """Commits of ten rows each; the position before them."""
    before = now(rv)
    for turn in range(commits):
        values = ", ".join(f"({1000 + turn * rows_each + k}, {k % 2 + 1}, {turn})" for k in range(rows_each))
        rv.sql(f"INSERT INTO orders VALUES {values}")
    return before


def test_a_long_way_is_gone_in_steps() -> None:
    rv = with_views(filled())
    before = long_way(rv)
    shown: list[int] = []
    result = rv.refresh("cities", step_rows=35, progress=lambda done: shown.append(done.rows_changed))
    assert (result.steps, shown) == (4, [30, 30, 30, 30])
    assert result.rows_changed == 120
    assert rv.verify("cities").ok
    back = rv.refresh("cities", as_of=before, step_rows=50)
    assert (back.steps, back.position) == (3, before)
    assert rv.verify("cities").ok
    assert rv.refresh("cities", step_rows=5).steps == 12  # no commit is cut
    done = rv.refresh_all(as_of=before + 6, step_rows=20)
    checked(done)
    assert [outcome.result.steps for outcome in done if outcome.result] == [3, 1, 1]  # few rows of cities change
    assert all(rv.verify(name).ok for name in ("cities", "large", "both"))


def test_the_views_upstream_go_in_steps_too() -> None:
    rv = with_views(filled())
    before = long_way(rv)
    shown: list[tuple[str, int]] = []
    rv.refresh("large", upstream=True, step_rows=35, progress=lambda done: shown.append((done.view, done.rows_changed)))
    assert shown[:4] == [("cities", 30)] * 4
    assert {view for view, _ in shown[4:]} <= {"large"}
    assert rv.verify("large").ok
    assert rv.refresh("both", upstream=True, step_rows=50, as_of=before).position == before
    assert all(rv.verify(name).ok for name in ("cities", "large", "both"))


def test_a_time_counts_in_the_zone_of_the_session_or_in_its_own() -> None:
    rv = filled()
    rv.create("cities", CITIES, policy="INCREMENTAL")
    unit = rv.commits()[-2]
    rv.engine.connection.execute("SET TimeZone = 'Asia/Tokyo'")  # type: ignore[attr-defined]
    there = unit.time.astimezone(timezone(timedelta(hours=9)))
    in_oslo = unit.time.astimezone(ZoneInfo("Europe/Oslo"))
    for told in (
        f"{there:%Y-%m-%d %H:%M:%S.%f}",
        there.replace(tzinfo=None),
        f"{unit.time:%Y-%m-%dT%H:%M:%S.%fZ}",
        f"{in_oslo:%Y-%m-%d %H:%M:%S.%f} Europe/Oslo",
    ):
        rv.refresh("cities")
        assert rv.refresh("cities", as_of=told).position == unit.position
        rv.refresh("cities")
        if isinstance(told, str):
            rv.sql(f"REFRESH MATERIALIZED VIEW cities AS OF TIMESTAMP '{told}'")
            assert bag(rv.table("cities")) == bag(rv.table("cities", as_of=unit.position))
        assert bag(rv.table("cities", as_of=told)) == Counter([("Ulm", 30), ("Bonn", 57)])
        assert rv.create("early", CITIES, as_of=told).position == unit.position
        rv.drop("early")


def test_as_of_a_time_that_may_still_get_commits_waits() -> None:
    rv = filled(Limits(settle_seconds=0.3))
    rv.create("cities", CITIES, policy="INCREMENTAL")
    calls: list[Callable[[datetime], Any]] = [
        lambda time: rv.refresh("cities", as_of=time),
        lambda time: rv.table("cities", as_of=time),
        lambda time: rv.changes("cities", time),
        lambda time: rv.refresh_all(as_of=time),
    ]
    for call in calls:
        asked = datetime.now(timezone.utc)
        call(asked)
        assert datetime.now(timezone.utc) - asked >= timedelta(seconds=0.3)


def test_a_view_that_is_stopped_on_a_long_way_keeps_its_steps() -> None:
    rv = with_views(filled())
    before = long_way(rv)

    class Stopped(BaseException):
        pass

    def stop(done: object, steps: list[object] = []) -> None:  # noqa: B006
        steps.append(done)
        if len(steps) == 3:
            raise Stopped

    with pytest.raises(Stopped):
        rv.refresh("cities", step_rows=20, progress=stop)
    shown = {status.name: status.vector["orders"] for status in rv.views() if status.name == "cities"}
    assert shown["cities"] == rv.catalog.clock.vector(before + 6)["orders"].version
    assert rv.verify("cities").ok
    assert rv.refresh("cities", step_rows=20).steps == 3
    assert rv.verify("cities").ok


def test_steps_of_some_seconds_grow_and_shrink() -> None:
    from rollview.refresh.steps import Pace

    pace = Pace(seconds=2.0)
    assert [pace.next(1000, taken) for taken in (2.0, 1.0, 0.1, 4.0, 100.0)] == [1000, 2000, 4000, 500, 250]
    assert Pace(rows=1500, seconds=2.0).next(1000, 0.5) == 1500
    assert Pace(rows=100).next(100, 50.0) == 100
    rv = with_views(filled(Limits(settle_seconds=0, first_step_rows=25)))
    long_way(rv)
    assert rv.refresh("cities", step_seconds=3600).steps == 2  # 20 rows, then up to 100


def test_auto_decides_once_from_the_whole_way() -> None:
    """Each step alone is worth following; the whole way is not."""
    rv = filled(Limits(settle_seconds=0, always_followed=15))
    rv.create("kept", "SELECT id, amount FROM orders", policy="AUTO")
    before = long_way(rv)
    rv.sql("UPDATE orders SET amount = amount + 1 WHERE id >= 1000")
    result = rv.refresh("kept", step_rows=10)
    assert (result.strategy, result.reason, result.steps) == ("full", "too_much_changed", 1)
    assert rv.verify("kept").ok
    rv.refresh("kept", as_of=before)
    strict = rv.create("strict", "SELECT id, amount FROM orders", policy="INCREMENTAL", as_of=before)
    assert strict.position == before
    assert rv.refresh("strict", step_rows=10).steps == 13


@pytest.mark.parametrize("wrong", [{"step_rows": 0}, {"step_rows": "x"}, {"step_seconds": 0}, {"step_seconds": -1}])
def test_steps_are_positive_numbers(wrong: Any) -> None:
    rv = with_views(filled())
    with pytest.raises(UserError):
        rv.refresh("cities", **wrong)
    with pytest.raises(UserError):
        rv.refresh_all(**wrong)


def test_full_has_no_steps() -> None:
    rv = with_views(filled())
    with pytest.raises(UserError, match="full"):
        rv.refresh("cities", full=True, step_rows=10)


def test_a_view_that_does_not_exist_is_named() -> None:
    rv = filled()
    with pytest.raises(ViewNotFound):
        rv.refresh("citys", as_of=now(rv))


def test_a_strict_view_is_not_recomputed_at_a_moment() -> None:
    rv = filled()
    rv.sql("CREATE TABLE more (id INT)")
    rv.create("strict", "SELECT id FROM orders", policy="INCREMENTAL STRICT")
    last = now(rv)
    rv.sql("DROP TABLE orders")
    rv.sql("CREATE TABLE orders (id INT, customer INT, amount INT)")
    rv.sql("INSERT INTO orders VALUES (1, 1, 1)")
    with pytest.raises((NotIncremental, VersionGone)):
        rv.refresh("strict", as_of=last)


def sent_to_and_fro(views: list[shop.ShopView], limits: Limits, times: int, choose: random.Random) -> None:
    """Views of the conformance set go to random positions of its rounds: each time, they equal their query there."""
    rv = connect("duckdb:", limits=limits)
    for sql in shop.schema():
        rv.sql(sql)
    first = now(rv)
    for view in views:
        rv.create(view.name, view.sql)
    for turn in shop.rounds():
        for sql in turn.statements:
            rv.sql(sql)
    last = now(rv)
    seen: dict[tuple[str, int], Counter[str]] = {}
    for view in views:
        for position in [choose.randint(first, last) for _ in range(times)]:
            result = rv.refresh(view.name, as_of=position)
            at = rv.catalog.clock.vector(position)
            assert result.to_vector == {table: at[table].version for table in result.to_vector}
            if view.expect == "incremental":
                assert result.strategy in INCREMENTAL, (view.name, result)
            assert rv.verify(view.name).ok, (view.name, position)
            shown = Counter(map(repr, rows(rv.table(view.name))))
            if not any(column.is_float for column in rv.catalog.get(view.name).columns):
                assert seen.setdefault((view.name, position), shown) == shown, (view.name, position)


@pytest.mark.parametrize("limits", [PLAIN, EVERYWHERE], ids=["plain", "helpers"])
@pytest.mark.one_in(2)
def test_conformance_views_go_to_and_fro(limits: Limits) -> None:
    sent_to_and_fro(sample(VIEWS, 12), limits, 4, random.Random(11))


@pytest.mark.slow
@pytest.mark.parametrize("limits", [PLAIN, EVERYWHERE], ids=["plain", "helpers"])
def test_every_conformance_view_goes_to_and_fro(limits: Limits) -> None:
    sent_to_and_fro(VIEWS, limits, 20, random.Random(12))


@pytest.mark.parametrize(
    ("kind", "names"), [("embedded", ("cities", "large", "places", "ranked", "first")), ("delta", ("cities", "large"))]
)
@pytest.mark.one_in(2)
def test_views_go_to_and_fro_on_spark(kind: str, names: Sequence[str], opened: Callable[..., Rollview]) -> None:
    """Joins, groups, outer joins, windows and top rows, and a view on a view; fewer of them where each takes longer."""
    rv = opened(kind)
    rv.sql("CREATE TABLE orders (id INT, customer INT, amount INT, PRIMARY KEY (id))")
    rv.sql("CREATE TABLE customers (id INT, city STRING, PRIMARY KEY (id))")
    rv.sql("INSERT INTO customers VALUES (1, 'Ulm'), (2, 'Bonn')")
    rv.sql("INSERT INTO orders VALUES (1, 1, 10), (2, 1, 20), (3, 2, 5)")
    views = {
        "cities": CITIES,
        "large": LARGE,
        "places": "SELECT o.id, c.city FROM orders o FULL JOIN customers c ON c.id = o.customer",
        "ranked": "SELECT id, customer, row_number() OVER (PARTITION BY customer ORDER BY amount) AS n FROM orders",
        "first": "SELECT id, amount FROM orders ORDER BY amount DESC LIMIT 2",
    }
    for name in names:
        rv.create(name, views[name], policy="INCREMENTAL")
    first = now(rv)
    rv.sql("UPDATE orders SET amount = 70 WHERE id = 3")
    rv.sql("INSERT INTO orders VALUES (4, 2, 50), (5, 3, 8)")
    rv.sql("DELETE FROM customers WHERE id = 1")
    last = now(rv)
    assert last == first + 3
    expected = bag(rv.table("cities", as_of=first + 1))
    for position in (last, first + 1, first):
        for outcome in rv.refresh_all(as_of=position):
            assert outcome.refreshed().strategy in INCREMENTAL
            assert rv.verify(outcome.view).ok
        assert position != first + 1 or bag(rv.table("cities")) == expected
    assert rv.refresh("cities", step_rows=1).steps == 3
    assert rv.verify("cities").ok
