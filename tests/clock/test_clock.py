"""The commit clock over scripted commits: equal times, wrong clocks, late commits, transactions, lost logs."""

from __future__ import annotations

import pytest

from rollview.clock import CommitClock, Unit
from rollview.errors import Conflict, Damaged, UserError
from rollview.limits import Limits
from rollview.parse.stored_names import CLOCK
from rollview.store.protocol import Identity
from scripted import ScriptedStore, Wall, second


@pytest.fixture
def store() -> ScriptedStore:
    return ScriptedStore()


def told(units: list[Unit]) -> list[str]:
    """Units as text: ``a0 b3 @5`` is a unit of two tables, five seconds after the beginning."""
    return [
        " ".join([*(f"{t}{i.version}" for t, i in u.tables.items()), f"@{(u.time - second(0)).total_seconds():g}"])
        for u in units
    ]


def test_positions_are_given_in_the_order_of_times(store: ScriptedStore) -> None:
    clock, _ = store.clock()
    assert (clock.look(["a"]), clock.newest(), clock.units()) == (None, None, [])
    for table, at in [("a", 1), ("b", 2), ("a", 3), ("b", 3)]:
        store.put(table, at)
    found = clock.look(["a", "b"])
    assert found == clock.units()[-1]
    assert told(clock.units()) == ["a0 @1", "b0 @2", "a1 @3", "b1 @3"]
    assert [unit.position for unit in clock.units()] == [1, 2, 3, 4]
    assert told(clock.units(after=1, upto=3)) == ["b0 @2", "a1 @3"]
    assert clock.units(after=4) == clock.units(upto=0) == []
    assert clock.look(["a", "b"]) == found
    assert len(store.base.history(CLOCK)) == 2  # the table, and one append


def test_rows_are_summed_where_all_are_known(store: ScriptedStore) -> None:
    clock, _ = store.clock()
    store.put("a", 1, rows=3, together="x")
    store.put("b", 1, rows=4, together="x")
    store.put("a", 2, rows=2, together="y")
    store.put("b", 2, rows=None, together="y")
    clock.look(["a", "b"])
    assert [unit.rows for unit in clock.units()] == [7, None]
    assert [each.rows for each in clock.commits("b")] == [4, None]


def test_a_transaction_is_one_position(store: ScriptedStore) -> None:
    clock, _ = store.clock()
    store.put("b", 1)
    store.put("a", 2, together="x")
    store.put("b", 3, together="x")
    clock.look(["a", "b"])
    assert told(clock.units()) == ["b0 @1", "a0 b1 @3"]
    assert clock.of({"a": 0}) == clock.of({"b": 1}) == clock.of({"a": 0, "b": 1}) == 2
    assert clock.of({"a": 0, "b": 0}) is None


def test_a_transaction_that_becomes_visible_during_a_look_is_not_torn(store: ScriptedStore) -> None:
    clock, _ = store.clock()
    store.put("a", 1)
    clock.look(["a", "b"])
    history = store.history

    def late(table: str, limit: int | None = None, after: int | None = None):  # type: ignore[no-untyped-def]
        if table == "b":  # a has been read before
            store.history = history  # type: ignore[method-assign]
            store.put("a", 5, together="x")
        return history(table, limit, after)

    store.put("b", 5, together="x")
    store.history = late  # type: ignore[method-assign]
    clock.look(["a", "b"])
    assert told(clock.units(after=1)) == ["a1 b0 @5"]


def test_a_late_commit_with_an_old_time_rewrites_no_past(store: ScriptedStore) -> None:
    clock, _ = store.clock()
    store.put("a", 1)
    store.put("b", 2, hide=True)
    store.put("a", 3)
    clock.look(["a", "b"])
    before = clock.units()
    store.show("b")
    clock.look(["a", "b"])
    assert clock.units(upto=2) == before
    assert told(clock.units()) == ["a0 @1", "a1 @3", "b0 @3"]


def test_a_clock_that_is_ahead_gives_no_time_after_first_sight(store: ScriptedStore) -> None:
    clock, wall = store.clock(Wall(10))
    store.put("a", 310)
    clock.look(["a"])
    wall.seconds = 20
    store.put("b", 15)
    clock.look(["a", "b"])
    assert told(clock.units()) == ["a0 @10", "b0 @15"]


def test_a_machine_whose_clock_was_set_back_gives_no_earlier_time(store: ScriptedStore) -> None:
    clock, wall = store.clock(Wall(100))
    store.put("a", 100)
    clock.look(["a"])
    wall.seconds = 40
    store.put("a", 40)
    clock.look(["a"])
    assert told(clock.units()) == ["a0 @100", "a1 @100"]
    assert clock.at(second(30)) is None


