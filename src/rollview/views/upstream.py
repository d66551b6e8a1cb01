"""What views read, directly or through other views."""

from __future__ import annotations

from collections.abc import Iterable

from rollview.errors import RollviewError
from rollview.views.catalog import Catalog


def upstream(catalog: Catalog, names: Iterable[str]) -> list[str]:
    """Some views and all views that they read, directly or through others."""
    wanted = set(names)
    waiting = list(wanted)
    while waiting:
        new = {table for table in _tables(catalog, waiting.pop()) if table not in wanted and catalog.has(table)}
        wanted |= new
        waiting += new
    return sorted(wanted)


def base_tables(catalog: Catalog, names: Iterable[str]) -> set[str]:
    """The tables that some views read, directly or through others."""
    views = upstream(catalog, names)
    return {table for view in views for table in _tables(catalog, view)} - set(views)


def _tables(catalog: Catalog, name: str) -> list[str]:
    """What a view reads; nothing if its definition cannot be read."""
    try:
        return catalog.get(name).tables
    except RollviewError:
        return []
