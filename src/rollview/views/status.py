"""How fresh views are."""

from __future__ import annotations

from rollview.errors import Damaged
from rollview.parse.durations import length_of
from rollview.views.catalog import Catalog
from rollview.views.definition import View
from rollview.views.freshness import Freshness
from rollview.views.results import ViewStatus


def status_of(catalog: Catalog, name: str, freshness: Freshness) -> ViewStatus:
    """How fresh a view is, or what is known of it if it is damaged."""
    try:
        return status(catalog, catalog.get(name), freshness)
    except Damaged as error:
        view = catalog.known(name)
        policy, comment = (None, None) if view is None else (view.policy.value, view.comment)
        return ViewStatus(name, policy, {}, {}, None, None, comment, damage=error.why)


def status(catalog: Catalog, view: View, freshness: Freshness | None = None) -> ViewStatus:
    """How fresh a view is. ``freshness`` is what is known already of the views upstream. Raises Damaged if the view's
    vector cannot be read."""
    freshness = freshness or Freshness(catalog)
    reflected = catalog.reflected(view)
    stale = freshness.stale(view)
    return ViewStatus(
        view.name,
        view.policy.value,
        view.shown(reflected.vector),
        freshness.behind(view, reflected.vector),
        reflected.time,
        reflected.strategy,
        view.comment,
        stale,
        freshness.unversioned(view, reflected.vector),
        freshness.damage(view),
        freshness.stuck(stale),
        freshness.went_back(view, reflected.vector),
        None if view.keep_changes is None else length_of(view.keep_changes),
    )
