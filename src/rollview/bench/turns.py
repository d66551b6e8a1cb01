"""The measuring loop of all suites: the tables change in turns, and the views are refreshed after each change.

Each view is measured in two ways, one after the other, in one session: refreshed incrementally and recomputed, or
refreshed at two scales. The report has the figures of both.
"""

from __future__ import annotations

import shutil
import statistics
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rollview.errors import InternalError
from rollview.session import Rollview, connect
from rollview.views.results import RefreshResult

#: The number of turns that warm up, and of turns that are measured, unless a suite has its own.
WARM_UP, MEASURED = 2, 3


@dataclass(frozen=True)
class Way:
    """A view and how it is refreshed: incrementally, or recomputed if ``full``. ``since`` is its first turn."""

    rv: Rollview
    view: str
    full: bool = False
    since: int = 0


@dataclass(frozen=True)
class Run:
    """One refresh, the number of rows that Spark and this process read for it, and the number of its Spark jobs."""

    result: RefreshResult
    rows_read: int | None
    jobs: int | None


@dataclass(frozen=True)
class Runs:
    """The refreshes of one view in one way, in the order of the turns."""

    each: Sequence[Run]

    @property
    def last(self) -> Run:
        return self.each[-1]

    @property
    def seconds(self) -> float:
        return statistics.median(run.result.seconds for run in self.each)

    def since(self, turn: int) -> Runs:
        return Runs(self.each[turn:])


Pair = tuple[Way, Way]


def measure(
    changes: Iterable[Callable[[], None]], pairs: Sequence[Pair], *, alternating: bool = False
) -> list[tuple[Runs, Runs]]:
    """Applies the changes one by one, and refreshes every pair after each change. If ``alternating``, the second way of
    a pair comes first in every other turn."""
    found: list[tuple[list[Run], list[Run]]] = [([], []) for _ in pairs]
    for turn, change in enumerate(changes):
        change()
        for pair, runs in zip(pairs, found, strict=True):
            for place in (1, 0) if alternating and turn % 2 else (0, 1):
                if turn >= pair[place].since:
                    runs[place].append(_run(pair[place]))
    return [(Runs(first), Runs(second)) for first, second in found]


def _run(way: Way) -> Run:
    with way.rv.engine.measured() as work:
        result = way.rv.refresh(way.view, full=way.full)
    return Run(result, work.rows_read, work.jobs)


def check(ways: Iterable[Way]) -> None:
    """Refreshes the views and compares them with their queries."""
    for way in ways:
        done = way.rv.refresh(way.view)
        if not way.rv.verify(way.view).ok:
            raise InternalError(f"{way.view} differs from its query after a refresh by {done.strategy}")


@contextmanager
def bench_folder(suite: str) -> Iterator[Path]:
    """A temporary folder for the files of a suite."""
    folder = Path(tempfile.mkdtemp(prefix=f"rollview-{suite}-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def create_pairs(rv: Rollview, views: Mapping[str, str], policy: str = "AUTO") -> dict[str, Pair]:
    """Creates two views of each query: one to refresh incrementally, and one to recompute, which has no helpers."""
    pairs = {}
    for i, (title, sql) in enumerate(views.items()):
        rv.create(f"v{i}", sql, policy=policy)
        rv.create(f"v{i}_full", sql, policy="FULL")
        pairs[title] = Way(rv, f"v{i}"), Way(rv, f"v{i}_full", full=True)
    return pairs


#: The columns of a report that compares refreshing with recomputing, after the first one, which names the view.
COMPARED = [
    "strategy",
    "refresh s",
    "recompute s",
    "ratio",
    "jobs",
    "rows read",
    "read by recomputing",
    "rows written",
    "written by recomputing",
]


def compared(refresh: Runs, recompute: Runs) -> list[Any]:
    """The values of these columns: the medians of the times, and the counts of the last turn."""
    a, b = refresh.last, recompute.last
    times = [round(refresh.seconds, 2), round(recompute.seconds, 2), round(recompute.seconds / refresh.seconds, 2)]
    return [
        *(a.result.strategy, *times, a.jobs, a.rows_read, b.rows_read),
        *(a.result.rows_written, b.result.rows_written),
    ]


def compare_views(
    suite: str,
    views: Mapping[str, str],
    load: Callable[[Rollview, Path], None],
    change: Callable[[Rollview, int], None],
) -> dict[str, tuple[Runs, Runs]]:
    """Compares refreshing with recomputing, for each of the views by its title. ``load`` creates the tables, and may
    use the folder that it gets; ``change`` gets the number of the turn, starting at 1."""
    turns = WARM_UP + MEASURED
    with bench_folder(suite) as folder, connect(folder / "warehouse") as rv:
        load(rv, folder)
        pairs = create_pairs(rv, views)
        changes = [lambda turn=turn: change(rv, turn) for turn in range(1, turns + 1)]
        runs = measure(changes, list(pairs.values()))
        change(rv, turns + 1)
        check(way for way, _ in pairs.values())
    return {title: (a.since(WARM_UP), b.since(WARM_UP)) for title, (a, b) in zip(pairs, runs, strict=True)}
