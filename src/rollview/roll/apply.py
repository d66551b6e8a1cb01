"""Apply: what has been propagated is merged into the stored view, up to a position, or back. No base table is read.

    rows of the delta after the position where the view stands, up to the one asked for → their sum → one commit

Going back, it is the rows after the position asked for, up to where the view stands, with the opposite sign.
"""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass

from rollview.delta.passes import PASSES
from rollview.engine.protocol import Kept
from rollview.errors import UserError
from rollview.parse.durations import length_of
from rollview.parse.names import quote
from rollview.refresh.execute import Execution
from rollview.roll.begin import overtaken
from rollview.roll.extent import Extent
from rollview.roll.prune import kept_seconds, tend
from rollview.roll.reachable import Reachable
from rollview.roll.rolling import Rolling, rolling
from rollview.roll.rows import DELTA_ROWS, between, change_of, delta_scan
from rollview.roll.stored import Stored
from rollview.store.protocol import Commit, Identity
from rollview.strategy.no_op import NO_OP
from rollview.strategy.plan import Advance, RefreshPlan, incremental
from rollview.views.catalog import Catalog, Reflected
from rollview.views.goal import Goal
from rollview.views.past import Past
from rollview.views.results import APPLY, Ran, RefreshResult, counted, since
from rollview.views.upstream import base_tables
from rollview.views.write import is_ours, stamped

logger = logging.getLogger("rollview")


def apply(catalog: Catalog, name: str, position: int | None = None) -> RefreshResult:
    """Brings a view to a position that its delta reaches; without one, to the mark."""
    begin = time.monotonic()
    for _ in range(catalog.limits.refresh_attempts):
        rolled = rolling(catalog, name)
        with catalog.engine.settings(rolled.view.settings), catalog.engine.measured() as work:
            way = _way(rolled, position)
            done = _gone(rolled, way)
        if done is not None:
            tend(catalog, name)
            written = 0 if done.commit is None else done.commit.rows or 0
            strategy = NO_OP if done.commit is None else APPLY
            where = f"from position {way.shown} to {way.goal}"
            logger.info("%s: %s %s, %s", rolled.view.title, strategy, where, counted(done.rows, "changed row"))
            return RefreshResult(
                name,
                strategy,
                None,
                rolled.view.shown(way.before.vector),
                rolled.view.shown(way.vector),
                rows_changed=done.rows,
                rows_read=work.rows_read,
                rows_written=written,
                jobs=work.jobs,
                bytes_written=work.bytes_written,
                seconds=since(begin),
                ran=done.ran,
                position=way.goal,
            )
    raise overtaken(name)


@dataclass(frozen=True)
class _Way:
    """From a position to another one. ``goal`` is the position that was asked for; the view's tables stand there as
    they do at ``upto``."""

    before: Reflected
    stored: Stored
    shown: int
    upto: int
    goal: int
    vector: dict[str, Identity]


@dataclass(frozen=True)
class _Gone:
    """The rows of the delta that were applied, and the commit; None if the view stood there already."""

    rows: int
    commit: Commit | None
    ran: tuple[Ran, ...] = ()


def _way(rolled: Rolling, position: int | None) -> _Way:
    """Raises UserError for a position that the delta does not reach."""
    before = rolled.reflected()
    stored = applicable(rolled)
    extent, reach = stored.extent, Reachable(rolled, stored)
    goal = extent.mark if position is None else position
    upto = reach.within(goal)
    if upto is None:
        raise _not_reached(rolled, extent, goal)
    vector = _vector(rolled, upto)
    shown = upto if vector == before.vector else reach.position(before.vector)
    if shown is None:
        stands = rolled.standing()
        where = "stands at no position" if stands is None else f"stands at position {stands}"
        raise UserError(
            f"{rolled.view.title} cannot be applied from where it stands",
            why=f"it {where}, and its changes are known from position {extent.begin} to {extent.mark}",
            todo=f"rv.propagate({rolled.view.title!r}) first, or rv.refresh({rolled.view.title!r}, as_of={goal})",
        )
    return _Way(before, stored, shown, upto, goal, vector)


def _vector(rolled: Rolling, goal: int) -> dict[str, Identity]:
    """The versions that a view shows at a position. A view on a view needs one that is stored: if the view below stands
    before the position, it is brought there."""
    catalog, view, at = rolled.catalog, rolled.view, rolled.catalog.clock.vector(goal)
    there = Goal({table: at[table] for table in base_tables(catalog, [view.name])}, exact=True)
    for table in rolled.below:
        if Past(catalog, table).showing(there.vector) is None:
            shown = rolling(catalog, table).standing()
            if shown is None or shown > goal:
                raise UserError(
                    f"{view.title} cannot be applied up to position {goal}",
                    why=f"no stored version of {table}, which it reads, shows that position",
                    todo=f"rv.apply({table!r}, as_of={goal}) first",
                )
            apply(catalog, table, goal)
    return there.versions(catalog, view)


def applicable(rolled: Rolling) -> Stored:
    """The delta of a view. Raises UserError if there is none for the rows that are stored."""
    stored = rolled.delta.current()
    if stored is None:
        title = rolled.view.title
        why = "it has no timed delta yet"
        if rolled.delta.stored() is not None:
            why = "it was recomputed or replaced since, or a view that it reads was"
        raise UserError(f"Nothing has been propagated for {title}", why=why, todo=f"rv.propagate({title!r})")
    return stored


def _not_reached(rolled: Rolling, extent: Extent, position: int) -> UserError:
    view, why = rolled.view, f"they are known from position {extent.begin} to {extent.mark}"
    if position > extent.mark:
        todo = f"rv.propagate({view.title!r}) goes on"
    else:
        refresh = f"REFRESH MATERIALIZED VIEW {quote(view.title)} AS OF POSITION {position}"
        todo = f"{refresh}, if its tables still have that"
        if extent.pruned:
            why += f"; older ones are kept for {length_of(kept_seconds(rolled.catalog, view))}"
    return UserError(f"The changes of {view.title} are not known up to position {position}", why=why, todo=todo)


def _gone(rolled: Rolling, way: _Way) -> _Gone | None:
    """Goes there; None if another session's commit came first."""
    if way.vector == way.before.vector:
        return _Gone(0, None)
    catalog, view, state = rolled.catalog, rolled.view, rolled.state
    low, high = sorted((way.shown, way.upto))
    rows = between(delta_scan(state), low, high)
    labels = [column.label for column in rows.columns]
    frame = catalog.engine.select(rows, {DELTA_ROWS: rolled.delta.read(way.stored.version)}, labels)
    kept: Kept = catalog.engine.keep(frame)
    plan = RefreshPlan(APPLY, (Advance(),))
    if kept.rows:
        change = change_of(state, delta_scan(state), back=way.upto < way.shown)
        plan = incremental(APPLY, change, state.take(change), PASSES)
    stamp = stamped(view, way.vector, way.before.sequence + 1, APPLY, way.before.epoch)
    execution = Execution(catalog, view, {DELTA_ROWS: kept}, {}, {})
    try:
        with catalog.engine.errors(view.query.text):
            commit = execution.run(plan, stamp)
    finally:
        execution.forget()
        catalog.engine.forget([kept])
    what = f"what was propagated, from position {way.shown} to {way.upto}"
    ran = Ran("delta", what, kept.rows, (), (DELTA_ROWS,))
    return _Gone(kept.rows, commit, (ran, *execution.ran)) if is_ours(commit, stamp) else None
