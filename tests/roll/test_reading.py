"""A view's rows at a moment, and the change between two, from what was propagated: no base table is read."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from compare import rows
from rolled import AT_ONCE, World, history
from rollview import Rollview, connect
from rollview.errors import TableNotFound, UserError
from rollview.roll.reachable import reachable
from seeds import numbers

CITIES = "SELECT c.city, SUM(o.amount) AS total FROM orders o JOIN customers c ON c.id = o.customer GROUP BY c.city"
VIEWS = {
    "pairs": "SELECT o.id, c.city, o.amount FROM orders o JOIN customers c ON c.id = o.customer",
    "bag": "SELECT c.city, o.amount FROM orders o JOIN customers c ON c.id = o.customer",
    "cities": CITIES,
    "large": f"{CITIES} HAVING SUM(o.amount) > 20",
    "first": f"{CITIES} ORDER BY total DESC LIMIT 1",
    "total": "SELECT SUM(amount) AS s, COUNT(*) AS n, AVG(amount) AS a FROM orders WHERE amount > 5",
    "unused": "SELECT o.id FROM orders o JOIN customers c ON c.id = o.customer",
}


def now(rv: Rollview) -> int:
    position = rv.position()
    assert position is not None
    return position


def bag(frame: Any) -> Counter[Any]:
    return Counter(rows(frame))


def changed(rv: Rollview) -> None:
    """Five commits after which every view is another one; the last two are undone by each other."""
    for statement in (
        "INSERT INTO orders VALUES (4, 2, 50), (5, NULL, 1), (6, 2, 50)",
        "UPDATE customers SET city = 'Ulm' WHERE id = 2",
        "UPDATE orders SET amount = amount + 1 WHERE id = 3 OR customer = 1",
        "DELETE FROM orders WHERE customer = 2",
        "INSERT INTO orders VALUES (3, 2, 6), (4, 2, 50), (6, 2, 50)",
    ):
        rv.sql(statement)
    rv.position()


def filled() -> Rollview:
    rv = connect("duckdb:", limits=AT_ONCE)
    rv.sql("CREATE TABLE orders (id INT, customer INT, amount INT, PRIMARY KEY (id))")
    rv.sql("CREATE TABLE customers (id INT, city STRING, PRIMARY KEY (id))")
    rv.sql("INSERT INTO customers VALUES (1, 'Ulm'), (2, 'Bonn')")
    rv.sql("INSERT INTO orders VALUES (1, 1, 10), (2, 1, 20), (3, 2, 5)")
    return rv


@contextmanager
def only_own_tables(rv: Rollview) -> Iterator[None]:
    """Inside the block, no base table may be read, and no change of one."""
    read, changes, few = rv.store.read, rv.store.changes, rv.store.few_changes

    def checked(call: Any) -> Any:
        def checking(table: str, *rest: Any, **more: Any) -> Any:
            assert table.startswith("__rollview_"), f"{table} is read"
            return call(table, *rest, **more)

        return checking

    rv.store.read, rv.store.changes = checked(read), checked(changes)  # type: ignore[method-assign]
    rv.store.few_changes = checked(few)  # type: ignore[method-assign]
    try:
        yield
    finally:
        rv.store.read, rv.store.changes = read, changes  # type: ignore[method-assign]
        rv.store.few_changes = few  # type: ignore[method-assign]


def difference(before: Counter[Any], upto: Counter[Any]) -> dict[Any, int]:
    found = Counter(upto)
    found.subtract(before)
    return {row: copies for row, copies in found.items() if copies}


def told(frame: Any) -> dict[Any, int]:
    """The rows of a change with their weights; none of them stands there twice."""
    each = rows(frame)
    found = {row[:-1]: row[-1] for row in each}
    assert len(found) == len(each)
    assert all(found.values())
    return found


def told_at_each(frame: Any, after: int, upto: int) -> dict[int, dict[Any, int]]:
    found: dict[int, dict[Any, int]] = {position: {} for position in range(after + 1, upto + 1)}
    for *row, weight, position in rows(frame):
        assert weight
        assert tuple(row) not in found[position]
        found[position][tuple(row)] = weight
    return found


@pytest.mark.parametrize("name", VIEWS)
@pytest.mark.one_in(3)
def test_a_view_is_read_where_its_delta_reaches_without_its_tables(name: str) -> None:
    rv = filled()
    rv.create(name, VIEWS[name], policy="INCREMENTAL")
    begin = now(rv)
    changed(rv)
    end = now(rv)
    expected = {position: bag(rv.table(name, as_of=position)) for position in range(begin, end + 1)}
    assert len({tuple(sorted(map(repr, each.items()))) for each in expected.values()}) > 1
    rv.propagate(name)
    plain = rv.table(name)
    for stands in (begin, begin + 3):
        rv.apply(name, as_of=stands)
        with only_own_tables(rv):
            for position in range(begin, end + 1):
                read = rv.table(name, as_of=position)
                assert bag(read) == expected[position], (stands, position)
                assert (read.columns, read.types) == (plain.columns, plain.types)
    assert rv.catalog.clock.of(rv.catalog.reflected(rv.catalog.get(name)).vector) == begin + 3  # nothing moved


@pytest.mark.parametrize("name", VIEWS)
@pytest.mark.one_in(3)
def test_changes_between_any_two_moments_of_a_delta(name: str) -> None:
    rv = filled()
    rv.create(name, VIEWS[name], policy="INCREMENTAL")
    begin = now(rv)
    changed(rv)
    end = now(rv)
    expected = {position: bag(rv.table(name, as_of=position)) for position in range(begin, end + 1)}
    rv.propagate(name)
    with only_own_tables(rv):
        for stands, after, upto in ((begin, begin, end), (end, begin + 1, end - 1)):
            rv.apply(name, as_of=stands)
            assert told(rv.changes(name, after, upto)) == difference(expected[after], expected[upto])
            assert told(rv.changes(name, upto, after)) == difference(expected[upto], expected[after])
            each = told_at_each(rv.changes(name, after, upto, timed=True), after, upto)
            assert each == {p: difference(expected[p - 1], expected[p]) for p in each}


def lawful(seed: int, times: int) -> None:
    """Rows and changes at random positions of a random history, before and after parts of it are propagated."""
    choose = random.Random(seed)
    world = World(history(seed, 8))
    rv, begin = world.rv, now(world.rv)
    while world.happen():
        pass
    end = now(rv)

    def checked() -> None:
        for _ in range(times):
            after, upto = choose.randint(begin, end), choose.randint(begin, end)
            shown = {position: world.shown_at(position) for position in range(begin, end + 1)}
            assert told(rv.changes("v", after, upto)) == difference(shown[after], shown[upto]), world.history
            low, high = sorted((after, upto))
            each = told_at_each(rv.changes("v", low, high, timed=True), low, high)
            for position, found in each.items():
                assert found == difference(shown[position - 1], shown[position]), world.history
            assert bag(rv.table("v", as_of=after)) == shown[after], world.history

    checked()
    rv.propagate("v", steps=choose.choice([1, 2, 3]), step_rows=choose.choice([1, 3, 100]))
    checked()
    rv.apply("v")
    checked()
    rv.propagate("v")
    with only_own_tables(rv):
        rv.table("v", as_of=choose.randint(begin, end))
        rv.changes("v", begin, end, timed=True)


@pytest.mark.parametrize("seed", numbers(1))
def test_rows_and_changes_of_random_views(seed: int) -> None:
    lawful(seed, 1)


@pytest.mark.slow
def test_rows_and_changes_of_many_random_views() -> None:
    for seed in numbers(300):
        lawful(seed, 3)


def test_the_delta_outlives_the_history_of_the_tables() -> None:
    rv = filled()
    rv.create("cities", CITIES, policy="INCREMENTAL")
    begin = now(rv)
    changed(rv)
    there = bag(rv.table("cities", as_of=begin + 2))
    rv.propagate("cities")
    rv.sql("DROP TABLE customers")
    assert bag(rv.table("cities", as_of=begin + 2)) == there
    with pytest.raises(TableNotFound):
        rv.table("cities", as_of=begin - 1)


def test_a_delta_of_rows_that_were_replaced_is_not_read() -> None:
    rv = filled()
    rv.create("cities", CITIES, policy="INCREMENTAL")
    begin = now(rv)
    changed(rv)
    rv.propagate("cities")
    assert reachable(rv.catalog, "cities") is not None
    rv.refresh("cities", full=True)
    assert reachable(rv.catalog, "cities") is None
    shown = bag(rv.table("cities", as_of=begin + 2))
    with pytest.raises(AssertionError, match="is read"), only_own_tables(rv):
        rv.table("cities", as_of=begin + 2)
    rv.create("cities", CITIES + " HAVING SUM(o.amount) > 7", policy="INCREMENTAL", or_replace=True)
    assert bag(rv.table("cities", as_of=begin + 2)) == Counter({row: n for row, n in shown.items() if row[1] > 7})


def test_a_moment_at_which_nothing_of_the_view_changed_is_reached() -> None:
    """Positions after the mark, or vectors, at which the view's tables stand as they do where the delta reaches."""
    rv = filled()
    rv.create("cities", CITIES, policy="INCREMENTAL")
    changed(rv)
    rv.propagate("cities")
    end = now(rv)
    rv.sql("CREATE TABLE other (id INT)")
    rv.sql("INSERT INTO other VALUES (1)")
    shown = bag(rv.table("cities", as_of=end))
    vector = {table: rv.store.version(table) for table in ("orders", "customers")}
    with only_own_tables(rv):
        assert bag(rv.table("cities", as_of=now(rv))) == bag(rv.table("cities", as_of=vector)) == shown
        assert told(rv.changes("cities", vector)) == {}
        assert rv.apply("cities", as_of=now(rv)).position == now(rv)


