"""The commit clock on Delta through Spark: in a folder, and in a session's catalog."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from pyspark.sql import SparkSession

import rollview
from rollview import Rollview
from rollview.clock import CommitClock, Unit
from rollview.parse.stored_names import CLOCK
from rollview.store.edits import Append
from stores import need_delta


def told(units: list[Unit]) -> list[str]:
    return [" ".join(f"{table}{identity.version}" for table, identity in unit.tables.items()) for unit in units]


@pytest.mark.slow
def test_both_stores_of_a_folder_have_one_clock(opened: Callable[..., Rollview]) -> None:
    embedded, delta = opened("embedded"), opened("delta")
    embedded.sql("CREATE TABLE a (id INT); INSERT INTO a VALUES (1)")
    assert delta.position() == 2
    delta.sql("CREATE TABLE b (id INT); INSERT INTO b VALUES (1), (2); DELETE FROM b WHERE id = 1")
    delta.sql("ALTER TABLE b SET TBLPROPERTIES ('x' = 'y')")
    delta.store.tidy("b", 10)
    assert embedded.position() == 5
    units = delta.commits()
    assert units == embedded.commits()
    assert told(units) == ["a0", "a1", "b0", "b1", "b2"]
    assert [unit.rows for unit in units] == [0, 1, None, 2, None]
    assert [unit.time for unit in units[2:]] == sorted(c.time for c in embedded.store.history("b") if c.changes_rows)
    assert delta.tables() == embedded.tables() == ["a", "b"]
    for position in range(1, 6):
        vector = embedded.catalog.clock.vector(position)
        assert delta.position(vector) == embedded.position(vector) == position
    assert delta.position(units[3].time) == 4


@pytest.fixture
def catalog(spark: SparkSession) -> Iterator[Rollview]:
    """A session on Spark's catalog, with the clock in its schema default."""
    need_delta(spark)
    rv = rollview.connect(spark=spark)
    rv.sql("CREATE SCHEMA IF NOT EXISTS clocked; CREATE TABLE clocked.a (id INT); INSERT INTO clocked.a VALUES (1)")
    yield rv
    for table in (*(t for t in rv.store.tables() if t.startswith("clocked.")), CLOCK):
        if rv.store.exists(table):
            rv.store.drop(table)
    spark.sql("DROP SCHEMA clocked CASCADE")


def test_a_catalog_has_one_clock(catalog: Rollview) -> None:
    rv = catalog
    assert rv.position() is None
    rv.create("clocked.v", "SELECT count(*) AS n FROM clocked.a")
    assert rv.position() == 2
    assert CLOCK not in rv.tables()
    rv.sql("INSERT INTO clocked.a VALUES (2), (3); OPTIMIZE clocked.a")
    assert told(rv.commits()) == ["clocked.a0", "clocked.a1", "clocked.a2"]
    assert [unit.rows for unit in rv.commits(after=1)] == [1, 2]
    other = CommitClock(rv.store, rv.engine)
    assert other.units() == rv.commits()
    assert rv.position({"clocked.a": 3}) == rv.position(rv.commits()[-1].time) == 3
    # another session numbers between the look of this one and its write
    commit, clock = rv.store.commit, rv.catalog.clock

    def overtaken(*args):  # type: ignore[no-untyped-def]
        rv.store.commit = commit  # type: ignore[method-assign]
        rv.store.commit("clocked.a", [Append(rv.engine.small([(5,)], "id INT"))])
        other.look(["clocked.a"])
        return commit(*args)

    rv.sql("INSERT INTO clocked.a VALUES (4)")
    rv.store.commit = overtaken  # type: ignore[method-assign]
    clock.look(["clocked.a"])
    assert told(clock.units(after=3)) == told(other.units(after=3)) == ["clocked.a4", "clocked.a5"]
    rv.store.tidy(CLOCK, 10)
    assert CommitClock(rv.store, rv.engine).units() == clock.units() == other.units()
