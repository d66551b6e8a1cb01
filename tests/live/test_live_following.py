"""Following tables while others commit to them: sessions, threads, processes; also what is no plain commit."""

from __future__ import annotations

import random
import subprocess
import sys
import textwrap
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from live_served import Mirror, held, queried, rows_of, waiting, weighed
from live_shop import JOIN, SUMS, opened
from rollview import Rollview, connect
from rollview.errors import RollviewError, SchemaChanged, TableNotFound
from rollview.live.live import Live
from rollview.store.edits import Append, Replace
from rollview.store.embedded.log import Log
from rollview.store.protocol import TRANSACTION, Stamp
from seeds import numbers

QUERY = "SELECT g.name, sum(t.x) AS s, count(*) AS n FROM t JOIN g ON t.g = g.g GROUP BY g.name"


def until(holds: Callable[[], bool], seconds: float = 20) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "this takes too long"
        time.sleep(0.005)


def rows(*given: tuple[int, int, int]) -> pa.Table:
    ids, groups, values = zip(*given, strict=True)
    return pa.table(
        {"id": pa.array(ids, pa.int32()), "g": pa.array(groups, pa.int32()), "x": pa.array(values, pa.int32())}
    )


def folder(path: Path) -> Rollview:
    """An embedded warehouse with the tables t and g; Spark is not started for it."""
    rv = connect(path)
    rv.store.create("t", rows((1, 1, 10), (2, 2, 5), (3, 1, 7)), key=["id"])
    rv.store.create("g", pa.table({"g": pa.array([1, 2], pa.int32()), "name": ["one", "two"]}), key=["g"])
    return rv


def expected(rv: Rollview) -> Counter[Any]:
    """What the query returns, computed from the files."""
    found: dict[str, list[int]] = {}
    names = {row["g"]: row["name"] for batch in rv.store.batches("g") for row in batch.to_pylist()}
    for batch in rv.store.batches("t"):
        for row in batch.to_pylist():
            if row["g"] in names:
                found.setdefault(names[row["g"]], []).append(row["x"])
    return rows_of(pa.table({"name": list(found), "s": [*map(sum, found.values())], "n": [*map(len, found.values())]}))


def test_a_second_session_of_duckdb_commits_while_this_one_follows(tmp_path: Path) -> None:
    rv = opened(str(tmp_path / "file.db"))
    other = connect(f"duckdb:{tmp_path / 'file.db'}")
    mirror, whole = Mirror(), Mirror()
    with rv.live(SUMS).follow(0.002) as live:
        live.subscribe(mirror, snapshot=True)
        changes = live.changes(snapshot=True)
        for n in range(10, 30):
            other.sql(f"INSERT INTO sale VALUES ({n}, '{'ab'[n % 2]}', {n})")
            rv.sql("SELECT 1")  # this session goes on being used
            if n % 5 == 0:
                other.sql("DELETE FROM sale WHERE id = (SELECT max(id) FROM sale)")
        wanted = queried(other, SUMS)
        until(lambda: mirror.rows == wanted == held(live))
        assert whole.take(waiting(changes)).rows == wanted
        assert live.error is None
    assert not any(thread.name == "rollview-live" for thread in threading.enumerate())


def test_an_embedded_table_is_followed_without_spark_and_without_a_replay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rv = folder(tmp_path / "w")
    live = rv.live(QUERY)
    changes = live.changes()

    def refused(*_: object) -> None:
        raise AssertionError("the log is replayed or listed")

    monkeypatch.setattr(Log, "snapshot", refused)
    monkeypatch.setattr(Log, "_listed", refused)
    writer = str(tmp_path / "w" / "t")
    for n in range(10, 16):
        write_deltalake(writer, rows((n, n % 3, n)), mode="append")
        assert live.poll() == 1
    DeltaTable(writer).delete("id < 12 AND id > 1")
    live.poll()
    monkeypatch.undo()
    assert held(live) == expected(rv)
    mirror = Mirror(Counter({("one", 17.0, 2.0): 1, ("two", 5.0, 1.0): 1}))
    assert mirror.take(waiting(changes)).rows == expected(rv)
    assert rv.engine.source.made is None  # type: ignore[attr-defined]


WRITER = """
    import sys, time
    import pyarrow as pa
    from deltalake import DeltaTable, write_deltalake
    place = sys.argv[1]
    for n in range(100, 130):
        columns = {"id": [n], "g": [n % 3], "x": [n]}
        write_deltalake(place, pa.table(columns, schema=pa.schema([(c, pa.int32()) for c in columns])), mode="append")
        if n % 7 == 0:
            DeltaTable(place).delete(f"id = {n - 3}")
"""


