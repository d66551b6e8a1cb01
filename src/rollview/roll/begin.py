"""Where the timed delta of a view begins: at the position at which the view stands, with the epoch of its state.

A new epoch begins if the view was recomputed or replaced since, or if one of its tables is another one by now. Then
nothing of the old delta is applied any more. A view that stands at no position is refreshed to the newest one first.
"""

from __future__ import annotations

from dataclasses import dataclass

from rollview.errors import Conflict
from rollview.refresh.refresh import refresh_view
from rollview.roll.extent import Extent
from rollview.roll.rolling import Rolling, rolling
from rollview.views.catalog import Catalog
from rollview.views.goal import Goal
from rollview.views.history import went_back


@dataclass(frozen=True)
class Begun:
    """A view whose delta has begun. ``refreshed`` says that the view was refreshed for that."""

    rolled: Rolling
    extent: Extent
    refreshed: bool = False


def begun(catalog: Catalog, name: str, newest: int) -> Begun:
    """The delta as it is, or as it begins now. ``newest`` is the newest position."""
    refreshed = False
    for _ in range(catalog.limits.refresh_attempts):
        rolled = rolling(catalog, name)
        stored, before = rolled.delta.stored(), rolled.reflected()
        if stored is not None and stored.extent.epoch == before.epoch and same_tables(rolled, stored.extent.mark):
            return Begun(rolled, stored.extent, refreshed)
        position = rolled.standing()
        if position is None or not same_tables(rolled, position):
            at = catalog.clock.vector(newest)
            refresh_view(catalog, name, goal=Goal({table: at[table] for table in rolled.view.tables}, exact=True))
            refreshed = True
            continue
        sequence = 1 if stored is None else stored.extent.sequence + 1
        extent = Extent(before.epoch, position, dict.fromkeys(rolled.tables, position), sequence=sequence)
        if rolled.delta.begin(rolled.state, extent):
            return Begun(rolled, extent, refreshed)
    raise overtaken(name)


def same_tables(rolled: Rolling, position: int) -> bool:
    """Whether the tables are still those that they were at a position, and have not gone back before it since."""
    catalog = rolled.catalog
    at = catalog.clock.vector(position)
    for table in rolled.tables:
        now = catalog.identity(table)
        if table not in at or at[table].table_id != now.table_id or went_back(catalog, table, at[table], now):
            return False
    return True


def overtaken(name: str) -> Conflict:
    return Conflict(f"{name} was propagated, refreshed or replaced by other sessions all the time", todo="try again")
