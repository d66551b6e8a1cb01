"""The short way: operations that Arrow computes with the values of DuckDB, in microseconds instead of a millisecond.

An expression goes this way if all its parts can. Where Arrow raises an error, such as an overflow, DuckDB computes the
batch again, and says which error it is. Floats always take the other way: Arrow does not know that NaN equals NaN.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from rollview.engine.expressions.types import BOOLEAN, FLOATS, INTEGERS, Type

Operation = Callable[..., Any]

_SUMS: dict[str, Operation] = {"+": pc.add_checked, "-": pc.subtract_checked, "*": pc.multiply_checked}
_COMPARISONS: dict[str, Operation] = {
    "=": pc.equal,
    "<>": pc.not_equal,
    "<": pc.less,
    "<=": pc.less_equal,
    ">": pc.greater,
    ">=": pc.greater_equal,
}


def arithmetic(sign: str, kind: Type) -> Operation | None:
    """The sum, difference or product of two integers."""
    return _SUMS.get(sign) if kind in INTEGERS else None


def comparison(name: str, kind: Type) -> Operation | None:
    if kind in FLOATS or (kind == BOOLEAN and name not in ("=", "<>")):
        return None
    return _COMPARISONS.get(name)


def both(a: Any, b: Any) -> Any:
    return pc.and_kleene(a, b)


def either(a: Any, b: Any) -> Any:
    return pc.or_kleene(a, b)


def negation(a: Any) -> Any:
    return pc.invert(a)


def is_null(a: Any) -> Any:
    return pc.is_null(a)


def known(a: Any, value: bool) -> Any:
    """Whether a condition is known to be this."""
    return pc.fill_null(a if value else pc.invert(a), False)


def coalesce(*values: Any) -> Any:
    return pc.coalesce(*values)


def case(*operands: Any) -> Any:
    """Conditions and values in turn, then the default."""
    *pairs, found = operands
    for condition, value in reversed(list(zip(pairs[::2], pairs[1::2], strict=True))):
        found = pc.if_else(pc.fill_null(condition, False), value, found)
    return found


def listed(value: Any, *others: Any) -> Any:
    """Whether a value is in a list: unknown if it is not, and the list has a NULL."""
    found = pc.equal(value, others[0])
    for other in others[1:]:
        found = pc.or_kleene(found, pc.equal(value, other))
    return found


def widened(kind: Type) -> Operation:
    """A cast that loses nothing."""
    return lambda value: pc.cast(value, kind.arrow)


def constant(value: object, kind: Type) -> Operation:
    """A literal, whatever the columns are."""
    scalar = pa.scalar(value, kind.arrow)
    return lambda columns: scalar
