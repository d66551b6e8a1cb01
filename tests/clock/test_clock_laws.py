"""Laws of the commit clock over random histories, against a model that stores nothing and bisects nothing.

A history is a list of events: commits with any times, visible at once or late, some without rows, some in transactions,
looks of one of two sessions at some of the tables, questions for times, tables dropped, logs that go back.
"""

from __future__ import annotations

import random
from datetime import datetime

import pytest

from rollview.clock import CommitClock, Unit
from rollview.store.protocol import Identity
from scripted import ScriptedStore, Wall, second
from seeds import choose_seed

TABLES = ("a", "b", "c")


class History:
    """A random history, and what must be true of it after each event."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.store, self.wall = ScriptedStore(), Wall(10)
        self.clocks = [self.store.clock(self.wall)[0] for _ in range(2)]
        self.known: list[Unit] = []
        self.answers: dict[datetime, int | None] = {}
        self.commits: list[tuple[str, str, int]] = []  # those that must have a position once they are looked at
        self.transactions = 0
        self.same: dict[str | None, list[str | None]] = {}  # commits with the same rows, before one without rows

    def run(self, events: int) -> None:
        for _ in range(events):
            self.wall.seconds += self.random.choice([0, 0, 0.5, 3, 30])
            event = self.random.choices(
                [self.commit, self.look, self.ask, self.transact, self.show, self.drop, self.lose, self.idle],
                [10, 6, 2, 2, 2, 0.3, 0.5, 2],
            )[0]
            event(self.random.choice(TABLES))
            self.check()

    def _time(self) -> float:
        """Mostly now; sometimes by a clock that is minutes off."""
        return self.wall.seconds - second(0).second + self.random.choice([0, 0, 0, 0, -1, -300, 300])

    def commit(self, table: str) -> None:
        self.store.put(table, self._time(), hide=self.random.random() < 0.2)

    def idle(self, table: str) -> None:
        """A commit without rows: the table stands as it did before."""
        there = self.store.scripted.get(table)
        before = [] if there is None else [c.mark for c in (*there.commits, *there.hidden)][-1:]
        self.store.put(table, self._time(), rows=0, operation="OPTIMIZE")
        there = self.store.scripted[table]
        earlier = self.same.get(before[0], []) if before else []
        self.same[(there.hidden or there.commits)[-1].mark] = [*before, *earlier]

    def transact(self, table: str) -> None:
        self.transactions += 1
        for each in self.random.sample(TABLES, 2):
            self.store.put(each, self._time(), together=f"t{self.transactions}")

    def show(self, table: str) -> None:
        if table in self.store.scripted:
            self.store.show(table)

    def drop(self, table: str) -> None:
        self.store.scripted.pop(table, None)

    def lose(self, table: str) -> None:
        there = self.store.scripted.get(table)
        if there is not None and len(there.commits) > 1 and not there.hidden:
            self.store.lose(table, self.random.randrange(len(there.commits) - 1))

    def look(self, _: str) -> None:
        tables = self.random.sample(TABLES, self.random.randint(1, 3))
        clock = self.random.choice(self.clocks)
        clock.look(tables)
        for table in tables:  # what is visible is numbered: the newest commit with rows is the newest of the clock
            there = self.store.scripted.get(table)
            if there is not None and there.commits:
                rows = [c for c in there.commits if c.changes_rows] or there.commits[:1]
                newest = clock.commits(table)[-1]
                assert newest.identity.table_id == there.id
                assert newest.version >= rows[-1].version

    def ask(self, _: str) -> None:
        time = second(self.wall.seconds - self.random.choice([0, 1, 5, 60]))
        self.answers[time] = self.random.choice(self.clocks).at(time, TABLES)

    def check(self) -> None:
        units = self.random.choice(self.clocks).units()
        assert units[: len(self.known)] == self.known, "a position has changed"
        assert [unit.position for unit in units] == list(range(1, len(units) + 1))
        times = [unit.time for unit in units]
        assert times == sorted(times)
        assert all(time <= second(self.wall.seconds + 1) for time in times[len(self.known) :])
        self.known = units

    def check_conversions(self) -> None:
        clock: CommitClock = self.random.choice(self.clocks)
        clock.look(TABLES)
        units, vectors, state = clock.units(), [], dict[str, Identity]()
        for unit in units:
            state = {**state, **unit.tables}
            vectors.append(state)
            assert clock.vector(unit.position) == state
            assert {t: i.mark for t, i in clock.vector(unit.position).items()} == {t: i.mark for t, i in state.items()}
        for position, vector in enumerate(vectors, 1):
            some = {
                table: vector[table]
                for table in self.random.sample(sorted(vector), self.random.randint(1, len(vector)))
            }
            first = next(p for p, v in enumerate(vectors, 1) if all(_is(v.get(t), i) for t, i in some.items()))
            assert clock.of(some) == first <= position
        for table, there in self.store.scripted.items():
            for commit in there.commits:
                wanted = Identity(there.id, commit.version, commit.mark)
                at = {v[table].mark: p for p, v in reversed([*enumerate(vectors, 1)]) if table in v}
                first = next(at[mark] for mark in (commit.mark, *self.same.get(commit.mark, [])) if mark in at)
                assert clock.of({table: wanted}) == clock.of({table: commit.version}) == first
        for unit in units:
            for offset in (0, 1e-6, -1e-6):
                time = second((unit.time - second(0)).total_seconds() + offset)
                expected = max((u.position for u in units if u.time <= time), default=None)
                assert clock.at(time) == expected
        for time, answer in self.answers.items():
            assert clock.at(time) == answer, "an answer has changed"
        for table in TABLES:
            numbered = [n for unit in units for n in clock.commits(table, unit.position - 1, unit.position)]
            assert numbered == clock.commits(table)
            for each in {n.position: n for n in numbered}.values():
                assert units[each.position - 1].tables[table] == each.identity


def _is(one: Identity | None, other: Identity) -> bool:
    return one is not None and one == other and one.mark == other.mark


@pytest.mark.parametrize("number", range(25))
@pytest.mark.one_in(4)
def test_positions_times_and_vectors_lead_to_each_other(number: int) -> None:
    history = History(choose_seed() * 1000 + number)
    history.run(60)
    history.check_conversions()


@pytest.mark.slow
@pytest.mark.parametrize("number", range(100, 400))
def test_the_same_over_longer_histories(number: int) -> None:
    history = History(choose_seed() * 1000 + number)
    history.run(250)
    history.check_conversions()


@pytest.mark.parametrize("number", range(20))
def test_what_one_look_sees_is_numbered_as_a_model_does(number: int) -> None:
    """No transactions: then the order is that of a sort by (time, table, version), if a table's times do not decrease."""
    chance = random.Random(choose_seed() * 1000 + number)
    store, wall = ScriptedStore(), Wall(1000)
    clock, _ = store.clock(wall)
    model: list[tuple[str, int, float]] = []
    latest = dict.fromkeys(TABLES, 0.0)
    begin = dict.fromkeys(TABLES, 0)
    for _ in range(8):
        new: list[tuple[float, str, int]] = []
        for _ in range(chance.randint(0, 8)):
            table = chance.choice(TABLES)
            latest[table] += chance.choice([0, 0, 1, 5, 40])
            new.append((latest[table], table, store.put(table, latest[table])))
        wall.seconds += chance.choice([-50, 0, 10])
        tables = chance.sample(TABLES, chance.randint(1, 3))
        clock.look(tables)
        every = [
            (c.time, table, c.version)
            for table in tables
            if table in store.scripted
            for c in store.scripted[table].commits[begin[table] :]
        ]
        for table in tables:
            begin[table] = len(store.scripted[table].commits) if table in store.scripted else 0
        for time, table, version in sorted(every):
            at = min((time - second(0)).total_seconds(), wall.seconds)
            model.append((table, version, max(at, model[-1][2] if model else at)))
    found = [(t, i.version, (u.time - second(0)).total_seconds()) for u in clock.units() for t, i in u.tables.items()]
    assert found == model
