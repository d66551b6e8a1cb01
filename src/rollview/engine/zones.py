"""Time zones by the names that sessions give them."""

from __future__ import annotations

import re
from datetime import timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from rollview.errors import UserError

_OFFSET = re.compile(r"(?:UTC|GMT|UT)?([+-])(\d{1,2})(?::?(\d{2}))?", re.IGNORECASE)


def zone_named(name: str) -> tzinfo:
    """A time zone: a region such as ``Europe/Oslo``, ``UTC``, ``Z``, or an offset such as ``+02:00`` or ``GMT+2``."""
    if name.upper() in ("Z", "UTC", "GMT", "UT"):
        return timezone.utc
    if (match := _OFFSET.fullmatch(name)) is not None:
        offset = timedelta(hours=int(match[2]), minutes=int(match[3] or 0))
        if offset < timedelta(days=1):
            return timezone(-offset if match[1] == "-" else offset)
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise UserError(
            f"There is no time zone named {name}",
            todo="name a region, such as Europe/Oslo, or an offset, such as +02:00",
        ) from None
