"""Every conformance view through all rounds of changes: equal to its query after every refresh, and how it got there."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest

import shop
from rollview import Rollview, connect
from rollview.delta.derivation import NEW
from rollview.delta.passes.run_time import RUNNING
from rollview.engine.duck import DuckEngine, DuckFrame
from rollview.engine.spark import settings
from rollview.errors import TooLargeToSend
from rollview.plan.nodes import Join, Node, Scan
from rollview.store.duck import DuckStore
from rollview.strategy import propagate
from rounds import VIEWS, followed, judged
from seeds import sample

MORE = shop.more_views()
#: What is expected of some views that stand for others: all the strategies that their refreshes may take beside no_op.
STRATEGIES = {
    "filter_simple": {"append", "row_delta"},
    "bag_of_duplicates": {"row_delta", "append"},
    "join_star_four": {"append", "row_delta"},
    "left_join_chain": {"row_delta"},
    "anti_not_in_nullable": {"append", "row_delta"},
    "agg_count_sum": {"aggregate_merge"},
    "agg_avg_decimal": {"aggregate_merge"},
    "agg_double": {"group_recompute"},
    "agg_min_max": {"aggregate_merge", "group_recompute"},
    "agg_having": {"aggregate_merge"},
    "agg_over_join": {"aggregate_merge"},
    "agg_of_agg": {"aggregate_merge"},
    "agg_count_distinct": {"group_recompute"},
    "window_row_number": {"partition_recompute"},
    "top_k_of_groups": {"aggregate_merge"},
    "deep_mix": {"group_recompute"},
}


def test_views_follow_the_rounds_on_duckdb() -> None:
    """A sixth of them, five rounds at a time; the slow half takes all, and every round by itself."""
    views = sample(VIEWS, 6)
    found = followed(connect("duckdb:"), views, 5)
    for view in views:
        print(view.name)
        judged(view, found[view.name])
        if view.name in STRATEGIES and view.name != "agg_avg_decimal":  # DuckDB's own mean of decimals is a float
            assert set(found[view.name].strategies) - {"no_op"} <= STRATEGIES[view.name]


@pytest.mark.slow
def test_every_view_follows_every_round_on_duckdb() -> None:
    found = followed(connect("duckdb:"), VIEWS)
    for view in VIEWS:
        judged(view, found[view.name])
        if view.name in STRATEGIES and view.name != "agg_avg_decimal":
            assert set(found[view.name].strategies) - {"no_op"} == STRATEGIES[view.name]


def test_views_follow_the_rounds_on_spark(opened: Callable[..., Rollview]) -> None:
    for name, outcome in followed(opened(), sample(VIEWS, 36), 5).items():
        judged(next(view for view in VIEWS if view.name == name), outcome)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["embedded", "delta"])
def test_every_view_follows_the_rounds_on_spark(opened: Callable[..., Rollview], kind: str) -> None:
    wrong = {}
    for name, outcome in followed(opened(kind), VIEWS, 5).items():
        try:
            judged(next(view for view in VIEWS if view.name == name), outcome)
        except AssertionError as error:
            wrong[name] = str(error)
    assert wrong == {}


@pytest.mark.slow
def test_more_views_follow_the_rounds_on_spark(opened: Callable[..., Rollview]) -> None:
    wrong = {}
    for name, outcome in followed(opened(), MORE, 5).items():
        try:
            judged(next(view for view in MORE if view.name == name), outcome)
        except AssertionError as error:
            wrong[name] = str(error)
    assert wrong == {}


@pytest.mark.parametrize("one_in", [10, pytest.param(1, marks=pytest.mark.slow)])
def test_more_views_follow_the_rounds_on_duckdb(one_in: int) -> None:
    """A fifth of them; in the slow half, all."""
    views = sample([view for view in MORE if not view.spark_only], one_in)
    found = followed(connect("duckdb:"), views, 7)
    for view in views:
        judged(view, found[view.name])


EXPLAINED = {
    "SELECT k, v FROM t WHERE v > 1": {"no_op", "append", "row_delta", "full"},
    "SELECT k, v FROM t EXCEPT SELECT k, v FROM u": {"no_op", "row_delta", "full"},
    "SELECT k FROM t WHERE NOT EXISTS (SELECT 1 FROM u WHERE u.k = t.k)": {"no_op", "append", "row_delta", "full"},
    "SELECT v, count(*) AS n FROM t GROUP BY v": {"no_op", "aggregate_merge", "full"},
    "SELECT v, max(k) AS m FROM t GROUP BY v": {"no_op", "aggregate_merge", "group_recompute", "full"},
    "SELECT v, count(DISTINCT k) AS m FROM t GROUP BY v": {"no_op", "group_recompute", "full"},
    "SELECT k, rank() OVER (PARTITION BY v ORDER BY k) AS r FROM t": {"no_op", "partition_recompute", "full"},
    "SELECT current_date() AS d, k FROM t": {"full"},
}


@pytest.mark.parametrize(("sql", "applying"), EXPLAINED.items())
def test_explain_lists_every_strategy_and_why(sql: str, applying: set[str]) -> None:
    rv = connect("duckdb:")
    rv.sql("CREATE TABLE t (k INT, v INT, PRIMARY KEY (k)); CREATE TABLE u (k INT, v INT)")
    rv.create("w", sql)
    lines = rv.explain("w").split("  strategies\n")[1].split("  propagation")[0].splitlines()
    told = {line.split()[0]: line.split(maxsplit=2)[1:] for line in lines}
    assert list(told) == [
        "no_op",
        "append",
        "row_delta",
        "aggregate_merge",
        "group_recompute",
        "partition_recompute",
        "full",
    ]
    assert {name for name, (word, _) in told.items() if word == "yes"} == applying
    assert all(len(why) > 10 for _, why in told.values())


JOBS = {
    "joined": "SELECT o.id, o.amount, c.city FROM orders o JOIN customers c ON o.cust = c.id",
    "idle": "SELECT id, city FROM customers c WHERE NOT EXISTS (SELECT 1 FROM orders o WHERE o.cust = c.id)",
    "above": "SELECT o.id FROM orders o WHERE amount > (SELECT avg(amount) FROM orders p WHERE p.cust = o.cust)",
}


def jobs_of(rv: Rollview, name: str) -> int:
    """How many Spark jobs a refresh takes."""
    context, group = rv.spark.sparkContext, uuid.uuid4().hex
    context.setJobGroup(group, "")
    assert rv.refresh(name).strategy not in ("full", "no_op")
    context.setJobGroup("", "")
    assert rv.verify(name).ok
    return len(context.statusTracker().getJobIdsForGroup(group))


def test_a_refresh_takes_as_many_jobs_whatever_the_data(opened: Callable[..., Rollview], tmp_path: Path) -> None:
    """The number of Spark jobs is a constant of the view: of a hundred times the rows, the same change takes as many, and
    so does a change of four times the rows. Only steps that turn out to be empty save some, and keys that are few enough
    to be listed."""
    counts: dict[str, list[int]] = {}
    for rows in (300, 30_000):
        rv = opened(folder=tmp_path / str(rows))
        rv.sql("CREATE TABLE orders (id INT, cust INT, amount INT, PRIMARY KEY (id))")
        rv.sql("CREATE TABLE customers (id INT, city STRING, PRIMARY KEY (id))")
        rv.sql(f"INSERT INTO customers SELECT CAST(id AS INT), concat('city ', id % 7) FROM range({rows // 10})")
        rv.sql(
            f"INSERT INTO orders SELECT CAST(id AS INT), CAST(id % {rows // 20} AS INT), CAST(id * 7 % 100 AS INT) FROM range({rows})"
        )
        for name, sql in JOBS.items():
            rv.create(name, sql)
        rv.sql("UPDATE orders SET amount = amount + 1 WHERE id IN (3, 103, 203)")
        rv.sql(f"INSERT INTO orders SELECT CAST(id + {rows} AS INT), CAST(id + {rows // 20} AS INT), 5 FROM range(3)")
        rv.sql("DELETE FROM orders WHERE id IN (7, 107, 207)")
        for name in JOBS:
            counts.setdefault(name, []).append(jobs_of(rv, name))
    assert all(few == many for few, many in counts.values()), counts
    counts.clear()
    for low, high in ((200, 349), (400, 999)):  # customers with twenty orders each
        rv.sql(f"UPDATE orders SET amount = amount + 1, cust = cust + 1500 WHERE cust BETWEEN {low} AND {high}")
        for name in JOBS:
            counts.setdefault(name, []).append(jobs_of(rv, name))
    assert all(few == many for few, many in counts.values()), counts


@pytest.mark.parametrize("left_out", [*(each.name for each in RUNNING), "prepared"])
@pytest.mark.one_in(4)
def test_what_is_done_at_refresh_time_changes_no_result(left_out: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each can be left out: the views follow the rounds all the same."""
    rv = connect("duckdb:")
    rv.catalog.running = [each for each in RUNNING if each.name != left_out]
    if left_out == "prepared":
        monkeypatch.setattr(propagate, left_out, lambda plan, *_, **__: plan)
    views = [view for view in VIEWS if view.expect == "incremental"][::16]
    for view_name, outcome in followed(rv, views, 7).items():
        assert not outcome.wrong, (view_name, outcome.wrong)
        assert "full" not in outcome.strategies, view_name


