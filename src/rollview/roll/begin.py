"""Where the timed delta of a view begins: at the position at which the view stands, with the epoch of its state.

A new epoch begins if the view was recomputed or replaced since, if one of its tables is another one by now, or if the
delta of a view that it reads has begun again. Then nothing of the old delta is applied any more. A view that stands at
no position, or where the changes of a view that it reads are not known, is refreshed to the newest one first; so is one
of which the history of a table is gone that would have to be propagated.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from rollview.errors import Conflict
from rollview.refresh.batch import refresh_upstream
from rollview.refresh.refresh import refresh_view
from rollview.roll.extent import Extent
from rollview.roll.rolling import Rolling, rolling
from rollview.views.catalog import Catalog
from rollview.views.goal import Goal
from rollview.views.history import went_back
from rollview.views.upstream import base_tables


@dataclass(frozen=True)
class Begun:
    """A view whose delta has begun. ``refreshed`` says that the view was refreshed for that."""

    rolled: Rolling
    extent: Extent
    refreshed: bool = False


def begun(
    catalog: Catalog, name: str, newest: int, lower: Callable[[Sequence[str]], None], *, anew: bool = False
) -> Begun:
    """The delta as it is, or as it begins now. ``newest`` is the newest position. ``lower`` propagates the views that
    the view reads: it is called if one of them has begun again. With ``anew``, the delta cannot be gone on with: it
    begins where the view stands after a refresh."""
    refreshed = False
    for _ in range(catalog.limits.refresh_attempts):
        rolled = rolling(catalog, name)
        below = _below(rolled)
        if below is None:
            lower(rolled.below)
            continue
        stored, before = rolled.delta.current(), rolled.reflected()
        if stored is not None and not anew and _goes_on(rolled, stored.extent.mark, below):
            return Begun(rolled, stored.extent, refreshed)
        position = rolled.standing()
        if position is None or not _goes_on(rolled, position, below) or (anew and not refreshed):
            _refresh(rolled, newest)
            lower(rolled.below)
            refreshed = True
            continue
        older = rolled.delta.stored()
        extent = Extent(
            before.epoch,
            position,
            dict.fromkeys(rolled.tables, position),
            sequence=1 if older is None else older.extent.sequence + 1,
            birth=uuid.uuid4().hex,
            below={table: each.birth for table, each in below.items()},
        )
        if rolled.delta.begin(rolled.state, extent):
            return Begun(rolled, extent, refreshed)
    raise overtaken(name)


def _below(rolled: Rolling) -> dict[str, Extent] | None:
    """How far the deltas of the views reach that a view reads; None if one of them does not belong to its view."""
    found = {}
    for table in rolled.below:
        stored = rolling(rolled.catalog, table).delta.current()
        if stored is None:
            return None
        found[table] = stored.extent
    return found


def _goes_on(rolled: Rolling, position: int, below: Mapping[str, Extent]) -> bool:
    """Whether the changes after a position are known."""
    return same_tables(rolled, position) and all(extent.begin <= position for extent in below.values())


def _refresh(rolled: Rolling, newest: int) -> None:
    """Brings a view to the newest position, and the views that it reads."""
    catalog, name = rolled.catalog, rolled.view.name
    at, tables = catalog.clock.vector(newest), base_tables(catalog, [name])
    goal = Goal({table: at[table] for table in tables}, exact=True)
    if rolled.below:
        refresh_upstream(catalog, name, goal=goal)
    else:
        refresh_view(catalog, name, goal=goal)


def same_tables(rolled: Rolling, position: int) -> bool:
    """Whether the tables are still those that they were at a position, and have not gone back before it since."""
    catalog = rolled.catalog
    at = catalog.clock.vector(position)
    for table in rolled.bases:
        now = catalog.identity(table)
        if table not in at or at[table].table_id != now.table_id or went_back(catalog, table, at[table], now):
            return False
    return True


def overtaken(name: str) -> Conflict:
    return Conflict(f"{name} was propagated, refreshed or replaced by other sessions all the time", todo="try again")
