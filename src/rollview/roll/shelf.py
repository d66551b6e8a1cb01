"""What is read of the tables in one run: each change set once, however many views and queries need it.

The commits of a table are cut into sections of about as many rows as a step takes in. A section is read when a query
needs some of it first, in the columns that any view of the run needs, and is kept until all views have passed it. If
its rows do not fit into this process, or are not known as a whole any more, each query reads just its own interval.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from rollview.clock.unit import Numbered
from rollview.errors import SchemaChanged, VersionGone
from rollview.limits import Limits
from rollview.plan.reserved import TIME
from rollview.views.catalog import Catalog
from rollview.views.changes import ChangeSet, ChangeSets
from rollview.views.relation import relation


@dataclass
class _Section:
    """The changes after one position, up to another one: their rows, None if they are not in this process."""

    after: int
    upto: int
    read: bool = False
    rows: pa.Table | None = None


class Shelf:
    """The changes of one table. ``reads`` counts how often the store was asked for some."""

    def __init__(
        self, catalog: Catalog, name: str, columns: Callable[[], Sequence[str]], newest: int, rows: int
    ) -> None:
        self._catalog, self._clock, self.name = catalog, catalog.clock, name
        self._columns, self._newest, self._many = columns, newest, rows
        self._begin: int | None = None
        self._end = 0
        self._sections: list[_Section] = []
        self._sets = ChangeSets(catalog.engine, catalog.limits)
        self._lock = threading.RLock()
        self.reads = 0

    def version(self, position: int) -> int:
        """The version at a position."""
        found = self._clock.vector(position).get(self.name)
        if found is None or found.version is None:
            raise VersionGone(f"{self.name} had no version at position {position}")
        return found.version

    def positions(self, after: int, upto: int) -> dict[int, int]:
        """The positions of the commits after one position, up to another one, by their versions."""
        return {each.version: each.position for each in self._clock.commits(self.name, after, upto)}

    def timed(self, after: int, upto: int) -> pa.Table | None:
        """The changed rows with their positions; None if they are not all in this process."""
        with self._lock:
            if self._begin is None:
                self._begin = self._end = after
            if after < self._begin:
                return None
            self._cut(max(upto, self._newest))
            found = []
            for section in self._sections:
                if section.after < upto and section.upto > after:
                    if self._read(section) is None:
                        return None
                    found.append(section.rows)
            if not found:
                return None
            rows = pa.concat_tables(found)
            times = rows.column(TIME.label)
            return rows.filter(pc.and_(pc.greater(times, after), pc.less_equal(times, upto)))

    def changes(self, after: int, upto: int, columns: Sequence[str]) -> ChangeSet:
        """The change set of just this interval."""
        self.reads += 1
        return self._sets.of(relation(self._catalog, self.name), self.version(after), self.version(upto), columns)

    def passed(self, position: int) -> None:
        """No query needs changes up to a position any more."""
        with self._lock:
            self._sections = [section for section in self._sections if section.upto > position]
            self._begin = self._sections[0].after if self._sections else None

    def close(self) -> None:
        with self._lock:
            self._sections.clear()
            self._sets.__exit__(None, None, None)

    def _cut(self, upto: int) -> None:
        """Cuts the commits up to a position into sections. Those that have been cut stay as they are."""
        rows = 0
        for each in self._clock.commits(self.name, self._end, upto):
            more = signed_rows(each, self._catalog.limits)
            if rows and rows + more > self._many:
                self._end_at(each.position - 1)
                rows = 0
            rows += more
        if upto > self._end:
            self._end_at(upto)

    def _end_at(self, position: int) -> None:
        self._sections.append(_Section(self._end, position))
        self._end = position

    def _read(self, section: _Section) -> pa.Table | None:
        if not section.read:
            section.read, section.rows = True, self._rows(section.after, section.upto)
        return section.rows

    def _rows(self, after: int, upto: int) -> pa.Table | None:
        try:
            catalog, table = self._catalog, relation(self._catalog, self.name)
            versions = self.version(after), self.version(upto)
            changes = ChangeSet(catalog.engine, catalog.limits, table, *versions, self._columns())
            self.reads += 1
            local = changes.arrow()
        except (VersionGone, SchemaChanged):  # a part of it may be there
            return None
        return None if local is None else _placed(local, self.positions(after, upto))


class Shelves:
    """The shelves of the tables that some views read. ``needed`` gives the columns that these views need of a table,
    ``newest`` is the position up to which they are propagated, ``rows`` are those of a section."""

    def __init__(self, catalog: Catalog, needed: Callable[[str], Collection[str]], newest: int, rows: int) -> None:
        self._catalog, self._needed, self._newest, self._rows = catalog, needed, newest, rows
        self._shelves: dict[str, Shelf] = {}

    def of(self, table: str) -> Shelf:
        if table not in self._shelves:
            self._shelves[table] = Shelf(self._catalog, table, lambda: self._ordered(table), self._newest, self._rows)
        return self._shelves[table]

    def _ordered(self, table: str) -> list[str]:
        wanted = self._needed(table)
        return [name for name, _ in relation(self._catalog, table).columns() if name in wanted]

    @property
    def reads(self) -> dict[str, int]:
        """How often changes of each table were read."""
        return {name: shelf.reads for name, shelf in self._shelves.items()}

    def passed(self, position: int) -> None:
        """No view of the run needs changes up to a position any more."""
        for shelf in self._shelves.values():
            shelf.passed(position)

    def close(self) -> None:
        for shelf in self._shelves.values():
            shelf.close()


def signed_rows(commit: Numbered, limits: Limits) -> int:
    """The inserted and deleted rows of a commit, as far as they are known."""
    count = commit.rows if commit.signed is None else commit.signed
    return limits.first_step_rows if count is None else count


def _placed(rows: pa.Table, at: dict[int, int]) -> pa.Table | None:
    """Changed rows with the positions of their commits; None if the store does not tell the commits here."""
    versions = rows.column(TIME.label)
    if versions.null_count:
        return None
    found = pc.index_in(versions, value_set=pa.array(list(at), pa.int64()))
    rows = rows.filter(pc.is_valid(found))  # a commit without a position changes nothing
    positions = pc.take(pa.array(list(at.values()), pa.int64()), found.drop_null())
    return rows.set_column(rows.column_names.index(TIME.label), TIME.label, positions)
