"""Lengths of time as a user writes them: ``7 days``, ``1 day 12 hours``, ``90 minutes``."""

from __future__ import annotations

import re
from datetime import timedelta

from rollview.errors import UserError

_UNITS = {"week": 604_800, "day": 86_400, "hour": 3_600, "minute": 60, "second": 1}

_PART = re.compile(rf"\s*(\d+)\s*({'|'.join(_UNITS)})s?\b\s*", re.IGNORECASE)

_TODO = "write a number and a unit: '7 days', '12 hours', '1 day 12 hours'"


def seconds_of(length: object, what: str) -> int:
    """A length of time as whole seconds. ``what`` is the thing that has the length, for messages."""
    if isinstance(length, timedelta):
        if length < timedelta(0):
            raise UserError(f"{what} cannot be a negative time", todo=_TODO)
        return length // timedelta(seconds=1)
    if not isinstance(length, str):
        raise UserError(f"{what} is a length of time, not a value of type {type(length).__name__}", todo=_TODO)
    at, total = 0, 0
    while found := _PART.match(length, at):
        at, total = found.end(), total + int(found[1]) * _UNITS[found[2].lower()]
    if at == 0 or at < len(length):
        raise UserError(f"{what} is a length of time, not {length!r}", todo=_TODO)
    return total


def length_of(seconds: int) -> str:
    """Whole seconds in the largest units, as ``seconds_of`` reads them."""
    parts = []
    for unit, size in _UNITS.items():
        if unit == "week" and seconds % size:  # 10 days, not 1 week 3 days
            continue
        number, seconds = divmod(seconds, size)
        if number:
            parts.append(f"{number} {unit}{'s' if number > 1 else ''}")
    return " ".join(parts) or "0 seconds"
