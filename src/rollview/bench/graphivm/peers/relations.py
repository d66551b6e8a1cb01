"""Relations that a peer keeps.

A relation is a bag of rows: each distinct row once, with its count, found by a hash table over the row, and by indexes
over single columns: of each value, a contiguous list of the rows that have it. The hash tables and lists are those of
``live/kernel``, in an arena as there.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from rollview.bench.graphivm.views import JoinView
from rollview.live.interning import Words
from rollview.live.kernel import numbers as n
from rollview.live.kernel.plan import Plan
from rollview.live.shape import Shape

#: A column: the occurrence of a table that it is of, and where it is in a changed row of that.
Column = tuple[int, int]


@dataclass(frozen=True)
class Occurrence:
    """One occurrence of a table: the columns that are shown, with the word of their NULLs; and for each occurrence that
    it is joined with, the column of that join."""

    part: int
    fields: tuple[Column, ...]
    keys: dict[int, Column]

    @property
    def stored(self) -> tuple[Column, ...]:
        """The columns of a whole row: none twice."""
        return tuple(dict.fromkeys([*self.fields, *self.keys.values()]))


def occurrences(view: JoinView, shape: Shape, plan: Plan) -> tuple[Occurrence, ...]:
    """The occurrences of tables in a view, in the order of the parts of its shape."""
    assert tuple(part.table for part in shape.parts) == view.tables
    ends: list[dict[int, str]] = [{} for _ in view.tables]
    for join in view.joins:
        ends[join.a][join.b], ends[join.b][join.a] = join.a_column, join.b_column
    found = []
    for part, own in zip(shape.parts, plan.parts, strict=True):
        names = {source.casefold(): name for name, source, _ in part.sources}
        places = {name: own.in_fields + at for (name, _), at in zip(part.fields, part.layout.places, strict=False)}
        sides = {name: own.keys[i] for i, (name,) in enumerate(part.keys)}
        keys = {
            other: (part.number, places.get(names[column.casefold()], sides[names[column.casefold()]]))
            for other, column in ends[part.number].items()
        }
        fields = tuple((part.number, own.in_fields + word) for word in range(own.width))
        found.append(Occurrence(part.number, fields, keys))
    return tuple(found)


def connected(all_: Sequence[Occurrence], start: int, among: Iterable[int]) -> tuple[int, ...]:
    """Those of some occurrences that are connected with one of them."""
    among, found, waiting = set(among), {start}, [start]
    while waiting:
        fresh = among & all_[waiting.pop()].keys.keys() - found
        found |= fresh
        waiting += fresh
    return tuple(sorted(found))


@dataclass(frozen=True)
class Relation:
    """A relation: its columns, and the columns that it is found by. ``table`` is where its hash table is described,
    ``at`` where it is in the plan of the peer."""

    columns: tuple[Column, ...]
    keys: tuple[Column, ...]
    table: int
    at: int

    @property
    def width(self) -> int:
        return len(self.columns)

    @property
    def tables(self) -> range:
        """Where its tables are described: that of the rows, and those of the indexes."""
        return range(self.table, self.after, n.TABLE_WORDS)

    @property
    def after(self) -> int:
        return self.table + n.TABLE_WORDS * (1 + len(self.keys))

    def index(self, key: Column) -> int:
        """Where the table of an index is described."""
        return self.table + n.TABLE_WORDS * (1 + self.keys.index(key))

    def words(self) -> list[int]:
        """The relation in the plan, as ``rows.py`` reads it."""
        places = [word for key in self.keys for word in (self.index(key), self.columns.index(key))]
        return [self.table, self.width, len(self.keys), *places]


class Relations:
    """Relations that are made one after the other."""

    def __init__(self) -> None:
        self.all: list[Relation] = []
        self.after, self._at = n.TABLES, 0

    def add(self, columns: tuple[Column, ...], keys: tuple[Column, ...]) -> Relation:
        found = Relation(columns, keys, self.after, self._at)
        self.all.append(found)
        self.after, self._at = found.after, self._at + len(found.words())
        return found


def empty_arena(tables: Sequence[int], after: int) -> Words:
    """An arena whose tables are empty."""
    size = 16
    arena = np.zeros(after + size * len(tables) + 4096, dtype=np.int64)
    arena[n.TOP] = after
    for table in tables:
        arena[table], arena[table + 1] = arena[n.TOP], size - 1
        arena[n.TOP] += size
    return arena
