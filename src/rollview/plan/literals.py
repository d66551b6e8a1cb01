"""Values as SQL literals, and conditions that list them."""

from __future__ import annotations

import datetime
from collections.abc import Collection, Sequence

from sqlglot import exp

from rollview.plan.expressions import Expr, ref


def is_literal(value: object) -> bool:
    """Whether a value can be written as an exact literal."""
    return isinstance(value, int | str | datetime.date) and not isinstance(value, bool)


def in_order(values: Collection[object], most: int) -> list[object] | None:
    """The values in ascending order; only the least and the greatest if there are more than ``most``. None if they
    have several types, which happens if a union converts them."""
    try:
        return sorted(values) if len(values) <= most else [min(values), max(values)]  # type: ignore[type-var]
    except TypeError:
        return None


def written(value: object) -> Expr:
    """A value as a literal. A timestamp literal does not depend on the session's time zone."""
    if not isinstance(value, datetime.datetime):
        return exp.convert(value)
    aware = value.tzinfo is not None
    text = (value.astimezone(datetime.timezone.utc) if aware else value).isoformat(sep=" ")
    return exp.Cast(this=exp.Literal.string(text), to=exp.DataType.build("timestamptz" if aware else "timestampntz"))


def predicate(column: str, values: Sequence[object], strict: bool, listed: int) -> Expr | None:
    """A condition that is true for the values, and for NULL among them unless ``strict``. None if they have no exact
    literals."""
    present = {value for value in values if value is not None}
    null = not strict and len(present) < len(values)
    ordered = in_order(present, listed)
    if ordered is None or not all(is_literal(value) for value in present):
        return None
    tests: list[Expr] = []
    if ordered:
        if len(present) <= listed:
            tests.append(exp.In(this=ref(column), expressions=[written(value) for value in ordered]))
        else:
            tests.append(exp.Between(this=ref(column), low=written(ordered[0]), high=written(ordered[-1])))
    if null:
        tests.append(exp.Is(this=ref(column), expression=exp.null()))
    if not tests:
        return exp.false()
    return tests[0] if len(tests) == 1 else exp.Or(this=exp.Paren(this=tests[0]), expression=tests[1])
