"""Propagating and applying: what is done, and what is refused."""

from __future__ import annotations

import contextlib
import io
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from compare import rows
from rolled import AT_ONCE
from rollview import Rollview, connect
from rollview.errors import Conflict, NotIncremental, RollviewError, UserError, VersionGone, ViewNotFound
from rollview.roll.extent import Extent
from rollview.roll.results import ForwardStep
from rollview.roll.rolling import rolling

CITIES = "SELECT c.city, SUM(o.amount) AS total FROM orders o JOIN customers c ON c.id = o.customer GROUP BY c.city"
PAIRS = "SELECT o.id, c.city, o.amount FROM orders o JOIN customers c ON c.id = o.customer"


def filled() -> Rollview:
    rv = connect("duckdb:", limits=AT_ONCE)
    rv.sql("CREATE TABLE orders (id INT, customer INT, amount INT, PRIMARY KEY (id))")
    rv.sql("CREATE TABLE customers (id INT, city STRING, PRIMARY KEY (id))")
    rv.sql("INSERT INTO customers VALUES (1, 'Ulm'), (2, 'Bonn')")
    rv.sql("INSERT INTO orders VALUES (1, 1, 10), (2, 1, 20), (3, 2, 5)")
    rv.create("cities", CITIES, policy="INCREMENTAL")
    rv.create("pairs", PAIRS, policy="INCREMENTAL")
    return rv


def changed(rv: Rollview) -> int:
    """Five commits; the position before them."""
    before = now(rv)
    rv.sql("UPDATE orders SET amount = 7 WHERE id = 3")
    rv.sql("INSERT INTO orders VALUES (4, 2, 50), (5, NULL, 1)")
    rv.sql("UPDATE customers SET city = 'Ulm' WHERE id = 2")
    rv.sql("DELETE FROM orders WHERE id = 1")
    rv.sql("INSERT INTO customers VALUES (3, 'Jena')")
    return before


def now(rv: Rollview) -> int:
    position = rv.position()
    assert position is not None
    return position


def extent(rv: Rollview, view: str) -> Extent:
    stored = rolling(rv.catalog, view).delta.stored()
    assert stored is not None
    return stored.extent


def bag(frame: Any) -> Counter[Any]:
    return Counter(rows(frame))


def test_a_query_for_each_changed_table() -> None:
    rv = filled()
    before = changed(rv)
    done = rv.propagate("pairs")
    assert (done.queries, done.begin, done.before, done.mark, done.newest, done.lag) == (
        2, before, before, before + 5, before + 5, 0
    )  # fmt: skip
    assert [(step.table, step.after, step.upto) for step in done.steps] == [
        ("orders", before, before + 4),
        ("customers", before + 2, before + 5),
    ]
    assert done.rows == sum(step.rows for step in done.steps) == 8
    assert rv.propagate("pairs").queries == 0


def test_the_view_stays_until_it_is_applied_and_no_base_table_is_read_then() -> None:
    rv = filled()
    shown = bag(rv.table("pairs"))
    before = changed(rv)
    rv.propagate("pairs")
    assert bag(rv.table("pairs")) == shown
    expected = {position: bag(rv.table("pairs", as_of=position)) for position in range(before, before + 6)}
    read = rv.store.read

    def only_own(table: str, version: int | None = None) -> Any:
        assert table.startswith("__rollview_"), f"{table} is read"
        return read(table, version)

    rv.store.read = only_own  # type: ignore[method-assign]
    for position in (before + 5, before + 1, before + 4, before):
        result = rv.apply("pairs", as_of=position)
        assert (result.strategy, result.position) == ("apply", position)
        assert bag(rv.table("pairs")) == expected[position]
    assert rv.apply("pairs", as_of=before).strategy == "no_op"
    assert "propagated" in rv.apply("pairs").explanation


