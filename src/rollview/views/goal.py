"""Where a refresh goes: to the newest versions of the base tables, or AS OF to those of a moment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from rollview.errors import UserError, VersionGone
from rollview.parse.names import quote
from rollview.store.protocol import Identity
from rollview.views.catalog import Catalog
from rollview.views.definition import View
from rollview.views.history import went_back
from rollview.views.past import Past
from rollview.views.relation import newest


@dataclass(frozen=True)
class Goal:
    """The versions that tables are to be shown at; tables that are not in the ``vector`` are shown at their newest.

    An ``exact`` goal is that of AS OF: it is reached, forward or back, or refused. Otherwise a view goes forward only:
    where it already shows a later version, because another session was faster, it keeps that.

    ``follow`` is what the policy AUTO has decided for a longer way, of which this is a step: to follow the changes, or
    to recompute. None if it is to decide now."""

    vector: Mapping[str, Identity] = field(default_factory=dict)
    exact: bool = False
    follow: bool | None = None

    def versions(self, catalog: Catalog, view: View) -> dict[str, Identity]:
        """The versions of what a view reads. A view that it reads is taken at a version of its state that shows the
        goal, too."""
        if not self.exact:
            return newest(catalog, view, self.vector)
        return {table: self._version(catalog, view, table) for table in view.tables}

    def version(self, catalog: Catalog, table: str) -> Identity:
        """The version of a base table."""
        now = catalog.identity(table)
        if table in self.vector:
            found = self.vector[table]
            if found.table_id != now.table_id or went_back(catalog, table, found, now):
                was = "was dropped and created again" if found.table_id != now.table_id else "went back to an older one"
                raise VersionGone(
                    f"Version {found.version} of {table} no longer exists",
                    why=f"the table {was} since the moment asked for",
                    todo="ask for a later moment",
                )
            return found
        if now.version is None:
            raise UserError(
                f"{table} cannot be read AS OF a moment", why="it has no versions: only its present rows can be read"
            )
        raise UserError(
            f"The moment asked for says no version of {table}",
            why="a vector must name every base table, and a time or position must not be before the table",
            todo=f"add {table} to the vector, or ask for a later time or position",
        )

    def _version(self, catalog: Catalog, view: View, table: str) -> Identity:
        if table in self.vector or not catalog.has(table):
            return self.version(catalog, table)
        found = Past(catalog, table).showing(self.vector)
        if found is None:
            raise VersionGone(
                f"{view.title} cannot go there: no stored version of {table}, which it reads, shows that moment",
                why="a view on a view reads the stored rows of the view below",
                todo=f"refresh both: rv.refresh_all(as_of=…), or {quote(table)} first",
            )
        return found


#: To the newest versions.
NEWEST = Goal()
