"""A plain refresh applies what has been propagated, and follows the rest."""

from __future__ import annotations

import contextlib
import random
from collections import Counter
from typing import Any

import pytest

from compare import rows
from rolled import AT_ONCE, World, history
from rollview import Rollview, connect
from rollview.clock.stored import StoredClock
from rollview.clock.timeline import Timeline
from rollview.errors import Damaged, UserError
from rollview.limits import Limits
from rollview.parse.stored_names import CLOCK, damaged
from rollview.roll import following
from seeds import numbers

CITIES = "SELECT c.city, SUM(o.amount) AS total FROM orders o JOIN customers c ON c.id = o.customer GROUP BY c.city"
PAIRS = "SELECT o.id, c.city, o.amount FROM orders o JOIN customers c ON c.id = o.customer"


def filled(limits: Limits = AT_ONCE, policy: str = "INCREMENTAL") -> Rollview:
    rv = connect("duckdb:", limits=limits)
    rv.sql("CREATE TABLE orders (id INT, customer INT, amount INT, PRIMARY KEY (id))")
    rv.sql("CREATE TABLE customers (id INT, city STRING, PRIMARY KEY (id))")
    rv.sql("INSERT INTO customers VALUES (1, 'Ulm'), (2, 'Bonn')")
    rv.sql("INSERT INTO orders VALUES (1, 1, 10), (2, 1, 20), (3, 2, 5)")
    rv.create("cities", CITIES, policy=policy)
    rv.create("pairs", PAIRS, policy=policy)
    return rv


def changed(rv: Rollview, first: int = 10) -> int:
    """Three commits; the position after them."""
    rv.sql(f"INSERT INTO orders VALUES ({first}, 2, 50), ({first + 1}, NULL, 1)")
    rv.sql("UPDATE customers SET city = concat(city, 'a') WHERE id = 2")
    rv.sql(f"DELETE FROM orders WHERE id = {first}")
    return now(rv)


def now(rv: Rollview) -> int:
    position = rv.position()
    assert position is not None
    return position


def commits(rv: Rollview, view: str) -> int:
    return len(rv.store.history(rv.catalog.state(view)))


def newest(rv: Rollview) -> dict[str, int | None]:
    return {table: rv.store.version(table) for table in ("customers", "orders")}


def bag(frame: Any) -> Counter[Any]:
    return Counter(rows(frame))


def test_what_is_there_is_applied_and_the_rest_is_followed() -> None:
    rv = filled()
    changed(rv)
    rv.propagate("pairs")
    changed(rv, 20)
    before = commits(rv, "pairs")
    result = rv.refresh("pairs")
    assert (result.strategy, result.steps, commits(rv, "pairs") - before) == ("row_delta", 2, 2)
    assert result.from_vector == {"customers": 1, "orders": 1}
    assert result.to_vector == newest(rv)
    assert result.ran[0].what.startswith("what was propagated")
    assert rv.verify("pairs").ok
    assert rv.refresh("pairs").strategy == "no_op"


def test_what_is_propagated_up_to_now_is_one_commit_without_a_base_table() -> None:
    rv = filled()
    changed(rv)
    rv.propagate("cities")
    changes = rv.store.few_changes
    asked: list[str] = []
    rv.store.few_changes = lambda table, *rest: asked.append(table) or changes(table, *rest)  # type: ignore[method-assign,func-returns-value]
    before = commits(rv, "cities")
    result = rv.refresh("cities")
    assert (result.strategy, result.steps, commits(rv, "cities") - before) == ("apply", 1, 1)
    assert asked == []
    assert result.to_vector == newest(rv)
    assert rv.verify("cities").ok


def test_nothing_propagated_is_an_ordinary_refresh() -> None:
    rv = filled()
    rv.propagate("cities")
    changed(rv)
    before = commits(rv, "cities")
    result = rv.refresh("cities")
    assert (result.strategy, result.steps, commits(rv, "cities") - before) == ("aggregate_merge", 1, 1)
    rv.sql("CREATE TABLE other (id INT)")
    assert rv.refresh("cities").strategy == "no_op"


def test_a_moment_beyond_the_delta_on_either_side_is_reached() -> None:
    rv = filled()
    first = now(rv)
    begin = changed(rv)
    rv.refresh("cities")
    rv.propagate("cities")
    mark = changed(rv, 20)
    rv.propagate("cities")
    end = changed(rv, 30)
    expected = {position: bag(rv.table("cities", as_of=position)) for position in range(first, end + 1)}
    for position, steps in ((end - 1, 2), (mark - 1, 1), (begin - 2, 2), (mark, 1), (begin, 1), (end, 2)):
        result = rv.refresh("cities", as_of=position)
        assert (result.position, result.steps) == (position, steps), position
        assert bag(rv.table("cities")) == expected[position]
    assert rv.refresh("cities", as_of=begin).strategy == "aggregate_merge"
    assert rv.refresh("cities", as_of=mark).strategy == "apply"