def test_another_process_commits_to_an_embedded_table_while_this_one_follows(tmp_path: Path) -> None:
    rv = folder(tmp_path / "w")
    mirror = Mirror()
    with rv.live(QUERY).follow(0.002) as live:
        live.subscribe(mirror, snapshot=True)
        subprocess.run(
            [sys.executable, "-c", textwrap.dedent(WRITER), str(tmp_path / "w" / "t")], check=True, timeout=60
        )
        wanted = expected(rv)
        until(lambda: mirror.rows == wanted == held(live))
        assert live.vector == {"t": rv.store.version("t"), "g": 0}
    assert rv.engine.source.made is None  # type: ignore[attr-defined]


def test_commits_that_change_no_rows_and_files_that_are_removed_do_no_harm(tmp_path: Path) -> None:
    rv = folder(tmp_path / "w")
    live, late = rv.live(QUERY), rv.live(QUERY)
    changes, told = live.changes(), live.changes(progress=True)
    table = DeltaTable(tmp_path / "w" / "t")
    before = held(live)
    for n in (10, 11):
        rv.store.commit("t", [Append(rows((n, 9, n)))])
    table.update_incremental()
    table.optimize.compact()
    assert live.poll() == 3
    assert held(live) == before
    assert waiting(changes) == []
    assert [(len(batch), batch.vector["t"]) for batch in waiting(told)] == [(0, 3)]
    mirror, behind = Mirror(held(late)), late.changes()
    rv.store.commit("t", [Append(rows((12, 1, 5)))])
    write_deltalake(tmp_path / "w" / "t", rows((1, 1, 1), (2, 2, 2)), mode="overwrite")
    DeltaTable(tmp_path / "w" / "t").vacuum(retention_hours=0, enforce_retention_duration=False, dry_run=False)
    for file in (tmp_path / "w" / "t" / "_change_data").rglob("*.parquet"):
        file.unlink()
    assert late.poll() >= 1  # what was committed is gone: the view reads its tables again
    assert mirror.take(waiting(behind)).rows == held(late) == expected(rv)
    live.poll()
    assert held(live) == expected(rv)


def test_a_table_that_is_replaced_is_read_again_and_the_diff_is_exact(tmp_path: Path) -> None:
    rv = folder(tmp_path / "w")
    live = rv.live(QUERY)
    mirror, changes = Mirror(held(live)), live.changes()
    rv.store.commit("t", [Replace(rows((1, 1, 10), (4, 2, 1)))])
    live.poll()
    assert mirror.take(waiting(changes)).rows == held(live) == expected(rv)
    rv.store.drop("t")
    with pytest.raises(TableNotFound):
        live.poll()
    assert held(live) == mirror.rows
    rv.store.create("t", rows((7, 2, 70), (1, 1, 10)))
    assert live.poll() == 1
    diff = waiting(changes)
    assert len(diff[0]) == 2  # the group one is as it was
    assert mirror.take(diff).rows == held(live) == expected(rv)
    wider = rows((8, 1, 1)).append_column("more", pa.array(["x"]))
    rv.store.commit("t", [Replace(wider)])
    live.poll()
    assert mirror.take(waiting(changes)).rows == held(live) == expected(rv)
    rv.store.commit("t", [Replace(wider.drop_columns(["x"]))])
    with pytest.raises(SchemaChanged, match="Column x of t is gone"):
        live.poll()


def test_a_view_that_was_replaced_or_dropped_is_no_longer_live() -> None:
    for statement, said in (
        (f"CREATE OR REPLACE MATERIALIZED VIEW v AS {SUMS.replace('sum', 'max')}", "was replaced"),
        ("DROP MATERIALIZED VIEW v", "was dropped"),
    ):
        rv = opened()
        rv.create("v", SUMS)
        live = rv.live("v").follow(0.002)
        changes = live.changes()
        rv.sql("INSERT INTO sale VALUES (9, 'a', 1)")
        rv.refresh("v")
        assert changes.next(5) is not None
        rv.sql(statement)
        with pytest.raises(SchemaChanged, match=said):
            changes.next(5)
        with pytest.raises(SchemaChanged, match=r"rv.live\('v'\)"):
            live.table()
        live.close()


