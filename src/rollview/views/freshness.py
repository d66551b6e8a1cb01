"""How far views are behind the base tables, through all levels.

A view shows versions of the tables and views that it reads. If it reads a view, showing that view's newest version is
not enough: that view may itself be behind. So a view is fresh if its own tables have not moved on and every view that
it reads is fresh.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence

from rollview.errors import Damaged, RollviewError, TableNotFound
from rollview.store.protocol import Identity
from rollview.views.catalog import Catalog
from rollview.views.definition import View
from rollview.views.history import is_later, went_back


class Freshness:
    """Which views are behind; each is looked at once. ``fixed`` versions count as the newest ones."""

    def __init__(self, catalog: Catalog, fixed: Mapping[str, Identity] | None = None) -> None:
        self._catalog = catalog
        self._fixed = {} if fixed is None else fixed
        self._known: dict[str, bool] = {}
        self._damages: dict[str, Damaged | None] = {}
        self._lost: dict[str, str | None] = {}

    def behind(self, view: View, vector: Mapping[str, Identity]) -> dict[str, int | None]:
        """The tables of a view that have moved on since the vector, and by how many commits; None if the table is gone,
        was recreated, or went back to an earlier version."""
        found: dict[str, int | None] = {}
        for table in view.tables:
            shown = vector[table]
            try:
                now = self._newest(table, shown)
            except TableNotFound:
                found[table] = None
                continue
            except Damaged:  # how many commits there are is not known
                continue
            if now.table_id != shown.table_id or went_back(self._catalog, table, shown, now):
                found[table] = None
            elif is_later(now, shown):
                assert shown.version is not None
                assert now.version is not None
                stored = self._catalog.stored(table)
                found[table] = self._catalog.store.commits_between(stored, shown.version, now.version)
        return found

    def went_back(self, view: View, vector: Mapping[str, Identity]) -> tuple[str, ...]:
        """The tables of a view that no longer have the commit that it shows."""
        found = []
        for table in view.tables:
            with contextlib.suppress(TableNotFound, Damaged):
                if went_back(self._catalog, table, vector[table], self._newest(table, vector[table])):
                    found.append(table)
        return tuple(found)

    def _newest(self, table: str, shown: Identity) -> Identity:
        """The version that counts as the newest. If a view shows a later one than is fixed, another session has moved
        it past that, or the table went back."""
        fixed = self._fixed.get(table)
        if fixed is None:
            return self._catalog.identity(table)
        if not is_later(shown, fixed):
            return fixed
        now = self._catalog.identity(table)
        return now if went_back(self._catalog, table, shown, now) else shown

    def unversioned(self, view: View, vector: Mapping[str, Identity]) -> tuple[str, ...]:
        """The tables of a view that have no versions: whether they have moved on is not known."""
        return tuple(table for table in view.tables if vector[table].version is None)

    def damage(self, view: View) -> str | None:
        """What cannot be read of a view's rows, or of the tables that it reads; None if all is there."""
        own = self._catalog.store.damage(self._catalog.state(view.name))
        if own is not None:
            return own.why
        below = (
            self._damage(table) for table in view.tables if self._catalog.store.exists(self._catalog.stored(table))
        )
        return next((f"{each.what}: {each.why}" for each in below if each is not None), None)

    def _damage(self, table: str) -> Damaged | None:
        """What cannot be read of a table or view that views read."""
        if table not in self._damages:
            own = self._catalog.damage(table) if self._catalog.has(table) else None
            self._damages[table] = own or self._catalog.store.damage(self._catalog.stored(table))
        return self._damages[table]

    def stale(self, view: View) -> tuple[str, ...]:
        """The views that a view reads, directly or through others, and that are behind."""
        found: set[str] = set()
        seen = set(view.tables)
        waiting = list(seen)
        while waiting:
            name = waiting.pop()
            if not self._catalog.has(name):
                continue
            if not self.fresh(name):
                found.add(name)
            below = set(self._tables(name)) - seen
            seen |= below
            waiting += below
        return tuple(sorted(found))

    def stuck(self, views: Sequence[str]) -> dict[str, str]:
        """Those of some views that no refresh can bring to the newest versions of the tables that they read, and why:
        a table is gone, or its log cannot be read."""
        found = {name: self._why_stuck(name) for name in views}
        return {name: why for name, why in found.items() if why is not None}

    def _why_stuck(self, name: str) -> str | None:
        try:
            view = self._catalog.get(name)
            self._catalog.reflected(view)
        except Damaged as error:
            return f"it is damaged: {error.why}"
        except RollviewError as error:
            return error.what
        return next((why for table in view.tables if (why := self._why_lost(table)) is not None), None)

    def _why_lost(self, table: str) -> str | None:
        """Why the newest version of a table is not known; None if it is."""
        if table not in self._lost:
            self._lost[table] = None
            try:
                if table not in self._fixed:
                    self._catalog.identity(table)
            except TableNotFound:
                self._lost[table] = f"{table}, which it reads, is gone"
            except Damaged as error:
                self._lost[table] = f"{error.what}: {error.why}"
        return self._lost[table]

    def fresh(self, name: str) -> bool:
        """Whether a view is known to show the newest versions of the base tables. If a data file of one of them is lost
        since, it still does."""
        if name not in self._known:
            self._known[name] = False  # a view that reads itself, which none should, is not fresh
            try:
                view = self._catalog.get(name)
                vector = self._catalog.reflected(view).vector
                behind = self.behind(view, vector) or self.unversioned(view, vector)
                known = not behind and all(self._why_lost(table) is None for table in view.tables)
                upstream = [table for table in view.tables if self._catalog.has(table)]
                self._known[name] = known and all(self.fresh(table) for table in upstream)
            except RollviewError:
                pass
        return self._known[name]

    def _tables(self, name: str) -> list[str]:
        try:
            return self._catalog.get(name).tables
        except RollviewError:
            return []
