"""Where a refresh goes: the view as it is, what it shows, and the vector that it is to show."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from rollview.store.protocol import Identity
from rollview.views.catalog import Catalog, Reflected
from rollview.views.definition import View
from rollview.views.goal import Goal
from rollview.views.helpers import without_lost
from rollview.views.history import is_later, went_back
from rollview.views.results import RefreshResult


@dataclass(frozen=True)
class Target:
    """``before`` is what the view shows, ``vector`` what it is to show, with its helpers; ``helped`` are the refreshes
    that brought these there. ``lost`` says that stored rows of the view are missing, ``went_back`` that a table no
    longer has the commit that the view shows."""

    view: View
    before: Reflected
    vector: Mapping[str, Identity]
    helped: tuple[RefreshResult, ...]
    lost: bool
    went_back: bool = False

    @property
    def is_reached(self) -> bool:
        return self.before.vector == self.vector and not self.lost and not self.went_back


def target_of(
    catalog: Catalog,
    name: str,
    goal: Goal,
    refresh_helper: Callable[[str, Mapping[str, Identity]], RefreshResult],
) -> Target | None:
    """The target of a refresh that starts now. The helpers are brought there first, forward or back; None if another
    session has moved one of them again. Without an exact goal, a version that is older than the one shown gives way to
    it, if the table still has that."""
    view = without_lost(catalog, catalog.get(name))
    before = catalog.reflected(view)
    vector = goal.versions(catalog, view)
    back = False
    for table in vector.keys() & before.vector.keys():
        shown = before.vector[table]
        passed = is_later(shown, vector[table]) and (goal.exact or table in goal.vector)
        now = catalog.identity(table) if passed else vector[table]
        if went_back(catalog, table, shown, now):
            back = True
            vector[table] = vector[table] if goal.exact else now
        elif passed and not goal.exact:
            vector[table] = shown
    helped = tuple(refresh_helper(helper.name, vector) for helper in view.helpers)
    for helper in view.helpers:  # some of them read others
        reached = catalog.identity(helper.name)
        shows = catalog.reflected(catalog.get(helper.name)).vector
        if any(shows[table] != vector[table] for table in helper.tables) or catalog.identity(helper.name) != reached:
            return None
        vector[helper.name] = reached
    lost = catalog.store.damage(catalog.state(name)) is not None
    return Target(view, before, vector, helped, lost, back)
