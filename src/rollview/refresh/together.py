"""Refreshing several views: upstream before downstream, siblings side by side, all to one vector of the base tables."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor

from rollview.refresh.results import RefreshResult
from rollview.refresh.running import refresh_view
from rollview.refresh.views import Catalog, View
from rollview.store.protocol import Identity

#: So many views are refreshed at a time.
_AT_A_TIME = 4


def refresh_upstream(catalog: Catalog, name: str, *, full: bool = False) -> list[RefreshResult]:
    """Refreshes the views that a view reads, directly or through others, and then the view itself."""
    views = {view.name: view for view in catalog.all()}
    catalog.get(name)
    wanted, waiting = {name}, [name]
    while waiting:
        for table in views[waiting.pop()].tables:
            if table in views and table not in wanted:
                wanted.add(table)
                waiting.append(table)
    return _refresh(catalog, {each: views[each] for each in wanted}, full=full)


def refresh_all(catalog: Catalog, *, full: bool = False) -> list[RefreshResult]:
    """Refreshes every view, to the versions that the base tables have now."""
    return _refresh(catalog, {view.name: view for view in catalog.all()}, full=full)


def levels(views: Mapping[str, View]) -> list[list[str]]:
    """The views in the order of their dependencies; those of one level do not read each other."""
    done: set[str] = set()
    found: list[list[str]] = []
    while len(done) < len(views):
        ready = [
            name
            for name, view in views.items()
            if name not in done and all(table in done or table not in views for table in view.tables)
        ]
        found.append(sorted(ready))
        done |= set(ready)
    return found


def _refresh(catalog: Catalog, views: Mapping[str, View], *, full: bool) -> list[RefreshResult]:
    """The base tables' versions are fixed before the first view is refreshed: whatever is written meanwhile, all views
    come to show the same state of them."""
    tables = {table for view in views.values() for table in view.tables if table not in views}
    vector: dict[str, Identity] = {table: catalog.identity(table) for table in sorted(tables)}
    same = all(catalog.engine.has_settings(view.settings) for view in views.values())
    results: dict[str, RefreshResult] = {}

    def one(name: str) -> RefreshResult:
        return refresh_view(catalog, name, full=full, fixed=vector)

    for level in levels(views):
        if len(level) > 1 and same and catalog.engine.parallel:
            with ThreadPoolExecutor(max_workers=_AT_A_TIME) as pool:
                results |= dict(zip(level, pool.map(one, level), strict=True))
        else:
            results |= {name: one(name) for name in level}
        vector |= {name: catalog.identity(name) for name in level}
    return list(results.values())
