"""Upper and lower case of all letters of Unicode, as Spark maps them: with ICU, in the root locale.

Python's own mappings are the same for the letters that its version of Unicode has. ``_YOUNG`` are those that came
later, up to Unicode 17, so that every version of Python gives the same. A final sigma has its own lower case.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pyarrow as pa

from rollview.engine.expressions.terms import Function
from rollview.engine.expressions.types import STRING

#: (first capital, last capital, step, distance to the small letter)
_YOUNG = (
    (0x2C2F, 0x2C2F, 1, 0x30),  # Unicode 14
    (0xA7C0, 0xA7C0, 1, 1),
    (0xA7D0, 0xA7D0, 1, 1),
    (0xA7D6, 0xA7D8, 2, 1),
    (0x10570, 0x1057A, 1, 0x27),
    (0x1057C, 0x1058A, 1, 0x27),
    (0x1058C, 0x10592, 1, 0x27),
    (0x10594, 0x10595, 1, 0x27),
    (0x1C89, 0x1C89, 1, 1),  # Unicode 16
    (0xA7CB, 0xA7CB, 1, 0x264 - 0xA7CB),
    (0xA7CC, 0xA7CC, 1, 1),
    (0xA7DA, 0xA7DA, 1, 1),
    (0xA7DC, 0xA7DC, 1, 0x19B - 0xA7DC),
    (0x10D50, 0x10D65, 1, 0x20),
    (0xA7CE, 0xA7D2, 4, 1),  # Unicode 17
    (0xA7D4, 0xA7D4, 1, 1),
    (0x16EA0, 0x16EB8, 1, 0x1B),
)
_TO_SMALL = {at: at + far for first, last, step, far in _YOUNG for at in range(first, last + 1, step)}
_TO_CAPITAL = {small: capital for capital, small in _TO_SMALL.items()}


def upper(value: str) -> str:
    return value.upper().translate(_TO_CAPITAL)


def lower(value: str) -> str:
    return value.lower().translate(_TO_SMALL)


def _each(change: Callable[[str], str], given: pa.Array) -> pa.Array:
    return pa.array([change(value) for value in given.to_pylist()], pa.string())


UPPER = Function("rv_upper", partial(_each, upper), (STRING,), STRING)
LOWER = Function("rv_lower", partial(_each, lower), (STRING,), STRING)