def test_as_of_waits_while_commits_may_still_appear(store: ScriptedStore) -> None:
    clock, wall = store.clock(Wall(100), Limits(settle_seconds=2))
    store.put("a", 99)
    clock.look(["a"])
    store.put("a", 99.5)  # appears before the wait ends
    assert clock.at(second(99.5)) == 2
    assert wall.slept == [1.5]
    assert clock.at(second(99)) == 1
    assert clock.at(second(98)) is None
    assert wall.slept == [1.5]  # these are past
    with pytest.raises(UserError, match="future"):
        clock.at(second(200))


def test_an_answer_of_as_of_never_changes(store: ScriptedStore) -> None:
    clock, _ = store.clock(Wall(100))
    store.put("a", 10)
    assert clock.at(second(50), ["a"]) == 1
    store.put("a", 20)  # dated by a clock that is behind, or visible very late
    clock.look(["a"])
    assert clock.at(second(50)) == 1
    assert (clock.units()[-1].time - second(50)).total_seconds() == 1e-6
    other, _ = store.clock(Wall(100))
    assert other.at(second(50)) == 1
    assert other.at(second(51)) == 2


def test_as_of_before_the_first_commit_is_closed_too(store: ScriptedStore) -> None:
    clock, _ = store.clock(Wall(100))
    assert clock.at(second(50)) is None
    store.put("a", 10)
    clock.look(["a"])
    assert clock.at(second(50)) is None
    assert clock.at(second(51)) == 1


def test_as_of_looks_at_all_tables_that_have_positions(store: ScriptedStore) -> None:
    clock, _ = store.clock(Wall(100))
    store.put("a", 1)
    clock.look(["a"])
    store.put("a", 2)
    assert clock.at(second(5), ["b"]) == 2


def test_commits_that_change_no_rows_have_no_position(store: ScriptedStore) -> None:
    clock, _ = store.clock()
    store.put("a", 1, rows=0, operation="CREATE TABLE")
    store.put("a", 2)
    store.put("a", 3, rows=0, operation="OPTIMIZE")
    store.put("a", 4, rows=0, operation="SET TBLPROPERTIES")
    clock.look(["a"])
    store.put("a", 5, rows=0, operation="OPTIMIZE")
    before = store.reads["a"]
    assert clock.of({"a": 3}) == 2
    assert clock.of({"a": 4}) == 2
    assert clock.of({"a": 5}) is None
    assert store.reads["a"] == before + 1  # what has been looked at is not read again
    store.put("a", 6)
    clock.look(["a"])
    assert told(clock.units()) == ["a0 @1", "a1 @2", "a5 @6"]
    assert [clock.of({"a": version}) for version in range(7)] == [1, 2, 2, 2, 2, 3, None]
    assert [clock.position_of("a", version) for version in (1, 4, 5, 6)] == [2, 2, 3, None]
    assert clock.position_of("a", 4, clock.vector(1)["a"].table_id) == 2
    assert clock.position_of("a", 4, "another table") is None
    store.put("a", 7)
    assert clock.position_of("a", 6) == 4
    other, _ = store.clock()
    assert other.of({"a": 5}) == 3
    assert [n.version for n in other.commits("a", after=1)] == [1, 5, 6]


def test_a_table_that_is_dropped_and_created_again_goes_on(store: ScriptedStore) -> None:
    clock, _ = store.clock()
    store.put("a", 1)
    store.put("a", 2)
    clock.look(["a"])
    old = clock.vector(2)
    store.drop("a")
    clock.look(["a"])
    assert clock.newest() == 2
    store.put("a", 3)
    clock.look(["a"])
    assert told(clock.units()) == ["a0 @1", "a1 @2", "a0 @3"]
    assert clock.vector(3)["a"].table_id != old["a"].table_id
    assert clock.of(old) == 2
    assert clock.of({"a": 0}) == 3
    assert clock.of({"a": 1}) is None
    assert clock.of({"a": Identity("somebody else's", 0)}) is None


@pytest.mark.parametrize("again", [0, 1, 2, 3])
def test_a_log_that_went_back_goes_on_from_where_it_parted(store: ScriptedStore, again: int) -> None:
    clock, _ = store.clock()
    for at in range(4):
        store.put("a", at)
    clock.look(["a"])
    before = clock.units()
    store.lose("a", 1)
    for _ in range(again):
        store.put("a", 9)
    for each in (clock, store.clock()[0]):
        each.look(["a"])
        assert each.units(upto=4) == before
        assert told(each.units(after=4)) == ([f"a{2 + i} @9" for i in range(again)] or ["a1 @3"])
        assert each.of(before[3].tables) == 4
        assert each.of(each.vector(5)) == (5 if again else 2)
        assert each.of({"a": 1}) == 2
        assert each.of({"a": 2}) == (5 if again else 3)


