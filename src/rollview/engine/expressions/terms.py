"""Typed expressions in DuckDB's SQL, and the entries of the list that they are made from.

SQL is text here and not a tree: an entry's formula is written once, in DuckDB's own words, every operand in it is in
parentheses or inside a function, and user text enters it only as quoted names and literals.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal

from rollview.engine.expressions.arrow import Operation
from rollview.engine.expressions.types import VOID, Type

Literal = bool | int | float | str | bytes | Decimal | datetime.date | datetime.datetime

#: A text longer than this is refused: formulas repeat their operands.
MOST_TEXT = 200_000


@dataclass(frozen=True)
class Function:
    """A function that DuckDB calls back: ``apply`` takes and returns Arrow arrays, and sees no NULLs."""

    name: str
    apply: Callable[..., object]
    takes: tuple[Type, ...]
    gives: Type


@dataclass(frozen=True)
class Term:
    """An expression. ``fails`` says whether computing it can raise; ``literal`` is its value, if it is a literal other
    than NULL; ``column`` its column, if it is just that. ``entries`` are the entries of the list that it is made
    from. ``arrow`` computes it of Arrow columns, by their places, if Arrow can."""

    type: Type
    sql: str
    fails: bool = False
    literal: Literal | None = None
    column: str | None = None
    columns: frozenset[str] = frozenset()
    entries: frozenset[str] = frozenset()
    functions: frozenset[Function] = frozenset()
    arrow: Operation | None = None


@dataclass(frozen=True)
class Formula:
    """How an entry computes a value: SQL over its operands, whether it can fail, and the functions that it calls;
    ``arrow`` computes the same over Arrow arrays, if Arrow can."""

    type: Type
    sql: str
    fails: bool = False
    functions: tuple[Function, ...] = ()
    arrow: Operation | None = None


@dataclass(frozen=True)
class Entry:
    """An operation of the list. ``formula`` returns None for operands of other types. ``counts`` are the numbers of
    operands that it takes; any number, if there are none. ``note`` says on what condition the values are Spark's, if
    there is one."""

    name: str
    counts: tuple[int, ...]
    formula: Callable[[Sequence[Term]], Formula | None]
    note: str = ""


def apply(entry: Entry, operands: Sequence[Term]) -> Term | None:
    """The entry over these operands; None if it is not defined for them."""
    if (entry.counts and len(operands) not in entry.counts) or (found := entry.formula(operands)) is None:
        return None
    return made(found, operands, proof_of(entry, operands))


def proof_of(entry: Entry, operands: Sequence[Term]) -> str:
    """The name under which an entry is proven for these types: ``%(int, int)``. Of any number of operands, the type of
    the last one: ``coalesce(int)``."""
    operands = operands if entry.counts else operands[-1:]
    return f"{entry.name}({', '.join(each.type.name for each in operands)})"


def made(formula: Formula, operands: Sequence[Term], *entries: str) -> Term:
    """The term of a formula over operands."""
    return Term(
        formula.type,
        formula.sql,
        formula.fails or any(each.fails for each in operands),
        columns=frozenset().union(*(each.columns for each in operands)),
        entries=frozenset(entries).union(*(each.entries for each in operands)),
        functions=frozenset(formula.functions).union(*(each.functions for each in operands)),
        arrow=_composed(formula, operands),
    )


def _composed(formula: Formula, operands: Sequence[Term]) -> Operation | None:
    parts = [each.arrow for each in operands if each.arrow is not None]
    apply = formula.arrow
    if apply is None or len(parts) < len(operands):
        return None
    return lambda columns: apply(*(part(columns) for part in parts))


def null(kind: Type = VOID) -> Term:
    return Term(kind, f"CAST(NULL AS {kind.duck})" if kind != VOID else "NULL")


def failure(condition: str, kind: Type) -> str:
    """SQL of a numeric type that raises an error condition of Spark: a cast that fails, because a call of ``error``
    counts as volatile, and is not allowed inside TRY."""
    return f"CAST('[{condition}]' AS {kind.duck})"


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def text(value: str) -> str:
    """A string as a literal of SQL."""
    return "'" + value.replace("'", "''") + "'"
