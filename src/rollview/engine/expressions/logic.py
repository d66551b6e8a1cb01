"""Comparisons, NULLs and conditions. Strings and binaries are compared byte by byte, NaN equals NaN and is the greatest
number, and -0.0 equals 0.0: the same in DuckDB as in Spark."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from rollview.engine.expressions import arrow
from rollview.engine.expressions.terms import Entry, Formula, Term
from rollview.engine.expressions.types import BOOLEAN, FLOATS, VOID, Type

#: Lists of more values are searched by DuckDB, which hashes them.
_FEW = 20

_COMPARISONS = {
    "=": "=",
    "<>": "<>",
    "<": "<",
    "<=": "<=",
    ">": ">",
    ">=": ">=",
    "<=>": "IS NOT DISTINCT FROM",
    "IS DISTINCT FROM": "IS DISTINCT FROM",
}


def one_type(operands: Sequence[Term]) -> Type | None:
    """The type of all operands; None if they have several, or are all NULL."""
    kinds = {each.type for each in operands}
    return kinds.pop() if len(kinds) == 1 and VOID not in kinds else None


def _conditions(operands: Sequence[Term]) -> bool:
    return all(each.type == BOOLEAN for each in operands)


def _comparison(name: str) -> Entry:
    def formula(operands: Sequence[Term]) -> Formula | None:
        a, b = operands
        if (kind := one_type(operands)) is None:
            return None
        return Formula(BOOLEAN, f"({a.sql} {_COMPARISONS[name]} {b.sql})", arrow=arrow.comparison(name, kind))

    return Entry(name, (2,), formula)


def both(operands: Sequence[Term]) -> Formula | None:
    """The right side is not computed where the left one is false: only there could it be an error that Spark does not
    raise."""
    a, b = operands
    if not _conditions(operands):
        return None
    if not b.fails:
        return Formula(BOOLEAN, f"({a.sql} AND {b.sql})", arrow=arrow.both)
    return Formula(BOOLEAN, f"CASE WHEN {a.sql} = false THEN false ELSE (({b.sql}) AND ({a.sql})) END")


def either(operands: Sequence[Term]) -> Formula | None:
    a, b = operands
    if not _conditions(operands):
        return None
    if not b.fails:
        return Formula(BOOLEAN, f"({a.sql} OR {b.sql})", arrow=arrow.either)
    return Formula(BOOLEAN, f"CASE WHEN {a.sql} THEN true ELSE (({b.sql}) OR ({a.sql})) END")


def negation(operands: Sequence[Term]) -> Formula | None:
    if not _conditions(operands):
        return None
    return Formula(BOOLEAN, f"(NOT {operands[0].sql})", arrow=arrow.negation)


def is_null(operands: Sequence[Term]) -> Formula | None:
    return Formula(BOOLEAN, f"({operands[0].sql} IS NULL)", arrow=arrow.is_null)


def _is(value: bool) -> Entry:
    def formula(operands: Sequence[Term]) -> Formula | None:
        known = f"({operands[0].sql} IS NOT DISTINCT FROM {value})"
        return Formula(BOOLEAN, known, arrow=partial(arrow.known, value=value)) if _conditions(operands) else None

    return Entry(f"IS {value}".upper(), (1,), formula)


def case(operands: Sequence[Term]) -> Formula | None:
    """Conditions and values in turn, then the default. A branch is computed for the rows that take it."""
    *pairs, default = operands
    conditions, values = pairs[::2], pairs[1::2]
    kind = one_type([*values, default])
    if not _conditions(conditions) or kind is None:
        return None
    whens = " ".join(f"WHEN {a.sql} THEN {b.sql}" for a, b in zip(conditions, values, strict=True))
    lazy = any(each.fails for each in [*conditions[1:], *values, default])
    return Formula(kind, f"CASE {whens} ELSE {default.sql} END", arrow=None if lazy else arrow.case)


def coalesce(operands: Sequence[Term]) -> Formula | None:
    if (kind := one_type(operands)) is None:
        return None
    lazy = any(each.fails for each in operands[1:])
    listed = ", ".join(each.sql for each in operands)
    return Formula(kind, f"coalesce({listed})", arrow=None if lazy else arrow.coalesce)


def listed(operands: Sequence[Term]) -> Formula | None:
    """IN. Its list is computed whole, while Spark stops at the first equal value."""
    value, *others = operands
    kind = one_type(operands)
    if kind is None or any(each.fails for each in others):
        return None
    short = kind not in FLOATS and len(others) <= _FEW
    listed = ", ".join(each.sql for each in others)
    return Formula(BOOLEAN, f"({value.sql} IN ({listed}))", arrow=arrow.listed if short else None)


def _extreme(name: str, better: str) -> Entry:
    """NULLs are left out. Of equal values, the first one: for floats, DuckDB could take either zero."""

    def formula(operands: Sequence[Term]) -> Formula | None:
        if (kind := one_type(operands)) is None:
            return None
        if kind not in FLOATS:
            return Formula(kind, f"{name}({', '.join(each.sql for each in operands)})")
        first, *others = (each.sql for each in operands)
        for other in others:
            taken = f"{first} IS NULL OR {other} {better} {first}"
            first = f"CASE WHEN {other} IS NOT NULL AND ({taken}) THEN {other} ELSE {first} END"
        return Formula(kind, first)

    return Entry(name, (), formula)


ENTRIES = (
    *map(_comparison, _COMPARISONS),
    Entry("AND", (2,), both),
    Entry("OR", (2,), either),
    Entry("NOT", (1,), negation),
    Entry("IS NULL", (1,), is_null),
    _is(True),
    _is(False),
    Entry("CASE", (), case),
    Entry("coalesce", (), coalesce),
    Entry("IN", (), listed),
    _extreme("greatest", ">"),
    _extreme("least", "<"),
)
