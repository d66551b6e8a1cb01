"""Subscribers of a live view: many, slow, failing, in other threads and in tasks; each gets its part, and all of it."""

from __future__ import annotations

import asyncio
import random
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from live_served import Mirror, held, waiting
from live_shop import JOIN, SUMS, opened, sales
from rollview.errors import RollviewError, UserError
from rollview.live.live import Live
from rollview.live.serve.diff import Batch, Diff
from rollview.live.serve.subscription import CutOff, Options

KEYED = "SELECT id, shop.name, price FROM sale JOIN shop ON sale.shop = shop.name"


def until(holds: Callable[[], bool], seconds: float = 10) -> None:
    """Waits until something holds."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "this takes too long"
        time.sleep(0.002)


def test_a_subscription_is_iterated_until_it_is_closed() -> None:
    live = opened().live(JOIN)
    changes = live.changes(snapshot=True)
    seen: list[Batch] = []
    thread = threading.Thread(target=lambda: seen.extend(changes))
    thread.start()
    live.apply(sales((4, "a", 1, 1)))
    until(lambda: len(seen) == 2)
    live.close()
    thread.join(5)
    assert not thread.is_alive()
    assert [batch.snapshot for batch in seen] == [True, False]


def test_a_task_iterates_beside_others() -> None:
    live = opened().live(JOIN)

    async def read(most: int) -> list[Batch]:
        found = []
        with live.changes() as changes:
            async for batch in changes:
                found.append(batch)
                if len(found) == most:
                    break
        return found

    async def write() -> None:
        for n in range(10, 14):
            await asyncio.sleep(0.01)
            await asyncio.to_thread(live.apply, sales((n, "a", n, 1)))

    async def both() -> list[list[Batch]]:
        one, two, _ = await asyncio.gather(read(4), read(2), write())
        return [one, two]

    one, two = asyncio.run(both())
    assert [batch.to_pylist()[0]["id"] for batch in one] == [10, 11, 12, 13]
    assert len(two) == 2
    assert len(live._state.subscribers) == 0


def test_a_task_that_waits_ends_when_the_view_is_closed() -> None:
    live = opened().live(JOIN)

    async def read() -> int:
        return len([batch async for batch in live.changes()])

    async def both() -> int:
        task = asyncio.create_task(read())
        await asyncio.sleep(0.05)
        live.close()
        return await asyncio.wait_for(task, 5)

    assert asyncio.run(both()) == 0


def test_a_subscription_that_is_made_while_the_view_is_closed_has_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    live = opened().live(JOIN)
    state, first, before = live._state, live._first, live.changes()

    def closing(options: Options, **how: Any) -> Diff:
        diff = first(options, **how)
        live.close()
        return diff

    monkeypatch.setattr(live, "_first", closing)
    subscription = live.changes()
    assert subscription.ended
    assert subscription.next(5) is None
    state.subscribers.add(state.core, before)  # as if the view was made again while another thread closed it
    assert state.subscribers.all() == []


def test_a_part_is_told_of_its_rows_only_and_progress_of_every_commit() -> None:
    live = opened().live(KEYED)
    oslo, both = live.changes(where={"name": "a"}), live.changes(where="name = 'b' AND price > 3")
    dear, none = live.changes(where="price > 8"), live.changes(where={"name": "nowhere"})
    told = live.changes(where={"name": "nowhere"}, progress=True)
    live.apply(sales((4, "a", 9, 1), (5, "b", 9, 1)))
    live.apply(sales((6, "b", 1, 1)))
    for subscription, ids in ((oslo, [4]), (both, [5]), (dear, [4, 5]), (none, [])):
        found = [row["id"] for batch in waiting(subscription) for row in batch.to_pylist()]
        assert sorted(found) == ids
    assert [(len(batch), batch.token == live.token) for batch in waiting(told)] == [(0, True)]
    assert none.token != live.token


def test_ten_thousand_subscriptions_by_key_cost_one_look_up_a_row() -> None:
    """Bounded by work, not by time: only the subscriber that is concerned is offered a diff."""
    live = opened().live(KEYED)
    every = [live.changes(where={"id": n}) for n in range(10_000)]
    lanes = live._state.subscribers._lanes
    assert len(lanes) == 1
    (lane,) = lanes.values()
    looked: list[object] = []

    class Counting(dict):  # type: ignore[type-arg]
        def __contains__(self, value: object) -> bool:
            looked.append(value)
            return super().__contains__(value)

    lane.by_value = Counting(lane.by_value)
    live.apply(sales((7000, "a", 1, 1)))
    assert len(looked) == 1
    assert [n for n, each in enumerate(every) if not each.idle] == [7000]
    for each in every:
        each.close()
    assert lanes == {}


def test_a_slow_subscriber_gets_its_waiting_diffs_merged() -> None:
    live = opened().live(SUMS)
    slow = live.changes(snapshot=True, waiting=3)
    mirror = Mirror()
    for n in range(10, 40):
        live.apply(sales((n, "ab"[n % 2], n, 1)))
        assert len(slow._waiting) <= 3
    batches = waiting(slow)
    assert len(batches) <= 3
    assert mirror.take(batches).rows == held(live)
    assert batches[-1].token == live.token
    gone = live.changes(waiting=1)
    live.apply(sales((90, "a", 1, 1)))
    live.apply(sales((91, "a", 1, 1)))
    live.apply(sales((90, "a", 1, -1), (91, "a", 1, -1)))
    assert len(gone._waiting) == 1
    assert [len(batch) for batch in waiting(gone)] == [0]


def test_a_slow_subscriber_is_cut_off_with_its_token() -> None:
    rv = opened()
    live = rv.live(JOIN)
    slow = live.changes(snapshot=True, waiting=2, when_behind="cut")
    mirror = Mirror()
    first = slow.next(0)
    assert first is not None
    mirror(first)
    for n in range(10, 14):
        rv.sql(f"INSERT INTO sale VALUES ({n}, 'a', {n})")
        live.poll()
    with pytest.raises(CutOff) as caught:
        slow.next(0)
    assert caught.value.token == first.token == mirror.token
    assert slow.ended
    again = live.changes(since=caught.value.token)
    assert mirror.take(waiting(again)).rows == held(live)


def test_a_slow_subscriber_holds_the_source_up() -> None:
    live = opened().live(JOIN)
    slow = live.changes(waiting=2, when_behind="hold")
    seen: list[Batch] = []

    def read() -> None:
        for batch in slow:
            time.sleep(0.005)
            seen.append(batch)

    thread = threading.Thread(target=read)
    thread.start()
    for n in range(10, 20):
        live.apply(sales((n, "a", n, 1)))
        assert len(slow._waiting) <= 2
    until(lambda: len(seen) == 10)
    assert [batch.to_pylist()[0]["id"] for batch in seen] == list(range(10, 20))
    slow.close()
    thread.join(5)
    own = live.changes(waiting=1, when_behind="hold")
    live.apply(sales((30, "a", 1, 1)))
    assert own.next(0) is not None
    live.apply(sales((31, "a", 1, 1)))
    with pytest.raises(UserError, match="wait for itself"):
        live.apply(sales((32, "a", 1, 1)))


def test_a_view_that_is_held_up_can_be_closed() -> None:
    live = opened().live(JOIN)
    live.changes(waiting=1, when_behind="hold")
    thread = threading.Thread(target=lambda: [live.apply(sales((n, "a", n, 1))) for n in (10, 11)])
    thread.start()
    time.sleep(0.05)
    assert thread.is_alive()
    live.close()
    thread.join(5)
    assert not thread.is_alive()


def test_a_thousand_subscribers_of_which_some_sleep_and_some_raise() -> None:
    rv = opened()
    live = rv.live(SUMS)
    rng = random.Random(5)
    kinds = [rng.choice(["quick"] * 8 + ["sleeps", "raises"]) for _ in range(1000)]
    mirrors = [Mirror() for _ in kinds]
    ended: dict[int, BaseException | None] = {}

    def subscriber(number: int) -> Callable[[Batch], None]:
        def call(batch: Batch) -> None:
            if kinds[number] == "sleeps":
                time.sleep(0.005)
            if kinds[number] == "raises" and len(mirrors[number].batches) == 1:
                raise ValueError(f"subscriber {number}")
            mirrors[number](batch)

        return call

    for number in range(len(kinds)):
        live.subscribe(
            subscriber(number),
            snapshot=True,
            waiting=3,
            on_end=lambda error, number=number: ended.__setitem__(number, error),  # type: ignore[misc]
        )
    for n in range(10, 20):
        rv.sql(f"INSERT INTO sale VALUES ({n}, 'a', {n})")
        live.poll()
    expected = held(live)
    going = [n for n, kind in enumerate(kinds) if kind != "raises"]
    until(lambda: all(mirrors[n].token == live.token for n in going), 60)
    assert all(mirrors[n].rows == expected for n in going)
    raising = {n for n, kind in enumerate(kinds) if kind == "raises"}
    assert ended.keys() == raising
    assert {str(error) for error in ended.values()} == {f"subscriber {n}" for n in raising}
    assert len(live._state.subscribers) == len(going)
    live.close()
    until(lambda: len(ended) == 1000)
    assert all(ended[n] is None for n in going)


def test_quick_subscribers_do_not_wait_for_sleeping_ones() -> None:
    live = opened().live(JOIN)
    calls: list[int] = []
    wake = threading.Event()

    def sleep(_: Batch) -> None:
        calls.append(1)
        time.sleep(0.08)
        if len(calls) > 60:
            wake.wait(20)

    for _ in range(60):
        live.subscribe(sleep)
    live.apply(sales((10, "a", 1, 1)))
    until(lambda: len(calls) == 60)
    seen: list[int] = []
    for _ in range(100):
        live.subscribe(lambda _: seen.append(1))
    live.apply(sales((11, "a", 1, 1)))
    try:
        until(lambda: len(seen) == 100, 5)
        live.apply(sales((12, "a", 1, 1)))
        until(lambda: len(seen) == 200, 5)
    finally:
        wake.set()


def test_a_callback_is_called_by_the_thread_that_changes_the_view_if_it_holds_it_up() -> None:
    live = opened().live(JOIN)
    threads: list[int] = []
    inner: list[str] = []
    ended: list[BaseException | None] = []

    def call(batch: Batch) -> None:
        threads.append(threading.get_ident())
        inner.append(str(held(live)))
        if len(threads) == 3:
            live.apply({})

    live.subscribe(call, snapshot=True, when_behind="hold", on_end=ended.append)
    live.apply(sales((10, "a", 1, 1)))
    assert threads == [threading.get_ident()] * 2
    live.apply(sales((11, "a", 1, 1)))
    assert [str(error) for error in ended] == [str(ended[0])]
    assert "cannot change the live view that calls it" in str(ended[0])
    live.apply(sales((12, "a", 1, 1)))
    assert len(threads) == 3


def test_many_threads_read_while_one_changes_the_view() -> None:
    """Whatever they see is the view after some change: the sum of prices is the number of rows."""
    live = opened().live("SELECT shop.name, id, price FROM sale JOIN shop ON sale.shop = shop.name WHERE id > 3")
    stop = threading.Event()
    wrong: list[object] = []

    def read(live: Live) -> None:
        while not stop.is_set():
            rows = live.table().num_rows, len(live.get(name="a")), len(live.get(name="b"))
            if rows[0] % 2 or rows[1] > 200 or rows[2] > 200:
                wrong.append(rows)
            mirror = Mirror()
            with live.changes(snapshot=True) as changes:
                mirror.take(waiting(changes))
            if sum(mirror.rows.values()) % 2:
                wrong.append(mirror.rows)

    threads = [threading.Thread(target=read, args=(live,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for n in range(10, 110):
        live.apply(sales((2 * n, "a", 1, 1), (2 * n + 1, "b", 1, 1)))
    stop.set()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert sum(held(live).values()) == 200


def test_values_that_wait_for_a_subscriber_are_not_forgotten() -> None:
    from rollview.live import state

    live = opened().live(JOIN)
    slow, only = live.changes(snapshot=True), live.changes(where={"city": "nowhere"})
    live._state._swept = 1
    before = held(live)
    for n in range(5):
        live.apply(sales((100 + n, "a", n, 1)))
        live.apply(sales((100 + n, "a", n, -1)))
    assert state._SWEEP > 1
    live._state.core.sweep(live._state.subscribers.numbers() or set())
    assert Mirror().take(waiting(slow)).rows == before
    live._state.core.sweep(live._state.subscribers.numbers() or set())
    assert only.options.condition.values[2][0].as_py() == "nowhere"
    (value,) = live._state.subscribers._lanes[(2,), ""].by_value
    assert live._state.core.interner.value(value[0]) == b"nowhere"


def test_a_condition_that_fails_ends_its_subscription_and_no_other() -> None:
    live = opened().live(JOIN)
    before, mirror = live.changes(), Mirror(held(live))
    failing, same = (live.changes(where="100 / price > 1 AND city = 'Oslo'") for _ in range(2))
    after = live.changes()
    ends: list[BaseException | None] = []
    live.subscribe(lambda batch: None, where="1 / price > 1", on_end=ends.append)
    live.apply(sales((4, "a", 0, 1)))
    for each in (failing, same):
        with pytest.raises(RollviewError, match="DIVIDE_BY_ZERO"):
            each.next(0)
    until(lambda: bool(ends))
    assert isinstance(ends[0], RollviewError)
    live.apply(sales((5, "a", 3, 1)))
    assert mirror.take(waiting(before)).rows == held(live)
    assert [len(batch) for batch in waiting(after)] == [1, 1]


def test_no_diff_is_lost_if_a_change_would_wait_for_the_thread_that_makes_it() -> None:
    live = opened().live(JOIN)
    own = live.changes(snapshot=True, waiting=1, when_behind="hold")
    other, mirror, second = live.changes(), Mirror(), Mirror(held(live))
    mirror.take(waiting(own))
    live.apply(sales((30, "a", 1, 1)))
    for _ in range(2):
        with pytest.raises(UserError, match="wait for itself"):
            live.apply(sales((31, "a", 1, 1)))
    assert mirror.take(waiting(own)).rows == held(live)
    live.apply(sales((31, "a", 1, 1)))
    assert mirror.take(waiting(own)).rows == held(live) == second.take(waiting(other)).rows


def test_no_diff_is_lost_if_it_is_interrupted_while_it_is_handed_out() -> None:
    rv = opened()
    live = rv.live(JOIN)
    before, mirror = live.changes(), Mirror(held(live))

    def interrupted(batch: Batch) -> None:
        raise KeyboardInterrupt

    live.subscribe(interrupted, when_behind="hold")
    after, late = live.changes(), Mirror(held(live))
    rv.sql("INSERT INTO sale VALUES (4, 'a', 1)")
    with pytest.raises(KeyboardInterrupt):
        live.poll()
    rv.sql("INSERT INTO sale VALUES (5, 'a', 1)")
    live.poll()
    for changes, known in ((before, mirror), (after, late)):
        with pytest.raises(CutOff, match="interrupted") as caught:
            changes.next(0)
        assert known.take(waiting(live.changes(since=caught.value.token))).rows == held(live)


@pytest.mark.parametrize("behind", ["merge", "hold"])
def test_a_callback_gets_all_batches_of_a_diff(behind: str) -> None:
    live = opened().live(JOIN)
    mirror = Mirror()
    live.subscribe(mirror, snapshot=True, batch_rows=1, when_behind=behind)
    until(lambda: mirror.token == live.token)
    assert mirror.rows == held(live)
    live.apply(sales(*((n, "a", n, 1) for n in range(10, 15))))
    until(lambda: mirror.token == live.token)
    assert mirror.rows == held(live)
    assert [batch.complete for batch in mirror.batches] == [False, False, True, False, False, False, False, True]


def test_who_is_cut_off_within_a_diff_resumes_after_it() -> None:
    rv = opened()
    live = rv.live(JOIN)
    slow = live.changes(waiting=1, batch_rows=1, when_behind="cut")
    mirror = Mirror(held(live))
    rv.sql("INSERT INTO sale VALUES (7, 'a', 1), (8, 'a', 1), (9, 'a', 1)")
    live.poll()
    first = slow.next(0)
    assert first is not None
    mirror(first)
    for n in range(10, 14):
        rv.sql(f"INSERT INTO sale VALUES ({n}, 'a', {n})")
        live.poll()
    with pytest.raises(CutOff) as caught:
        mirror.take(slow)
    assert caught.value.token == mirror.token
    assert len(mirror.batches) == 3
    assert mirror.take(waiting(live.changes(since=caught.value.token))).rows == held(live)


@pytest.mark.parametrize("where", [None, "price > 1"])
def test_who_is_cut_off_within_a_snapshot_gets_it_again(where: str | None) -> None:
    rv = opened()
    live = rv.live(JOIN)
    slow = live.changes(snapshot=True, where=where, waiting=1, batch_rows=1, when_behind="cut")
    begun = slow.token
    mirror = Mirror()
    first = slow.next(0)
    assert first is not None
    assert not first.complete
    mirror(first)
    assert first.token == begun != live.token
    for n in range(10, 14):
        rv.sql(f"INSERT INTO sale VALUES ({n}, 'a', {n})")
        live.poll()
    for token in (begun, first.token):
        resumed = waiting(live.changes(since=token, where=where))
        assert [batch.snapshot for batch in resumed] == [True]
        assert Mirror().take(resumed).rows == Mirror().take(waiting(live.changes(snapshot=True, where=where))).rows
    with pytest.raises(CutOff) as caught:
        mirror.take(slow)
    assert mirror.rows
    assert caught.value.token == mirror.token
    again = waiting(live.changes(since=caught.value.token, where=where))
    assert mirror.take(again).rows == Mirror().take(waiting(live.changes(snapshot=True, where=where))).rows


def test_who_cannot_read_a_diff_is_told_so_and_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    live = opened().live(JOIN)
    changes, ends = live.changes(), list[BaseException | None]()
    live.subscribe(lambda batch: None, on_end=ends.append)

    def failing(diff: Diff, form: object) -> None:
        raise OSError("the disk is gone")

    with monkeypatch.context() as patched:
        patched.setattr(Diff, "tables", failing)
        live.apply(sales((4, "a", 1, 1)))
        with pytest.raises(RollviewError, match="the disk is gone"):
            changes.next(0)
        until(lambda: len(ends) == 1)
    assert isinstance(ends[0], RollviewError)
    live.apply(sales((5, "a", 1, 1)))
    with pytest.raises(RollviewError, match="the disk is gone"):
        changes.next(0)
    assert len(live._state.subscribers) == 0