def test_the_stored_version_that_is_nearest_is_taken() -> None:
    rv = filled()
    rv.create("cities", CITIES, policy="INCREMENTAL")
    begin = now(rv)
    changed(rv)
    rv.propagate("cities")
    rv.apply("cities", as_of=begin + 3)
    rv.apply("cities")
    found = reachable(rv.catalog, "cities")
    assert found is not None
    assert [each.position - begin for each in found.anchors(begin + 2)] == [3, 0, 5]
    assert [each.position - begin for each in found.anchors(begin + 5)] == [5, 3, 0]
    assert [each.position - begin for each in found.anchors(begin)] == [0, 3, 5]


def test_changes_of_a_table() -> None:
    rv = filled()
    begin = now(rv)
    rv.sql("UPDATE orders SET amount = 7 WHERE id = 3")
    rv.sql("INSERT INTO customers VALUES (3, 'Jena')")
    rv.sql("DELETE FROM orders WHERE id = 3")
    assert told(rv.changes("orders", begin)) == {(3, 2, 5): -1}
    assert told(rv.changes("orders", now(rv), begin)) == {(3, 2, 5): 1}
    assert told(rv.changes("orders", begin, begin + 2)) == {(3, 2, 5): -1, (3, 2, 7): 1}
    timed = rv.changes("orders", begin, timed=True)
    assert timed.columns == ["id", "customer", "amount", "__w", "__t"]
    assert sorted(rows(timed)) == [(3, 2, 5, -1, begin + 1), (3, 2, 7, -1, begin + 3), (3, 2, 7, 1, begin + 1)]
    assert told(rv.changes("orders", {"orders": 1}, {"orders": 2})) == {(3, 2, 5): -1, (3, 2, 7): 1}
    assert told(rv.changes("orders", rv.commits()[begin - 1].time, rv.commits()[begin].time)) != {}