def test_all_views_apply_what_is_there() -> None:
    rv = filled()
    rv.create("ulm", "SELECT total FROM cities WHERE city = 'Ulm'", policy="INCREMENTAL")
    changed(rv)
    rv.propagate("pairs")
    rv.propagate("cities", steps=1)
    mark = now(rv)
    changed(rv, 20)
    done = {outcome.view: outcome for outcome in rv.refresh_all()}
    assert {name: outcome.refreshed().steps for name, outcome in done.items()} == {"pairs": 2, "cities": 2, "ulm": 1}
    assert all(rv.verify(name).ok for name in done)
    done = {outcome.view: outcome for outcome in rv.refresh_all(as_of=mark)}
    assert done["pairs"].strategy == "row_delta"  # from beyond its delta
    assert {outcome.refreshed().position for outcome in done.values()} == {mark}
    assert all(rv.verify(name).ok for name in done)
    assert {o.view: o.strategy for o in rv.refresh_all(["pairs", "cities"], as_of=mark - 1)}["pairs"] == "apply"
    rv.refresh("ulm", upstream=True)
    assert all(status.fresh for status in rv.views() if status.name != "pairs")


def test_a_long_way_is_gone_in_steps_after_what_is_there() -> None:
    rv = filled()
    changed(rv)
    rv.propagate("pairs")
    for first in (20, 30, 40):
        changed(rv, first)
    shown: list[str] = []
    result = rv.refresh("pairs", step_rows=4, progress=lambda done: shown.append(done.strategy))
    assert shown[0] == "apply"
    assert result.steps == len(shown) > 3
    assert result.to_vector == newest(rv)
    assert rv.verify("pairs").ok


@pytest.mark.parametrize("why", ["full", "replace", "table", "auto", "damage"])
def test_a_delta_that_does_not_count_is_left_alone(why: str) -> None:
    rv = filled(Limits(settle_seconds=0, always_followed=4), "AUTO")
    changed(rv)
    rv.propagate("pairs")
    full = False
    if why == "full":
        full = True
    elif why == "replace":
        rv.create("pairs", PAIRS + " WHERE o.amount > 6", or_replace=True)
    elif why == "table":
        rv.sql("DROP TABLE orders")
        rv.sql("CREATE TABLE orders (id INT, customer INT, amount INT, PRIMARY KEY (id))")
        rv.sql("INSERT INTO orders VALUES (8, 1, 80)")
    elif why == "auto":
        rv.sql("UPDATE orders SET amount = amount + 1")
    changed(rv, 20)
    before = commits(rv, "pairs")
    result = rv.refresh("pairs", full=full)
    expected = {"full": "requested", "table": "table_replaced", "auto": "too_much_changed"}
    if why in expected:
        assert (result.strategy, result.reason, result.steps) == ("full", expected[why], 1)
        assert commits(rv, "pairs") - before == 1
    assert result.to_vector == newest(rv)
    assert rv.verify("pairs").ok
    rv.sql("DELETE FROM customers WHERE id = 1")
    assert rv.refresh("pairs").to_vector == newest(rv)
    assert rv.verify("pairs").ok


def test_a_refresh_does_without_a_damaged_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    rv = filled()
    changed(rv)
    rv.propagate("pairs")
    changed(rv, 20)

    def unreadable(clock: StoredClock) -> Timeline:
        raise damaged(CLOCK, "its file is missing")

    monkeypatch.setattr(StoredClock, "read", unreadable)
    assert rv.refresh("pairs").to_vector == newest(rv)
    assert [each.ok for each in rv.refresh_all()] == [True] * len(rv.catalog.names())
    with pytest.raises(Damaged, match="commit clock is damaged"):
        rv.propagate("pairs")


def test_another_session_that_recomputes_meanwhile_does_no_harm(monkeypatch: pytest.MonkeyPatch) -> None:
    rv = filled()
    changed(rv)
    rv.propagate("pairs")
    changed(rv, 20)
    found, plain = [], following.apply  # type: ignore[attr-defined]

    def late(catalog: Any, name: str, position: int) -> Any:
        found.append(position)
        rv.refresh("pairs", full=True)
        return plain(catalog, name, position)

    monkeypatch.setattr(following, "apply", late)
    result = rv.refresh("pairs")
    assert found
    assert result.to_vector == newest(rv)
    assert rv.verify("pairs").ok


@pytest.mark.parametrize("seed", numbers(3))
def test_random_views_are_propagated_applied_and_refreshed_in_any_order(seed: int) -> None:
    choose = random.Random(seed)
    world = World(history(seed, 16))
    rv, first = world.rv, now(world.rv)
    while world.happen():
        if choose.random() < 0.5:
            continue
        last = now(rv)
        act = choose.choice(["propagate", "propagate", "apply", "refresh", "refresh", "as_of", "as_of", "full"])
        if act == "propagate":
            rv.propagate("v", steps=choose.choice([None, 1]), step_rows=choose.choice([1, 3, 100]))
        elif act == "apply" and rv.store.exists(rv.catalog.delta("v")):
            with contextlib.suppress(UserError):  # the view was recomputed, or was refreshed beyond its delta
                rv.apply("v")
        elif act == "refresh":
            rv.refresh("v")
            assert world.shown() == world.shown_at(last), world.history
        elif act == "as_of":
            position = choose.randint(first, last)
            assert rv.refresh("v", as_of=position).position == position
            assert world.shown() == world.shown_at(position), world.history
        elif act == "full" and choose.random() < 0.3:
            rv.refresh("v", full=True)
        assert rv.verify("v").ok, world.history