class SendsNothing(DuckEngine):
    """An engine for which every result is too large to be sent around."""

    def __init__(self) -> None:
        super().__init__(duckdb.connect())
        self.sent: list[bool] = []

    def select(self, plan: Node, *rest: Any, **more: Any) -> DuckFrame:
        results = [node for node in plan.walk() if isinstance(node, Join) and node.small == "left"]
        self.sent.append(
            any(isinstance(scan, Scan) and scan.version == NEW for node in results for scan in node.left.walk())
        )
        if self.sent[-1]:
            raise TooLargeToSend("Too large", why="it is")
        return super().select(plan, *rest, **more)


def test_results_that_are_too_large_to_be_sent_are_joined_where_they_are() -> None:
    """A few changed rows can have more partners than an engine can send around: the refresh then goes without."""
    engine = SendsNothing()
    rv = Rollview(engine, DuckStore(engine))
    rv.sql(
        "CREATE TABLE a (i INT, x INT, PRIMARY KEY (i)); CREATE TABLE b (i INT, j INT); CREATE TABLE c (j INT, y INT)"
    )
    rv.sql("INSERT INTO a VALUES (1, 1); INSERT INTO b VALUES (1, 2), (1, 3); INSERT INTO c VALUES (2, 5), (3, 7)")
    rv.create("v", "SELECT x, y FROM a JOIN b USING (i) JOIN c USING (j)")
    rv.sql("UPDATE a SET x = 2")
    engine.sent.clear()
    assert rv.refresh("v").strategy == "row_delta"
    assert any(engine.sent)
    assert not engine.sent[-1]
    assert rv.verify("v").ok


