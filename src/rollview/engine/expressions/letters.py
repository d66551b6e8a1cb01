"""Upper and lower case of all letters of Unicode, as Spark maps them: with ICU, in the root locale.

Python's own mappings are the same for the letters that its version of Unicode has. ``_YOUNG`` are those that came
later, up to Unicode 17, so that every version of Python gives the same. A sigma at the end of a word has its own lower
case.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
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

#: What a final sigma looks at beside it, of characters whose class came after Unicode 13: letters with case, characters
#: that it looks past, and others. Each range as its first and last character, in base 16.
_WITH_CASE = """
2c2f 2c5f a7c0-a7c1 a7d0-a7d1 a7d3 a7d5-a7d9 10570-1057a 1057c-1058a 1058c-10592 10594-10595 10597-105a1 105a3-105b1
105b3-105b9 105bb-105bc 1df00-1df09 1df0b-1df1e
1c89-1c8a a7cb-a7cf a7d2 a7d4 a7da-a7dc 10d50-10d65 10d70-10d85 16ea0-16eb8 16ebb-16ed3 1df25-1df2a
"""
_LOOKED_PAST = """
888 890-891 898-89f 8c9-8d2 c3c 180f 1ac1-1ace 1dfa a7f2-a7f4 fbc2 10780-10785 10787-107b0 107b2-107ba 10f82-10f85 11070
11073-11074 110c2 1aff0-1aff3 1aff5-1affb 1affd-1affe 1cf00-1cf2d 1cf30-1cf46 1e2ae
897 ece 1acf-1add 1ae0-1aeb a7f1 10d4e 10d69-10d6d 10d6f 10ec5 10efa-10eff 11241 113bb-113c0 113ce 113d0 113d2
113e1-113e2 11b60 11b62-11b64 11b66 11dd9 11f00-11f01 11f36-11f3a 11f40 11f42 11f5a 13439-13440 13447-13455
1611e-16129 1612d-1612f 16d40-16d42 16d6b-16d6c 16ff2-16ff3 1e030-1e06d 1e08f 1e4eb-1e4ef 1e5ee-1e5ef 1e6e3 1e6e6
1e6ee-1e6ef 1e6f5 1e6ff
"""
_OTHERS = "295 1734 1171e"


def _points(ranges: str) -> Iterator[int]:
    for text in ranges.split():
        first, _, last = text.partition("-")
        yield from range(int(first, 16), int(last or first, 16) + 1)


#: Older characters of the same class.
_STAND_IN = {
    at: old for ranges, old in ((_WITH_CASE, "a"), (_LOOKED_PAST, "\u0301"), (_OTHERS, " ")) for at in _points(ranges)
}


def upper(value: str) -> str:
    return value.upper().translate(_TO_CAPITAL)


def lower(value: str) -> str:
    if "Σ" in value and (old := value.translate(_STAND_IN)) != value:
        value = "".join(_sigma(old, at) if sign == "Σ" else sign for at, sign in enumerate(value))
    return value.lower().translate(_TO_SMALL)


def _sigma(text: str, at: int) -> str:
    """The small letter of a sigma at a place of a text."""
    beside = [part.replace("Σ", "a").replace("ς", "a") for part in (text[:at], text[at + 1 :])]
    return "ς" if "ς" in "Σ".join(beside).lower() else "σ"


def _each(change: Callable[[str], str], given: pa.Array) -> pa.Array:
    return pa.array([change(value) for value in given.to_pylist()], pa.string())


UPPER = Function("rv_upper", partial(_each, upper), (STRING,), STRING)
LOWER = Function("rv_lower", partial(_each, lower), (STRING,), STRING)
