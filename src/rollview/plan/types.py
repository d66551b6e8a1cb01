"""Implicit casts: comparisons and set operations of columns of different types.

Rules treat equal values as identical. That is right if each value of one type equals at most one value of the other:
1 and 1.00. It is wrong if it can equal several: '1' and '01' both equal 1, and two BIGINTs can equal one DOUBLE.
"""

from __future__ import annotations

from sqlglot import exp

from rollview.plan.expressions import Expr, names_in
from rollview.plan.nodes import UNKNOWN, Column, Combined

_Type = exp.DataType.Type
_WIDE = {_Type.BIGINT, _Type.DECIMAL}
_INSTANTS = {_Type.TIMESTAMP, _Type.TIMESTAMPTZ, _Type.TIMESTAMPLTZ}


def shown_type(kind: str) -> str:
    """A type for people: under the engine's own name where Spark has no such type."""
    return kind.replace("int128", "hugeint")


def compared(test: exp.EQ | exp.NullSafeEQ, left: exp.DataType, right: exp.DataType) -> Expr:
    """An equality of values of these types. If equal values may differ, it is written as NOT (NOT (a = b)): engines
    simplify that to an equality, while the delta rules treat it as an arbitrary condition."""
    a, b = test.this, test.expression
    guessed = UNKNOWN.this in (left.this, right.this) and bool({left.this, right.this} & exp.DataType.TEXT_TYPES)
    if guessed or (names_in(a) and loses(left, right)) or (names_in(b) and loses(right, left)):
        return exp.Not(this=exp.Paren(this=exp.Not(this=test)))
    return test


def loses(kind: exp.DataType, other: exp.DataType) -> bool:
    """Whether several values of type ``kind`` can equal one value of ``other``. False if a type is not known."""
    if UNKNOWN.this in (kind.this, other.this):
        return False
    if mixed(kind, other):
        return kind.this in exp.DataType.TEXT_TYPES
    if other.this in exp.DataType.FLOAT_TYPES:
        return kind.this in _WIDE or (kind.this in exp.DataType.INTEGER_TYPES and other.this == _Type.FLOAT)
    moments = {kind.this, other.this}
    return _Type.TIMESTAMPNTZ in moments and bool(moments & _INSTANTS)


def mixed(a: exp.DataType, b: exp.DataType) -> bool:
    """Whether one type is text and the other is not. Which side an engine casts then depends on its settings."""
    texts = [kind.this in exp.DataType.TEXT_TYPES for kind in (a, b)]
    return texts[0] != texts[1] and not {a.this, b.this} & {UNKNOWN.this, _Type.NULL}


def converted(union: Combined) -> list[Column]:
    """The columns of a set operation whose types differ between the two inputs."""
    columns = zip(union.output, union.left.columns, union.right.columns, strict=True)
    return [out for out, a, b in columns if not _alike(a.type, b.type)]


def _alike(a: exp.DataType, b: exp.DataType) -> bool:
    return a == b or {a.this, b.this} <= exp.DataType.TEXT_TYPES or _Type.NULL in (a.this, b.this)