OTHERS = {
    "SELECT o.id, c.city FROM orders o LEFT JOIN customers c ON c.id = o.customer": ("_derived",),
    "SELECT id FROM orders ORDER BY amount DESC, id LIMIT 2": ("_derived",),
    "SELECT id, row_number() OVER (PARTITION BY customer ORDER BY id) AS n FROM orders": ("_derived",),
    "SELECT customer, max(amount) AS m FROM orders GROUP BY customer": ("_derived",),
    "SELECT customer, avg(CAST(amount AS DOUBLE)) AS m FROM orders GROUP BY customer": ("_compared",),
    "SELECT city FROM cities WHERE total > 10": ("_compared", "_derived"),
}


@pytest.mark.parametrize("query", OTHERS)
@pytest.mark.one_in(3)
def test_changes_of_a_view_that_cannot_be_propagated(query: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from rollview.roll.between import _ViewChanges

    rv = filled()
    rv.create("cities", CITIES)
    rv.create("v", query)
    begin = now(rv)
    changed(rv)
    end = now(rv)
    ways = []
    for way in ("_derived", "_compared", "_by_delta"):
        plain = getattr(_ViewChanges, way)

        def noted(self: Any, *rest: Any, way: str = way, plain: Any = plain, **more: Any) -> Any:
            found = plain(self, *rest, **more)
            ways.extend([way] if found is not None else [])
            return found

        monkeypatch.setattr(_ViewChanges, way, noted)
    shown = {position: bag(rv.table("v", as_of=position)) for position in range(begin, end + 1)}
    for after, upto in ((begin, end), (end - 1, begin + 1)):
        assert told(rv.changes("v", after, upto)) == difference(shown[after], shown[upto])
    each = told_at_each(rv.changes("v", begin, end, timed=True), begin, end)
    assert each == {p: difference(shown[p - 1], shown[p]) for p in each}
    assert set(ways) <= set(OTHERS[query])
    rv.refresh_all()
    assert told(rv.changes("v", begin)) == difference(shown[begin], shown[end])  # both are stored


@pytest.mark.parametrize(
    ("after", "upto", "timed", "wrong"),
    [
        (99, None, False, "no position 99"),
        (5, 99, False, "no position 99"),
        (6, 5, True, "is before position 6"),
        ({"orders": 3, "customers": 0}, None, True, "never stood"),
        ("x", None, False, "no time"),
        (None, None, False, "no moment"),
    ],
)
def test_changes_between_moments_that_are_none(after: Any, upto: Any, timed: bool, wrong: str) -> None:
    rv = filled()
    rv.sql("INSERT INTO orders VALUES (9, 1, 9)")
    rv.sql("INSERT INTO orders VALUES (10, 1, 9)")
    rv.create("cities", CITIES)
    assert now(rv) == 6
    for name in ("cities", "orders"):
        with pytest.raises(UserError, match=wrong):
            rv.changes(name, after, upto, timed=timed)
    with pytest.raises(UserError, match="no table named ordres"):
        rv.changes("ordres", 3)


STACK = {
    "cities": CITIES,
    "large": "SELECT city, total FROM cities WHERE total > 20",
    "both": "SELECT o.id, l.total FROM orders o JOIN customers c ON c.id = o.customer JOIN large l ON l.city = c.city",
    "sizes": "SELECT total, count(*) AS n FROM cities GROUP BY total",
}


@pytest.mark.parametrize("timed", [True, False])
@pytest.mark.parametrize("column", ["__w", "__T"])
def test_changes_with_a_column_of_their_own_name_are_refused(column: str, timed: bool) -> None:
    rv = connect("duckdb:")
    rv.sql(f"CREATE TABLE t (id INT, {column} INT)")
    rv.create("taken", f"SELECT {column} FROM t")
    rv.create("free", f"SELECT {column} AS other FROM t")
    before = now(rv)
    rv.sql("INSERT INTO t VALUES (1, 5), (2, 5)")
    for name in ("t", "taken"):
        with pytest.raises(UserError, match=f"The changes of {name} cannot be shown"):
            rv.changes(name, before, timed=timed)
    assert [row[:2] for row in rows(rv.changes("free", before, timed=timed))] == [(5, 2)]


def test_views_on_views_are_read_and_followed_through_their_deltas() -> None:
    rv = filled()
    for name, query in STACK.items():
        rv.create(name, query, policy="INCREMENTAL")
    begin = now(rv)
    changed(rv)
    end = now(rv)
    expected = {(v, p): bag(rv.table(v, as_of=p)) for v in STACK for p in range(begin, end + 1)}
    assert all(rv.propagate_all(STACK))
    for name in STACK:
        rv.apply(name, as_of=begin + 3)
    with only_own_tables(rv):
        for name in STACK:
            for position in (begin, end):
                assert bag(rv.table(name, as_of=position)) == expected[name, position], (name, position)
            assert told(rv.changes(name, end, begin)) == difference(expected[name, end], expected[name, begin])
            each = told_at_each(rv.changes(name, begin, end, timed=True), begin, end)
            assert each == {p: difference(expected[name, p - 1], expected[name, p]) for p in each}


def test_views_on_views_are_refreshed_by_what_was_propagated() -> None:
    rv = filled()
    for name, query in STACK.items():
        rv.create(name, query, policy="INCREMENTAL")
    begin = now(rv)
    changed(rv)
    mark = now(rv)
    assert all(rv.propagate_all(STACK))
    rv.sql("INSERT INTO orders VALUES (7, 2, 70)")
    end = now(rv)
    done = {outcome.view: outcome.refreshed() for outcome in rv.refresh_all()}
    assert done["cities"].steps == 2
    assert all(rv.verify(name).ok for name in STACK)
    assert all(status.fresh for status in rv.views())
    for position in (mark, begin, begin + 3, end):
        assert all(outcome.refreshed().position == position for outcome in rv.refresh_all(as_of=position))
        assert all(rv.verify(name).ok for name in STACK)
        for name in STACK:
            assert bag(rv.table(name)) == bag(rv.table(name, as_of=position))
    rv.refresh_all(as_of=begin)
    rv.refresh("cities")
    assert rv.refresh("large").strategy in ("row_delta", "append", "apply", "no_op")
    assert rv.refresh("both", upstream=True).to_vector["orders"] == rv.store.version("orders")
    assert all(rv.verify(name).ok for name in STACK)


def test_rows_and_changes_on_spark(opened: Callable[..., Rollview]) -> None:
    rv = opened("embedded")
    rv.sql("CREATE TABLE orders (id INT, customer INT, amount DECIMAL(10,2), PRIMARY KEY (id))")
    rv.sql("CREATE TABLE customers (id INT, city STRING, PRIMARY KEY (id))")
    rv.sql("INSERT INTO customers VALUES (1, 'Ulm'), (2, 'Bonn')")
    rv.sql("INSERT INTO orders VALUES (1, 1, 10), (2, 1, 20), (3, 2, 5)")
    names = ("bag", "large")
    for name in names:
        rv.create(name, VIEWS[name], policy="INCREMENTAL")
    begin = now(rv)
    rv.sql("INSERT INTO orders VALUES (4, 2, 50), (5, 2, 50)")
    rv.sql("UPDATE customers SET city = 'Ulm' WHERE id = 2")
    end = now(rv)
    expected = {(v, p): bag(rv.table(v, as_of=p)) for v in names for p in range(begin, end + 1)}
    for outcome in rv.propagate_all(names):
        outcome.propagated()
    rv.apply("large", as_of=begin + 1)
    with only_own_tables(rv):
        for (name, position), shown in expected.items():
            read = rv.table(name, as_of=position)
            assert bag(read) == shown, (name, position)
            assert read.dtypes == rv.table(name).dtypes
        for name in names:
            each = told_at_each(rv.changes(name, begin, end, timed=True), begin, end)
            assert each == {p: difference(expected[name, p - 1], expected[name, p]) for p in each}
            assert told(rv.changes(name, end, begin)) == difference(expected[name, end], expected[name, begin])
