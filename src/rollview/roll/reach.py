"""How far the timed delta of a view reaches, as ``rv.views()`` shows it, and what it still needs of the base tables."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timezone

from rollview.errors import RollviewError
from rollview.roll.stored import DeltaTable, Stored
from rollview.views.catalog import Catalog, Reflected
from rollview.views.definition import View
from rollview.views.past import standing
from rollview.views.results import Reach
from rollview.views.upstream import base_tables


class Reaches:
    """Looks at the base tables once, if a view has a delta, and then answers for any number of views."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._looked = False

    def of(self, name: str) -> Reach:
        """Raises Damaged if the view or its delta cannot be read."""
        catalog, view = self._catalog, self._catalog.get(name)
        reflected = catalog.reflected(view)
        stored = DeltaTable(catalog, view).current()
        if stored is not None and not self._looked:
            catalog.clock.look(catalog.numbered())
            self._looked = True
        shown = standing(catalog, view, reflected.vector)
        time = None if shown is None else catalog.clock.unit(shown).time
        needed = self._needed(view, reflected, shown, stored)
        if stored is None:
            return Reach(name, shown, time, None, None, None, None, needed)
        extent = stored.extent
        return Reach(name, shown, time, extent.begin, extent.mark, *self._lag(name, extent.mark), needed)

    def propagated(self, name: str) -> Reach | None:
        """The same of a view that has a timed delta; None if it has none, or cannot be read."""
        if not self._catalog.store.exists(self._catalog.delta(name)):
            return None
        try:
            return self.of(name)
        except RollviewError:  # its status says what is wrong
            return None

    def _lag(self, name: str, mark: int) -> tuple[int, float]:
        """The commits after a position, and the age of the first one in seconds."""
        clock = self._catalog.clock
        later = {each.position for table in base_tables(self._catalog, [name]) for each in clock.commits(table, mark)}
        if not later:
            return 0, 0.0
        age = datetime.now(timezone.utc) - clock.unit(min(later)).time
        return len(later), round(max(age.total_seconds(), 0.0), 3)

    def _needed(self, view: View, reflected: Reflected, shown: int | None, stored: Stored | None) -> dict[str, int]:
        """A view that its delta brings to the mark needs the history from there; any other one from where it stands."""
        found = {}
        if stored is not None:
            extent, at = stored.extent, self._catalog.clock.vector(stored.extent.mark)
            found = _versions({table: at[table].version for table in view.tables if table in at})
            if shown is not None and extent.begin <= shown:
                return found
        for table, version in _versions(reflected.versions()).items():
            if table in view.tables and not self._catalog.has(table):
                found[table] = min(version, found.get(table, version))
        return found


def _versions(found: Mapping[str, int | None]) -> dict[str, int]:
    """Those of them that are known."""
    return {table: version for table, version in found.items() if version is not None}
