"""What AS OF names: a time, a position, or a vector; each leads to the versions that tables had there.

| a user writes | meaning |
|---|---|
| a ``datetime``, or text: ``2026-11-18 17:00`` | the last position at or before that time; in the session's zone |
| a whole number | that position |
| ``{"orders": 5, "customers": 2}`` | these versions, whether they stood together at a position or not |
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import datetime, tzinfo

from rollview.clock.clock import CommitClock
from rollview.engine.zones import zone_named
from rollview.errors import UserError
from rollview.store.protocol import Identity

AsOf = datetime | str | int | Mapping[str, int | Identity]

_TODO = "name a time ('2026-11-18 17:00'), a position (12), or a vector ({'orders': 5})"


@dataclass(frozen=True)
class Moment:
    """The versions of tables to read. ``position`` is None if they are a vector that stood at no position. The vector
    of a position or time has all tables that had been seen there."""

    position: int | None
    vector: Mapping[str, Identity]


def moment(clock: CommitClock, as_of: AsOf, tables: Collection[str] = ()) -> Moment:
    """The moment that AS OF names. For a time that is not past yet, ``tables`` are looked at, too. Raises UserError if
    there is none, and TableNotFound."""
    if isinstance(as_of, Mapping):
        return _of_vector(clock, as_of)
    if isinstance(as_of, int) and not isinstance(as_of, bool):
        return Moment(as_of, clock.vector(as_of))
    if not isinstance(as_of, datetime | str):
        raise UserError(f"{as_of!r} is no moment", why=f"it is of type {type(as_of).__name__}", todo=_TODO)
    time = time_named(as_of, clock.engine.zone)
    position = clock.at(time, tables)
    if position is None:
        first = next(iter(clock.units(upto=1)), None)
        why = "no commit has been numbered yet" if first is None else f"position 1 has the time {first.time}"
        raise UserError(f"Nothing is known of {as_of}", why=why, todo="name a later time")
    return Moment(position, clock.vector(position))


def time_named(told: datetime | str, zone: tzinfo | Callable[[], tzinfo | None] | None = None) -> datetime:
    """A time with its zone. If it names none, the given zone counts, or that of this machine."""
    time = _parsed(told) if isinstance(told, str) else told
    if time.tzinfo is not None:
        return time
    here = zone() if callable(zone) else zone
    return time.astimezone() if here is None else time.replace(tzinfo=here)


def _parsed(text: str) -> datetime:
    """A time that is written as ISO 8601 has it, or as SQL does, with a named zone."""
    written, _, zone = text.strip().rpartition(" ")
    try:
        if written and not zone[:1].isdigit():
            return datetime.fromisoformat(written).replace(tzinfo=zone_named(zone))
        return datetime.fromisoformat(text.strip().replace("Z", "+00:00"))
    except ValueError:
        raise UserError(f"{text!r} is no time", todo="write it as 2026-11-18 17:00:00, if needed with a zone") from None


def _of_vector(clock: CommitClock, told: Mapping[str, int | Identity]) -> Moment:
    vector = {table: _pinned(clock, table, version) for table, version in told.items()}
    return Moment(clock.of(vector), vector)


def _pinned(clock: CommitClock, table: str, version: int | Identity) -> Identity:
    """A version of the table that has the name now."""
    if isinstance(version, Identity):
        return version
    if not isinstance(version, int) or isinstance(version, bool):
        raise UserError(f"{version!r} is no version of {table}", todo="versions are whole numbers")
    newest = clock.store.identity(table)
    if newest.version is None:
        raise UserError(f"{table} has no versions", why="its store keeps no history of it")
    if not 0 <= version <= newest.version:
        raise UserError(f"{table} has no version {version}", why=f"its newest version is {newest.version}")
    mark = newest.mark if version == newest.version else clock.store.commit_mark(table, version)
    return Identity(newest.table_id, version, mark)
