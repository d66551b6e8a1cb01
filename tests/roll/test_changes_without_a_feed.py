"""A store that keeps no change feed of a table compares two versions, and tells no commits. So they are compared commit
by commit, and each change has its time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from diamond import bag
from rollview import Rollview, connect
from rollview.engine.duck import DuckFrame
from rollview.limits import Limits
from rollview.store.delta import ChangeFeedOff
from rollview.store.protocol import COMMIT_VERSION

LIMITS = Limits(settle_seconds=0, changes_here=0)


def without_a_feed() -> Rollview:
    """DuckDB, whose changes are all of the last commit."""
    rv = connect("duckdb:", limits=LIMITS)
    changes = rv.store.changes

    def compared(table: str, after: int, upto: int, columns: Any = None) -> DuckFrame:
        found = changes(table, after, upto, columns)
        listed = ", ".join(f'"{name}"' for name, _ in rv.engine.columns(found) if name != COMMIT_VERSION)
        return DuckFrame(f"SELECT {listed}, {upto} AS {COMMIT_VERSION} FROM ({found.sql})")

    store: Any = rv.store
    store.dates_changes, store.changes = lambda table, after, upto: False, compared
    return rv


def filled(rv: Rollview) -> None:
    rv.sql("CREATE TABLE a (id INT, k INT)")
    rv.sql("CREATE TABLE b (id INT, k INT)")
    rv.sql("INSERT INTO b VALUES (1, 1), (2, 2)")


def check(rv: Rollview) -> None:
    rv.create("v", "SELECT a.id, b.id AS other FROM a JOIN b ON a.k = b.k", policy="INCREMENTAL")
    begin = rv.propagate("v").mark
    rv.sql("INSERT INTO a VALUES (1, 1), (2, 2)")
    rv.sql("INSERT INTO a VALUES (3, 1)")
    rv.sql("DELETE FROM b WHERE id = 2")
    rv.sql("DELETE FROM a WHERE id = 1")
    assert rv.propagate("v").queries == 2
    expected = [(), ((1, 1), (2, 2)), ((1, 1), (2, 2), (3, 1)), ((1, 1), (3, 1)), ((3, 1),)]
    for position, rows in enumerate(expected, begin):
        rv.apply("v", as_of=position)
        assert bag(rv.table("v")) == Counter(rows)


def test_changes_that_are_compared_have_the_times_of_their_commits() -> None:
    rv = without_a_feed()
    filled(rv)
    check(rv)


@pytest.mark.slow
@pytest.mark.delta
def test_a_delta_table_without_a_feed_is_compared_commit_by_commit(opened: Callable[..., Rollview]) -> None:
    rv = opened("delta", limits=LIMITS)
    filled(rv)
    for table in "ab":
        rv.store.set_properties(table, {"delta.enableChangeDataFeed": "false"})
    with pytest.warns(ChangeFeedOff):
        check(rv)
