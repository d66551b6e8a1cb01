"""Changed rows of a table → changed rows of one of its parts, as words: filters, computed columns, join keys.

rows of the table → those that the filters keep → those whose join keys are not NULL → keys, projected values, sums
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rollview.engine.expressions import Settings, evaluator
from rollview.live.graph.protocol import Rows, joined, split
from rollview.live.interning import Interner, Words
from rollview.live.shape import Part, Shape
from rollview.live.words import Kind, Layout, column_words, kind_of, normalised, plain_words
from rollview.plan.reserved import WEIGHT

Columns = dict[str, pa.Array]

#: All columns of a change are read at once if it has at most this many rows.
_FEW = 64


@dataclass(frozen=True)
class Place:
    """Where the words of a column go: as keys or not; and where the word for its NULLs is, with its bit."""

    at: int
    as_key: bool
    nulls: int | None
    bit: int


class Ingest:
    """Makes the changed rows of one part. ``sources`` are the columns that it reads of its table."""

    def __init__(self, shape: Shape, part: Part, interner: Interner, settings: Settings) -> None:
        self._part, self._interner = part, interner
        self._vertices = [shape.vertices[number] for number in part.vertices]
        self.sources = tuple(source for _, source, _ in part.sources)
        kinds = {name: kind for name, _, kind in part.sources}
        self._types = [(name, source, kind_of(kind).arrow) for name, source, kind in part.sources]
        self._filters = [evaluator([("kept", each)], kinds, settings) for each in part.filters]
        self._computed = evaluator(list(part.computed.items()), kinds, settings) if part.computed else None
        self._known = tuple(
            dict.fromkeys(
                name
                for vertex, names in zip(self._vertices, part.keys, strict=True)
                for name, null_safe in zip(names, vertex.null_safe, strict=True)
                if not null_safe
            )
        )
        self._places, self._keys = self._laid_out()
        self._counts = self._keys[-1] + part.layout.width
        self._begins = (*self._keys, self._counts)
        self._width = self._counts + 1 + 3 * len(part.pushed)
        self._direct = self._directly()
        copied = {place for _, _, places in self._direct or () for place in places}
        self._zeros = [place for place in range(self._width) if place not in copied]
        self._schema = pa.schema([])
        self._order: Words | None = None

    def rows(self, table: pa.Table) -> Rows:
        """The changed rows. The table has at least the columns of ``sources`` and the weight."""
        found = self._copied(table)
        if found is None:
            found = self._made(table)
        return Rows(found, self._begins)

    def _directly(self) -> list[tuple[str, Kind, list[int]]] | None:
        """Which columns are copied to which words, if nothing else must be done with those that have no NULL."""
        if self._filters or self._computed is not None or self._part.pushed:
            return None
        sources = {name: (source, kind_of(kind)) for name, source, kind in self._part.sources}
        found = [(WEIGHT.label, kind_of("bigint"), [self._counts])]
        for (name, kind), places in self._places.items():
            source, own = sources[name]
            if own.integer if kind.integer else own == kind:
                found.append((source, own, [place.at for place in places]))
            else:
                return None
        return found

    def _copied(self, table: pa.Table) -> Words | None:
        """The words of rows whose columns only have to be copied; None of other rows."""
        if self._direct is None:
            return None
        if table.num_rows <= _FEW and (few := self._few(table)) is not None:
            return few
        found = np.zeros((table.num_rows, self._width), dtype=np.int64)
        for source, kind, places in self._direct:
            column = table.column(source)
            if column.num_chunks != 1 or (words := plain_words(column.chunk(0), kind)) is None:
                return None
            for place in places:
                found[:, place] = words
        return found

    def _few(self, table: pa.Table) -> Words | None:
        """The same of few rows, of which all columns are taken at once: None if they are not all 64 bits wide."""
        if not table.schema.equals(self._schema):
            self._schema, self._order = table.schema, self._ordered(table.schema)
        if self._order is None or len(batches := table.to_batches()) != 1:
            return None
        try:
            found: Words = batches[0].to_tensor().to_numpy().take(self._order, axis=1)
        except pa.ArrowInvalid:  # there are NULLs
            return None
        for place in self._zeros:
            found[:, place] = 0
        return found

    def _ordered(self, schema: pa.Schema) -> Words | None:
        """For each word, the column of a table that it is copied from."""
        if self._direct is None or any(kind != pa.int64() for kind in schema.types):
            return None
        order = np.zeros(self._width, dtype=np.int64)
        for source, _, places in self._direct:
            order[places] = schema.get_field_index(source)
        return None if (order < 0).any() else order

    def _made(self, table: pa.Table) -> Words:
        """The words of any rows."""
        columns = self._columns(table)
        weights = columns.pop(WEIGHT.label).to_numpy(zero_copy_only=False)
        found = np.zeros((len(weights), self._width), dtype=np.int64)
        for (name, kind), places in self._places.items():
            self._put(found, columns[name], kind, places)
        found[:, self._counts] = weights
        for i, each in enumerate(self._part.pushed):
            self._put_sum(found, self._counts + 1 + 3 * i, columns[each.column], each.kind, each.summed)
        return found

    def _columns(self, table: pa.Table) -> Columns:
        """The columns of the rows that count, by the plan's names."""
        columns = {name: _column(table, source, kind) for name, source, kind in self._types}
        columns[WEIGHT.label] = _column(table, WEIGHT.label, pa.int64())
        if self._filters:
            columns = self._kept(columns)
        if self._computed is not None:
            more = self._computed(pa.table(columns))
            columns |= {name: _whole(column) for name, column in zip(more.column_names, more.columns, strict=True)}
        if any(columns[name].null_count for name in self._known):
            there = pc.is_valid(columns[self._known[0]])
            for name in self._known[1:]:
                there = pc.and_(there, pc.is_valid(columns[name]))
            columns = {name: column.filter(there) for name, column in columns.items()}
        return columns

    def _kept(self, columns: Columns) -> Columns:
        """The rows that the filters keep."""
        found = pa.table(columns)
        for each in self._filters:
            found = found.filter(each.mask(found))
        return {name: _whole(column) for name, column in zip(found.column_names, found.columns, strict=True)}

    def _laid_out(self) -> tuple[Mapping[tuple[str, Kind], Sequence[Place]], tuple[int, ...]]:
        """Where the words of each column go, and where each key begins, and the fields."""
        places: dict[tuple[str, Kind], list[Place]] = {}
        begins = [0]
        layouts = [(vertex.layout, names) for vertex, names in zip(self._vertices, self._part.keys, strict=True)]
        layouts.append((self._part.layout, tuple(name for name, _ in self._part.fields)))
        for number, (layout, names) in enumerate(layouts):
            start, as_key = begins[-1], number < len(self._vertices)
            for i, name in enumerate(names):
                place = Place(start + layout.places[i], as_key, *_null_place(layout, i, start))
                places.setdefault((name, layout.kinds[i]), []).append(place)
            begins.append(start + layout.width)
        return places, tuple(begins[:-1])

    def _put(self, found: Words, column: pa.Array, kind: Kind, places: Sequence[Place]) -> None:
        """Writes the words of a column to where they belong."""
        words = column_words(column, kind, self._interner)
        nulls = column.is_null().to_numpy(zero_copy_only=False).astype(np.int64) if column.null_count else None
        for place in places:
            found[:, place.at : place.at + kind.width] = normalised(words, kind) if place.as_key else words
            if nulls is not None and place.nulls is not None:
                found[:, place.nulls] |= nulls << place.bit

    def _put_sum(self, found: Words, at: int, column: pa.Array, kind: Kind, summed: bool) -> None:
        weights = found[:, self._counts]
        found[:, at] = weights
        if column.null_count:
            found[:, at] *= column.is_valid().to_numpy(zero_copy_only=False)
        if summed:
            found[:, at + 1 : at + 3] = multiplied(column_words(column, kind, self._interner), weights)


