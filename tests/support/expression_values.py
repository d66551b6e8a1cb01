"""A table of odd values for each type, and grids of them: rows in which every value meets every other."""

from __future__ import annotations

import math
from datetime import date, datetime, timezone
from decimal import Decimal

import pyarrow as pa

from rollview.engine.expressions import arrow_type

NAN, INF = math.nan, math.inf

#: As many values as a type has at most.
SIDE = 18


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=timezone.utc)


def _decimals(*values: str) -> list[object]:
    return [None if value == "" else Decimal(value) for value in values]


_NINES = "9" * 38
_DAYS = [
    "0001-01-01", "9999-12-31", "1582-10-04", "1582-10-15", "1500-02-28", "1900-02-28", "1969-12-31", "1970-01-01",
    "2000-02-29", "2021-01-03", "2021-03-28", "2021-10-31", "2023-12-31", "2024-02-29", "2024-12-30", "2026-01-01",
]  # fmt: skip
#: Around the gaps and overlaps of Europe/Oslo and Australia/Lord_Howe, whose clocks move by half an hour.
_MOMENTS = [
    "0001-01-02 00:00:00", "9999-12-30 23:59:59.999999", "1582-10-10 12:00:00.5", "1969-12-31 23:59:59.999999",
    "1970-01-01 00:00:00", "2021-03-28 00:59:59.999999", "2021-03-28 01:00:00", "2021-10-31 00:30:00",
    "2021-10-31 01:30:00", "2021-04-03 14:45:00", "2021-04-03 15:15:00", "2021-10-02 15:29:59", "2021-10-02 15:30:00",
    "2024-02-29 12:34:56.789012", "2024-12-31 23:30:00", "1899-12-31 22:13:20", "2051-07-07 07:07:07.000007",
]  # fmt: skip
_LOCAL = [
    "0001-01-02 00:00:00", "9999-12-30 23:59:59.999999", "1582-10-10 12:00:00.5", "1969-12-31 23:59:59.999999",
    "1970-01-01 00:00:00", "2021-03-28 01:59:59.999999", "2021-03-28 02:30:00", "2021-03-28 03:00:00",
    "2021-10-31 02:30:00", "2021-10-31 03:00:00", "2021-04-04 01:45:00", "2021-10-03 02:15:00", "2021-10-03 02:30:00",
    "2024-02-29 12:34:56.789012", "2024-12-31 23:30:00", "1895-01-01 00:20:00", "2051-07-07 07:07:07.000007",
]  # fmt: skip

VALUES: dict[str, list[object]] = {
    "boolean": [None, True, False],
    "tinyint": [None, 0, 1, -1, 2, -3, 7, 10, -10, 63, 64, 100, 126, 127, -127, -128],
    "smallint": [None, 0, 1, -1, 2, -3, 7, 127, 128, -128, -129, 255, 1000, 32766, 32767, -32767, -32768],
    "int": [None, 0, 1, -1, 2, -3, 7, 32767, 32768, -32769, 46341, 65536, 16777217, 2147483646, 2147483647, -2147483647, -2147483648],
    "bigint": [None, 0, 1, -1, 2, -3, 7, 2147483647, 2147483648, -2147483649, 3037000500, 9007199254740993, 10**18, 2**63 - 2, 2**63 - 1, -(2**63) + 1, -(2**63)],
    "float": [None, 0.0, -0.0, NAN, INF, -INF, 0.5, 1.5, -2.5, 0.1, 1e-45, 1e-38, 3.4028234663852886e38, -3.4028234663852886e38, 16777216.0, 2147483648.0, -9.223372036854776e18, 1e10],
    "double": [None, 0.0, -0.0, NAN, INF, -INF, 0.5, -2.5, 2.675, 1.005, 0.1, 5e-324, 3.4028235677973366e38, 1.7976931348623157e308, -2147483648.9, 2147483647.5, 9.223372036854775807e18, 9007199254740993.0],
    "decimal(10,2)": _decimals("", "0", "0.01", "-0.01", "0.05", "1.50", "2.50", "-2.50", "0.99", "127.99", "-128.50", "33.33", "1000000", "-7.77", "99999999.99", "-99999999.99", "99999999.49"),
    "decimal(38,10)": _decimals("", "0", "1E-10", "-1E-10", "0.5", "1.5", "-2.5", "3", "0.3333333333", "1234567890.0987654321", f"{_NINES[:28]}.{_NINES[28:]}", f"-{_NINES[:28]}.{_NINES[28:]}", "9223372036854775807.9", "9223372036854775808", "1E+20", "0.4999999999"),
    "decimal(38,0)": _decimals("", "0", "1", "-1", "3", "7", "10", "12345678901234567890", "99999999999999999999999999999", _NINES, f"-{_NINES}", "9223372036854775807", "-9223372036854775808", "9007199254740993"),
    "decimal(20,5)": _decimals("", "0", "0.00001", "-0.00001", "0.5", "1.5", "2.99999", "-7.5", "123456789.12345", "999999999999999.99999", "-999999999999999.99999"),
    "decimal(38,38)": _decimals("", "0", "1E-38", "-1E-38", "0.5", "0.1", "-0.3", "0." + "3" * 38, f"0.{_NINES}", f"-0.{_NINES}"),
    "decimal(5,0)": _decimals("", "0", "1", "-1", "3", "10", "255", "99999", "-99999"),
    "string": [None, "", " ", "a", "A", "b ", "ß", "ΑΣ", "İı", "e\u0301", "😀x", "a%b_c\\", "\tab\n", " 12 ", "-129", "2024-02-29", "True", "z\x00z"],
    "binary": [None, b"", b"\x00", b"a", b"\x7f", b"\x80", b"\xff\xff", b"ab", "ß😀".encode()],
    "date": [None, *map(date.fromisoformat, _DAYS)],
    "timestamp": [None, *map(_moment, _MOMENTS)],
    "timestamp_ntz": [None, *map(datetime.fromisoformat, _LOCAL)],
}  # fmt: skip

#: The columns of a grid and their types.
COLUMNS = {f"{kind.translate(str.maketrans('(,', '__', ')'))}_{at}": kind for kind in VALUES for at in (1, 2, 3)}


def column(kind: str, at: int) -> str:
    """The column of the values of a type that stands at a place of an expression."""
    return f"{kind.translate(str.maketrans('(,', '__', ')'))}_{at}"


def grid(places: int, kinds: set[str]) -> pa.Table:
    """A row for each combination of values at this many places."""
    rows = range(SIDE**places)
    made = {}
    for kind in sorted(kinds):
        values = VALUES[kind]
        for at in range(1, places + 1):
            found = [values[row // SIDE ** (at - 1) % SIDE % len(values)] for row in rows]
            made[column(kind, at)] = pa.array(found, arrow_type(kind))
    return pa.table(made)
