"""All views at one moment while a writer commits: between any two commits of a view, and between any two reads."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from diamond import EVERYWHERE, bag, filled, now, with_views
from rollview import Rollview
from rollview.parse.stored_names import STATE_PREFIX
from rollview.views.results import Outcome

VIEWS = ("cities", "large", "both")

#: Views on the same tables beside the diamond, of operators that can only be followed by refreshing.
MORE = {
    "biggest": "SELECT customer, max(amount) AS most FROM orders GROUP BY customer",
    "lonely": "SELECT id FROM customers WHERE id NOT IN (SELECT customer FROM orders WHERE customer IS NOT NULL)",
    "ranked": "SELECT id, row_number() OVER (PARTITION BY customer ORDER BY amount, id) AS n FROM orders",
    "above": "SELECT b.customer, b.most, l.total FROM biggest b JOIN customers c ON c.id = b.customer LEFT JOIN large l ON l.city = c.city",
}


class Writer:
    """Commits between two calls of a store: after one of a view's state, and sometimes before rows are read."""

    def __init__(self, rv: Rollview, seed: int) -> None:
        self._rv, self._choose, self._writing, self._made = rv, random.Random(seed), False, 0
        store: Any = rv.store
        store.commit = self._after(store.commit)
        store.read = self._before(store.read)

    def write(self) -> None:
        if self._writing:
            return
        self._writing = True
        self._made += 1
        choose, number = self._choose, 100 + self._made
        self._rv.sql(
            f"INSERT INTO orders VALUES ({number}, {choose.choice(['NULL', 1, 2, 3])}, {choose.randint(0, 40)})"
        )
        if choose.random() < 0.4:
            self._rv.sql(f"DELETE FROM orders WHERE id = {number - choose.randint(1, 4)}")
        if choose.random() < 0.3:
            self._rv.sql(f"UPDATE customers SET city = 'Jena{self._made % 3}' WHERE id = {choose.randint(1, 2)}")
        self._writing = False

    def _after(self, commit: Callable[..., Any]) -> Callable[..., Any]:
        def done(table: str, *rest: Any, **more: Any) -> Any:
            found = commit(table, *rest, **more)
            if table.startswith(STATE_PREFIX):
                self.write()
            return found

        return done

    def _before(self, read: Callable[..., Any]) -> Callable[..., Any]:
        def done(*rest: Any, **more: Any) -> Any:
            if self._choose.random() < 0.1:
                self.write()
            return read(*rest, **more)

        return done


def checked(rv: Rollview, outcomes: list[Outcome], position: int) -> None:
    """Each view shows the tables as they stood at the position."""
    at = {table: identity.version for table, identity in rv.catalog.clock.vector(position).items()}
    for outcome in outcomes:
        result = outcome.refreshed()
        assert {table: version for table, version in result.to_vector.items() if table in at}.items() <= at.items()
        assert rv.verify(outcome.view).ok


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.one_in(2)
def test_all_views_come_to_one_vector_and_show_the_same_when_asked_again(seed: int) -> None:
    rv = with_views(filled(EVERYWHERE))
    for name, query in MORE.items():
        rv.create(name, query, policy="INCREMENTAL")
    choose, writer = random.Random(seed), Writer(rv, seed)
    first = now(rv)
    seen: dict[tuple[str, int], Counter[Any]] = {}
    for _ in range(6):
        writer.write()
        position = choose.randint(first, now(rv))
        before = {name: bag(rv.table(name, as_of=position)) for name in (*VIEWS, *MORE)}
        done = rv.refresh_all(as_of=position)
        assert {outcome.result.position for outcome in done if outcome.result} == {position}
        checked(rv, done, position)
        for name, rows in before.items():
            assert bag(rv.table(name)) == rows == seen.setdefault((name, position), rows)
    for (name, position), rows in seen.items():  # from where all views stand now
        assert bag(rv.table(name, as_of=position)) == rows


def test_a_refresh_of_all_without_a_moment_comes_to_one_vector_too() -> None:
    rv = with_views(filled(EVERYWHERE))
    for name, query in MORE.items():
        rv.create(name, query, policy="INCREMENTAL")
    writer = Writer(rv, 5)
    for _ in range(3):
        writer.write()
        shown: dict[str, object] = {}
        for outcome in rv.refresh_all():
            vector = outcome.refreshed().to_vector
            for table in {"orders", "customers"} & vector.keys():
                assert shown.setdefault(table, vector[table]) == vector[table]
            assert rv.verify(outcome.view).ok
