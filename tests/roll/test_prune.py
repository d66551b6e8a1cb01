"""KEEP CHANGES: what is removed of a timed delta, when, and what is not."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from compare import rows
from orders import ordered, orders_and_customers
from rollview import Limits, Rollview
from rollview.engine.duck import DuckEngine
from rollview.engine.sources import LocalSpark
from rollview.errors import RollviewError, UserError
from rollview.parse.durations import length_of, seconds_of
from rollview.roll.extent import Extent
from rollview.roll.rolling import rolling
from rollview.store.edits import Append
from rollview.store.embedded import EmbeddedStore
from rollview.store.protocol import Stamp

PAIRS = "SELECT o.id, c.city FROM orders o JOIN customers c ON c.id = o.customer"


def filled(keep: str | timedelta | None, limits: Limits | None = None) -> Rollview:
    rv = orders_and_customers(limits or Limits(settle_seconds=0, grace_seconds=0))
    rv.create("pairs", PAIRS, policy="INCREMENTAL", keep_changes=keep)
    return rv


def extent(rv: Rollview, view: str = "pairs") -> Extent:
    stored = rolling(rv.catalog, view).delta.stored()
    assert stored is not None
    return stored.extent


def times(rv: Rollview, view: str = "pairs") -> list[int]:
    """The times of the rows of a delta."""
    return sorted(row[-1] for row in rows(rv.engine.output(rv.store.read(rv.catalog.delta(view)))))


def on_disk(rv: Rollview) -> int:
    assert isinstance(rv.engine, DuckEngine)
    (found,) = rv.engine.connection.execute("SELECT count(*) FROM rv_data.__rollview_delta_pairs").fetchall()
    return int(found[0])


def test_what_was_applied_and_is_old_enough_is_removed() -> None:
    rv = filled("0 seconds")
    begin = rv.position()
    last = ordered(rv, 1, 2, 3, 4)
    rv.propagate("pairs")
    assert (extent(rv).begin, times(rv)) == (begin, [last - 3, last - 2, last - 1, last])
    rv.apply("pairs", as_of=last - 2)
    assert (extent(rv).begin, extent(rv).mark, times(rv)) == (last - 2, last, [last - 1, last])
    with pytest.raises(UserError, match="not known up to position") as refused:
        rv.apply("pairs", as_of=last - 3)
    assert "older ones are kept for 0 seconds" in (refused.value.why or "")
    assert rv.apply("pairs", as_of=last - 2).strategy == "no_op"
    assert rv.apply("pairs").strategy == "apply"
    assert rv.verify("pairs").ok
    assert times(rv) == []
    last = ordered(rv, 5)
    assert rv.propagate("pairs").mark == last
    assert rv.apply("pairs").strategy == "apply"
    assert rv.verify("pairs").ok


def test_what_is_removed_is_gone_from_the_disk_after_the_time_of_grace() -> None:
    rv = filled("0 seconds")
    ordered(rv, 1, 2, 3, 4)
    rv.propagate("pairs")
    rv.apply("pairs")
    assert (times(rv), on_disk(rv)) == ([], 4)
    assert extent(rv).unswept is not None
    rv.propagate("pairs")
    assert on_disk(rv) == 0
    assert extent(rv).unswept is None


def test_a_query_that_has_begun_can_end_in_the_time_of_grace() -> None:
    rv = filled("0 seconds", Limits(settle_seconds=0))
    ordered(rv, 1, 2, 3, 4)
    rv.propagate("pairs")
    delta = rolling(rv.catalog, "pairs").delta
    stored = delta.stored()
    assert stored is not None
    rv.apply("pairs")
    for _ in range(3):
        rv.propagate("pairs")
    assert times(rv) == []
    assert len(rv.engine.output(delta.read(stored.version)).fetchall()) == 4


@pytest.mark.parametrize("keep", [None, "7 days", timedelta(hours=1)])
def test_what_is_young_stays(keep: Any) -> None:
    rv = filled(keep)
    begin = rv.position()
    last = ordered(rv, 1, 2)
    rv.propagate("pairs")
    rv.apply("pairs")
    assert (extent(rv).begin, len(times(rv))) == (begin, 2)
    assert rv.apply("pairs", as_of=last - 1).strategy == "apply"


def test_a_view_that_stands_at_no_position_keeps_all() -> None:
    rv = filled("0 seconds")
    ordered(rv, 1, 2)
    rv.propagate("pairs")
    rv.refresh("pairs")
    rv.sql("DROP TABLE orders")
    rv.sql("CREATE TABLE orders (id INT, customer INT, PRIMARY KEY (id))")
    rv.refresh("pairs")
    rv.propagate("pairs")
    assert rv.verify("pairs").ok


def test_the_clause_is_kept_with_the_view() -> None:
    rv = filled(None)
    rv.sql("CREATE MATERIALIZED VIEW v KEEP CHANGES '36 hours' COMMENT 'x' AS SELECT id FROM orders")
    assert [(view.name, view.keep_changes) for view in rv.views()] == [("pairs", None), ("v", "1 day 12 hours")]
    assert "kept for 1 day 12 hours" in rv.explain("v")
    rv.sql("CREATE OR REPLACE MATERIALIZED VIEW v KEEP CHANGES '2 weeks' AS SELECT id FROM orders")
    assert rows(rv.sql("SHOW MATERIALIZED VIEWS"))[1][5] == "2 weeks"
    rv.create("v", "SELECT id FROM orders", or_replace=True)
    assert rv.views()[1].keep_changes is None


@pytest.mark.parametrize("seconds", [0, 1, 59, 61, 3_600, 86_400 * 10 + 3_601, 604_800, 604_801])
def test_lengths_of_time_are_read_as_they_are_written(seconds: int) -> None:
    assert seconds_of(length_of(seconds), "x") == seconds


@pytest.mark.parametrize("wrong", ["", "7", "days", "7 days and 1 hour", "-1 days", 7, timedelta(days=-1), "1.5 days"])
def test_what_is_no_length_of_time_is_refused(wrong: Any) -> None:
    with pytest.raises(RollviewError, match="time"):
        filled(wrong)


def test_files_of_a_folder_are_removed_from_the_disk(tmp_path: Path) -> None:
    store = EmbeddedStore(LocalSpark(), tmp_path)
    store.create("t", pa.table({"v": ["a"], "t": pa.array([1], pa.int64())}))
    for time in range(2, 7):
        made = pa.table({"v": ["x"] * 10, "t": pa.array([time] * 10, pa.int64())})
        store.commit("t", [Append(made)], Stamp({"n": time}, "app", time))

    def files() -> int:
        return len(list((tmp_path / "t").glob("**/part-*.parquet")))

    assert (files(), store.count("t")) == (6, 51)
    store.prune("t", "t", 4, Stamp({"n": 7}, "app", 7))
    assert (files(), store.count("t"), store.bounds("t", "t")) == (6, 20, (5, 6))
    store.tidy("t", 0, 3_600)
    assert files() == 7  # the two that are left are merged, and nothing has been removed yet
    store.tidy("t", store.version("t") - store.last_commit("t", having="n").version)
    assert (files(), store.count("t")) == (3, 20)
    assert store.last_commit("t", having="n").metadata == {"n": 7}
    store.tidy("t", 0)
    assert (files(), store.count("t")) == (1, 20)


def test_small_files_lose_their_old_rows_and_large_ones_stay(tmp_path: Path) -> None:
    store = EmbeddedStore(LocalSpark(), tmp_path)
    store.create("t", pa.table({"t": pa.array(range(100), pa.int64())}))
    store.commit("t", [Append(pa.table({"t": pa.array(range(50, 20_050), pa.int64())}))])
    store.prune("t", "t", 60)
    assert (store.count("t"), store.bounds("t", "t")) == (39 + 20_000, (50, 20_049))
