"""Which columns of a table a view is computed from. Changes of the others change nothing."""

from __future__ import annotations

from collections.abc import Iterable

from rollview.errors import RollviewError
from rollview.plan.nodes import Scan
from rollview.views.catalog import Catalog
from rollview.views.definition import View


def scanned(catalog: Catalog, view: View) -> set[str]:
    """The tables and helpers that a view's plan scans. A helper may scan others."""
    state = catalog.compiled(view).state
    return set() if state is None else {node.table for node in state.followed.plan.walk() if isinstance(node, Scan)}


def used_columns(catalog: Catalog, view: View, table: str) -> list[str]:
    """The columns of a table that a view's state is computed from, at least one; none if it has no state."""
    state, order = catalog.compiled(view).state, [name for name, _ in view.bases[table].columns]
    if state is None:
        return []
    scans = [node for node in state.followed.plan.walk() if isinstance(node, Scan) and node.table == table]
    names = {source for scan in scans for source in scan.sources}
    return [name for name in order if name in names] or order[:1]


def used_by(catalog: Catalog, names: Iterable[str], table: str) -> set[str]:
    """The columns of a table that views and their helpers use, so that its changes are read once for all of them."""
    found: set[str] = set()
    waiting = list(names)
    while waiting:
        try:
            view = catalog.get(waiting.pop())
        except RollviewError:  # its outcome will say so
            continue
        waiting += [helper.name for helper in view.helpers]
        if table in view.bases:
            found.update(used_columns(catalog, view, table))
    return found