def test_two_sessions_that_begin_at_once_come_to_one_delta(monkeypatch: pytest.MonkeyPatch) -> None:
    rv = filled()
    changed(rv)
    delta, plain = rv.catalog.delta("pairs"), rv.store.create

    def late(table: str, *given: Any, **told: Any) -> Any:
        if table == delta:
            monkeypatch.undo()
            rv.propagate("pairs", step_rows=2, steps=1)
        return plain(table, *given, **told)

    monkeypatch.setattr(rv.store, "create", late)
    assert rv.propagate("pairs").mark == now(rv)
    rv.apply("pairs")
    assert rv.verify("pairs").ok


@pytest.mark.parametrize("again", [True, False])
def test_a_view_that_another_session_drops_meanwhile_is_followed_as_it_is_then(again: bool) -> None:
    rv = filled()
    changed(rv)

    def drop(step: ForwardStep) -> None:
        if step.table == "customers":
            rv.drop("pairs")
            if again:
                rv.create("pairs", "SELECT id FROM orders")
                rv.sql("INSERT INTO orders VALUES (9, 9, 9)")

    if not again:
        with pytest.raises(ViewNotFound, match="no materialized view named pairs"):
            rv.propagate("pairs", step_rows=1, progress=drop)
        return
    rv.propagate("pairs", step_rows=1, progress=drop)
    rv.refresh("pairs")
    assert rv.verify("pairs").ok


def test_what_was_propagated_can_be_applied_before_all_is() -> None:
    rv = filled()
    before = changed(rv)
    first = rv.propagate("cities", steps=1, step_rows=2)
    assert (first.queries, first.mark, first.lag) == (1, before + 1, 4)
    assert rv.apply("cities").position == before + 1
    with pytest.raises(UserError, match="not known up to position"):
        rv.apply("cities", as_of=before + 2)
    with pytest.raises(UserError, match="not known up to position"):
        rv.apply("cities", as_of=before - 1)
    marks: list[int] = []
    done = rv.propagate("cities", step_rows=1, progress=lambda step: marks.append(step.mark))
    assert marks == sorted(marks)
    assert marks[-1] == done.mark == before + 5
    assert rv.verify("cities").ok
    assert rv.apply("cities").position == before + 5
    assert rv.verify("cities").ok


def test_a_large_commit_is_cut_into_parts_and_the_mark_passes_it_with_the_last() -> None:
    rv = filled()
    before = now(rv)
    values = ", ".join(f"({100 + i}, {i % 2 + 1}, {i})" for i in range(10))
    rv.sql(f"INSERT INTO orders VALUES {values}")
    rv.sql("INSERT INTO customers VALUES (3, 'Jena')")
    done = rv.propagate("pairs", step_rows=4)
    assert [(step.table, step.part, step.rows, step.mark - before) for step in done.steps] == [
        ("orders", (1, 3), 3, 0),
        ("orders", (2, 3), 4, 0),
        ("orders", (3, 3), 3, 1),
        ("customers", (1, 1), 1, 2),
    ]
    assert rv.apply("pairs").strategy == "apply"
    assert rv.verify("pairs").ok


def test_a_call_that_is_stopped_between_two_parts_is_gone_on_with() -> None:
    rv = filled()
    values = ", ".join(f"({100 + i}, {i % 2 + 1}, {i})" for i in range(10))
    rv.sql(f"INSERT INTO orders VALUES {values}")
    assert rv.propagate("cities", steps=2, step_rows=4).lag == 1
    rv.sql("DELETE FROM customers WHERE id = 1")
    done = rv.propagate("cities", step_rows=100)
    assert [(step.table, step.part) for step in done.steps] == [("orders", (3, 3)), ("customers", (1, 1))]
    assert rv.apply("cities").strategy == "apply"
    assert rv.verify("cities").ok


def test_steps_of_some_seconds_adapt_for_each_table() -> None:
    rv = filled()
    changed(rv)
    rv.propagate("pairs", step_seconds=1000.0)
    paces = extent(rv, "pairs").paces
    assert set(paces) == {"orders", "customers"}
    assert all(pace == 4 * rv.catalog.limits.first_step_rows for pace in paces.values())


