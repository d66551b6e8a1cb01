"""Which stored version of a view shows a vector of the base tables: read off the metadata of its state's commits."""

from __future__ import annotations

from collections.abc import Mapping

from rollview.store.protocol import Commit, Identity
from rollview.views.catalog import SHAPE, VECTOR, Catalog, shape_of, vector_in


def state_showing(catalog: Catalog, name: str, vector: Mapping[str, Identity]) -> Identity | None:
    """The newest version of a view's state that shows the base tables at a vector; None if the store has none."""
    if _shows(catalog, name, catalog.reflected(catalog.get(name)).vector, vector):
        return catalog.identity(name)
    state = catalog.state(name)
    now, shape = catalog.identity(name), shape_of(catalog.get(name))
    for commit in catalog.store.history(state):
        if _has(commit, shape) and _shows(catalog, name, vector_in(commit), vector):
            return Identity(now.table_id, commit.version, catalog.store.commit_mark(state, commit.version))
    return None


def _shows(catalog: Catalog, name: str, shown: Mapping[str, Identity], vector: Mapping[str, Identity]) -> bool:
    """Whether the vector that a commit of a view carries is the one looked for. Tables of the view that are views
    themselves must have shown it, too."""
    for table in catalog.get(name).tables:
        if table not in shown:
            return False
        if table in vector or not catalog.has(table):
            if shown[table] != vector.get(table):
                return False
        elif not _showed(catalog, table, shown[table], vector):
            return False
    return True


def _showed(catalog: Catalog, name: str, at: Identity, vector: Mapping[str, Identity]) -> bool:
    """Whether a version of a view's state shows the vector."""
    if at.table_id != catalog.identity(name).table_id or at.version is None:
        return False
    shape = shape_of(catalog.get(name))
    for commit in catalog.store.history(catalog.state(name)):
        if commit.version <= at.version and VECTOR in commit.metadata:
            return _has(commit, shape) and _shows(catalog, name, vector_in(commit), vector)
    return False


def _has(commit: Commit, shape: str) -> bool:
    """Whether a commit says which vector its rows show, and has them in the columns of the present definition."""
    return VECTOR in commit.metadata and commit.metadata.get(SHAPE) == shape