@pytest.mark.slow
def test_very_many_partners_of_a_changed_row_on_spark(opened: Callable[..., Rollview], tmp_path: Path) -> None:
    rv = opened(folder=tmp_path / "w")
    rv.sql("CREATE TABLE nation (n INT, name STRING, PRIMARY KEY (n))")
    rv.sql("CREATE TABLE customer (c INT, n INT, PRIMARY KEY (c)); CREATE TABLE orders (c INT, x INT)")
    rv.sql("INSERT INTO nation SELECT CAST(id AS INT), concat('n', id) FROM range(5)")
    rv.sql("INSERT INTO customer SELECT CAST(id AS INT), IF(id % 3 = 0, 1, 3) FROM range(6000000)")
    rv.sql("INSERT INTO orders SELECT CAST(id AS INT), 1 FROM range(6000000)")
    rv.create(
        "v", "SELECT name, count(*), sum(x) FROM nation JOIN customer USING (n) JOIN orders USING (c) GROUP BY name"
    )
    rv.sql("UPDATE nation SET name = 'new' WHERE n = 3")
    with settings(rv.spark, {"spark.sql.maxBroadcastTableSize": "70MB"}):  # Spark's own limit is 8 GB
        assert rv.refresh("v").strategy == "aggregate_merge"
    assert rv.verify("v").ok
