"""Refreshing several views: upstream before downstream, siblings side by side, all to one vector of the base tables.

Each view has an outcome. A view that fails stops the views that read it, and no others.
"""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable, Collection, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from rollview.errors import RollviewError, named_error
from rollview.frontend.query import TIME_DEPENDENT
from rollview.refresh.refresh import refresh_view
from rollview.refresh.steps import Pace, refresh_in_steps
from rollview.refresh.used import used_by
from rollview.store.protocol import Identity
from rollview.views.catalog import Catalog
from rollview.views.changes import ChangeSets
from rollview.views.definition import View
from rollview.views.freshness import Freshness
from rollview.views.goal import NEWEST, Goal
from rollview.views.results import Outcome, RefreshResult, in_all
from rollview.views.upstream import upstream

T = TypeVar("T")


#: What is done for a view before it is refreshed to a goal; None if that is nothing.
First = Callable[[str, Goal], RefreshResult | None]


def refresh_upstream(
    catalog: Catalog,
    name: str,
    *,
    full: bool = False,
    goal: Goal = NEWEST,
    pace: Pace | None = None,
    progress: Callable[[RefreshResult], None] | None = None,
    first: First | None = None,
) -> RefreshResult:
    """Refreshes the views that a view reads, directly or through others, and then the view itself. Raises the error of
    the view, or that of a view upstream because of which it was not refreshed."""
    catalog.get(name)
    names = upstream(catalog, [name])
    done = refresh_all(catalog, names, full=full, goal=goal, pace=pace, progress=progress, first=first)
    outcomes = {each.view: each for each in done}
    last = outcomes[name]
    if last.because is None:
        return last.refreshed()
    error = next(each.error for each in outcomes.values() if each.error is not None)
    raise _in_front(f"{name} was not refreshed, because {last.because} failed", error) from error


def _in_front(what: str, error: RollviewError) -> RollviewError:
    """The error with a sentence before what it says."""
    found = copy.copy(error)
    found.what = f"{what}: {error.what}"
    found.args = (found.what,)
    return found


def refresh_all(
    catalog: Catalog,
    names: Iterable[str] | None = None,
    *,
    full: bool = False,
    resting: Collection[str] = (),
    goal: Goal = NEWEST,
    pace: Pace | None = None,
    progress: Callable[[RefreshResult], None] | None = None,
    first: First | None = None,
    refresh: Callable[..., RefreshResult] = refresh_view,
) -> list[Outcome]:
    """Refreshes every view, or those that are named, to the versions that the base tables have now, or to a goal.
    ``resting`` views are not tried: those that read them are skipped, as if they had failed. With a ``pace``, each goes
    there in steps; ``progress`` is called after each of them. Unless a refresh is ``full``, it follows what ``first``
    does. ``refresh`` is how one view goes there at once."""
    views: dict[str, View] = {}
    outcomes: dict[str, Outcome] = {}
    for name in dict.fromkeys(catalog.names() if names is None else names):
        if name not in resting:
            try:
                views[name] = (catalog.known(name) if full and catalog.has(name) else None) or catalog.get(name)
            except Exception as error:
                outcomes[name] = _failed(name, error)
    stepping = None if pace is None else functools.partial(refresh_in_steps, catalog, pace=pace, progress=progress)
    plain, before = functools.partial(refresh, catalog), None if full else first
    done = _refresh(catalog, views, {*outcomes, *resting}, goal, plain, stepping, before, full=full)
    return [*outcomes.values(), *done]


def levels(views: Mapping[str, View]) -> list[list[str]]:
    """The views in the order of their dependencies; those of one level do not read each other."""
    done: set[str] = set()
    found: list[list[str]] = []
    while len(done) < len(views):
        left = [name for name in views if name not in done]
        ready = [name for name in left if all(t in done or t not in views for t in views[name].tables)]
        found.append(sorted(ready or left))  # views that read each other, which none should, come last
        done |= set(found[-1])
    return found


