"""Implicit casts, as Spark makes them under ANSI. Where Spark would parse a column of strings, they are refused."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rollview.engine.expressions.literals import exact, suffixed
from rollview.engine.expressions.refused import Refused
from rollview.engine.expressions.terms import Term
from rollview.engine.expressions.types import (
    DATE,
    DOUBLE,
    FLOAT,
    FLOATS,
    INTEGERS,
    NTZ,
    STRING,
    TIMESTAMP,
    VOID,
    Type,
    holding,
    truncated,
)

Cast = Callable[[Term, Type], Term]

#: A TIMESTAMP and a TIMESTAMP_NTZ are not compared: in a gap of the zone, Spark's answer depends on its optimizer.
_MOMENTS = (DATE, NTZ, TIMESTAMP)


def common(operands: Sequence[Term], what: str) -> Type:
    """The type in which values are compared, or that of a value which is one of them."""
    kind = operands[0].type
    for each in operands[1:]:
        found = wider(kind, each.type)
        if found is None:
            raise Refused(f"{what} over {kind} and {each.type}", why="their implicit cast is not on the list")
        kind = found
    return kind


def wider(a: Type, b: Type) -> Type | None:
    """The type that holds the values of both."""
    if a == b or b == VOID:
        return a
    if a == VOID:
        return b
    if a.is_numeric and b.is_numeric:
        return _number(a, b)
    if DATE in (a, b) and a in _MOMENTS and b in _MOMENTS:
        return a if b == DATE else b
    return None


def _number(a: Type, b: Type) -> Type:
    if a in INTEGERS and b in INTEGERS:
        return max(a, b, key=INTEGERS.index)
    if a in FLOATS or b in FLOATS:
        return FLOAT if {a, b} == {FLOAT} or _keeps_float(a, b) else DOUBLE
    x, y = (holding(kind) if kind in INTEGERS else kind for kind in (a, b))
    scale = max(x.scale, y.scale)
    return truncated(max(x.precision - x.scale, y.precision - y.scale) + scale, scale)


def _keeps_float(a: Type, b: Type) -> bool:
    """Under ANSI, a float beside an integer becomes a double: a float would lose digits."""
    return a in FLOATS and b in FLOATS and DOUBLE not in (a, b)


def together(operands: Sequence[Term], cast: Cast, what: str) -> list[Term]:
    """The operands, cast to their common type. Literal strings beside dates and times are read as such."""
    read = [_read(each, operands) for each in operands]
    kind = common(read, what)
    return [cast(each, kind) for each in read]


def _read(term: Term, beside: Sequence[Term]) -> Term:
    """A literal string beside dates or times as one of these."""
    if term.type != STRING or term.literal is None:
        return term
    kinds = {each.type for each in beside if each.type not in (STRING, VOID)}
    if len(kinds) == 1 and (kind := kinds.pop()) in _MOMENTS:
        return suffixed(term, kind) or term
    return term


def decimals(operands: Sequence[Term], cast: Cast) -> list[Term]:
    """Operands of arithmetic of which one is a decimal, all as decimals. A literal integer has as many digits as are
    written."""
    return [_as_decimal(each, cast) for each in operands]


def _as_decimal(term: Term, cast: Cast) -> Term:
    if term.type not in INTEGERS:
        return term
    return exact(str(term.literal)) if term.literal is not None else cast(term, holding(term.type))
