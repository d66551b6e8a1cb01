"""Choices that a query leaves open, and how the view makes them: ties are broken, and elements ordered, by the key.

Before: ``limit 3 by amount`` over ``scan orders`` (key id); ``aggregate by cust [collect_list(amount)]`` over the same.
After: ``limit 3 by amount, id``; ``aggregate by cust [collect_list(amount ORDER BY id)]``.
The second query returns one of the answers of the first, and always the same one. Otherwise a refresh could delete
rows other than those that are stored. Without a key, all columns decide: rows equal in all columns are identical.
A choice is listed if it may be open; whether it is depends on the rows.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from sqlglot import exp

from rollview.keys.branches import BRANCH, TAG
from rollview.keys.carried import carrying
from rollview.keys.facts import Names, facts_of
from rollview.plan.expressions import Expr, ref, rename
from rollview.plan.nodes import Column, Node, Ordering, show


@dataclass(frozen=True)
class Choice:
    """A choice that a query leaves open, and how it is made."""

    what: str
    how: str

    def __str__(self) -> str:
        return f"{self.what}: {self.how}"


@dataclass(frozen=True)
class Deciding:
    """An input, possibly with its key passed on, and the tie-breaking columns: they distinguish rows that are equal in
    some given columns. ``key`` says whether they are columns of the key."""

    input: Node
    columns: tuple[Column, ...]
    key: bool

    @property
    def order(self) -> tuple[Ordering, ...]:
        """The tie-breaking columns as terms of an ORDER BY, each ascending with NULL first."""
        return tuple(Ordering(ref(column.name)) for column in self.columns)

    @property
    def any_order(self) -> tuple[Ordering, ...]:
        """A single term, for operators that need an ORDER BY although nothing is left to decide."""
        ordered = [column for column in self.input.columns if not _unordered(column.type)]
        return tuple(Ordering(ref(column.name)) for column in ordered[:1])

    def choice(self, what: str, kind: str) -> Choice:
        """A choice that these columns decide; ``kind`` says what they order: ties, rows or elements."""
        if not self.columns:
            return Choice(what, "not decided: these values have no order")
        by = ", ".join(dict.fromkeys(BRANCH if column.label == TAG else column.label for column in self.columns))
        return Choice(what, f"{kind} by the key: {by}" if self.key else f"{kind} by all columns: {by}")


def deciding(below: Node, given: Iterable[str], among: Names | None = None) -> Deciding:
    """The tie-breaking columns for rows that are equal in the given columns: those of the key; without a key all
    columns, or those in ``among``."""
    facts = facts_of(below)
    if facts.key is None:
        richer = carrying(below)
        if facts_of(richer).key is not None:
            below, facts = richer, facts_of(richer)
    known = facts.closure(given)
    if facts.key is None:
        wanted = below.names if among is None else among
    else:
        wanted = frozenset() if facts.key <= known else facts.key
    columns = (column for column in below.columns if column.name in wanted - known and not _unordered(column.type))
    return Deciding(below, tuple(columns), facts.key is not None)


def as_written(value: Expr, below: Node) -> str:
    """An expression over an input's columns, printed with the user's column names."""
    return show(rename(value, {column.name: column.label for column in below.columns}))


def _unordered(kind: exp.DataType) -> bool:
    return any(part.this in (exp.DataType.Type.MAP, exp.DataType.Type.VARIANT) for part in kind.find_all(exp.DataType))
