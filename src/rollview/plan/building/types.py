"""Types of expressions, as far as the parser's library can tell them from the columns' types."""

from __future__ import annotations

from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.optimizer.annotate_types import annotate_types

from rollview.plan.expressions import Expr
from rollview.plan.nodes import UNKNOWN


def type_of(expr: Expr) -> exp.DataType:
    """Only a help for printing other dialects: what a view's columns really are is Spark's word."""
    try:
        found = annotate_types(expr.copy(), dialect="spark").type
    except (SqlglotError, AttributeError, KeyError, TypeError):
        return UNKNOWN
    return found if isinstance(found, exp.DataType) else UNKNOWN
