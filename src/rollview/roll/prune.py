"""What is removed of a view's timed delta: changes that are older than KEEP CHANGES says, and that nobody needs.

    the delta        ──────begin═══════bound══════════shown══════════mark───▶
    after pruning                      begin══════════shown══════════mark───▶

Needed are the changes after the position at which the view stands, because they are still to be applied, and those
after the marks of the views that propagate from this delta. Pruning has two phases: a commit removes the rows and moves
``begin``; their files stay on the disk for a time of grace, in which queries that have begun before can end.
"""

from __future__ import annotations

import logging
from datetime import datetime, timedelta, timezone

from rollview.errors import RollviewError
from rollview.roll.extent import Extent, Unswept
from rollview.roll.stored import DeltaTable, Stored
from rollview.views.catalog import Catalog, Reflected
from rollview.views.definition import View
from rollview.views.past import standing

logger = logging.getLogger("rollview")

#: A delta is pruned when it reaches back this much further than it has to: each time is a commit.
_SURPLUS = 0.1


def tend(catalog: Catalog, name: str) -> None:
    """Prunes a view's delta, and removes the files of earlier prunings. It is tried again after the next propagation;
    so an error is only logged."""
    try:
        view = catalog.get(name)
        delta = DeltaTable(catalog, view)
        stored, reflected = delta.current(), catalog.reflected(view)
        if stored is None:
            return
        now = datetime.now(timezone.utc)
        if (bound := _bound(catalog, view, stored.extent, reflected, now)) is not None:
            _prune(delta, stored, bound, now)
        elif stored.extent.unswept is not None:
            _sweep(delta, stored, stored.extent.unswept, now, catalog.limits.grace_seconds)
    except RollviewError as error:
        logger.warning("the timed delta of %s could not be pruned: %s", name, error)


def kept_seconds(catalog: Catalog, view: View) -> int:
    """For how long a view's changes are kept."""
    return catalog.limits.keep_changes_seconds if view.keep_changes is None else view.keep_changes


def _bound(catalog: Catalog, view: View, extent: Extent, reflected: Reflected, now: datetime) -> int | None:
    """The position up to which nothing is needed; None if it is not worth a commit."""
    keep, clock = kept_seconds(catalog, view), catalog.clock
    shown = standing(catalog, view, reflected.vector)
    if shown is None:
        return None
    old = clock.known_at(now - timedelta(seconds=keep))
    bound = min(old, shown, extent.mark, *_marks_above(catalog, view.name))
    if bound <= extent.begin:
        return None
    since = clock.unit(bound).time - clock.unit(extent.begin).time if extent.begin else timedelta.max
    return bound if since >= timedelta(seconds=keep * _SURPLUS) else None


def _marks_above(catalog: Catalog, name: str) -> list[int]:
    """How far the views that read this one have propagated its changes."""
    found = []
    for reader in catalog.readers(name):
        view = catalog.get(reader)
        stored = DeltaTable(catalog, view).stored()
        if stored is not None and stored.extent.epoch == catalog.reflected(view).epoch:
            found.append(stored.extent.mark)
    return found


def _prune(delta: DeltaTable, stored: Stored, bound: int, now: datetime) -> None:
    at = now.timestamp()
    unswept = Unswept(at if stored.extent.unswept is None else stored.extent.unswept.first, at)
    extent = stored.extent.after(begin=bound, pruned=True, unswept=unswept)
    if delta.prune(extent) is not None:
        logger.info("%s: changes up to position %d were removed", delta.name, bound)


def _sweep(delta: DeltaTable, stored: Stored, unswept: Unswept, now: datetime, grace: float) -> None:
    """Removes files, and then the note of them: if it is stopped in between, it is done again."""
    if now.timestamp() - unswept.first < grace:
        return
    delta.tidy(stored)
    left = None if now.timestamp() - unswept.last >= grace else Unswept(unswept.last, unswept.last)
    delta.append(None, stored.extent.after(unswept=left))
