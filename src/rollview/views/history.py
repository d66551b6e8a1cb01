"""Whether a table still has the commit that a view shows. A log goes back if its newest entries are lost, or if the
table is restored from a copy; the same versions may then be committed again, with other rows."""

from __future__ import annotations

from rollview.store.protocol import Identity
from rollview.views.catalog import Catalog


def is_later(one: Identity, other: Identity) -> bool:
    """Whether one version of a table comes after another."""
    if one.table_id != other.table_id or one.version is None or other.version is None:
        return False
    return one.version > other.version


def went_back(catalog: Catalog, table: str, shown: Identity, newest: Identity) -> bool:
    """Whether the commit that a view shows of a table is no longer part of the history of its newest version."""
    if shown.table_id != newest.table_id or shown.version is None or newest.version is None:
        return False
    if is_later(shown, newest):
        return True
    same = shown.version == newest.version
    mark = newest.mark if same else catalog.store.commit_mark(catalog.stored(table), shown.version)
    return None not in (mark, shown.mark) and mark != shown.mark
