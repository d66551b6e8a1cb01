"""What a query leaves open, and how the view decides it: ties by the key, elements in the order of the key.

Before: ``limit 3 by amount`` over ``scan orders`` (key id); ``aggregate by cust [collect_list(amount)]`` over the same.
After: ``limit 3 by amount, id``; ``aggregate by cust [collect_list(amount ORDER BY id)]``.
Every answer of the second is one of the first, and computed again it is the same one; without that, what a refresh
takes away might not be what was stored. Without a key, all columns decide: rows equal in all of them are the same.
A choice is listed if the rows may leave it open; whether they do, only the rows tell.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from sqlglot import exp

from rollview.keys.carried import carrying
from rollview.keys.facts import Names, facts_of
from rollview.plan.expressions import Expr, ref, rename
from rollview.plan.nodes import Column, Node, Ordering, show


@dataclass(frozen=True)
class Choice:
    """Something that a query leaves open, and how it is decided."""

    what: str
    how: str

    def __str__(self) -> str:
        return f"{self.what}: {self.how}"


@dataclass(frozen=True)
class Deciding:
    """An input, maybe with its key carried along, and the columns that tell apart its rows which are equal in some
    given ones; ``key`` says whether these columns are of its key."""

    input: Node
    columns: tuple[Column, ...]
    key: bool

    @property
    def order(self) -> tuple[Ordering, ...]:
        """The columns as terms of an ORDER BY, each ascending with NULL first."""
        return tuple(Ordering(ref(column.name)) for column in self.columns)

    @property
    def any_order(self) -> tuple[Ordering, ...]:
        """A term where nothing is left to decide, and an order has to be there."""
        ordered = [column for column in self.input.columns if not _unordered(column.type)]
        return tuple(Ordering(ref(column.name)) for column in ordered[:1])

    def choice(self, what: str, kind: str) -> Choice:
        """A choice that these columns decide; ``kind`` says what they put in order."""
        if not self.columns:
            return Choice(what, "not decided: these values have no order")
        by = ", ".join(dict.fromkeys(column.label for column in self.columns))
        return Choice(what, f"{kind} by the key: {by}" if self.key else f"{kind} by all columns: {by}")


def deciding(below: Node, given: Iterable[str], among: Names | None = None) -> Deciding:
    """What decides between rows that are equal in the given columns. Without a key all columns do, or those ``among``
    which something is chosen."""
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
    """An expression over an input's columns as its user wrote it, or nearly."""
    return show(rename(value, {column.name: column.label for column in below.columns}))


def _unordered(kind: exp.DataType) -> bool:
    return any(part.this in (exp.DataType.Type.MAP, exp.DataType.Type.VARIANT) for part in kind.find_all(exp.DataType))
