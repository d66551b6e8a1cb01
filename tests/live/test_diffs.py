"""Diffs of a live view: their forms, batches and tokens; snapshot + diffs = snapshot; token at any batch = no token."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from live_graphs import SETTINGS
from live_model import COLUMNS, Bag, arrow, history
from live_served import Mirror, held, plain, waiting, weighed
from live_shop import JOIN, SUMS, opened, sales
from rollview import Rollview, connect
from rollview.errors import RollviewError, UserError, VersionGone
from rollview.limits import Limits
from rollview.live.live import Live
from rollview.live.net import Net
from seeds import numbers

STATEMENTS = (
    "UPDATE sale SET price = price + 1 WHERE id = 1",
    "INSERT INTO sale VALUES (4, 'b', 9), (5, 'c', 1)",
    "INSERT INTO shop VALUES ('c', 'Oslo')",
    "DELETE FROM sale WHERE id = 2",
    "UPDATE shop SET city = 'Rome' WHERE name = 'a'",
    "MERGE INTO sale t USING (SELECT 5 AS id, 'a' AS shop, 2 AS price) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET *",
    "UPDATE sale SET price = NULL WHERE id = 3",
)


def test_a_batch_has_the_views_columns_in_order_and_then_the_weight() -> None:
    rv = opened()
    live = rv.live(JOIN)
    changes = live.changes()
    rv.sql(STATEMENTS[0])
    live.poll()
    (batch,) = waiting(changes)
    assert batch.table.schema == pa.schema(
        [("id", pa.int32()), ("price", pa.int32()), ("city", pa.string()), ("__w", pa.int64())]
    )
    assert batch.to_pylist() == [
        {"id": 1, "price": 10, "city": "Oslo", "__w": -1},
        {"id": 1, "price": 11, "city": "Oslo", "__w": 1},
    ]
    assert (batch.vector, batch.complete, batch.snapshot, len(batch)) == ({"sale": 2, "shop": 1}, True, False, 2)
    assert batch.token == live.token == changes.token
    assert batch.time == rv.store.last_commit("sale").time


def test_equal_rows_of_one_change_are_one_row_of_the_diff() -> None:
    """Whether they are there already or not; all columns are shown, so that rows that differ stay so."""
    live = opened().live("SELECT id, shop, price, city FROM sale JOIN shop ON shop = name")
    changes = live.changes()
    for before in range(2):
        live.apply({"sale": pa.concat_tables([sales((8, "a", before, 1), (9, "a", 7, 1))["sale"]] * 2)})
        (batch,) = waiting(changes)
        assert weighed(batch) == Counter({(8, "a", before, "Oslo"): 2, (9, "a", 7, "Oslo"): 2})
        assert len(batch) == 2
    live.apply(sales((8, "a", 2, 1), (8, "a", 3, 1)))
    assert weighed(waiting(changes)[0]) == Counter({(8, "a", 2, "Oslo"): 1, (8, "a", 3, "Oslo"): 1})


def test_the_envelope_of_changes_has_both_images_of_an_update() -> None:
    live = opened().live(JOIN)
    changes = live.changes(envelope="changes")
    live.apply(sales((1, "a", 10, -1), (1, "a", 11, 1), (2, "b", 5, -1), (7, "b", 5, 1)))
    (batch,) = waiting(changes)
    assert [tuple(row.values()) for row in batch.to_pylist()] == [
        (1, 10, "Oslo", "update_preimage"),
        (1, 11, "Oslo", "update_postimage"),
        (2, 5, "Turin", "delete"),
        (7, 5, "Turin", "insert"),
    ]
    bag = opened().live("SELECT city FROM sale JOIN shop ON sale.shop = shop.name")
    changes = bag.changes(envelope="changes")
    bag.apply(sales((8, "a", 1, 2), (2, "b", 5, -1)))
    assert Counter(tuple(row.values()) for row in waiting(changes)[0].to_pylist()) == {
        ("Oslo", "insert"): 2,
        ("Turin", "delete"): 1,
    }


def test_the_envelope_of_upserts_has_the_row_of_each_key_or_its_end() -> None:
    live = opened().live(SUMS)
    changes = live.changes(envelope="upsert", snapshot=True)
    live.apply(sales((1, "a", 10, -1), (2, "b", 5, -1)))
    first, second = ([tuple(row.values()) for row in batch.to_pylist()] for batch in waiting(changes))
    assert sorted(first) == [("Oslo", 17, 2, False), ("Turin", 5, 1, False)]
    assert sorted(second) == [("Oslo", 7, 1, False), ("Turin", None, None, True)]
    with pytest.raises(UserError, match="no key"):
        opened().live("SELECT city FROM sale JOIN shop ON sale.shop = shop.name").changes(envelope="upsert")


def test_keys_that_are_null_are_not_taken_for_zero() -> None:
    rv = connect("duckdb:")
    rv.sql("CREATE TABLE t (g INT, x INT)")
    rv.sql("INSERT INTO t VALUES (0, 1), (NULL, 2)")
    live = rv.live("SELECT g, sum(x) AS s FROM t GROUP BY g")
    one = live.changes(envelope="changes", batch_rows=1)
    two = live.changes(envelope="upsert", batch_rows=1)
    rv.sql("UPDATE t SET x = x + 1")
    live.poll()
    found = [row for batch in waiting(one) for row in batch.to_pylist()]
    assert sorted(tuple(map(str, row.values())) for row in found) == [
        ("0", "1", "update_preimage"),
        ("0", "2", "update_postimage"),
        ("None", "2", "update_preimage"),
        ("None", "3", "update_postimage"),
    ]
    assert sorted(str(row["g"]) for batch in waiting(two) for row in batch.to_pylist()) == ["0", "None"]


def test_a_large_diff_comes_in_batches_of_bounded_size_and_the_last_is_complete() -> None:
    live = opened().live(JOIN)
    changes = live.changes(batch_rows=10)
    before = live.token
    live.apply(sales(*((n, "a", n, 1) for n in range(100, 135))))
    batches = waiting(changes)
    assert [len(batch) for batch in batches] == [10, 10, 10, 5]
    assert [batch.complete for batch in batches] == [False, False, False, True]
    assert [batch.token == before for batch in batches] == [True, True, True, False]


def test_a_row_with_very_many_view_rows_is_told_in_bounded_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 6,000 view rows no more than 1,000 are in memory: the rest is added up in files."""
    rv = connect("duckdb:", limits=Limits(live_rows_in_memory=1000, live_batch_rows=500, live_waiting_rows=2000))
    rv.sql("CREATE TABLE a (k INT, x INT); CREATE TABLE b (k INT, y INT)")
    rv.sql("INSERT INTO b SELECT 1, CAST(range AS INT) FROM range(6000)")
    live = rv.live("SELECT x, y FROM a JOIN b ON a.k = b.k")
    most = 0
    shrink = Net._shrink

    def watched(net: Net) -> None:
        nonlocal most
        shrink(net)
        most = max(most, net._held)

    monkeypatch.setattr(Net, "_shrink", watched)
    whole, part, two = live.changes(), live.changes(where="y = 7"), live.changes(where="y < 100 AND x = 5")
    slow = live.changes(waiting=1)
    rv.sql("INSERT INTO a VALUES (1, 5)")
    live.poll()
    rv.sql("INSERT INTO a VALUES (1, 6)")
    live.poll()
    assert most <= 1000
    first = [whole.next(0) for _ in range(12)]
    assert all(batch is not None and 0 < len(batch) <= 600 for batch in first)
    mirror = Mirror().take(batch for batch in first if batch is not None).take(waiting(whole))
    assert len(mirror.rows) == 12_000
    assert mirror.rows == held(live) == Mirror().take(waiting(slow)).rows
    assert Mirror().take(waiting(part)).rows == {(5.0, 7.0): 1, (6.0, 7.0): 1}
    assert len(Mirror().take(waiting(two)).rows) == 100


