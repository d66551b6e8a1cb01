"""The session's time zone: from moments to local times and back, in DuckDB's SQL."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo
from zoneinfo import ZoneInfo

from rollview.engine.expressions.refused import Refused
from rollview.engine.expressions.terms import text

_DAY = "INTERVAL 24 HOURS"


@dataclass(frozen=True)
class Zone:
    """A region, such as ``Europe/Oslo``, or a fixed offset in seconds."""

    region: str | None
    offset: int = 0

    @staticmethod
    def of(zone: tzinfo) -> Zone:
        if isinstance(zone, ZoneInfo):
            return Zone(zone.key)
        offset = zone.utcoffset(datetime(2000, 1, 1))
        if offset is None:
            raise Refused(f"The time zone {zone}")
        return Zone(None, offset // timedelta(seconds=1))

    def local(self, moment: str) -> str:
        """The local time at a moment: a TIMESTAMP of a TIMESTAMPTZ."""
        if self.region is not None:
            return f"timezone({text(self.region)}, {moment})"
        return f"timezone('UTC', {moment} + INTERVAL ({self.offset}) SECONDS)"

    def moment(self, local: str) -> str:
        """The moment of a local time: a TIMESTAMPTZ of a TIMESTAMP. As in Java, a time that occurs twice is the first
        of the two, and a time in a gap is moved on by the gap's length. DuckDB takes the second of two."""
        if self.region is None:
            return f"(timezone('UTC', {local}) - INTERVAL ({self.offset}) SECONDS)"
        second = f"timezone({text(self.region)}, {local})"
        day_before = f"({second} - {_DAY})"
        first = f"({day_before} + ({local} - {self.local(day_before)}))"
        return f"CASE WHEN {self.local(first)} = {local} THEN least({first}, {second}) ELSE {second} END"
