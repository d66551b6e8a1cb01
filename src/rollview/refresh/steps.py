"""Catch-up done in several commits, or steps: each is a refresh to a position of the commit clock. A refresh that is
stopped loses one step at most.

way (commits between what the view shows and its goal) → AUTO decides once → steps of some rows or seconds
"""

from __future__ import annotations

import logging
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate

from rollview.errors import RollviewError
from rollview.refresh.reasons import why_full
from rollview.refresh.refresh import most_rows_of, refresh_view
from rollview.store.protocol import Commit, Identity
from rollview.strategy.plan import RefreshPlan
from rollview.strategy.propagate import Change
from rollview.strategy.strategy import Situation
from rollview.views.catalog import Catalog
from rollview.views.definition import View
from rollview.views.goal import Goal
from rollview.views.past import Past
from rollview.views.results import RefreshResult, counted, in_all
from rollview.views.upstream import base_tables

logger = logging.getLogger("rollview")

#: Versions of what a view reads, by its name.
Versions = Mapping[str, Identity]


@dataclass(frozen=True)
class Pace:
    """How long a step is: up to this many changed ``rows``, or as many as take this many ``seconds``, by the steps
    before it. A commit of more rows is one step."""

    rows: int | None = None
    seconds: float | None = None

    def first(self, catalog: Catalog) -> int:
        """The most rows of the first step."""
        return self.rows if self.rows is not None else catalog.limits.first_step_rows

    def next(self, most: int, taken: float) -> int:
        """The most rows of a step after one of ``most`` rows that took this many seconds."""
        if self.seconds is None:
            return most
        wanted = int(most * min(max(self.seconds / max(taken, 0.001), 0.25), 4.0))
        return max(1, wanted if self.rows is None else min(wanted, self.rows))


def refresh_in_steps(
    catalog: Catalog, name: str, goal: Goal, pace: Pace, progress: Callable[[RefreshResult], None] | None = None
) -> RefreshResult:
    """Brings a view to its goal in steps. ``progress`` is called after each. A view that is recomputed goes there at
    once."""
    view = catalog.get(name)
    before = catalog.reflected(view)
    goal = replace(goal, vector={**goal.vector, **goal.versions(catalog, view)})
    if why_full(catalog, view, before, goal.vector, False, False) is not None:
        return refresh_view(catalog, name, goal=goal)
    way = Way(catalog, view, before.vector, goal.vector)
    if recomputing_is_cheaper(catalog, view, goal.vector, way):
        return refresh_view(catalog, name, goal=replace(goal, follow=False))
    ahead = [*way.on_the_way(stops(catalog, view)), goal.vector]
    results: list[RefreshResult] = []
    at, most = before.vector, pace.first(catalog)
    while ahead:
        here = way.furthest(at, ahead, most)
        at, ahead = ahead[here], ahead[here + 1 :]
        step = goal if not ahead else Goal({**goal.vector, **at}, goal.exact)
        results.append(refresh_view(catalog, name, goal=replace(step, follow=True)))
        if progress is not None:
            progress(results[-1])
        rows = counted(results[-1].rows_changed, "changed row")
        logger.info("%s: step %d, %s", view.title, len(results), rows)
        most = pace.next(most, results[-1].seconds)
    return in_all(results)


def stops(catalog: Catalog, view: View) -> list[Versions]:
    """What a view reads, at each position of the clock at which a base table changed. A position is left out if no
    stored version of a view that it reads shows it."""
    bases = base_tables(catalog, [view.name])
    pasts = {table: Past(catalog, table) for table in view.tables if catalog.has(table)}
    vector: dict[str, Identity] = {}
    found: list[Versions] = []
    for unit in catalog.clock.units():
        vector |= unit.tables
        if bases.isdisjoint(unit.tables) or not bases <= vector.keys():
            continue
        at = {table: vector[table] for table in bases}
        shown = {table: past.showing(at) for table, past in pasts.items()}
        if None not in shown.values():
            found.append({table: shown.get(table) or at[table] for table in view.tables})
    return found