def _peak() -> int:
    """The most memory of this process since ``clear_refs``, in MB."""
    found = [line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM")]
    return int(found[0].split()[1]) // 1000


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="the peak of memory can be measured on Linux")
def test_five_million_view_rows_of_one_row_take_little_memory() -> None:
    """In memory, the diff would take 160 MB, and as much again for each time that it is copied."""
    rv = connect("duckdb:", limits=Limits(live_rows_in_memory=100_000))
    rv.sql("CREATE TABLE a (k INT, x INT); CREATE TABLE b (k INT, y INT)")
    live = rv.live("SELECT x, y FROM a JOIN b ON a.k = b.k")
    for begin in range(0, 5_000_000, 500_000):
        numbers_ = pa.array(range(begin, begin + 500_000), pa.int32())
        ones = pa.array([1] * 500_000)
        live.apply({"b": pa.table({"k": ones.cast(pa.int32()), "y": numbers_, "__w": ones})})
    whole, part, slow = live.changes(), live.changes(where={"y": 7}), live.changes(waiting=1)
    for weight in (1, -1):
        Path("/proc/self/clear_refs").write_text("5")
        before = _peak()
        live.apply({"a": pa.table({"k": [1], "x": [5], "__w": [weight]})})
        rows = 0
        while (batch := whole.next(0)) is not None:
            assert len(batch) <= 10_000
            assert pc.unique(batch.table["__w"]).to_pylist() == [weight]
            rows += len(batch)
        assert rows == 5_000_000
        assert [row["y"] for batch in waiting(part) for row in batch.to_pylist()] == [7]
        assert _peak() - before < 60
    assert [len(batch) for batch in waiting(slow)] == [0]  # what came is gone


