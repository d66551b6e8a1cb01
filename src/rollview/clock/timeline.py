"""The numbered commits in memory, in columns: position, time and vector are converted into each other by bisection."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from rollview.clock.unit import Numbered, Unit, time_of
from rollview.store.protocol import Identity


@dataclass(frozen=True)
class Row:
    """A row of the stored clock: a commit with its position and the time of its unit; or, without a table, a time that
    is *closed* at a position: whatever is numbered later gets a later time. ``rows`` and ``signed`` are those of
    ``Numbered``."""

    position: int
    time: int
    table: str | None = None
    table_id: str = ""
    version: int = 0
    mark: str | None = None
    rows: int | None = None
    signed: int | None = None


@dataclass
class _Track:
    """The commits of one table. An era begins where versions do not go on: at the table's first commit, after it was
    recreated, and after its log went back."""

    positions: array[int] = field(default_factory=lambda: array("q"))
    versions: array[int] = field(default_factory=lambda: array("q"))
    commits: list[Row] = field(default_factory=list)
    eras: list[int] = field(default_factory=list)

    def add(self, row: Row) -> None:
        last = self.commits[-1] if self.commits else None
        if last is None or last.table_id != row.table_id or row.version <= last.version:
            self.eras.append(len(self.commits))
        self.positions.append(row.position)
        self.versions.append(row.version)
        self.commits.append(row)

    def spans(self, wanted: Identity, newest: int, seen: int) -> list[tuple[int, int]]:
        """The positions at which the table stands at a version, each span from its first to its last one. A version
        between two commits changed no rows, so the table stands as at the first of them, in the last era that has
        them. The version ``seen`` is the newest that has been looked at."""
        exact: list[tuple[int, int]] = []
        before: Row | None = None
        for number, begin in enumerate(self.eras):
            end = self.eras[number + 1] if number + 1 < len(self.eras) else len(self.commits)
            if self.commits[begin].table_id != wanted.table_id or wanted.version is None:
                continue
            place = bisect_right(self.versions, wanted.version, begin, end) - 1
            if place < begin:
                continue
            found = self.commits[place]
            known = found.version if end < len(self.commits) else seen
            if found.version == wanted.version:
                if None in (found.mark, wanted.mark) or found.mark == wanted.mark:
                    last = newest if place + 1 == len(self.commits) else self.positions[place + 1] - 1
                    exact.append((found.position, last))
            elif place + 1 < end or wanted.version <= known:  # looked at, and not lost when the log went back
                before = found
        if not exact and before is not None:
            return self.spans(_identity(before), newest, seen)
        return [(first, last) for first, last in (exact if wanted.mark else exact[-1:]) if first <= last]


class Timeline:
    """The order of the commits, as far as it has been read."""

    def __init__(self) -> None:
        self.size = 0  # rows, also those that close a time
        self.closed = -(2**63)
        self._times: array[int] = array("q")
        self._starts: list[int] = []
        self._rows: list[Row] = []
        self._tracks: dict[str, _Track] = {}

    def add(self, rows: Iterable[Row]) -> None:
        """Adds rows that were stored after those that are there."""
        for row in rows:
            self.size += 1
            if row.table is None:
                self.closed = max(self.closed, row.time)
                continue
            if row.position > len(self._times):
                self._times.append(row.time)
                self._starts.append(len(self._rows))
            self._rows.append(row)
            self._tracks.setdefault(row.table, _Track()).add(row)

    @property
    def newest(self) -> int:
        """The newest position; 0 if there is none."""
        return len(self._times)

    @property
    def newest_time(self) -> int | None:
        return self._times[-1] if self._times else None

    @property
    def tables(self) -> list[str]:
        return sorted(self._tracks)

    def unit(self, position: int) -> Unit:
        begin = self._starts[position - 1]
        end = self._starts[position] if position < self.newest else len(self._rows)
        rows = self._rows[begin:end]
        counts = [row.rows for row in rows]
        total = None if None in counts else sum(count for count in counts if count is not None)
        tables = {row.table: _identity(row) for row in rows if row.table is not None}
        return Unit(position, time_of(self._times[position - 1]), tables, total)

    def at(self, time: int) -> int:
        """The last position at or before a time; 0 if there is none."""
        return bisect_right(self._times, time)

    def vector(self, position: int) -> dict[str, Identity]:
        """The version at which each table stands at a position, for the tables that had been seen there."""
        found = {}
        for table, track in self._tracks.items():
            if (place := bisect_right(track.positions, position)) > 0:
                found[table] = _identity(track.commits[place - 1])
        return found

    def latest(self, table: str) -> Identity | None:
        """The newest numbered commit of a table."""
        track = self._tracks.get(table)
        return None if track is None else _identity(track.commits[-1])

    def of(self, vector: Mapping[str, Identity], seen: Mapping[str, int]) -> int | None:
        """The first position at which all of these tables stand so; None if there is none. ``seen`` are the newest
        versions that have been looked at."""
        spans = [(1, self.newest)] if self.newest else []
        for table, identity in vector.items():
            track = self._tracks.get(table)
            here = [] if track is None else track.spans(identity, self.newest, seen[table])
            spans = [(max(a, c), min(b, d)) for a, b in spans for c, d in here if max(a, c) <= min(b, d)]
        return min((first for first, _ in spans), default=None)

    def commits(self, table: str, after: int, upto: int) -> list[Numbered]:
        """The commits of a table with positions after one position, up to another one."""
        track = self._tracks.get(table)
        if track is None:
            return []
        begin, end = bisect_right(track.positions, after), bisect_right(track.positions, upto)
        return [Numbered(row.position, table, _identity(row), row.rows, row.signed) for row in track.commits[begin:end]]


def _identity(row: Row) -> Identity:
    return Identity(row.table_id, row.version, row.mark)