def _column(table: pa.Table, name: str, kind: pa.DataType) -> pa.Array:
    column = _whole(table.column(name))
    return column if column.type == kind else column.cast(kind)


def _whole(column: pa.ChunkedArray) -> pa.Array:
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def _null_place(layout: Layout, column: int, start: int) -> tuple[int | None, int]:
    if not layout.flagged:
        return None, 0
    word, bit = layout.null_place(column)
    return start + word, bit


def normalised_keys(words: Words, layout: Layout) -> Words:
    """Tuples of words as keys are compared."""
    for i, kind in enumerate(layout.kinds):
        if kind.floating:
            at = layout.places[i]
            words[:, at] = normalised(words[:, at], kind)
    return words


def multiplied(words: Words, weights: Words) -> Words:
    """Numbers of one or two words, times weights, as numbers of two."""
    if words.shape[1] == 1 and _small(words[:, 0]) and _small(weights):
        low = words[:, 0] * weights
        return np.stack([low, low >> 63], axis=1)
    numbers: Sequence[int] = _numbers(words)
    pairs = [split(number * int(weight)) for number, weight in zip(numbers, weights.tolist(), strict=True)]
    return np.array(pairs, dtype=np.int64).reshape(len(words), 2)


def _small(words: Words) -> bool:
    """Whether the product of two such numbers fits one word."""
    return bool(((words > -(2**31)) & (words < 2**31)).all())


def _numbers(words: Words) -> list[int]:
    if words.shape[1] == 1:
        return list(map(int, words[:, 0].tolist()))
    return [joined(low, high) for low, high in words.tolist()]
