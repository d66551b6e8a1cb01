"""Refreshing views of which a part of the way has been propagated: that part is applied, and the rest is followed.

    where the view stands → apply → the last position of its delta on the way → refresh → the goal

Each of the two is a commit, if there is something to do. A view is refreshed as usual if it has no delta on the way, or
if it is recomputed anyway.
"""

from __future__ import annotations

import functools
import logging
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Mapping

from rollview.errors import NotIncremental, UserError, VersionGone
from rollview.refresh import batch
from rollview.refresh.reasons import why_full
from rollview.refresh.refresh import refresh_view
from rollview.refresh.steps import Pace, Way, recomputing_is_cheaper, refresh_in_steps
from rollview.roll.apply import apply
from rollview.roll.reachable import Reachable, reachable
from rollview.store.protocol import Identity
from rollview.strategy.no_op import NO_OP
from rollview.views.catalog import Catalog, Reflected
from rollview.views.definition import View
from rollview.views.goal import NEWEST, Goal
from rollview.views.history import went_back
from rollview.views.past import base_vector
from rollview.views.results import Outcome, RefreshResult, in_all

logger = logging.getLogger("rollview")

#: Called with the result of each step.
OnResult = Callable[[RefreshResult], None]


def refresh(
    catalog: Catalog,
    name: str,
    *,
    full: bool = False,
    goal: Goal = NEWEST,
    pace: Pace | None = None,
    progress: OnResult | None = None,
) -> RefreshResult:
    """Brings a view to a goal."""
    first = None if full else _applied_first(catalog, None if pace is None else progress, name, goal)
    if pace is None:
        rest = refresh_view(catalog, name, full=full, goal=goal)
    else:
        rest = refresh_in_steps(catalog, name, goal, pace, progress)
    return _reported(rest if first is None else in_all([first, rest]))


def refresh_all(
    catalog: Catalog,
    names: Iterable[str] | None = None,
    *,
    full: bool = False,
    resting: Collection[str] = (),
    goal: Goal = NEWEST,
    pace: Pace | None = None,
    progress: OnResult | None = None,
) -> list[Outcome]:
    """Brings views to one goal: see ``refresh/batch``."""
    outcomes = batch.refresh_all(
        catalog,
        names,
        full=full,
        resting=resting,
        goal=goal,
        pace=pace,
        progress=progress,
        first=functools.partial(_applied_first, catalog, None if pace is None else progress),
    )
    for each in outcomes:
        if each.result is not None:
            _reported(each.result)
    return outcomes


def refresh_upstream(
    catalog: Catalog,
    name: str,
    *,
    full: bool = False,
    goal: Goal = NEWEST,
    pace: Pace | None = None,
    progress: OnResult | None = None,
) -> RefreshResult:
    """Brings the views that a view reads to a goal, and then the view."""
    first = functools.partial(_applied_first, catalog, None if pace is None else progress)
    done = batch.refresh_upstream(catalog, name, full=full, goal=goal, pace=pace, progress=progress, first=first)
    return _reported(done)


def _reported(result: RefreshResult) -> RefreshResult:
    """Logs a refresh that found nothing to do; all others log their strategy when it is chosen."""
    if result.strategy == NO_OP and result.from_vector == result.to_vector:
        logger.info("%s: %s, because it already shows these versions", result.view, NO_OP)
    return result


def _applied_first(catalog: Catalog, progress: OnResult | None, name: str, goal: Goal) -> RefreshResult | None:
    """The first step of a view; ``progress`` is called with it, if there is one."""
    done = applied_first(catalog, name, goal)
    if done is not None and progress is not None:
        progress(done)
    return done


def applied_first(catalog: Catalog, name: str, goal: Goal) -> RefreshResult | None:
    """Applies what has been propagated on the way to a goal; None if that is nothing."""
    try:
        found = reachable(catalog, name)
        position = None if found is None else stop_on_the_way(found, goal)
        return None if position is None else apply(catalog, name, position)
    except (UserError, NotIncremental) as error:  # the view was replaced meanwhile, or the clock or delta is damaged
        logger.info("%s: what was propagated is not applied: %s", name, error)
        return None


def stop_on_the_way(found: Reachable, goal: Goal) -> int | None:
    """The last position of a view's delta on the way to a goal; None if there is none, or the view is better
    recomputed."""
    catalog, view = found.rolled.catalog, found.rolled.view
    if not catalog.has(view.name) or catalog.store.damage(catalog.state(view.name)) is not None:
        return None
    before = found.rolled.reflected()
    shown = found.position(before.vector)
    if shown is None:
        return None
    try:
        target = goal.versions(catalog, view)
        if _is_recomputed(catalog, view, before, target):
            return None
    except UserError:  # the refresh says what is wrong
        return None
    bases = base_vector(catalog, view, target)
    stop = None if bases is None else _last(found, shown, bases, exact=goal.exact)
    if stop is None or found.vector(stop) == found.vector(shown):
        return None
    try:  # a view that is read must have a stored version there
        start = _goal_at(found, stop).versions(catalog, view)
    except VersionGone:
        return None
    way = Way(catalog, view, start, target)
    return None if way.changed and recomputing_is_cheaper(catalog, view, target, way) else stop


def _goal_at(found: Reachable, position: int) -> Goal:
    """Where the base tables stand at a position."""
    return Goal({table: at for table, at in found.vector(position).items() if at is not None}, exact=True)


def _is_recomputed(catalog: Catalog, view: View, before: Reflected, target: Mapping[str, Identity]) -> bool:
    back = any(went_back(catalog, table, before.vector[table], catalog.identity(table)) for table in view.tables)
    return why_full(catalog, view, before, target, False, back) is not None


def _last(found: Reachable, shown: int, target: Mapping[str, Identity], *, exact: bool) -> int | None:
    """The last position between where the view stands and the end of its delta that lies before a vector, or after it
    if the way leads back."""
    clock, extent = found.rolled.catalog.clock, found.stored.extent

    def ahead(position: int) -> list[int]:
        at = clock.vector(position)
        return [(at[table].version or 0) - (wanted.version or 0) for table, wanted in target.items()]

    if all(each <= 0 for each in ahead(shown)):
        positions = range(shown, extent.mark + 1)
        return positions[bisect_right(positions, False, key=lambda p: any(each > 0 for each in ahead(p))) - 1]
    if exact and all(each >= 0 for each in ahead(shown)):
        positions = range(shown, extent.begin - 1, -1)
        return positions[bisect_right(positions, False, key=lambda p: any(each < 0 for each in ahead(p))) - 1]
    return None