def test_a_log_that_went_back_is_one_unit_where_the_store_has_no_marks(store: ScriptedStore) -> None:
    clock, _ = store.clock()
    for at in range(4):
        store.put("a", at)
    clock.look(["a"])
    store.lose("a", 0)
    store.put("a", 9)
    store.put("a", 9)
    store.commit_mark = lambda table, version: None  # type: ignore[method-assign]
    clock.look(["a"])
    assert told(clock.units(after=4)) == ["a2 @9"]


def test_a_log_that_went_back_to_a_commit_without_rows_is_numbered(store: ScriptedStore) -> None:
    clock, _ = store.clock()
    store.put("a", 1)
    store.put("a", 2, rows=0, operation="OPTIMIZE")
    store.put("a", 3)
    clock.look(["a"])
    store.lose("a", 1)
    clock.look(["a"])
    assert told(clock.units()) == ["a0 @1", "a2 @3", "a1 @3"]


def test_a_damaged_table_does_not_stop_the_others(store: ScriptedStore) -> None:
    clock, _ = store.clock()
    store.put("a", 1)
    store.put("b", 2)
    store.broken["a"] = Damaged("The table a is damaged")
    clock.look(["a", "b"])
    assert told(clock.units()) == ["b0 @2"]
    assert list(clock.skipped) == ["a"]
    store.broken.clear()
    clock.look(["a", "b"])
    assert told(clock.units()) == ["b0 @2", "a0 @2"]
    assert clock.skipped == {}


def test_two_clocks_that_number_at_once_come_to_one(store: ScriptedStore) -> None:
    one, other = store.clock()[0], store.clock()[0]
    for at in range(1, 4):
        store.put("a", at)
    one.look(["a"])
    other.look(["a"])
    store.put("a", 4)
    commit = store.base.commit

    def overtaken(table, edits, stamp):  # type: ignore[no-untyped-def]
        store.base.commit = commit
        store.put("b", 4.5)
        other.look(["a", "b"])  # between the look of the first one and its write
        return commit(table, edits, stamp)

    store.base.commit = overtaken
    store.put("c", 5)
    one.look(["a", "c"])
    assert told(one.units()) == told(other.units()) == ["a0 @1", "a1 @2", "a2 @3", "a3 @4", "b0 @4.5", "c0 @5"]


def test_a_clock_that_is_always_overtaken_says_so(store: ScriptedStore) -> None:
    clock, _ = store.clock()

    def never(*_: object) -> None:
        raise Conflict("another writer")

    store.base.commit = never
    store.put("a", 1)
    with pytest.raises(Conflict, match="not numbered"):
        clock.look(["a"])


def test_a_clock_that_was_removed_begins_again(store: ScriptedStore) -> None:
    clock, _ = store.clock()
    store.put("a", 1)
    store.put("a", 2)
    clock.look(["a"])
    store.base.drop(CLOCK)
    clock.look(["a"])
    assert told(clock.units()) == ["a0 @1", "a1 @2"]
    assert told(store.clock()[0].units()) == ["a0 @1", "a1 @2"]


def test_a_position_that_was_not_given_is_refused(store: ScriptedStore) -> None:
    clock, _ = store.clock()
    with pytest.raises(UserError, match="no position 1"):
        clock.vector(1)
    store.put("a", 1)
    clock.look(["a"])
    for position in (0, 2, -1):
        with pytest.raises(UserError, match="no position"):
            clock.vector(position)


def test_numbering_reads_only_what_is_new(store: ScriptedStore) -> None:
    clock, _ = store.clock()
    for at in range(500):
        store.put("a", at)
    clock.look(["a"])
    for session in (clock, store.clock()[0]):
        store.reads.clear()
        store.put("a", 600)
        session.look(["a"])
        session.look(["a"])
        assert store.reads == {"a": 1}


def test_a_clock_is_one_for_all_sessions(store: ScriptedStore) -> None:
    one: CommitClock = store.clock()[0]
    other = store.clock()[0]
    for at in range(5):
        store.put("ab"[at % 2], at)
        (one, other)[at % 2].look(["a", "b"])
        assert one.units() == other.units()
    assert one.vector(5) == other.vector(5)
