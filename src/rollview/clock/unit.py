"""A unit of work: the commits that became visible together, and their place in the order of all commits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone

from rollview.store.protocol import Identity

_BEGIN = datetime(1970, 1, 1, tzinfo=timezone.utc)


@dataclass(frozen=True)
class Numbered:
    """A commit of one table with its position. ``rows`` counts the rows that it changed, if that is known; ``signed``
    those that it deleted and inserted, so that an updated row counts twice."""

    position: int
    table: str
    identity: Identity
    rows: int | None
    signed: int | None = None

    @property
    def version(self) -> int:
        assert self.identity.version is not None
        return self.identity.version


@dataclass(frozen=True)
class Unit:
    """One unit of work. A position never changes once it is given.

    ``time`` is in UTC, and never before that of the position before it. ``tables`` are those that the unit changed,
    with the version that each came to. ``rows`` counts the changed rows, if that is known."""

    position: int
    time: datetime
    tables: Mapping[str, Identity]
    rows: int | None

    def __str__(self) -> str:
        changed = ", ".join(f"{table} → {identity.version}" for table, identity in self.tables.items())
        rows = "" if self.rows is None else f"  {self.rows:,} row{'s' if self.rows != 1 else ''}"
        return f"{self.position}  {self.time:%Y-%m-%d %H:%M:%S.%f} UTC  {changed}{rows}"


class Units(list[Unit]):
    """Units, oldest first; as text, a line for each."""

    def __str__(self) -> str:
        return "\n".join(map(str, self)) or "no commits"

    __repr__ = __str__


def micros(time: datetime) -> int:
    """Microseconds since 1970 of a time that has a zone."""
    return (time - _BEGIN) // timedelta(microseconds=1)


def time_of(stamp: int) -> datetime:
    """The time, from microseconds since 1970."""
    return _BEGIN + timedelta(microseconds=stamp)
