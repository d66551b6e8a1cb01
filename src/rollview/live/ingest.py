"""Changed rows of a table → changed rows of one of its parts, as words: filters, computed columns, join keys.

rows of the table → those that the filters keep → those whose join keys are not NULL → keys, projected values, sums
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rollview.engine.expressions import Settings, evaluator
from rollview.live.graph.protocol import Rows, joined, split
from rollview.live.interning import Interner, Words
from rollview.live.shape import Part, Shape
from rollview.live.words import Layout, column_words, kind_of, normalised
from rollview.plan.reserved import WEIGHT


class Ingest:
    """Makes the changed rows of one part. ``sources`` are the columns that it reads of its table."""

    def __init__(self, shape: Shape, part: Part, interner: Interner, settings: Settings) -> None:
        self._part, self._interner = part, interner
        self._vertices = [shape.vertices[number] for number in part.vertices]
        self.sources = tuple(source for _, source, _ in part.sources)
        kinds = {name: kind for name, _, kind in part.sources}
        self._filters = [evaluator([("kept", each)], kinds, settings) for each in part.filters]
        self._computed = evaluator(list(part.computed.items()), kinds, settings) if part.computed else None

    def rows(self, table: pa.Table) -> Rows:
        """The changed rows. The table has at least the columns of ``sources`` and the weight."""
        found = self._kept(table)
        columns: dict[str, pa.ChunkedArray] = dict(zip(found.column_names, found.columns, strict=True))
        if self._computed is not None:
            more = self._computed(found)
            columns |= dict(zip(more.column_names, more.columns, strict=True))
        there = self._joinable(columns, found.num_rows)
        if there is not None:
            columns = {name: column.filter(there) for name, column in columns.items()}
        weights = columns[WEIGHT.label].cast(pa.int64()).to_numpy()
        keys = tuple(self._key(i, columns, len(weights)) for i in range(len(self._vertices)))
        fields = self._part.layout.encode(
            [columns[name] for name, _ in self._part.fields], len(weights), self._interner
        )
        return Rows(keys, fields, weights, self._sums(columns, weights))

    def _kept(self, table: pa.Table) -> pa.Table:
        """The rows that the filters keep, with the plan's names of the columns."""
        names = [name for name, _, _ in self._part.sources]
        arrays = [table.column(source).cast(kind_of(kind).arrow) for _, source, kind in self._part.sources]
        found = pa.table([*arrays, table.column(WEIGHT.label)], names=[*names, WEIGHT.label])
        for each in self._filters:
            found = found.filter(each.mask(found))
        return found

    def _joinable(self, columns: dict[str, pa.ChunkedArray], rows: int) -> pa.ChunkedArray | None:
        """The rows whose join keys are not NULL; None if all are."""
        found = None
        for vertex, names in zip(self._vertices, self._part.keys, strict=True):
            for name, null_safe in zip(names, vertex.null_safe, strict=True):
                if not null_safe and columns[name].null_count:
                    known = columns[name].is_valid()
                    found = known if found is None else pc.and_(found, known)
        return found

    def _key(self, number: int, columns: dict[str, pa.ChunkedArray], rows: int) -> Words:
        vertex, names = self._vertices[number], self._part.keys[number]
        found = vertex.layout.encode([columns[name] for name in names], rows, self._interner)
        return normalised_keys(found, vertex.layout)

    def _sums(self, columns: dict[str, pa.ChunkedArray], weights: Words) -> Words:
        found = np.zeros((len(weights), 3 * len(self._part.pushed)), dtype=np.int64)
        for i, each in enumerate(self._part.pushed):
            column = columns[each.column]
            found[:, 3 * i] = column.is_valid().to_numpy().astype(np.int64) * weights
            if each.summed:
                words = column_words(column, each.kind, self._interner)
                found[:, 3 * i + 1 : 3 * i + 3] = multiplied(words, weights)
        return found


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