def test_commits_that_do_not_matter_to_a_view_need_no_query() -> None:
    rv = filled()
    rv.propagate("pairs")
    rv.sql("CREATE TABLE other (id INT)")
    rv.sql("INSERT INTO other VALUES (1)")
    rv.store.set_properties("orders", {"comment": "looked after"})
    done = rv.propagate("pairs")
    assert (done.queries, done.lag) == (0, 0)


@pytest.mark.parametrize("again", ["full", "replace", "policy"])
def test_a_new_epoch_begins_with_a_recomputed_view(again: str) -> None:
    rv = filled()
    before = changed(rv)
    rv.propagate("pairs")
    rv.apply("pairs", as_of=before + 2)
    old = extent(rv, "pairs")
    if again == "full":
        rv.refresh("pairs", full=True)
    elif again == "replace":
        rv.create("pairs", PAIRS + " WHERE o.amount > 6", policy="INCREMENTAL", or_replace=True)
    else:  # another spelling of the same view keeps its rows, and its delta
        rv.create("pairs", PAIRS.replace("SELECT", "SELECT "), policy="AUTO", or_replace=True)
        assert rv.apply("pairs").strategy == "apply"
        assert extent(rv, "pairs").epoch == old.epoch
        return
    with pytest.raises(UserError, match="recomputed or replaced"):
        rv.apply("pairs", as_of=before + 1)
    rv.sql("DELETE FROM orders WHERE id = 2")
    done = rv.propagate("pairs")
    assert (done.begin, done.mark) == (before + 5, before + 6)
    assert extent(rv, "pairs").epoch != old.epoch
    with pytest.raises(UserError, match="not known up to position"):
        rv.apply("pairs", as_of=before + 1)
    assert rv.apply("pairs").strategy == "apply"
    assert rv.verify("pairs").ok


def test_a_table_that_was_created_again_begins_a_new_epoch() -> None:
    rv = filled()
    rv.propagate("pairs")
    rv.sql("DROP TABLE orders")
    rv.sql("CREATE TABLE orders (id INT, customer INT, amount INT, PRIMARY KEY (id))")
    rv.sql("INSERT INTO orders VALUES (8, 1, 80)")
    done = rv.propagate("pairs")
    assert done.refreshed
    assert done.begin == done.mark == now(rv)
    rv.sql("INSERT INTO orders VALUES (9, 2, 90)")
    rv.propagate("pairs")
    assert rv.apply("pairs").strategy == "apply"
    assert rv.verify("pairs").ok


def test_a_table_that_is_created_again_meanwhile_leaves_no_rows_under_old_positions() -> None:
    rv = filled()
    changed(rv)
    last = now(rv)
    expected = bag(rv.table("pairs", as_of=last))

    def create_again(step: ForwardStep) -> None:
        rv.sql("DROP TABLE orders; CREATE TABLE orders (id INT, customer INT, amount INT, PRIMARY KEY (id))")
        for number in range(9):
            rv.sql(f"INSERT INTO orders VALUES ({number}, 2, {number})")

    with pytest.raises(Conflict, match="a table that it reads was replaced meanwhile"):
        rv.propagate("pairs", step_rows=2, progress=create_again)
    with contextlib.suppress(VersionGone):
        assert bag(rv.table("pairs", as_of=last)) == expected
    assert rv.propagate("pairs").mark == now(rv)
    assert rv.verify("pairs").ok


def test_a_view_that_was_refreshed_beyond_its_delta_is_followed_up() -> None:
    rv = filled()
    rv.propagate("pairs")
    before = changed(rv)
    rv.refresh("pairs")
    with pytest.raises(UserError, match="from where it stands"):
        rv.apply("pairs", as_of=before)
    rv.propagate("pairs")
    assert rv.apply("pairs", as_of=before).strategy == "apply"
    assert rv.verify("pairs").ok


