"""What the built rule must not be. Each trap switches one thing off, and Definition 4.2 is broken on data."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping

import pytest

from rolled import World, history
from rollview.delta.derivation import NEW
from rollview.delta.timed import Way
from rollview.roll import forward, propagate
from rollview.roll.extent import Extent
from rollview.roll.forward import Present, Reading
from rollview.roll.propagate import Propagation
from rollview.roll.schedule import Backlog, Interval
from rollview.roll.source import Source

#: Histories of two to four tables, of which some show each trap; and how many of them show that the rule is right.
SEEDS, RIGHT = range(60), range(2)


def is_broken(run: Callable[[int], World], seeds: Iterable[int] = SEEDS) -> bool:
    """Whether some history breaks the law."""
    return any(not _kept(run(seed)) for seed in seeds)


def _kept(world: World) -> bool:
    try:
        world.check()
        return True
    except AssertionError:
        return False
    finally:
        world.rv.close()


def in_one_go(seed: int) -> World:
    """All changes are forwarded by one query for each table, so that positions lie inside its interval."""
    world = World(history(seed))
    while world.happen():
        pass
    world.rv.propagate("v")
    return world


def equation_2(
    interval: Interval,
    forwarded: Mapping[str, int],
    backlogs: Mapping[str, Backlog],
    sources: Mapping[str, Source],
) -> Reading:
    """Other tables are read at the version to which they are forwarded: their rows have no time."""
    reading = forward.by_history(interval, forwarded, backlogs, sources)
    for table, at in forwarded.items():
        upto = interval.upto if table == interval.table else at
        reading.versions[NEW][table] = sources[table].stands(upto).version
        reading.see(table, NEW, NEW, [])
    return reading


def test_equation_2_over_old_versions_is_right_for_its_whole_interval_and_wrong_inside_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert not is_broken(in_one_go, RIGHT)
    monkeypatch.setattr(propagate, "by_history", equation_2)
    assert is_broken(in_one_go)
    for seed in RIGHT:
        world = in_one_go(seed)
        world.rv.apply("v")
        assert world.shown() == world.shown_at(world.extent().mark)


@pytest.mark.slow
def test_the_time_of_a_joined_row_is_the_greatest_by_history_and_the_least_by_presence(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    time_of = Way.time_of
    for way in Way:
        with monkeypatch.context() as patched:
            other = Way.PRESENCE if way is Way.HISTORY else Way.HISTORY
            patched.setattr(Way, "time_of", lambda self, times, other=other: time_of(other, times))
            assert is_broken(lambda seed, way=way: by_turns(seed, [way]))  # type: ignore[misc]


def by_turns(seed: int, ways: list[Way]) -> World:
    """A step of one way, then one of the next; the tables change in between."""
    choose, world = random.Random(seed), World(history(seed))
    steps = 0
    while True:
        happened = world.happen() and world.happen()
        way = ways[steps % len(ways)]
        world.rv.store.keeps_history = lambda table, way=way: way is Way.HISTORY  # type: ignore[method-assign, misc]
        done = world.rv.propagate("v", steps=1, step_rows=choose.choice([1, 2, 5]))
        steps += 1
        if not happened and done.lag == 0:
            return world


def test_the_way_changes_only_where_all_tables_stand_level(monkeypatch: pytest.MonkeyPatch) -> None:
    both = [Way.HISTORY, Way.PRESENCE]
    assert not is_broken(lambda seed: by_turns(seed, both), RIGHT)
    monkeypatch.setattr(Extent, "is_level", True)
    assert is_broken(lambda seed: by_turns(seed, both))


@pytest.mark.slow
def test_an_interval_ends_no_later_than_the_oldest_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each table is read at a moment of its own, which may be before the end of the interval."""
    choose = random.Random(3)

    def stale(self: Propagation) -> dict[str, Present]:
        found = {}
        for table, source in self._sources.items():
            position = choose.randint(self.extent.forwarded[table], self._backlogs[table].upto)
            version = source.stands(position).version
            found[table] = Present(source.rows(version), version, position)
        return found

    def right(self: Propagation) -> dict[str, Present]:
        return {
            table: now if now.position >= self._backlogs[table].upto else present(self)[table]
            for table, now in stale(self).items()
        }

    present = Propagation._present
    monkeypatch.setattr(Propagation, "_present", right)
    assert not is_broken(lambda seed: by_turns(seed, [Way.PRESENCE]), RIGHT)
    monkeypatch.setattr(Propagation, "_present", stale)
    with pytest.raises(Exception, match="before the end of the changes"):
        is_broken(lambda seed: by_turns(seed, [Way.PRESENCE]))
    monkeypatch.setattr(forward, "check_moments", lambda interval, present, backlogs: None)
    assert is_broken(lambda seed: by_turns(seed, [Way.PRESENCE]))
