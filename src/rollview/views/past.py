"""Which stored version of a view shows a vector of the base tables, and at which position of the clock a view stands:
read off the metadata of its state's commits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from rollview.store.protocol import Identity
from rollview.views.catalog import SHAPE, VECTOR, Catalog, shape_of, vector_in
from rollview.views.definition import View


@dataclass(frozen=True)
class _Stored:
    """A version of a view's state, and the vector that it shows. ``fits`` says whether it has the columns of the
    present definition, and is of the same query."""

    version: int
    vector: Mapping[str, Identity]
    fits: bool


def standing(catalog: Catalog, view: View, vector: Mapping[str, Identity]) -> int | None:
    """The first position of the clock at which the base tables stood as a vector of a view has them, through all
    levels; None if they stood so at none."""
    found = base_vector(catalog, view, vector)
    return None if found is None else catalog.clock.of(found)


def base_vector(catalog: Catalog, view: View, vector: Mapping[str, Identity]) -> dict[str, Identity] | None:
    """The versions of the base tables, through all levels; None if views that are read show different ones, or no known
    ones. A vector that says nothing of a view that is read has the versions of the tables below that."""
    found: dict[str, Identity] = {}
    for table in view.tables:
        below = _below(catalog, table, vector)
        if not below or any(not _same_rows(catalog, each, found.get(each, at), at) for each, at in below.items()):
            return None
        found |= below
    return found


def _below(catalog: Catalog, table: str, vector: Mapping[str, Identity]) -> dict[str, Identity] | None:
    at = vector.get(table)
    if not catalog.has(table):
        return None if at is None else {table: at}
    shown = vector if at is None else Past(catalog, table).shown_by(at)
    return None if shown is None else base_vector(catalog, catalog.get(table), shown)


def _same_rows(catalog: Catalog, table: str, one: Identity, other: Identity) -> bool:
    """Whether two versions are the same, or only commits that changed no rows lie between them."""
    if one == other or one.table_id != other.table_id or one.version is None or other.version is None:
        return one == other
    position = catalog.clock.position_of(table, one.version, one.table_id)
    return position is not None and position == catalog.clock.position_of(table, other.version, other.table_id)


class Past:
    """The stored versions of a view. The history is read once, when it is needed first."""

    def __init__(self, catalog: Catalog, name: str) -> None:
        self._catalog, self._name = catalog, name
        self._view = catalog.get(name)
        self._below: dict[str, Past] = {}

    def showing(self, vector: Mapping[str, Identity]) -> Identity | None:
        """The newest version that shows the base tables at a vector; None if the store has none."""
        now = self._catalog.identity(self._name)
        if self._shows(self._catalog.reflected(self._view).vector, vector):
            return now
        for stored in self._versions:
            if stored.fits and self._shows(stored.vector, vector):
                mark = self._catalog.store.commit_mark(self._catalog.state(self._name), stored.version)
                return Identity(now.table_id, stored.version, mark)
        return None

    def shown_by(self, at: Identity) -> Mapping[str, Identity] | None:
        """What a stored version shows of the tables that the view reads; None if the store no longer has it."""
        now = self._catalog.identity(self._name)
        if at.version is None or at.table_id != now.table_id:
            return None
        if at == now:
            return self._catalog.reflected(self._view).vector
        return next((stored.vector for stored in self._versions if stored.version <= at.version), None)

    @cached_property
    def _versions(self) -> list[_Stored]:
        """The versions that the store still has, newest first."""
        shape = shape_of(self._view)
        history = self._catalog.store.history(self._catalog.state(self._name))
        commits = [commit for commit in history if VECTOR in commit.metadata]
        return [_Stored(c.version, vector_in(c), c.metadata.get(SHAPE) == shape) for c in commits]

    def _shows(self, shown: Mapping[str, Identity], vector: Mapping[str, Identity]) -> bool:
        """Whether the vector that a version carries is the one looked for. Views that this view reads must have shown
        it, too."""
        for table in self._view.tables:
            at, wanted = shown.get(table), vector.get(table)
            if at is None:
                return False
            if wanted is not None or not self._catalog.has(table):
                if wanted is None or not _same_rows(self._catalog, table, at, wanted):
                    return False
            elif not self._past_of(table)._showed(at, vector):
                return False
        return True

    def _showed(self, at: Identity, vector: Mapping[str, Identity]) -> bool:
        """Whether one version showed the vector."""
        if at.version is None or at.table_id != self._catalog.identity(self._name).table_id:
            return False
        stored = next((stored for stored in self._versions if stored.version <= at.version), None)
        return stored is not None and stored.fits and self._shows(stored.vector, vector)

    def _past_of(self, name: str) -> Past:
        if name not in self._below:
            self._below[name] = Past(self._catalog, name)
        return self._below[name]