def recomputing_is_cheaper(catalog: Catalog, view: View, vector: Versions, way: Way) -> bool:
    """What the policy AUTO decides, once, from the changed rows of the whole way."""
    state, changed = catalog.compiled(view).state, way.changed
    change = Change(frozenset(view.moved(changed)), frozenset(view.moved(way.growing)), way.rows)
    situation = Situation(state, change, view.policy, None, tuple(view.tables), view.moved)
    plan = catalog.compiled(view).chooser.choose(situation)
    if not isinstance(plan, RefreshPlan):
        return False
    limit = most_rows_of(catalog, view, {table: vector[table] for table in view.tables}, plan)
    return limit is not None and way.rows > catalog.limits.always_followed and way.rows > limit()


class Way:
    """The commits between two vectors of what a view reads."""

    def __init__(self, catalog: Catalog, view: View, start: Versions, end: Versions) -> None:
        self.start = {table: start[table] for table in view.tables}
        self.end = {table: end[table] for table in view.tables}
        self._commits = {table: _commits(catalog, table, self.start[table], self.end[table]) for table in view.tables}

    @property
    def changed(self) -> list[str]:
        """The tables that differ."""
        return [table for table, commits in self._commits.items() if commits.each]

    @property
    def growing(self) -> list[str]:
        """Those of them that only got new rows."""
        return [table for table in self.changed if self._commits[table].only_inserts]

    @property
    def rows(self) -> int:
        """The changed rows of all commits."""
        return self.between(self.start, self.end)

    def between(self, one: Versions, other: Versions) -> int:
        """The changed rows of the commits between two vectors on the way."""
        return sum(abs(each.upto(one[table]) - each.upto(other[table])) for table, each in self._commits.items())

    def on_the_way(self, stops: Sequence[Versions]) -> list[Versions]:
        """Those of some vectors that lie between start and end, in the direction of the way, without repetition."""
        found: list[Versions] = []
        at, ahead = self.start, [{table: stop[table] for table in self.start} for stop in stops]
        if any(_version(self.end[table]) < _version(at[table]) for table in at):
            ahead.reverse()
        for stop in ahead:
            if stop != at and stop != self.end and _is_between(at, stop, self.end):
                found.append(stop)
                at = stop
        return found

    def furthest(self, at: Versions, ahead: Sequence[Versions], most: int) -> int:
        """The last of some vectors with up to ``most`` changed rows before it; the first of them, if it has more."""
        return max(bisect_right(ahead, most, key=lambda stop: self.between(at, stop)) - 1, 0)


class _Commits:
    """The commits of one table on the way, oldest first."""

    def __init__(self, each: Sequence[Commit], many: int) -> None:
        self.each, self._many = each, many

    @cached_property
    def only_inserts(self) -> bool:
        return all(commit.deleted == 0 for commit in self.each)

    @cached_property
    def _sums(self) -> tuple[list[int], list[int]]:
        rows = (commit.rows if commit.rows is not None else self._many for commit in self.each)
        return [commit.version for commit in self.each], [0, *accumulate(rows)]

    def upto(self, identity: Identity) -> int:
        """The changed rows of the commits up to a version."""
        versions, sums = self._sums
        return sums[bisect_right(versions, _version(identity))]


def _commits(catalog: Catalog, table: str, start: Identity, end: Identity) -> _Commits:
    low, high = sorted((_version(start), _version(end)))
    if low == high:
        return _Commits((), 0)
    try:
        found = catalog.store.history(catalog.stored(table), after=low)
    except RollviewError:  # the refresh says what is wrong with the table
        found = []
    each = [commit for commit in reversed(found) if low < commit.version <= high]
    return _Commits(each, catalog.limits.first_step_rows)


def _version(identity: Identity) -> int:
    return -1 if identity.version is None else identity.version


def _is_between(one: Versions, stop: Versions, other: Versions) -> bool:
    """Whether a vector has, for each table, a version between two others."""
    for table, found in stop.items():
        low, high = sorted((_version(one[table]), _version(other[table])))
        if found.table_id != other[table].table_id or not low <= _version(found) <= high:
            return False
    return True
