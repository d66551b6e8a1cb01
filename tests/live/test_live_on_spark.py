"""Live views over tables that Spark writes: values, types and commits."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

import shop
from live_served import Mirror, held, queried, rows_of, waiting
from rollview import Rollview
from rollview.engine.expressions import arrow_type
from rollview.errors import RollviewError
from rollview.live.live import Live
from seeds import sample

VIEWS = [view for view in (*shop.views(), *shop.more_views()) if view.expect != "error"]
QUERY = "SELECT g.name, count(*) AS n, sum(t.x) AS s, max(t.d) AS d FROM t JOIN g ON t.g = g.g GROUP BY g.name"


def until(holds: Callable[[], bool], seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "this takes too long"
        time.sleep(0.02)


@pytest.mark.parametrize("kind", ["embedded", "delta"])
def test_a_live_view_follows_what_spark_commits(kind: str, opened: Callable[..., Rollview]) -> None:
    rv = opened(kind)
    rv.sql("CREATE TABLE t (id INT, g INT, x DECIMAL(10,2), d DATE)")
    rv.sql("CREATE TABLE g (g INT, name STRING)")
    rv.sql("INSERT INTO t SELECT id, id % 3, id / 4, DATE'2024-01-01' + CAST(id AS INT) FROM range(20)")
    rv.sql("INSERT INTO g VALUES (0, 'none'), (1, 'one')")
    rv.create("v", QUERY)
    live = rv.live("v")
    before, token = held(live), live.token
    assert before == queried(rv, QUERY)
    assert live.table().schema.types == [arrow_type(kind) for _, kind in rv.table("v").dtypes]
    mirror, changes = Mirror(before), live.changes()
    statements = [
        "INSERT INTO t VALUES (30, 2, 1.5, NULL), (31, NULL, 1.5, NULL), (32, 0, NULL, DATE'2030-01-01')",
        "UPDATE t SET x = x + 1 WHERE g = 1",
        "DELETE FROM t WHERE id < 5",
        "MERGE INTO g USING (SELECT 2 AS g, 'two' AS name UNION ALL SELECT 1, 'uno') s ON g.g = s.g "
        "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *",
    ]
    if kind == "delta":
        statements += ["OPTIMIZE t", "INSERT OVERWRITE t SELECT * FROM t WHERE id % 2 = 0"]
    with rv.engine.measured() as work:
        assert live.poll() == 0
    assert work.jobs == 0
    live.follow(0.01)
    for statement in statements:
        rv.sql(statement)
        if kind == "embedded":
            rv.refresh("v")
        expected = queried(rv, QUERY)
        until(lambda: held(live) == expected)  # noqa: B023
    live.stop()
    assert live.error is None
    assert mirror.take(waiting(changes)).rows == held(live)
    assert Mirror(before).take(waiting(live.changes(since=token))).rows == held(live)
    live.close()


def test_rows_that_only_spark_can_read_are_fetched(opened: Callable[..., Rollview], tmp_path: Path) -> None:
    """Partition columns are not in the files, and deletion vectors say which rows of a file there are."""
    rv = opened("delta")
    rv.spark.sql(
        f"CREATE TABLE delta.`{tmp_path / 'warehouse' / 't'}` (id INT, g INT, at TIMESTAMP) USING delta PARTITIONED BY (g) "
        "TBLPROPERTIES (delta.enableDeletionVectors = true, delta.enableChangeDataFeed = true)"
    )
    rv.sql("INSERT INTO t SELECT id, id % 2, TIMESTAMP'2024-01-01' FROM range(10)")
    sql = "SELECT a.id, b.id AS other, a.at FROM t a JOIN t b ON a.id + 1 = b.id WHERE a.g = 0"
    live = rv.live(sql)
    mirror, changes = Mirror(held(live)), live.changes()
    assert held(live) == queried(rv, sql)
    for statement in (
        "DELETE FROM t WHERE id = 3",
        "UPDATE t SET g = 0 WHERE id = 5",
        "INSERT INTO t VALUES (3, 1, NULL)",
    ):
        rv.sql(statement)
        assert live.poll() == 1
        assert mirror.take(waiting(changes)).rows == held(live) == queried(rv, sql)
    assert rv.store.version("t") == live.vector["t"]


def follow(rv: Rollview, views: list[shop.ShopView]) -> int:
    """Views that fit follow the rounds; types and values are Spark's."""
    for sql in shop.schema():
        rv.sql(sql)
    lives: dict[str, tuple[Live, str]] = {}
    for view in views:
        try:
            lives[view.name] = rv.live(view.sql), view.sql
        except RollviewError:
            continue
    for turn in shop.rounds():
        for sql in turn.statements:
            rv.sql(sql)
        for name, (live, sql) in lives.items():
            live.poll()
            expected: pa.Table = rv.engine.arrow(rv.sql(sql))
            assert rows_of(live.table()) == rows_of(expected), f"{name} after {turn.name}"
            assert list(live.columns.values()) == [kind for _, kind in rv.sql(sql).dtypes], name
    return len(lives)


def test_a_sample_of_the_conformance_views_has_sparks_values(rv: Rollview) -> None:
    assert follow(rv, sample(VIEWS, 24)) >= 1


@pytest.mark.slow
def test_every_conformance_view_that_fits_has_sparks_values(rv: Rollview) -> None:
    assert follow(rv, VIEWS) >= 50
