"""Several views propagated together: what is read, and what becomes of each."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from rolled import AT_ONCE, World, history
from rollview import Rollview, connect
from rollview.errors import RollviewError, UserError, VersionGone
from rollview.refresh.steps import Pace
from rollview.roll.run import Run
from rollview.store.edits import Append

VIEWS = {
    "pairs": "SELECT o.id, o.amount, c.city FROM orders o JOIN customers c ON c.id = o.customer",
    "cities": "SELECT c.city, COUNT(*) AS n FROM orders o JOIN customers c ON c.id = o.customer GROUP BY c.city",
    "large": "SELECT id FROM orders WHERE amount > 5",
    "buyers": "SELECT DISTINCT customer FROM orders",
}


def filled(views: dict[str, str]) -> Rollview:
    rv = connect("duckdb:", limits=AT_ONCE)
    rv.sql("CREATE TABLE orders (id INT, customer INT, amount INT, PRIMARY KEY (id))")
    rv.sql("CREATE TABLE customers (id INT, city STRING, PRIMARY KEY (id))")
    rv.sql("INSERT INTO customers VALUES (1, 'Ulm'), (2, 'Bonn')")
    rv.sql("INSERT INTO orders VALUES (1, 1, 10), (2, 1, 20), (3, 2, 5)")
    for name, query in views.items():
        rv.create(name, query, policy="INCREMENTAL")
    return rv


def changed(rv: Rollview) -> None:
    for number in range(10, 20):
        rv.sql(f"INSERT INTO orders VALUES ({number}, {number % 2 + 1}, {number})")
        if number % 4 == 0:
            rv.sql(f"UPDATE customers SET city = 'Jena {number}' WHERE id = 1")


def readings(rv: Rollview, names: list[str], step_rows: int) -> dict[str, int]:
    """How often a run reads changes of each table."""
    run = Run(rv.catalog, Pace(step_rows))
    asked: list[str] = []
    read = rv.store.few_changes

    def counted(table: str, *rest: Any) -> Any:
        asked.extend([table] if table in ("orders", "customers") else [])
        return read(table, *rest)

    rv.store.few_changes = counted  # type: ignore[assignment, method-assign]
    run.views(names)
    rv.store.few_changes = read  # type: ignore[method-assign]
    assert all(outcome.ok for outcome in run.outcomes.values())
    found = {table: asked.count(table) for table in set(asked)}
    assert found == dict(run.reads)
    return found


@pytest.mark.parametrize("step_rows", [3, 100])
def test_several_views_read_the_changes_of_a_table_once(step_rows: int) -> None:
    together, alone = filled(VIEWS), filled(VIEWS)
    changed(together)
    changed(alone)
    sections = {"orders": 4, "customers": 2} if step_rows == 3 else {"orders": 1, "customers": 1}
    assert readings(together, [*VIEWS], step_rows) == sections
    each = [readings(alone, [name], step_rows) for name in VIEWS]
    assert {table: sum(reads.get(table, 0) for reads in each) for table in sections} == {
        "orders": 4 * sections["orders"],
        "customers": 2 * sections["customers"],
    }
    for name in VIEWS:
        assert together.propagate(name).queries == 0
        assert together.apply(name).strategy == "apply"
        assert together.verify(name).ok


def test_a_view_that_fails_stops_those_above_it_and_no_others() -> None:
    rv = filled(VIEWS)
    rv.create("few", "SELECT city FROM cities WHERE n > 1", policy="INCREMENTAL")
    rv.create("outer_pairs", "SELECT o.id, c.city FROM orders o LEFT JOIN customers c ON c.id = o.customer")
    rv.create("fewer", "SELECT city FROM few", policy="INCREMENTAL")
    rv.propagate_all()
    changed(rv)
    commit = rv.store.commit

    def failing(table: str, *rest: Any, **more: Any) -> Any:
        if table == "__rollview_delta_cities":
            raise ValueError("the disk is full")
        return commit(table, *rest, **more)

    rv.store.commit = failing  # type: ignore[method-assign]
    outcomes = {each.view: each for each in rv.propagate_all()}
    assert {name: each.outcome for name, each in outcomes.items()} == {
        "outer_pairs": "refused",
        "buyers": "propagated",
        "cities": "failed",
        "large": "propagated",
        "pairs": "propagated",
        "few": "skipped",
        "fewer": "skipped",
    }
    assert "disk is full" in outcomes["cities"].explanation
    assert outcomes["fewer"].explanation == "cities failed"
    assert "LEFT JOIN" in outcomes["outer_pairs"].explanation
    with pytest.raises(RollviewError, match="disk is full"):
        outcomes["cities"].propagated()
    with pytest.raises(UserError, match="fewer was not propagated"):
        outcomes["fewer"].propagated()
    with pytest.raises(RollviewError, match="disk is full"):
        rv.propagate("fewer")
    rv.store.commit = commit  # type: ignore[method-assign]
    assert [each.view for each in rv.propagate_all(["fewer"])] == ["cities", "few", "fewer"]
    assert rv.apply("fewer").strategy == "apply"
    assert rv.apply("few").strategy == "no_op"
    assert all(rv.verify(name).ok for name in ("cities", "few", "fewer"))


def test_changes_that_do_not_fit_into_this_process_are_read_by_the_engine() -> None:
    for seed in (3, 5):
        world = World(history(seed), limits=replace(AT_ONCE, changes_here=0))
        while world.happen():
            pass
        world.rv.propagate("v", step_rows=3)
        assert world.extent().mark > world.extent().begin
        world.check()


def test_rows_of_sections_whose_history_is_partly_gone_are_read_one_by_one() -> None:
    rv = filled(VIEWS)
    rv.propagate("large")
    changed(rv)
    rv.refresh("pairs")
    store = rv.store
    few, gone = store.few_changes, store.version("orders")
    rows = rv.engine.small([(90, 1, 90)], "id INT, customer INT, amount INT")
    store.commit("orders", [Append(rows)])

    def recent(table: str, after: int, *rest: Any) -> Any:
        if table == "orders" and after < gone:
            raise VersionGone("gone")
        return few(table, after, *rest)

    store.few_changes = recent  # type: ignore[assignment, method-assign]
    done = {each.view: each.propagated() for each in rv.propagate_all(["pairs", "large"])}
    assert {name: each.refreshed for name, each in done.items()} == {"large": True, "pairs": False}
    assert rv.apply("pairs").strategy == "apply"
    for name in done:
        assert done[name].mark == rv.position()
        assert rv.verify(name).ok


@pytest.mark.parametrize("wrong", [["nothing"], 7, [None]])
def test_names_are_those_of_views(wrong: Any) -> None:
    with pytest.raises(RollviewError):
        filled({}).propagate_all(wrong)
