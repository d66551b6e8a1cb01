"""Refreshing one view.

    target    which versions of its tables the view is to show                              refresh/target
    changes   the changed rows of these tables are read: one net change for each table      views/changes
    choose    the first strategy that applies makes a plan, from the delta of the query:    strategy/, delta/
              ``strategy/propagate`` derives that by the rules of ``delta/rules``
    execute   the plan's steps are computed from the net changes; the rows that it writes   refresh/execute
              and the new vector (table → version that the view shows) are one commit

If the view cannot be refreshed so, or if recomputing is cheaper, the whole query is run: ``refresh/recompute``. That is
decided before any change is read (``why_full``), by the number of changed rows, or by the rows of the delta
(``_RecomputingIsCheaper``).
"""

from __future__ import annotations

import functools
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from rollview.delta.derivation import CHANGE
from rollview.engine.work import Work
from rollview.errors import Conflict, Damaged, InternalError, NotIncremental, TooLargeToSend, VersionGone
from rollview.parse.names import quote
from rollview.refresh.execute import Execution, TooManyRows
from rollview.refresh.reasons import varies, why_full
from rollview.refresh.recompute import recomputed
from rollview.refresh.repair import repaired
from rollview.refresh.target import Target, target_of
from rollview.refresh.used import scanned, used_by, used_columns
from rollview.store.protocol import Identity
from rollview.strategy.choose import most_rows
from rollview.strategy.full import FULL
from rollview.strategy.no_op import NO_OP
from rollview.strategy.plan import RefreshPlan, Refusal
from rollview.strategy.propagate import Change
from rollview.strategy.strategy import Situation
from rollview.views.catalog import Catalog
from rollview.views.changes import ChangeSets, Net, unreadable_feed
from rollview.views.compiled import BUG, Failed, guarded, report
from rollview.views.definition import View
from rollview.views.freshness import Freshness
from rollview.views.goal import NEWEST, Goal
from rollview.views.relation import check_columns, relation, size
from rollview.views.results import Ran, RefreshResult, since, total
from rollview.views.write import is_ours, stamped

logger = logging.getLogger("rollview")

TOO_MUCH = "too_much_changed"


def refresh_view(
    catalog: Catalog,
    name: str,
    *,
    full: bool = False,
    goal: Goal = NEWEST,
    changes: ChangeSets | None = None,
    freshness: Freshness | None = None,
) -> RefreshResult:
    """Brings a view to its goal: the newest versions of its base tables, or those of a moment. ``changes`` and
    ``freshness`` are shared by the refreshes of several views. Raises Damaged if the view's definition or vector cannot
    be read, unless it is refreshed in ``full``: then it is stored again."""
    begin = time.monotonic()
    freshness = freshness or Freshness(catalog, goal.vector)
    if full and catalog.has(name) and (damage := catalog.damage(name)) is not None:
        return repaired(catalog, name, damage, goal)
    if changes is None:
        with ChangeSets(catalog.engine, catalog.limits, functools.partial(used_by, catalog, [name])) as own:
            return refresh_view(catalog, name, full=full, goal=goal, changes=own, freshness=freshness)
    refresh_helper = functools.partial(_refresh_helper, catalog, full, changes, freshness, goal.follow)
    for _ in range(catalog.limits.refresh_attempts):
        target = target_of(catalog, name, goal, refresh_helper)
        if target is None:
            continue
        if target.is_reached and not full and not varies(target.view, target.vector):
            return _result(target, _Done(NO_OP), Work(), freshness, begin)
        with catalog.engine.settings(target.view.settings), catalog.engine.measured() as work:
            done = _attempt(catalog, target, full, changes, goal.follow)
        if done is not None:
            return _result(target, done, work, freshness, begin)
    raise Conflict(
        f"{catalog.get(name).title} was refreshed or replaced by other sessions during each of "
        f"{catalog.limits.refresh_attempts} attempts",
        todo="try again",
    )