def test_dropping_a_view_drops_its_delta() -> None:
    rv = filled()
    rv.propagate("pairs")
    assert rv.store.exists("__rollview_delta_pairs")
    assert "__rollview_delta_pairs" not in rv.tables()
    rv.drop("pairs")
    assert not rv.store.exists("__rollview_delta_pairs")


REFUSED = {
    "SELECT o.id, c.city FROM orders o LEFT JOIN customers c ON c.id = o.customer": "LEFT JOIN",
    "SELECT id FROM orders WHERE customer IN (SELECT id FROM customers)": "semi join",
    "SELECT id FROM orders WHERE customer NOT IN (SELECT id FROM customers)": "anti join",
    "SELECT id, row_number() OVER (PARTITION BY customer ORDER BY id) AS n FROM orders": "window function",
    "SELECT id FROM orders ORDER BY id LIMIT 2": "LIMIT",
    "SELECT id FROM orders EXCEPT SELECT id FROM customers": "EXCEPT",
    "SELECT max(amount) AS m FROM orders": "MAX",
    "SELECT avg(CAST(amount AS DOUBLE)) AS m FROM orders GROUP BY customer": "SUM",
    "SELECT n FROM (SELECT customer, count(*) AS n FROM orders GROUP BY customer) JOIN customers ON id = n": "GROUP BY",
    "SELECT o.id, x.city FROM orders o JOIN firsts x ON o.amount = x.total": "LIMIT",
    "SELECT id FROM outer_pairs": "LEFT JOIN",
    "SELECT now() AS t, id FROM orders": "current time",
}


@pytest.mark.parametrize("query", REFUSED)
@pytest.mark.one_in(3)
def test_an_operator_without_a_timed_rule_is_named(query: str) -> None:
    rv = filled()
    rv.create("firsts", f"{CITIES} ORDER BY total DESC LIMIT 1")
    rv.create("outer_pairs", PAIRS.replace("JOIN", "LEFT JOIN"))
    rv.create("v", query)
    with pytest.raises(NotIncremental, match="cannot be propagated") as refused:
        rv.propagate("v")
    assert REFUSED[query] in (refused.value.why or "")
    with pytest.raises(NotIncremental, match="cannot be propagated"):
        rv.apply("v")


@pytest.mark.parametrize(
    "wrong", [{"steps": 0}, {"steps": True}, {"steps": "x"}, {"step_rows": 0}, {"step_seconds": "x"}], ids=repr
)
def test_steps_are_positive_numbers(wrong: Any) -> None:
    with pytest.raises(UserError):
        filled().propagate("pairs", **wrong)


def test_what_has_not_been_propagated_cannot_be_applied() -> None:
    rv = filled()
    with pytest.raises(UserError, match="Nothing has been propagated"):
        rv.apply("pairs")
    rv.propagate("pairs")
    last = {table: rv.store.version(table) for table in ("orders", "customers")}
    rv.sql("INSERT INTO orders VALUES (4, 2, 50)")
    rv.sql("INSERT INTO customers VALUES (4, 'Kiel')")
    apart = {"orders": last["orders"], "customers": last["customers"] + 1}
    with pytest.raises(UserError, match="never stood"):
        rv.apply("pairs", as_of=apart)
    with pytest.raises(UserError, match="says no version of customers"):
        rv.apply("pairs", as_of={"orders": last["orders"]})
    assert rv.apply("pairs", as_of=last).strategy == "no_op"
    error: type[RollviewError]
    for moment, error in (("x", UserError), (999, UserError)):
        with pytest.raises(error):
            rv.apply("pairs", as_of=moment)


def test_the_examples_of_the_documentation_run_and_print_what_it_says() -> None:
    text = (Path(__file__).parents[2] / "docs" / "rolling.md").read_text(encoding="utf-8")
    examples = re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", text, flags=re.DOTALL)
    assert len(examples) == text.count("```python") == 2
    for code, said in examples:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(code, {})
        assert printed.getvalue() == said
