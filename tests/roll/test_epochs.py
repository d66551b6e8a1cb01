"""When a delta begins again: nothing of an old one is ever applied, on any level of views on views."""

from __future__ import annotations

import contextlib
import random
from collections import Counter
from collections.abc import Callable

import pytest

from orders import ordered, orders_and_customers
from rolled import AT_ONCE, World, history
from rollview import Rollview
from rollview.errors import Conflict, RollviewError, SchemaChanged, UserError, VersionGone
from rollview.roll.extent import Extent
from rollview.roll.rolling import rolling
from rollview.store.edits import Replace
from seeds import numbers

CITIES = "SELECT c.city, COUNT(*) AS n FROM orders o JOIN customers c ON c.id = o.customer GROUP BY c.city"
LARGE = "SELECT city, n FROM cities WHERE n > 1"


def filled(keep: str | None = None) -> Rollview:
    rv = orders_and_customers(AT_ONCE)
    rv.sql("INSERT INTO orders VALUES (1, 1), (2, 2)")
    rv.create("cities", CITIES, policy="INCREMENTAL", keep_changes=keep)
    rv.create("large", LARGE, policy="INCREMENTAL")
    return rv


def extent(rv: Rollview, view: str) -> Extent:
    stored = rolling(rv.catalog, view).delta.stored()
    assert stored is not None
    return stored.extent


@pytest.mark.parametrize("again", ["full", "replaced", "dropped table"])
def test_a_view_below_that_begins_again_begins_those_above_it_again(again: str) -> None:
    rv = filled()
    last = ordered(rv, 3, 4, 5)
    rv.propagate("large")
    rv.apply("large", as_of=last - 1)
    old = {view: extent(rv, view).birth for view in ("cities", "large")}
    if again == "full":
        rv.refresh("cities", full=True)
    elif again == "replaced":
        rv.create("cities", CITIES.replace("COUNT(*)", "COUNT(*) + 1"), policy="INCREMENTAL", or_replace=True)
    else:
        rv.sql("DROP TABLE orders")
        rv.sql("CREATE TABLE orders (id INT, customer INT, PRIMARY KEY (id))")
        rv.sql("INSERT INTO orders VALUES (7, 1), (8, 1)")
    if again != "dropped table":  # then nobody has looked yet
        with pytest.raises(UserError, match="Nothing has been propagated") as refused:
            rv.apply("large", as_of=last)
        assert "a view that it reads was" in (refused.value.why or "")
    ordered(rv, 10, 12)
    done = rv.propagate("large")
    assert done.mark == rv.position()
    for view in ("cities", "large"):
        assert extent(rv, view).birth != old[view]
        assert extent(rv, view).begin > last - 1
    assert rv.apply("large").strategy in ("apply", "no_op")
    assert rv.verify("large").ok
    assert rv.verify("cities").ok
    with pytest.raises(UserError, match="not known up to position"):
        rv.apply("large", as_of=last - 2)


def test_a_plain_refresh_below_keeps_the_deltas() -> None:
    rv = filled()
    ordered(rv, 3, 4)
    rv.propagate("large")
    old = extent(rv, "large")
    last = ordered(rv, 5, 6)
    rv.refresh("cities")
    rv.propagate("large")
    assert (extent(rv, "large").birth, extent(rv, "large").begin) == (old.birth, old.begin)
    assert rv.apply("large", as_of=last).strategy == "apply"
    assert rv.verify("large").ok


def test_a_view_goes_back_when_the_view_below_has() -> None:
    rv = filled()
    last = ordered(rv, 3, 4, 5)
    rv.propagate("large")
    rv.apply("cities")
    with pytest.raises(UserError, match="cannot be applied up to position") as refused:
        rv.apply("large", as_of=last - 1)
    assert f"rv.apply('cities', as_of={last - 1})" in (refused.value.todo or "")
    rv.apply("cities", as_of=last - 1)
    assert rv.apply("large", as_of=last - 1).position == last - 1
    assert rv.verify("large").ok
    assert rv.apply("large").position == last  # a stored version of the view below stands there
    assert rv.verify("large").ok
    assert rv.apply("large", as_of=last - 1).strategy == "apply"
    assert rv.verify("large").ok


def test_a_changed_column_is_refused_and_a_replaced_view_begins_again() -> None:
    rv = filled()
    ordered(rv, 3)
    rv.propagate("large")
    old = extent(rv, "cities").epoch
    rows = rv.engine.small([(1, "one"), (2, "two")], "id INT, customer STRING")
    rv.store.commit("orders", [Replace(rows)])
    with pytest.raises(SchemaChanged, match="customer"):
        rv.propagate("large")
    rows = rv.engine.small([(1, 1, "x"), (2, 1, "y")], "id INT, customer INT, more STRING")
    rv.store.commit("orders", [Replace(rows)])
    rv.propagate("large")
    rv.apply("large")
    assert rv.verify("large").ok
    rv.drop("large")
    rv.create("cities", CITIES.replace("COUNT(*)", "SUM(o.id)"), policy="INCREMENTAL", or_replace=True)
    assert rv.propagate("cities").begin == rv.position()
    assert extent(rv, "cities").epoch != old