def _refresh_helper(
    catalog: Catalog,
    full: bool,
    changes: ChangeSets,
    freshness: Freshness,
    follow: bool | None,
    name: str,
    vector: Mapping[str, Identity],
) -> RefreshResult:
    goal = Goal(vector, exact=True, follow=follow)  # a helper is where its view is
    return refresh_view(catalog, name, full=full, goal=goal, changes=changes, freshness=freshness)


@dataclass(frozen=True)
class _Done:
    """What an attempt did."""

    strategy: str
    reason: str | None = None
    changed: Mapping[str, int] = field(default_factory=dict)  # rows, by table
    written: int = 0
    ran: tuple[Ran, ...] = ()


def _attempt(catalog: Catalog, target: Target, full: bool, changes: ChangeSets, follow: bool | None) -> _Done | None:
    """One attempt; None if another session's commit came first."""
    view = target.view
    reason = why_full(catalog, view, target.before, target.vector, full, target.went_back)
    reason = reason or ("damaged" if target.lost else None) or (TOO_MUCH if follow is False else None)
    if reason is None:
        incremental = functools.partial(_incremental, catalog, target, changes, decided=follow is not None)
        try:
            try:
                return incremental()
            except TooLargeToSend:  # the engine could not broadcast the result of a join
                return incremental(broadcasts_results=False)
        except (VersionGone, Damaged):  # if the newest version of a table is damaged, recomputing says so
            reason = "history_gone"
        except Failed as error:  # the delta of this change cannot be derived
            report(view.title, error.trace, "now")
            reason = BUG
        except _RecomputingIsCheaper as error:
            reason = error.reason
        except InternalError as error:
            raise InternalError(
                f"{view.title} could not be refreshed incrementally; it is as it was",
                why=error.why or str(error),
                todo=f"REFRESH MATERIALIZED VIEW {quote(view.title)} FULL recomputes it; please report the query",
            ) from error
    plan = catalog.compiled(view).chooser.choose(_situation(catalog, target, Change(frozenset()), reason))
    if isinstance(plan, Refusal):  # the policy does not allow to recompute
        raise NotIncremental(
            f"{view.title} cannot be refreshed incrementally now",
            why=plan.why,
            todo=f"REFRESH MATERIALIZED VIEW {quote(view.title)} FULL recomputes it",
        )
    logger.info("%s: %s, because %s", view.title, plan.strategy, reason)
    commit = recomputed(catalog, target, reason)
    return None if commit is None else _Done(FULL, reason, written=commit.rows or 0)


