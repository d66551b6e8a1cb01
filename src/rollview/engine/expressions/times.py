"""Dates and times. Fields of a TIMESTAMP are those of its local time in the session's zone.

Numbers of days and months are literals: a sum of a date and a large number wraps around in Spark.
"""

from __future__ import annotations

from collections.abc import Sequence

from rollview.engine.expressions.casts import seconds
from rollview.engine.expressions.terms import Entry, Formula, Term
from rollview.engine.expressions.types import BIGINT, DATE, INT, INTEGERS, NTZ, TIMESTAMP, decimal
from rollview.engine.expressions.zone import Zone

#: Fields of a date, in DuckDB's SQL.
_OF_DATE = {
    "year": "year({})",
    "quarter": "quarter({})",
    "month": "month({})",
    "day": "day({})",
    "dayofweek": "(dayofweek({}) + 1)",
    "weekday": "(isodow({}) - 1)",
    "dayofyear": "dayofyear({})",
    "weekofyear": "week({})",
}
_OF_TIME = ("hour", "minute", "second")

#: Days or months of up to this many are added: more leave the years 1 to 9999.
_MOST_DAYS, _MOST_MONTHS = 3_652_058, 119_987


def date_field(name: str) -> Entry:
    def formula(operands: Sequence[Term]) -> Formula | None:
        (a,) = operands
        return Formula(INT, f"CAST({_OF_DATE[name].format(a.sql)} AS INTEGER)") if a.type == DATE else None

    return Entry(name, (1,), formula)


def _time_field(name: str, zone: Zone) -> Entry:
    def formula(operands: Sequence[Term]) -> Formula | None:
        local = _local(operands[0], zone)
        return Formula(INT, f"CAST({name}({local}) AS INTEGER)") if local is not None else None

    return Entry(name, (1,), formula)


def _local(a: Term, zone: Zone) -> str | None:
    """The local time of a TIMESTAMP or TIMESTAMP_NTZ."""
    if a.type == TIMESTAMP:
        return zone.local(a.sql)
    return a.sql if a.type == NTZ else None


def _exact_second(zone: Zone) -> Entry:
    def formula(operands: Sequence[Term]) -> Formula | None:
        if (local := _local(operands[0], zone)) is None:
            return None
        kind = decimal(8, 6)
        micros = f"CAST(microsecond({local}) AS DECIMAL(9, 0))"
        return Formula(kind, f"CAST({micros} * CAST('0.000001' AS DECIMAL(7, 6)) AS {kind.duck})")

    return Entry("EXTRACT SECOND", (1,), formula)


_DATE_UNITS = {"year": "year", "yyyy": "year", "yy": "year", "quarter": "quarter", "month": "month", "mon": "month"}
_DATE_UNITS |= {"mm": "month", "week": "week"}
_TIME_UNITS = _DATE_UNITS | {"day": "day", "dd": "day", "hour": "hour", "minute": "minute"}
_FIXED_UNITS = {"second": 1_000_000, "millisecond": 1000, "microsecond": 1}


def first_day(operands: Sequence[Term]) -> Formula | None:
    """TRUNC of a date."""
    a, unit = operands
    name = _DATE_UNITS.get(str(unit.literal).lower())
    if a.type != DATE or name is None:
        return None
    return Formula(DATE, f"CAST(date_trunc('{name}', {a.sql}) AS DATE)")


def _truncated(zone: Zone) -> Entry:
    """DATE_TRUNC. Seconds and less are the same in all zones; the rest are those of the local time."""

    def formula(operands: Sequence[Term]) -> Formula | None:
        unit, a = operands
        name = str(unit.literal).lower()
        if a.type != TIMESTAMP:
            return None
        if (size := _FIXED_UNITS.get(name)) is not None:
            over = f"((epoch_us({a.sql}) % {size}) + {size}) % {size}"
            return Formula(TIMESTAMP, f"make_timestamptz(epoch_us({a.sql}) - {over})")
        if name not in _TIME_UNITS:
            return None
        local = zone.local(a.sql)
        start = f"date_trunc('{_TIME_UNITS[name]}', {local})"
        moment = zone.moment(f"CAST({start} AS TIMESTAMP)")
        if _TIME_UNITS[name] not in ("hour", "minute"):
            return Formula(TIMESTAMP, moment)
        back = f"({a.sql} - ({local} - {start}))"  # of an hour that occurs twice, the same one
        return Formula(TIMESTAMP, f"CASE WHEN {zone.local(back)} = {start} THEN {back} ELSE {moment} END")

    return Entry("date_trunc", (2,), formula)


def _count(term: Term, most: int) -> int | None:
    value = term.literal
    fits = term.type in INTEGERS and isinstance(value, int) and abs(value) <= most
    return value if fits and isinstance(value, int) else None


def days_added(operands: Sequence[Term]) -> Formula | None:
    a, count = operands
    if a.type != DATE or (days := _count(count, _MOST_DAYS)) is None:
        return None
    return Formula(DATE, f"({a.sql} + CAST({days} AS INTEGER))")


def months_added(operands: Sequence[Term]) -> Formula | None:
    a, count = operands
    if a.type != DATE or (months := _count(count, _MOST_MONTHS)) is None:
        return None
    return Formula(DATE, f"CAST({a.sql} + INTERVAL ({months}) MONTHS AS DATE)")


def time_added(operands: Sequence[Term]) -> Formula | None:
    """A TIMESTAMP and a literal number of seconds, as hours, minutes and seconds have them."""
    a, count = operands
    if a.type not in (TIMESTAMP, NTZ) or (number := _count(count, _MOST_DAYS * 86_400)) is None:
        return None
    return Formula(a.type, f"({a.sql} + INTERVAL ({number}) SECONDS)")


def days_between(operands: Sequence[Term]) -> Formula | None:
    a, b = operands
    return Formula(INT, f"CAST({a.sql} - {b.sql} AS INTEGER)") if a.type == b.type == DATE else None


def last_day(operands: Sequence[Term]) -> Formula | None:
    (a,) = operands
    return Formula(DATE, f"last_day({a.sql})") if a.type == DATE else None


def unix_date(operands: Sequence[Term]) -> Formula | None:
    (a,) = operands
    return Formula(INT, f"CAST({a.sql} - DATE '1970-01-01' AS INTEGER)") if a.type == DATE else None


def unix_seconds(operands: Sequence[Term]) -> Formula | None:
    (a,) = operands
    return Formula(BIGINT, seconds(a.sql)) if a.type == TIMESTAMP else None


def unix_micros(operands: Sequence[Term]) -> Formula | None:
    (a,) = operands
    return Formula(BIGINT, f"epoch_us({a.sql})") if a.type == TIMESTAMP else None


def entries(zone: Zone) -> tuple[Entry, ...]:
    return (
        *map(date_field, _OF_DATE),
        *(_time_field(name, zone) for name in _OF_TIME),
        _exact_second(zone),
        Entry("trunc", (2,), first_day),
        _truncated(zone),
        Entry("date_add", (2,), days_added),
        Entry("add_months", (2,), months_added),
        Entry("+ INTERVAL", (2,), time_added),
        Entry("datediff", (2,), days_between),
        Entry("last_day", (1,), last_day),
        Entry("unix_date", (1,), unix_date),
        Entry("unix_seconds", (1,), unix_seconds),
        Entry("unix_micros", (1,), unix_micros),
    )
