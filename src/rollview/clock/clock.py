"""The commit clock: looks at tables, and gives every commit that it sees first a position.

A position never changes once it is given, because a view may have been read there. So commits are numbered in the order
in which they are seen; those that one look sees, by commit time. The time of a position is the earlier of commit time
and first sight, but not before the position before it, and after every time that is *closed*: a time for which AS OF
has been answered. A commit that is dated wrongly, or becomes visible late, gets a later time then.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TypeVar

from rollview.clock.order import Sighted, units_of
from rollview.clock.stored import StoredClock
from rollview.clock.timeline import Row, Timeline
from rollview.clock.unit import Numbered, Unit, Units, micros, time_of
from rollview.engine.protocol import Engine
from rollview.errors import Conflict, RollviewError, TableNotFound, UserError
from rollview.limits import DEFAULT, Limits
from rollview.store.protocol import Identity, Progress, Store

T = TypeVar("T")

_LOGGER = logging.getLogger("rollview")


#: A look that another process overtakes is repeated: each time, that process has numbered something.
_ATTEMPTS = 100


@dataclass(frozen=True)
class _Looked:
    """The newest version of a table, and its commits that have no position yet."""

    newest: Identity
    sighted: list[Sighted]


def _now() -> int:
    return time.time_ns() // 1000


class CommitClock:
    """The clock of a store. ``every`` lists the tables whose commits get positions. ``skipped`` are those that the last
    look could not read, with the reasons.

    ``now`` (microseconds since 1970) and ``sleep`` are replaced by tests only."""

    def __init__(
        self,
        store: Store,
        engine: Engine,
        limits: Limits = DEFAULT,
        *,
        every: Callable[[], Collection[str]] = tuple,
        now: Callable[[], int] = _now,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.store, self.engine = store, engine
        self._limits, self._every = limits, every
        self._now, self._sleep = now, sleep
        self._stored = StoredClock(store, engine, limits)
        self._lock = threading.RLock()
        self._seen: dict[str, tuple[Identity | None, Identity]] = {}
        self.skipped: Mapping[str, RollviewError] = {}

    def look(self, tables: Collection[str]) -> Unit | None:
        """Numbers what is new in these tables, and returns the newest unit of all; None if there is none.

        Commits of one look are numbered by their times. So it is best to look at all tables together: what is seen
        later, gets a later position."""
        with self._lock:
            timeline = self._number(tables)
            return timeline.unit(timeline.newest) if timeline.newest else None

    def newest(self) -> int | None:
        """The newest position that has been given."""
        return self._read().newest or None

    def units(self, after: int | None = None, upto: int | None = None) -> Units:
        """The units after one position, up to another one."""
        with self._lock:
            timeline = self._read()
            last = timeline.newest if upto is None else min(upto, timeline.newest)
            return Units(timeline.unit(position) for position in range(max(after or 0, 0) + 1, last + 1))

    def unit(self, position: int) -> Unit:
        """The unit of a position. Raises an error if the position has not been given."""
        return self._given(position, lambda timeline: timeline.unit(position))

    def vector(self, position: int) -> dict[str, Identity]:
        """The version of every numbered table at a position."""
        return self._given(position, lambda timeline: timeline.vector(position))

    def tables(self) -> list[str]:
        """The tables that have positions."""
        return self._read().tables

    def at(self, time: datetime, tables: Collection[str] = ()) -> int | None:
        """The last position at or before a time; None if there is none. The answer never changes.

        If the time is after the newest position, these tables and all that have positions are looked at, but not before
        commits of that time must be visible (``Limits.settle_seconds``). Raises an error for a time in the future."""
        wanted = micros(time)
        if (now := self._now()) < wanted:
            raise UserError(
                f"{time.isoformat(sep=' ')} is in the future",
                why=f"it is {time_of(now).astimezone(time.tzinfo):%Y-%m-%d %H:%M:%S} now",
                todo="name a time that has passed",
            )
        with self._lock:
            timeline = self._read()
            if _is_past(timeline, wanted):
                return timeline.at(wanted) or None
        settled = wanted + round(self._limits.settle_seconds * 1_000_000)
        while (wait := settled - self._now()) > 0:
            self._sleep(wait / 1_000_000)
        with self._lock:
            return self._close(wanted, {*tables, *timeline.tables}) or None

    def known_at(self, time: datetime) -> int:
        """The last position at or before a time, of those that have been given; 0 if there is none."""
        with self._lock:
            return self._stored.timeline.at(micros(time))

    def of(self, vector: Mapping[str, int | Identity]) -> int | None:
        """The first position at which these tables stand at these versions; None if they stand so at none. A number
        means a version of the table that has the name now.

        If that is not known yet, every table is looked at, so that earlier commits of others come before."""
        with self._lock:
            timeline = self._read()
            if (found := self._standing(timeline, vector)) is None:
                found = self._standing(self._number({*vector, *self._every()}), vector)
            return found

    def commits(self, table: str, after: int = 0, upto: int | None = None) -> list[Numbered]:
        """The commits of one table that changed rows, with positions after one position, up to another one."""
        with self._lock:
            timeline = self._read()
            return timeline.commits(table, after, timeline.newest if upto is None else upto)

    def position_of(self, table: str, version: int, table_id: str | None = None) -> int | None:
        """The position at which a table came to a version, or to the version before, if that one changed no rows."""
        return self.of({table: version if table_id is None else Identity(table_id, version)})

    def _read(self) -> Timeline:
        with self._lock:
            return self._stored.read()

    def _given(self, position: int, found: Callable[[Timeline], T]) -> T:
        with self._lock:
            timeline = self._stored.timeline
            if position > timeline.newest:
                timeline = self._read()
            if not 1 <= position <= timeline.newest:
                there = f"there are 1 to {timeline.newest}" if timeline.newest else "no commit has been numbered yet"
                raise UserError(f"There is no position {position}", why=there, todo="rv.commits() lists them")
            return found(timeline)

    def _number(self, tables: Iterable[str]) -> Timeline:
        """Numbers what is new in some tables. If another process numbers at the same time, what it stored counts."""
        for _ in range(_ATTEMPTS):
            timeline = self._stored.read()
            looked = self._look(timeline, sorted(set(tables)))
            rows = _numbered(timeline, {table: each.sighted for table, each in looked.items()}, self._now())
            if not rows or self._stored.append(rows):
                timeline = self._stored.timeline
                self._seen |= {table: (timeline.latest(table), each.newest) for table, each in looked.items()}
                return timeline
        raise _overtaken()

    def _close(self, wanted: int, tables: Collection[str]) -> int:
        """The last position at or before a time, which is closed now unless a later position is known."""
        for _ in range(_ATTEMPTS):
            timeline = self._number(tables)
            if _is_past(timeline, wanted) or self._stored.append([Row(timeline.newest, wanted)]):
                return self._stored.timeline.at(wanted)
        raise _overtaken()

    def _look(self, timeline: Timeline, tables: Sequence[str]) -> dict[str, _Looked]:
        """What is new in tables, as far as they can be read."""
        found, skipped = self._read_tables(timeline, tables)
        if any(each.transaction is not None for looked in found.values() for each in looked.sighted):
            # the rest of a transaction may have become visible in a table that was read before
            found, skipped = self._read_tables(timeline, tables)
        self.skipped = skipped
        return found

    def _read_tables(
        self, timeline: Timeline, tables: Sequence[str]
    ) -> tuple[dict[str, _Looked], dict[str, RollviewError]]:
        found: dict[str, _Looked] = {}
        skipped: dict[str, RollviewError] = {}
        for table in tables:
            try:
                progress = self._progress(timeline, table)
            except TableNotFound:
                continue
            except RollviewError as error:
                _LOGGER.warning("commits of %s are not numbered: %s", table, error)
                skipped[table] = error
                continue
            if progress.newest.version is not None:
                found[table] = _Looked(progress.newest, _sighted(table, progress, timeline.latest(table)))
        return found, skipped

    def _progress(self, timeline: Timeline, table: str) -> Progress:
        """What was committed to a table since it was looked at; after its log went back, since it parted from the
        commits that have positions."""
        progress = self.store.progress(table, self._known(timeline, table))
        newest = progress.newest.version
        for each in () if progress.follows else reversed(timeline.commits(table, 0, timeline.newest)):
            if newest is None or each.identity.table_id != progress.newest.table_id:
                break
            if each.version <= newest and each.identity.mark is not None:
                if (mark := self.store.commit_mark(table, each.version)) is None:
                    break
                if mark == each.identity.mark:
                    since = reversed(self.store.history(table, after=each.version))
                    return replace(progress, commits=tuple(since) or progress.commits)
        return progress

    def _known(self, timeline: Timeline, table: str) -> Identity | None:
        """The newest version that has been looked at: that of the last numbered commit, or of a later one without
        changed rows."""
        latest = timeline.latest(table)
        was, seen = self._seen.get(table, (None, None))
        return seen if seen is not None and _same(was, latest) else latest

    def _standing(self, timeline: Timeline, vector: Mapping[str, int | Identity]) -> int | None:
        """The first position at which tables stand so, as far as they have been looked at."""
        wanted: dict[str, Identity] = {}
        seen: dict[str, int] = {}
        for table, version in vector.items():
            known = self._known(timeline, table)
            if known is None or known.version is None:
                return None
            if not isinstance(version, Identity):
                version = Identity(known.table_id, version, self._mark(table, version))
            wanted[table], seen[table] = version, known.version
        return timeline.of(wanted, seen)

    def _mark(self, table: str, version: int) -> str | None:
        with suppress(TableNotFound):  # it has been dropped
            return self.store.commit_mark(table, version)
        return None


def _is_past(timeline: Timeline, wanted: int) -> bool:
    """Whether no position that will be given can have this time."""
    return wanted <= timeline.closed or (timeline.newest_time is not None and wanted < timeline.newest_time)


def _same(one: Identity | None, other: Identity | None) -> bool:
    return one == other and (one is None or other is None or one.mark == other.mark)


def _sighted(table: str, progress: Progress, latest: Identity | None) -> list[Sighted]:
    """The commits that get positions: those that changed rows, and the first one of a table or of a history that the
    clock does not know."""
    commits = [c for i, c in enumerate(progress.commits) if c.changes_rows or (i == 0 and not progress.follows)]
    found = [Sighted(table, progress.newest.table_id, commit) for commit in commits]
    return [each for each in found if latest is None or not _same(each.identity, latest)]


def _numbered(timeline: Timeline, sighted: Mapping[str, list[Sighted]], sight: int) -> list[Row]:
    """The rows of new units."""
    rows = []
    position, before = timeline.newest, max(timeline.newest_time or timeline.closed + 1, timeline.closed + 1)
    for unit in units_of(sighted):
        position += 1
        before = max(before, min(max(micros(each.commit.time) for each in unit), sight))
        for each in unit:
            commit = each.commit
            told = each.table, each.table_id, commit.version, commit.mark, commit.rows, commit.signed
            rows.append(Row(position, before, *told))
    return rows


def _overtaken() -> Conflict:
    return Conflict("The commits were not numbered", why="other sessions number commits all the time", todo="try again")
