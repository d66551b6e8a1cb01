"""Which class computes which aggregate over which type."""

from __future__ import annotations

from collections.abc import Callable

from rollview.live.functions.floats import FloatMean, FloatSum
from rollview.live.functions.function import Function
from rollview.live.functions.ordered import Extreme
from rollview.live.functions.sums import Count, Mean, Sum
from rollview.live.interning import Interner
from rollview.live.shape import Result
from rollview.live.words import Kind

Made = Callable[[Kind, Kind, Interner], Function]

#: From the type of the values, the type of the result and the interned values. Every function without its own entry for
#: floats adds up whole numbers.
FUNCTIONS: dict[str, Made] = {
    "count": lambda of, kind, interner: Count(),
    "sum": lambda of, kind, interner: FloatSum() if of.floating else Sum(of, kind),
    "avg": lambda of, kind, interner: FloatMean() if of.floating else Mean(of, kind),
    "min": lambda of, kind, interner: Extreme(of, interner, least=True),
    "max": lambda of, kind, interner: Extreme(of, interner, least=False),
}


def function_of(result: Result, interner: Interner) -> Function:
    """The function of an aggregate of a view."""
    return FUNCTIONS[result.function](result.of or result.kind, result.kind, interner)