def test_a_delta_that_a_killed_drop_has_left_is_not_taken_for_that_of_a_new_view() -> None:
    rv = filled()
    last = ordered(rv, 3, 4)
    rv.propagate("cities")
    rv.drop("large")
    drop, delta = rv.store.drop, rv.catalog.delta("cities")
    rv.store.drop = lambda table: None if table == delta else drop(table)  # type: ignore[method-assign]
    rv.drop("cities")
    rv.store.drop = drop  # type: ignore[method-assign]
    assert rv.store.exists(delta)
    rv.create("cities", "SELECT id, customer FROM orders", policy="INCREMENTAL")
    with pytest.raises(UserError, match="Nothing has been propagated"):
        rv.apply("cities", as_of=last - 1)
    assert rv.propagate("cities").begin == last
    last = ordered(rv, 9)
    rv.propagate("cities")
    assert rv.apply("cities", as_of=last).strategy == "apply"
    assert rv.verify("cities").ok


def test_changes_are_kept_as_long_as_a_view_above_has_not_propagated_them() -> None:
    rv = filled("0 seconds")
    first = ordered(rv, 3)
    rv.propagate("large")
    last = ordered(rv, 4, 5, 6)
    rv.propagate("cities")
    rv.apply("cities")
    assert (extent(rv, "cities").begin, extent(rv, "cities").mark) == (first, last)
    assert rv.propagate("large").mark == last
    rv.propagate("cities")
    assert extent(rv, "cities").begin == last
    assert rv.apply("large").strategy == "apply"
    assert rv.verify("large").ok


REFUSALS = (UserError, VersionGone, Conflict, SchemaChanged)


def anything(world: World, choose: random.Random, done: Counter[str]) -> None:
    """Something that a user can do to a tower of views."""
    rv, views = world.rv, [*world.history.views]
    view, position = choose.choice(views), choose.randint(max(1, (rv.position() or 1) - 6), rv.position() or 1)
    acts: dict[str, Callable[[], object]] = {
        "propagate": lambda: rv.propagate(view, steps=choose.choice([None, 1]), step_rows=choose.choice([1, 3, 100])),
        "all": lambda: [each.propagated() for each in rv.propagate_all(step_rows=choose.choice([2, 100]))],
        "apply": lambda: rv.apply(view),
        "apply at": lambda: rv.apply(view, as_of=position),
        "refresh": lambda: rv.refresh(view),
        "refresh at": lambda: rv.refresh(view, as_of=position),
        "refresh all": lambda: [each.refreshed() for each in rv.refresh_all()],
        "refresh all at": lambda: [each.refreshed() for each in rv.refresh_all(as_of=position)],
        "full": lambda: rv.refresh(view, full=True),
        "replace": lambda: replaced(world, view),
    }
    act = choose.choice([*acts, "propagate", "all", "apply", "apply at"])
    try:
        acts[act]()
        done[act] += 1
    except REFUSALS:
        done[f"{act}, refused"] += 1


def replaced(world: World, view: str) -> None:
    """Another query with the same columns takes the place of a view's."""
    query = world.history.views[view]
    other = f"SELECT * FROM ({query}) WHERE k = 0 OR v = 1"
    now = world.rv.catalog.get(view).query.text
    world.rv.create(view, query if now != query else other, policy="INCREMENTAL", or_replace=True)
    world.forget()


def checked(world: World) -> None:
    """Every delta that can be applied holds the law, and every view shows its query."""
    for view in world.history.views:
        stored = world.rolling(view).delta.stored()
        if stored is not None and world.rolling(view).delta.current() is not None:
            world.check(view)
        with contextlib.suppress(VersionGone):  # of a view below that was replaced by one with other stored columns
            assert world.rv.verify(view).ok, f"{view}\n{world.history}"


def lived(seed: int, acts: int) -> Counter[str]:
    choose, done = random.Random(seed), Counter[str]()
    world = World(history(seed, acts, tower=True), keep=choose.choice([None, "0 seconds"]))
    try:
        for _ in range(acts):
            anything(world, choose, done)
            checked(world)
            if choose.random() < 0.6:
                world.happen()
    except (AssertionError, RollviewError) as error:
        raise AssertionError(f"seed {seed}: {done}\n{world.history}") from error
    world.rv.close()
    return done


def test_whatever_is_done_to_a_tower_of_views_its_deltas_are_right() -> None:
    (seed,) = numbers(1)
    assert sum(lived(seed, 8).values()) == 8


@pytest.mark.slow
def test_whatever_is_done_to_many_towers_their_deltas_are_right() -> None:
    done = sum((lived(seed, 25) for seed in numbers(200)), Counter[str]())
    assert all(
        done[act] for act in ("propagate", "all", "apply", "apply at", "refresh", "refresh at", "full", "replace")
    )


def test_a_plain_refresh_of_all_applies_what_is_there_on_every_level() -> None:
    rv = filled()
    ordered(rv, 3, 4)
    rv.propagate_all()
    assert {each.view: each.refreshed().strategy for each in rv.refresh_all()} == {"cities": "apply", "large": "apply"}
    assert all(each.ok for each in rv.verify_all())
    ordered(rv, 5, 6)
    rv.propagate_all()
    ordered(rv, 7)
    assert {each.view: each.refreshed().steps for each in rv.refresh_all()} == {"cities": 2, "large": 2}
    assert all(each.ok for each in rv.verify_all())
    assert all(view.fresh for view in rv.views())
