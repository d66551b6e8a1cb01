"""Types of expressions, if sqlglot can infer them from the columns' types."""

from __future__ import annotations

from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.optimizer.annotate_types import annotate_types

from rollview.plan.expressions import Expr, names_in
from rollview.plan.nodes import UNKNOWN
from rollview.plan.types import compared

_DECIMAL = exp.DataType.build("decimal")


def type_of(expr: Expr) -> exp.DataType:
    """The type that sqlglot infers. It is only a help: the types of a view's columns come from Spark."""
    try:
        found = annotate_types(expr.copy(), dialect="spark").type
    except (SqlglotError, AttributeError, KeyError, TypeError):
        return UNKNOWN
    return found if isinstance(found, exp.DataType) else UNKNOWN


def equal(a: Expr, b: Expr, kind: type[exp.EQ] | type[exp.NullSafeEQ] = exp.EQ) -> Expr:
    """The comparison of two bound expressions."""
    return compared(kind(this=a, expression=b), _compared_type(a), _compared_type(b))


def _compared_type(expr: Expr) -> exp.DataType:
    if isinstance(expr, exp.Column) and isinstance(expr.type, exp.DataType):
        return expr.type
    found = type_of(expr)
    written = found.this in exp.DataType.FLOAT_TYPES and not names_in(expr) and not expr.find(exp.Cast)
    return _DECIMAL if written and "e" not in expr.sql().lower() else found
