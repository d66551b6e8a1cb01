"""An interpreter of propagation queries over small bags, and Definition 4.2. It shares nothing with the engine."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise, product
from math import prod

from rollview.roll.queries import Part, Query, State, Time

Row = tuple[int | None, ...]
Bag = Counter[Row]
#: A selection and projection of the joined rows: a row, or None if the rows do not match.
View = Callable[[Sequence[Row]], Row | None]
#: The rows of a timed delta: how often each comes or goes, at which time.
Timed = Counter[tuple[int, Row]]


@dataclass
class Database:
    """Tables and their commits: the rows at 0, and for each later position what came and went in each table."""

    start: dict[str, Bag]
    commits: list[dict[str, Bag]] = field(default_factory=list)

    @property
    def last(self) -> int:
        return len(self.commits)

    def state(self, table: str, at: int) -> Bag:
        rows = Counter(self.start[table])
        for commit in self.commits[:at]:
            for row, count in commit.get(table, Counter()).items():
                rows[row] += count
        assert min(rows.values(), default=0) >= 0
        return +rows

    def part(self, part: Part) -> list[tuple[Row, int, int | None]]:
        """Rows with their weights and times. A state has no times."""
        if isinstance(part, State):
            assert part.at <= self.last
            return [(row, count, None) for row, count in self.state(part.table, part.at).items()]
        return [
            (row, count, time)
            for time in range(part.after + 1, part.upto + 1)
            for row, count in self.commits[time - 1].get(part.table, Counter()).items()
        ]


def evaluated(queries: Iterable[Query], time: Time, database: Database, view: View) -> Timed:
    pick = min if time is Time.LEAST else max
    found: Timed = Counter()
    for query in queries:
        for rows in product(*map(database.part, query.parts)):
            shown = view([row for row, _, _ in rows])
            if shown is not None:
                at = pick(t for _, _, t in rows if t is not None)
                found[at, shown] += query.sign * prod(weight for _, weight, _ in rows)
    return found


def view_at(tables: Sequence[str], at: int, database: Database, view: View) -> Bag:
    found: Bag = Counter()
    for rows in product(*(database.state(table, at).items() for table in tables)):
        shown = view([row for row, _ in rows])
        if shown is not None:
            found[shown] += prod(count for _, count in rows)
    return found


def wrong_at(delta: Timed, first: int, upto: int, contents: Sequence[Bag]) -> int | None:
    """The first position that breaks Definition 4.2: what the view shows at ``first`` and the changes up to there are
    not what it shows there. ``contents`` has what it shows at each position. Each interval is a difference of two."""
    rows = Counter(contents[first])
    for at in range(first + 1, upto + 1):
        for (time, row), count in delta.items():
            if time == at:
                rows[row] += count
        if {row: count for row, count in rows.items() if count} != dict(contents[at]):
            return at
    return None


def chain(rows: Sequence[Row]) -> Row | None:
    """R1(x, y) ⋈ R2(y, z) ⋈ …, without NULL keys, and without the rows that begin and end alike."""
    for left, right in pairwise(rows):
        if left[1] is None or left[1] != right[0]:
            return None
    return (rows[0][0], rows[-1][1]) if rows[0][0] != rows[-1][1] else None


def random_database(rng: random.Random, tables: Sequence[str], commits: int, *, together: bool) -> Database:
    """Duplicates, NULL keys, deletions; if ``together``, transactions that change several tables."""

    def row() -> Row:
        return rng.choice((None, 1, 2)), rng.choice((None, 1, 2))

    names = sorted(set(tables))
    database = Database({name: Counter(row() for _ in range(rng.randrange(4))) for name in names})
    for _ in range(commits):
        commit = {}
        for name in rng.sample(names, rng.randint(1, len(names)) if together else 1):
            there, net = database.state(name, database.last), Counter[Row]()
            for _ in range(rng.randint(1, 3)):
                gone = [r for r, count in there.items() if count + net[r] > 0]
                if gone and rng.random() < 0.5:
                    net[rng.choice(gone)] -= 1
                else:
                    net[row()] += 1
            commit[name] = Counter({r: count for r, count in net.items() if count})
        database.commits.append(commit)
    return database


class Present:
    """The position at which a query is executed: between two queries, other transactions commit."""

    def __init__(self, rng: random.Random, at: int, last: int) -> None:
        self.rng, self.at, self.last = rng, at, last

    def execute(self) -> int:
        self.at = min(self.last, self.at + self.rng.choice((0, 0, 1, 2, 3)))
        return self.at
