"""Propagation of one view: the changes of its tables are joined into its timed delta by forward queries, each a commit.

    begin      the first time, the delta begins where the view stands        roll/begin
    schedule   which changes of which table go next                          roll/schedule
    forward    the query, over history or over what is present               roll/forward
    append     its rows, and how far the delta reaches now, in one commit    roll/stored

It can be stopped after any commit, and goes on from there. If two processes propagate one view, what the first one
commits counts, and the other goes on from it.
"""

from __future__ import annotations

import time
from dataclasses import replace

from rollview.delta.timed import Way
from rollview.engine.protocol import Kept
from rollview.errors import Conflict, VersionGone
from rollview.refresh.steps import Pace
from rollview.refresh.used import used_columns
from rollview.roll.begin import Begun, same_tables
from rollview.roll.extent import Extent
from rollview.roll.forward import Forwarding, Present, by_history, by_presence
from rollview.roll.results import ForwardStep
from rollview.roll.rolling import Rolling, rolling, way_of
from rollview.roll.schedule import Backlog, Interval, freely, next_interval
from rollview.roll.shelf import Shelves
from rollview.roll.table_source import TableSource
from rollview.roll.view_source import ViewSource
from rollview.views.catalog import Catalog
from rollview.views.relation import check_columns, relation
from rollview.views.results import since


def looked(catalog: Catalog) -> int:
    """The newest position, after a look at all tables."""
    unit = catalog.clock.look(catalog.numbered())
    return 0 if unit is None else unit.position


class Propagation:
    """Forwards the changes of one view's tables, from an extent up to a position. It ends if another session commits to
    the view's delta (``overtaken``)."""

    def __init__(self, at: Begun, pace: Pace, shelves: Shelves, newest: int) -> None:
        self.rolled, self.view, self.extent = at.rolled, at.rolled.view, at.extent
        self._catalog, self._pace = at.rolled.catalog, pace
        self.overtaken = False
        views = {table: ViewSource(*self._below(table)) for table in self.rolled.below}
        tables = {table: TableSource(*self._checked(table), shelves) for table in self.rolled.bases}
        self._tables, self._sources = tables, {**views, **tables}
        self._backlogs = self._known(min([newest, *(view.mark for view in views.values())]))
        self._forwarding = Forwarding(self._catalog, self.view, self.rolled.state, self._sources)

    def step(self) -> ForwardStep | None:
        """Runs the next forward query, and commits its rows. None if there is nothing to forward, or another session
        was faster."""
        interval = None if self.overtaken else self._next()
        if interval is None:
            return None
        start = time.monotonic()
        try:
            rows, way = self._rows(interval)
            self._check_tables()
            written = 0 if rows is None else rows.rows
            seconds = since(start)
            extent = self._after(interval, way, seconds)
            if self.rolled.delta.append(rows, extent) is None:
                self.overtaken = True
                return None
        finally:
            self._forwarding.forget()
        self.extent = extent
        part = (1, 1) if interval.cut is None else (interval.cut.done + 1, interval.cut.parts)
        counts = self._forwarding.taken, self._forwarding.compensated, written
        place = interval.table, interval.after, interval.upto
        return ForwardStep(self.view.name, *place, part, *counts, since(start), extent.mark)

    def finish(self) -> None:
        """Commits how far the tables are forwarded if those intervals count in which nothing was changed."""
        free = self._freely()
        if self.overtaken or free == self.extent.forwarded:
            return
        extent = self.extent.after(forwarded=free)
        if self.rolled.delta.append(None, extent) is None:
            self.overtaken = True
        else:
            self.extent = extent

    def _next(self) -> Interval | None:
        cut = self.extent.cut
        if cut is not None:
            return Interval(cut.table, self.extent.forwarded[cut.table], cut.upto, cut)
        most = dict.fromkeys(self._sources, self._pace.first(self._catalog))
        if self._pace.seconds is not None:
            most |= self.extent.paces
        found = next_interval(self._freely(), self._backlogs, most)
        if found is not None and found.cut is not None and not self._sources[found.table].can_be_cut():
            return replace(found, cut=None)
        return found

    def _check_tables(self) -> None:
        """What was read is of the tables that have positions. Their names may mean others by now."""
        if not same_tables(self.rolled, self.extent.mark):
            raise Conflict(
                f"{self.view.title} was not propagated further: a table that it reads was replaced meanwhile",
                todo="try again",
            )

    def _after(self, interval: Interval, way: Way, seconds: float) -> Extent:
        """The extent after a query."""
        forwarded = self._freely()
        cut = None if interval.cut is None else interval.cut.next
        if cut is None:
            forwarded = freely({**forwarded, interval.table: interval.upto}, self._backlogs)
        paces = dict(self.extent.paces)
        if self._pace.seconds is not None:
            most = paces.get(interval.table, self._pace.first(self._catalog))
            paces[interval.table] = self._pace.next(most, seconds)
        return self.extent.after(forwarded=forwarded, cut=cut, way=way, paces=paces)

    def _rows(self, interval: Interval) -> tuple[Kept | None, Way]:
        """The rows of a forward query."""
        forwarded, way = self._freely(), way_of(self.rolled, self.extent)
        if way is Way.HISTORY:
            return self._forwarding.run(interval, by_history(interval, forwarded, self._backlogs, self._sources)), way
        present = self._present()
        later = {name: max(each.position, interval.upto) for name, each in present.items()}
        backlogs = self._backlogs | {name: self._backlog(name, upto) for name, upto in later.items()}
        return self._forwarding.run(interval, by_presence(interval, forwarded, present, backlogs, self._sources)), way

    def _freely(self) -> dict[str, int]:
        """How far the tables are forwarded, intervals without changes among them; between the parts of a commit, as the
        first part saw them."""
        forwarded = self.extent.forwarded
        return dict(forwarded) if self.extent.cut is not None else freely(forwarded, self._backlogs)

    def _present(self) -> dict[str, Present]:
        """What the tables have now, read one after the other; each later than the interval was chosen."""
        read = {}
        for table, source in self._tables.items():
            version = self._catalog.store.version(table)
            read[table] = (source.rows(version), version)
        looked(self._catalog)
        return {
            table: Present(frame, version, self._position(table, version)) for table, (frame, version) in read.items()
        }

    def _position(self, table: str, version: int) -> int:
        position = self._catalog.clock.position_of(table, version)
        if position is None:
            raise VersionGone(f"Version {version} of {table} has no position", why="its log went back meanwhile")
        return position

    def _known(self, newest: int) -> dict[str, Backlog]:
        """The commits of each table that may have to be forwarded or compensated."""
        return {table: self._backlog(table, newest) for table in self._sources}

    def _backlog(self, table: str, upto: int) -> Backlog:
        return self._sources[table].backlog(self.extent.mark, upto)

    def _checked(self, table: str) -> tuple[Catalog, str, list[str]]:
        """A base table, and the columns that the view uses, which are as they were when it was created."""
        used, now = used_columns(self._catalog, self.view, table), relation(self._catalog, table)
        version = now.identity().version
        assert version is not None
        check_columns(now, self.view.bases[table], used, version)
        return self._catalog, table, used

    def _below(self, name: str) -> tuple[Rolling, list[str]]:
        """A view that the view reads, and the columns that it uses."""
        return rolling(self._catalog, name), used_columns(self._catalog, self.view, name)