def test_a_view_that_cannot_be_what_it_was_ends_for_those_who_poll_too(tmp_path: Path) -> None:
    rv = folder(tmp_path)
    live = rv.live(QUERY)
    changes, ends = live.changes(), list[BaseException | None]()
    live.subscribe(lambda batch: None, on_end=ends.append)
    rv.store.drop("g")
    with pytest.raises(TableNotFound):
        live.poll()  # the table may come back
    assert not changes.ended
    rv.store.create("g", pa.table({"g": ["one"], "name": ["one"]}))
    with pytest.raises(SchemaChanged, match="Column g of g is now STRING"):
        live.poll()
    for call in (lambda: changes.next(5), live.table, live.poll):
        with pytest.raises(SchemaChanged):
            call()
    until(lambda: len(ends) == 1)
    assert isinstance(ends[0], SchemaChanged)


def test_a_query_that_fails_over_some_rows_goes_on_when_these_are_gone() -> None:
    rv = opened()
    sql = "SELECT id, 100 / price AS share FROM sale"
    live = rv.live(sql)
    mirror, changes = Mirror(held(live)), live.changes()
    rv.sql("INSERT INTO sale VALUES (8, 'a', 4)")
    rv.sql("INSERT INTO sale VALUES (9, 'a', 0)")
    for _ in range(2):
        with pytest.raises(RollviewError, match="DIVIDE_BY_ZERO"):
            live.poll()
    assert mirror.take(waiting(changes)).rows == held(live)
    rv.sql("DELETE FROM sale WHERE id = 9")
    rv.sql("INSERT INTO sale VALUES (10, 'a', 5)")
    assert live.poll() == 1
    assert mirror.take(waiting(changes)).rows == held(live) == queried(rv, sql)
    follower = live.follow(0.002)
    rv.sql("INSERT INTO sale VALUES (9, 'a', 0)")
    until(lambda: follower.error is not None)
    rv.sql("DELETE FROM sale WHERE id = 9")
    until(lambda: follower.error is None)
    assert held(live) == queried(rv, sql)
    live.close()


def test_commits_come_in_their_order_and_those_of_a_transaction_together(tmp_path: Path) -> None:
    rv = folder(tmp_path / "w")
    live, at_once = rv.live(QUERY), rv.live(QUERY)
    changes, one = live.changes(progress=True), at_once.changes()
    more = pa.table({"g": pa.array([3], pa.int32()), "name": ["three"]})
    together = Stamp({TRANSACTION: "x"})
    rv.store.commit("t", [Append(rows((10, 3, 1)))])
    rv.store.commit("g", [Append(more)], together)
    rv.store.commit("t", [Append(rows((11, 3, 2)))], together)
    rv.store.commit("t", [Append(rows((12, 3, 3)))])
    seen = []
    live.subscribe(lambda batch: seen.append((dict(batch.vector), len(batch))), when_behind="hold", progress=True)
    assert live.poll() == 3
    assert seen[1:] == [({"t": 1, "g": 0}, 0), ({"t": 2, "g": 1}, 1), ({"t": 3, "g": 1}, 2)]
    assert changes.next(0) is not None
    assert at_once.poll(at_once=True) == 1
    assert [len(batch) for batch in waiting(one)] == [1]
    assert held(live) == held(at_once) == expected(rv)


def test_a_subscriber_that_dies_at_any_point_resumes_by_its_token() -> None:
    """What it has stored, it has stored with the token of the last complete batch: no diff twice, none lost."""
    rng = random.Random(numbers(1)[0])
    rv = opened()
    stored: Counter[Any] = Counter()
    token: str | None = None
    live: Live | None = None
    for n in range(10, 40):
        rv.sql(f"INSERT INTO sale VALUES ({n}, '{rng.choice('ab')}', {n})")
        if rng.random() < 0.5:
            rv.sql(f"UPDATE sale SET price = price + 1 WHERE id % 3 = {n % 3}")
        if live is None:
            live = rv.live(JOIN)
            changes = live.changes(since=token, snapshot=token is None, batch_rows=rng.choice([1, 3, 100]), waiting=2)
        live.poll(at_once=rng.random() < 0.3)
        pending: Counter[Any] = Counter()
        for batch in waiting(changes):
            pending.update(weighed(batch))
            if rng.random() < 0.1:  # it dies here: what is not stored is lost
                live = None
                break
            if batch.complete:
                stored.update(pending)
                pending, token = Counter(), batch.token
    live = rv.live(JOIN)
    for batch in waiting(live.changes(since=token, snapshot=token is None)):
        stored.update(weighed(batch))
    assert Counter({row: n for row, n in stored.items() if n}) == held(live) == queried(rv, JOIN)
