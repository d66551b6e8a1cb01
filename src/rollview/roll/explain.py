"""What explain says of propagating a view: whether it can be, how, or which operator is in the way; and what has been
propagated of the next refresh.
"""

from __future__ import annotations

from dataclasses import replace

from rollview.delta.timed import Way
from rollview.errors import RollviewError
from rollview.refresh.explain import explain_view, followed
from rollview.refresh.explanation import Explanation, Next, Propagation
from rollview.roll.following import stop_on_the_way
from rollview.roll.reach import Reaches
from rollview.roll.reachable import Reachable, reachable
from rollview.roll.rolling import rolling, way_of, why_not
from rollview.strategy.no_op import NO_OP
from rollview.views.catalog import Catalog
from rollview.views.goal import NEWEST
from rollview.views.results import APPLY

_HOW = {
    Way.HISTORY: "by history: earlier versions of its tables are read",
    Way.PRESENCE: "by presence: its tables are read as they are now, without later changes",
}


def explained(catalog: Catalog, name: str) -> Explanation:
    """The explanation of a view."""
    found = explain_view(catalog, name)
    try:
        propagation = _propagation(catalog, name)
        there = reachable(catalog, name)
        stop = None if there is None else stop_on_the_way(there, NEWEST)
    except RollviewError:  # it is damaged: the explanation says what is
        return found
    if there is None or stop is None:
        return replace(found, propagation=propagation)
    return replace(found, propagation=propagation, next=_next(there, stop))


def _propagation(catalog: Catalog, name: str) -> Propagation:
    if (why := why_not(catalog, name)) is not None:
        return Propagation(False, why)
    rolled = rolling(catalog, name)
    stored = rolled.delta.current()
    extent = None if stored is None else stored.extent
    reach = Reaches(catalog).propagated(name)
    if reach is None or reach.oldest is None:
        return Propagation(True, _HOW[way_of(rolled, extent)])
    lag = "up to date" if not reach.lag else f"{reach.lag} commit{'' if reach.lag == 1 else 's'} behind"
    return Propagation(True, _HOW[way_of(rolled, extent)], f"from position {reach.oldest} to {reach.mark}, {lag}")


def _next(found: Reachable, stop: int) -> Next:
    """What is applied, and what is followed then."""
    catalog, view = found.rolled.catalog, found.rolled.view
    what = f"what was propagated is applied, up to position {stop}"
    if found.rolled.below:  # which version of them shows the position is known when they are there
        return Next(APPLY, what)
    at = catalog.clock.vector(stop)
    start = {table: at[table] for table in view.tables}
    rest = followed(catalog, view, start, NEWEST.versions(catalog, view))
    if rest.strategy in (NO_OP, None):
        return Next(APPLY, what)
    return replace(rest, why=f"{what}; then {rest.why}")
