"""DROP MATERIALIZED VIEW."""

from __future__ import annotations

from rollview.errors import InUse
from rollview.parse.names import quote
from rollview.views.catalog import Catalog
from rollview.views.helpers import drop_helpers, helpers_of


def drop_view(catalog: Catalog, name: str) -> None:
    """Drops a view that no other view reads, damaged or not."""
    view = catalog.known(name) if catalog.has(name) else catalog.get(name)
    if readers := catalog.readers(name):
        raise InUse(
            f"{name} cannot be dropped",
            why=f"{', '.join(readers)} read it",
            todo="drop these first: " + "; ".join(f"DROP MATERIALIZED VIEW {quote(r)}" for r in readers),
        )
    helpers = helpers_of(catalog, name) if view is None else view.helpers
    catalog.store.forget_name(name)
    if catalog.store.exists(catalog.delta(name)):
        catalog.store.drop(catalog.delta(name))
    catalog.store.drop(catalog.state(name))
    drop_helpers(catalog, helpers)
