"""Propagation: the changes of a view's tables are joined into its timed delta by forward queries, each a commit.

    look       the clock numbers the commits that are there                  clock/
    begin      the first time, the delta begins where the view stands        roll/begin
    schedule   which changes of which table go next                          roll/schedule
    forward    the query, over history or over what is present               roll/forward
    append     its rows, and how far the delta reaches now, in one commit    roll/stored

It can be stopped after any commit, and goes on from there. If two processes propagate one view, what the first one
commits counts, and the other goes on from it.
"""

from __future__ import annotations

import logging
import time
from dataclasses import replace

from rollview.delta.timed import Way
from rollview.engine.protocol import Kept
from rollview.errors import VersionGone
from rollview.refresh.refresh import used_columns
from rollview.refresh.steps import Pace
from rollview.roll.begin import Begun, begun, overtaken
from rollview.roll.extent import Extent
from rollview.roll.forward import Forwarding, Present, by_history, by_presence
from rollview.roll.prune import tend
from rollview.roll.results import ForwardStep, OnStep, Propagated
from rollview.roll.schedule import Backlog, Interval, freely, next_interval
from rollview.roll.sources import TableSource
from rollview.views.catalog import Catalog
from rollview.views.changes import ChangeSets
from rollview.views.relation import check_columns, relation
from rollview.views.results import since

logger = logging.getLogger("rollview")


def propagate(
    catalog: Catalog, name: str, pace: Pace, steps: int | None = None, on_step: OnStep | None = None
) -> Propagated:
    """Forwards the changes of a view's tables up to the newest position, or by some ``steps``."""
    start = time.monotonic()
    newest = looked(catalog)
    at = begun(catalog, name, newest)
    first, refreshed, lost = at.extent, at.refreshed, 0
    done: list[ForwardStep] = []
    while lost < catalog.limits.refresh_attempts:
        with ChangeSets(catalog.engine, catalog.limits) as changes, catalog.engine.settings(at.rolled.view.settings):
            running = Propagation(at, pace, changes, newest)
            while steps is None or len(done) < steps:
                step = running.step()
                if step is None:
                    break
                lost = 0
                done.append(step)
                logger.info("%s", step)
                if on_step is not None:
                    on_step(step)
            if running.finish():
                tend(catalog, name)
                marks = (running.extent.begin, first.mark, running.extent.mark, newest)
                return Propagated(name, *marks, tuple(done), since(start), refreshed)
        lost += 1
        at = begun(catalog, name, newest)
        refreshed = refreshed or at.refreshed
    raise overtaken(name)


def looked(catalog: Catalog) -> int:
    """The newest position, after a look at all tables."""
    unit = catalog.clock.look(catalog.numbered())
    return 0 if unit is None else unit.position


class Propagation:
    """Forwards the changes of one view's tables, from an extent up to a position. It ends if another session commits to
    the view's delta."""

    def __init__(self, at: Begun, pace: Pace, changes: ChangeSets, newest: int) -> None:
        self.rolled, self.view, self.extent = at.rolled, at.rolled.view, at.extent
        self._catalog, self._pace, self._newest = at.rolled.catalog, pace, newest
        self._overtaken = False
        self._sources = {table: self._source(table, changes) for table in self.rolled.tables}
        self._backlogs = self._known(newest)
        self._forwarding = Forwarding(self._catalog, self.view, self.rolled.state, self._sources)

    def step(self) -> ForwardStep | None:
        """Runs the next forward query, and commits its rows. None if there is nothing to forward, or another session
        was faster."""
        interval = None if self._overtaken else self._next()
        if interval is None:
            return None
        start = time.monotonic()
        try:
            rows, way = self._rows(interval)
            written = 0 if rows is None else rows.rows
            seconds = since(start)
            extent = self._after(interval, way, seconds)
            if self.rolled.delta.append(rows, extent) is None:
                self._overtaken = True
                return None
        finally:
            self._forwarding.forget()
        self.extent = extent
        part = (1, 1) if interval.cut is None else (interval.cut.done + 1, interval.cut.parts)
        counts = self._forwarding.taken, self._forwarding.compensated, written
        place = interval.table, interval.after, interval.upto
        return ForwardStep(self.view.name, *place, part, *counts, since(start), extent.mark)

    def finish(self) -> bool:
        """Commits that up to the newest position nothing is left to forward, if that is so. False if another session
        was faster."""
        if self._overtaken:
            return False
        free = self._freely()
        if free == self.extent.forwarded:
            return True
        extent = self.extent.after(forwarded=free)
        if self.rolled.delta.append(None, extent) is None:
            return False
        self.extent = extent
        return True

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
        """The rows of a forward query. Tables are seen by their history, or by their presence if the store keeps no
        history of one of them. The way changes only where the tables stand level."""
        forwarded, way = self._freely(), self.extent.way
        if self.extent.is_level:
            kept = all(map(self._catalog.store.keeps_history, self._sources))
            way = Way.HISTORY if kept else Way.PRESENCE
        if way is Way.HISTORY:
            return self._forwarding.run(interval, by_history(interval, forwarded, self._backlogs, self._sources)), way
        present = self._present()
        backlogs = self._known(max(each.position for each in present.values()))
        return self._forwarding.run(interval, by_presence(interval, forwarded, present, backlogs)), way

    def _freely(self) -> dict[str, int]:
        """How far the tables are forwarded, intervals without changes among them; between the parts of a commit, as the
        first part saw them."""
        forwarded = self.extent.forwarded
        return dict(forwarded) if self.extent.cut is not None else freely(forwarded, self._backlogs)

    def _present(self) -> dict[str, Present]:
        """What the tables have now, read one after the other; each later than the interval was chosen."""
        read = {}
        for table, source in self._sources.items():
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
        return {table: source.backlog(self.extent.mark, newest) for table, source in self._sources.items()}

    def _source(self, table: str, changes: ChangeSets) -> TableSource:
        used, now = used_columns(self._catalog, self.view, table), relation(self._catalog, table)
        version = now.identity().version
        assert version is not None
        check_columns(now, self.view.bases[table], used, version)
        return TableSource(self._catalog, table, used, changes)