@pytest.mark.parametrize("sql", [JOIN, SUMS])
def test_a_snapshot_and_diffs_are_the_snapshot_at_any_vector_and_a_token_is_no_difference(sql: str) -> None:
    rv = opened()
    live = rv.live(sql)
    mirrors = [(Mirror(), live.changes(snapshot=True, batch_rows=1))]
    snapshots = {live.token: held(live)}
    for statement in STATEMENTS:
        rv.sql(statement)
        live.poll()
        snapshots[live.token] = held(live)
        mirrors.append((Mirror(), live.changes(snapshot=True)))
        for mirror, subscription in mirrors:
            assert mirror.take(waiting(subscription)).rows == held(live), statement
    for token, rows in snapshots.items():
        mirror = Mirror(rows).take(waiting(live.changes(since=token, batch_rows=2)))
        assert mirror.rows == held(live), token
    assert sum(held(live).values()) > 0


def test_a_token_of_another_live_view_of_the_same_query_leads_back_and_forth() -> None:
    """A subscriber was served by a process that was ahead, or behind."""
    rv = opened()
    ahead, behind = rv.live(SUMS), rv.live(SUMS)
    for statement in STATEMENTS[:4]:
        rv.sql(statement)
    ahead.poll()
    assert Mirror(held(ahead)).take(waiting(behind.changes(since=ahead.token))).rows == held(behind)
    rv.sql(STATEMENTS[4])
    old = held(behind)
    token = behind.token
    ahead.poll(at_once=True)
    assert Mirror(old).take(waiting(ahead.changes(since=token))).rows == held(ahead)
    only = ahead.changes(since=token, where={"city": "Oslo"})
    wanted = Counter({row: n for row, n in old.items() if row[0] == "Oslo"})
    mirror = Mirror(wanted).take(waiting(only))
    assert mirror.rows == Counter({row: n for row, n in held(ahead).items() if row[0] == "Oslo"})


def test_a_token_that_leads_nowhere_is_a_clear_error() -> None:
    rv = opened()
    live, other = rv.live(JOIN), rv.live(SUMS)
    token = live.token
    with pytest.raises(UserError, match="of another view"):
        other.changes(since=token)
    for bad in ("", "nonsense", "rv1.nonsense", token[:-9]):
        with pytest.raises(UserError, match="no token"):
            live.changes(since=bad)
    with pytest.raises(UserError, match="exclude"):
        live.changes(since=token, snapshot=True)
    before = held(live)
    rv.sql("DROP TABLE sale; CREATE TABLE sale (id INT, shop STRING, price INT, PRIMARY KEY (id))")
    rv.sql("INSERT INTO sale VALUES (1, 'a', 1)")
    live.poll()
    with pytest.raises(VersionGone, match="begin again with a snapshot"):
        live.changes(since=token)
    assert held(live) == {(1.0, 1.0, "Oslo"): 1} != before
    by_hand = rv.live(JOIN)
    token = by_hand.token
    by_hand.apply(sales((5, "a", 5, 1)))
    assert waiting(by_hand.changes(since=by_hand.token)) == []
    with pytest.raises(UserError, match="by hand"):
        by_hand.changes(since=token)


def test_random_histories_reach_subscribers_with_any_condition_and_any_token() -> None:
    """The laws of batches over random views: all types, NULLs, NaN, duplicates."""
    for seed in numbers(10):
        case = history(seed, 6, computed=False)
        rng = random.Random(seed)
        live = _made(case.view.sql, case.start)
        if live is None:
            continue
        whole = (Mirror(), live.changes(snapshot=True, waiting=rng.choice([1, 3, 50])))
        label = rng.choice(list(live.columns))
        values = [row[label] for row in live.table().to_pylist()] or [None]
        value = rng.choice(values)
        part = (Mirror(), live.changes(where={label: value}, snapshot=True))
        for change in case.changes:
            live.apply({table: arrow(bag) for table, bag in change.items()})
            if rng.random() < 0.5:
                whole[0].take(waiting(whole[1]))
            part[0].take(waiting(part[1]))
            place = list(live.columns).index(label)
            expected = held(live)
            mine = Counter({row: n for row, n in expected.items() if _same(row[place], plain(value))})
            assert part[0].rows == mine, case.script()
        assert whole[0].take(waiting(whole[1])).rows == held(live), case.script()


def _same(one: Any, other: Any) -> bool:
    return bool(one == other)


def _made(sql: str, start: Mapping[str, Bag]) -> Live | None:
    """A live view over tables of all types with these rows."""
    rv: Rollview = connect("duckdb:")
    for table in sorted(start):
        rv.sql(f"CREATE TABLE {table} ({', '.join(f'{name} {kind}' for name, kind in COLUMNS.items())})")
    assert SETTINGS
    try:
        live = rv.live(sql)
    except RollviewError:
        return None
    live.apply({table: arrow(bag) for table, bag in start.items()})
    return live


def test_a_diff_is_consolidated() -> None:
    live = opened().live("SELECT city FROM sale JOIN shop ON sale.shop = shop.name")
    changes = live.changes()
    live.apply(sales((1, "a", 10, -1), (8, "a", 1, 3), (2, "b", 5, -1), (9, "b", 1, 1)))
    (batch,) = waiting(changes)
    assert weighed(batch) == {("Oslo",): 2}
