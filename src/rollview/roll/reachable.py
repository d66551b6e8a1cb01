"""Which moments a view's delta reaches, and from which stored version of the view.

Every stored version of the delta's epoch that stands between ``begin`` and ``mark`` will do. The nearest one is taken.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from rollview.errors import NotIncremental
from rollview.refresh.reasons import is_as_stored
from rollview.roll.rolling import Rolling, rolling
from rollview.roll.stored import Stored
from rollview.store.protocol import Identity
from rollview.views.catalog import EPOCH, SHAPE, VECTOR, Catalog, shape_of, vector_in
from rollview.views.past import standing
from rollview.views.upstream import base_tables


@dataclass(frozen=True)
class Anchor:
    """A stored version of a view, and the position at which it stands."""

    version: int
    position: int


@dataclass(frozen=True)
class Reachable:
    """A view and its delta, which belongs to the rows that are stored now."""

    rolled: Rolling
    stored: Stored

    @cached_property
    def bases(self) -> list[str]:
        """The tables that the view reads, directly or through others."""
        return sorted(base_tables(self.rolled.catalog, [self.rolled.view.name]))

    def position(self, vector: Mapping[str, Identity]) -> int | None:
        """A position in reach at which the base tables stand as in a vector, through all levels; None if there is
        none."""
        first = standing(self.rolled.catalog, self.rolled.view, vector)
        return None if first is None else self.within(first)

    def within(self, position: int) -> int | None:
        """The same of a position. The tables may stand so at several positions."""
        extent = self.stored.extent
        nearest = min(max(position, extent.begin), extent.mark)
        if nearest == position or self.vector(nearest) == self.vector(position):
            return nearest
        return None

    def vector(self, position: int) -> dict[str, Identity | None]:
        """Where the base tables stand at a position."""
        found = self.rolled.catalog.clock.vector(position)
        return {table: found.get(table) for table in self.bases}

    def anchors(self, position: int) -> list[Anchor]:
        """The stored versions from which a position is reached, the nearest one first."""
        return sorted(self._anchors, key=lambda each: (abs(each.position - position), -each.version))

    @cached_property
    def _anchors(self) -> list[Anchor]:
        return list(self._found())

    def _found(self) -> Iterator[Anchor]:
        catalog, view = self.rolled.catalog, self.rolled.view
        shape, epoch = shape_of(view), self.stored.extent.epoch
        for commit in catalog.store.history(catalog.state(view.name)):
            told = commit.metadata
            if VECTOR in told and told.get(EPOCH) == epoch and told.get(SHAPE) == shape:
                position = self.position(vector_in(commit))
                if position is not None:
                    yield Anchor(commit.version, position)


def reachable(catalog: Catalog, name: str) -> Reachable | None:
    """The delta of a view; None if it has none, or one of rows that are not stored any more."""
    if not catalog.store.exists(catalog.delta(name)):
        return None
    try:
        rolled = rolling(catalog, name)
    except NotIncremental:
        return None
    stored = rolled.delta.current()
    if stored is None or not is_as_stored(catalog, rolled.view):
        return None
    return Reachable(rolled, stored)