class _RecomputingIsCheaper(Exception):
    """Recomputing is cheaper than what the changes ask for. ``reason`` says why."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def _incremental(
    catalog: Catalog, target: Target, changes: ChangeSets, *, decided: bool, broadcasts_results: bool = True
) -> _Done | None:
    """Carries the changes of the base tables into the view; None if another session's commit came first. ``decided``
    says that AUTO is not to compare with recomputing any more."""
    view, compiled = target.view, catalog.compiled(target.view)
    with catalog.engine.errors(view.query.text):  # Spark Connect reads the changes only here
        nets = _net_changes(catalog, target, changes)
    growing = frozenset(table for table, net in nets.items() if net.only_inserts)
    change = Change(frozenset(nets), growing, sum(net.count for net in nets.values()))
    plan = guarded(lambda: compiled.chooser.choose(_situation(catalog, target, change)))
    assert isinstance(plan, RefreshPlan)  # some strategy applies to every view that need not be recomputed
    row_limit = None if decided else most_rows_of(catalog, view, target.vector, plan)
    if row_limit is not None and change.rows > catalog.limits.always_followed and change.rows > row_limit():
        raise _RecomputingIsCheaper(TOO_MUCH)
    logger.info("%s: %s of %d changed rows", view.title, plan.strategy, change.rows)
    before = target.before
    stamp = stamped(view, target.vector, before.sequence + 1, plan.strategy, before.epoch)
    versions = {table: identity.version for table, identity in target.vector.items()}
    execution = Execution(
        catalog,
        view,
        {f"{table} {CHANGE}": net.rows for table, net in nets.items()},
        target.before.versions(),
        versions,
        broadcasts_results=broadcasts_results,
        row_limit=row_limit,
    )
    try:
        with catalog.engine.errors(view.query.text):
            commit = execution.run(plan, stamp)
    except TooManyRows:
        raise _RecomputingIsCheaper("too_many_rows_differ") from None
    finally:
        execution.forget()
    ran = tuple(execution.ran)
    done = _Done(plan.strategy, None, {table: net.count for table, net in nets.items()}, commit.rows or 0, ran)
    return done if is_ours(commit, stamp) else None


def most_rows_of(
    catalog: Catalog, view: View, vector: Mapping[str, Identity], plan: RefreshPlan
) -> Callable[[], int] | None:
    """Tells the most changed rows for which a plan costs less than recomputing the view at a vector; None if its policy
    is not to compare."""
    all_rows = functools.cache(lambda: size(catalog, vector) + catalog.store.count(catalog.state(view.name)))
    return most_rows(plan, view.policy, catalog.limits, all_rows)


def _situation(catalog: Catalog, target: Target, change: Change, reason: str | None = None) -> Situation:
    view = target.view
    state = None if reason is not None else catalog.compiled(view).state
    return Situation(state, change, view.policy, reason, tuple(view.tables), view.moved)


def _net_changes(catalog: Catalog, target: Target, changes: ChangeSets) -> dict[str, Net]:
    """The net changes of the tables that changed in the columns that the view uses."""
    view, found = target.view, {}
    read = scanned(catalog, view)
    for table, base in view.bases.items():
        if table not in read:  # a helper that stores what a rule looks up: its changes are not propagated
            continue
        since_version, upto = target.before.vector[table].version, target.vector[table].version
        if since_version is not None and upto is not None and since_version != upto:
            now, used = relation(catalog, table), used_columns(catalog, view, table)
            check_columns(now, base, used, upto)
            with unreadable_feed(table):
                net = changes.of(now, since_version, upto, used).net(used)
            if net.count:
                found[table] = net
    return found


def _result(target: Target, done: _Done, work: Work, freshness: Freshness, begin: float) -> RefreshResult:
    """What the refresh of a view and of its helpers did."""
    view, helped = target.view, target.helped
    strategy, reason = _strategy_of_all(done, helped)
    stale = freshness.stale(view)
    changed = {table: rows for table, rows in done.changed.items() if table in view.tables}
    for result in helped:
        changed |= {table: max(rows, changed.get(table, 0)) for table, rows in result.changed.items()}
    return RefreshResult(
        view.name,
        strategy,
        reason,
        view.shown(target.before.vector),
        view.shown(target.vector),
        rows_changed=sum(changed.values()),
        changed=changed,
        rows_read=total(work.rows_read, *(result.rows_read for result in helped)),
        rows_written=done.written + sum(result.rows_written for result in helped),
        jobs=total(work.jobs, *(result.jobs for result in helped)),
        bytes_written=total(work.bytes_written, *(result.bytes_written for result in helped)),
        seconds=since(begin),
        stale=stale,
        part=_part(target, done, reason),
        stuck=freshness.stuck(stale),
        ran=(*(ran for result in helped for ran in result.ran), *done.ran),
    )


def _part(target: Target, done: _Done, reason: str | None) -> str:
    """What the explanation of a result is about: a part of the query, or a helper."""
    because = target.view.because
    if because and reason in ("not_compiled", BUG):
        return because.strip().splitlines()[-1]  # of a traceback, what happened
    if done.strategy == NO_OP and any(result.strategy not in (NO_OP, FULL) for result in target.helped):
        return "of a helper; the view's own rows are as they were"
    return ""


def _strategy_of_all(done: _Done, helped: Sequence[RefreshResult]) -> tuple[str, str | None]:
    """How a view was refreshed with its helpers: recomputed if one of them was; nothing was done if all agree."""
    each = [(done.strategy, done.reason), *((result.strategy, result.reason) for result in helped)]
    whole = [(strategy, reason) for strategy, reason in each if strategy == FULL]
    some = [(strategy, reason) for strategy, reason in each if strategy != NO_OP]
    return next(iter(whole or some or each))