def _refresh(
    catalog: Catalog,
    views: Mapping[str, View],
    lost: set[str],
    goal: Goal,
    plain: Callable[..., RefreshResult],
    stepping: Callable[..., RefreshResult] | None,
    first: First | None,
    *,
    full: bool,
) -> list[Outcome]:
    """The base tables' versions are fixed before the first view is refreshed: whatever is written meanwhile, all views
    come to show the same state of them. Views over a ``lost`` one are skipped. ``stepping`` refreshes a view in steps;
    without it, ``plain`` refreshes it at once, and reads changes that others have read."""
    vector = dict(goal.vector)
    for table in sorted({table for view in views.values() for table in view.tables} - views.keys() - lost):
        try:
            if not goal.exact and table not in vector:
                vector[table] = catalog.identity(table)
        except Exception:  # the views over it find the same, each for itself
            continue
    freshness = Freshness(catalog, vector)
    with ChangeSets(catalog.engine, catalog.limits, functools.partial(used_by, catalog, list(views))) as changes:
        one = stepping or functools.partial(plain, full=full, changes=changes, freshness=freshness)
        if first is not None:
            one = functools.partial(_after, first, one)
        return _by_levels(catalog, views, lost, vector, freshness, one, exact=goal.exact, full=full)


def _after(first: First, refresh: Callable[..., RefreshResult], name: str, goal: Goal) -> RefreshResult:
    """The refresh of a view after what is done first."""
    done = first(name, goal)
    rest = refresh(name, goal=goal)
    return rest if done is None else in_all([done, rest])


def _by_levels(
    catalog: Catalog,
    views: Mapping[str, View],
    lost: set[str],
    vector: dict[str, Identity],
    freshness: Freshness,
    refresh: Callable[..., RefreshResult],
    *,
    exact: bool,
    full: bool,
) -> list[Outcome]:
    """Refreshes the views level by level; each view's new version is added to the vector that the next ones go to."""
    culprits = {name: {name} for name in lost}  # for a view that is not refreshed: the views that failed
    outcomes: list[Outcome] = []

    def one(name: str) -> tuple[Outcome, Identity | None]:
        try:
            result = refresh(name, goal=Goal(vector, exact))
            fixed = {table: identity.version for table, identity in vector.items() if not catalog.has(table)}
            apart = {t: fixed[t] for t, version in result.to_vector.items() if fixed.get(t, version) != version}
            return Outcome(name, result, apart=apart), catalog.identity(name)
        except Exception as error:
            return _failed(name, error), None

    for level in levels(views):
        skipped: dict[str, Outcome] = {}
        for name in level:
            if because := {each for table in views[name].tables for each in culprits.get(table, ())}:
                culprits[name] = because
                skipped[name] = Outcome(name, because=", ".join(sorted(because)))
        done = _each(catalog, {name: views[name] for name in level if name not in skipped}, one, freshness, full)
        for name, (_, identity) in done.items():
            if identity is None:
                culprits[name] = {name}
            else:
                vector[name] = identity
        outcomes += [skipped[name] if name in skipped else done[name][0] for name in level]
    return outcomes


def _failed(name: str, error: Exception) -> Outcome:
    return Outcome(name, error=named_error(f"{name} could not be refreshed", error))


def _each(
    catalog: Catalog, views: Mapping[str, View], one: Callable[[str], T], freshness: Freshness, full: bool
) -> dict[str, T]:
    """What ``one`` gives for each view of a level; those that the engine has to work for run side by side."""
    moved = [name for name, view in views.items() if full or _has_moved(catalog, view, freshness)]
    if len(moved) < 2 or not catalog.engine.parallel or not _settings_agree(catalog, [views[name] for name in moved]):
        return {name: one(name) for name in views}
    with ThreadPoolExecutor(max_workers=catalog.limits.views_at_a_time) as pool:
        running = {name: pool.submit(one, name) for name in moved}
        try:
            return {name: running[name].result() if name in running else one(name) for name in views}
        except BaseException:  # Ctrl-C: what has not begun does not begin any more
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _settings_agree(catalog: Catalog, views: Iterable[View]) -> bool:
    """Whether no view has to change the session's settings, which those beside it would see."""
    try:
        return all(catalog.engine.has_settings(view.settings) for view in views)
    except RollviewError:  # there is no session, and each view's refresh will say why
        return False


def _has_moved(catalog: Catalog, view: View, freshness: Freshness) -> bool:
    """Whether the engine is needed to refresh a view."""
    if view.always_full == TIME_DEPENDENT:
        return True
    try:
        vector = catalog.reflected(view).vector
        moved = freshness.behind(view, vector) or freshness.unversioned(view, vector)
        return bool(moved) or catalog.store.damage(catalog.state(view.name)) is not None
    except (RollviewError, KeyError):  # its refresh reports the error
        return True
