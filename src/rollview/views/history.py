"""Whether a table still has the commit that a view shows."""

from __future__ import annotations

from rollview.store import progress
from rollview.store.protocol import Identity
from rollview.views.catalog import Catalog


def is_later(one: Identity, other: Identity) -> bool:
    """Whether one version of a table comes after another."""
    if one.table_id != other.table_id or one.version is None or other.version is None:
        return False
    return one.version > other.version


def went_back(catalog: Catalog, table: str, shown: Identity, newest: Identity) -> bool:
    """Whether the commit that a view shows of a table is no longer part of the history of its newest version."""
    stored = table if shown.version == newest.version else catalog.stored(table)  # read only for an older version
    return progress.went_back(catalog.store, stored, shown, newest)
