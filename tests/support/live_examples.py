"""Small live views over tables written as text, and what their graphs hold in readable form."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from live_arena import elements
from live_graphs import SETTINGS, diff_of, generated
from live_model import ARROW, Bag
from rollview.frontend.query import Query
from rollview.frontend.sql import BaseTable
from rollview.live.compile.compiling import compiled_shape
from rollview.live.core import Core
from rollview.live.graph.elements import JoinTuple
from rollview.live.graph.protocol import GraphOf, LookAhead
from rollview.live.graph.reference import ReferenceGraph

Columns = Sequence[tuple[str, str]]


class Example:
    """A live view over some tables. ``tables`` gives their columns with types."""

    #: The graph that all of them have.
    graph_of: GraphOf = ReferenceGraph

    def __init__(self, sql: str, tables: Mapping[str, Columns], look_ahead: LookAhead = LookAhead.GLOBAL) -> None:
        bases = {name: BaseTable(name, tuple(columns)) for name, columns in tables.items()}
        plan = Query(sql).plan(lambda name: bases.get(name[-1])).plan
        self.tables = tables
        shape = compiled_shape(plan, lambda table: tables[table], SETTINGS)
        self.core = Core(shape, SETTINGS, look_ahead=look_ahead, graph_of=type(self).graph_of)

    @property
    def graph(self) -> ReferenceGraph:
        return elements(self.core.graph)

    def load(self, **tables: Sequence[tuple[Any, ...]]) -> None:
        for table, rows in tables.items():
            self.core.load(table, self._arrow(table, Counter(rows)))
        self.core.loaded()

    def apply(self, **changes: Mapping[tuple[Any, ...], int]) -> Bag:
        """Changes tables by weighted rows; what this does to the view."""
        return diff_of(self.core, self.core.apply({t: self._arrow(t, bag) for t, bag in changes.items()}))

    def insert(self, table: str, *rows: tuple[Any, ...]) -> Bag:
        return self.apply(**{table: Counter(rows)})

    def delete(self, table: str, *rows: tuple[Any, ...]) -> Bag:
        return self.apply(**{table: {row: -count for row, count in Counter(rows).items()}})

    def update(self, table: str, old: tuple[Any, ...], new: tuple[Any, ...]) -> Bag:
        return self.apply(**{table: {old: -1, new: 1}})

    def rows(self) -> Bag:
        return generated(self.core)

    def held(self, part: str) -> dict[tuple[Any, ...], dict[tuple[Any, ...], Any]]:
        """The join tuples of a part by their vertex values; of each, the projected tuples with what they count: the
        rows, and the number and sum of the values of each sum."""
        number = next(each.number for each in self.core.shape.parts if each.title == part)
        layout = self.core.shape.parts[number].layout
        found = {}
        for item in self.graph.tuples[number].values():
            states = {
                self._decoded(layout, projected): state[0] if len(state) == 1 else tuple(state)
                for projected, state in item.projected.items()
            }
            found[self._values(item)] = states
        return found

    def item(self, part: str, *values: Any) -> JoinTuple:
        """The join tuple of a part with these vertex values."""
        number = next(each.number for each in self.core.shape.parts if each.title == part)
        return next(item for item in self.graph.tuples[number].values() if self._values(item) == values)

    def _values(self, item: JoinTuple) -> tuple[Any, ...]:
        return tuple(
            value
            for each in item.values
            for value in self._decoded(self.core.shape.vertices[each.vertex].layout, each.key)
        )

    def _decoded(self, layout: Any, words: tuple[int, ...]) -> tuple[Any, ...]:
        arrays = layout.arrays(np.array([words], dtype=np.int64).reshape(1, layout.width), self.core.interner)
        return tuple(array[0].as_py() for array in arrays)

    def _arrow(self, table: str, bag: Mapping[tuple[Any, ...], int]) -> pa.Table:
        columns = {
            name: pa.array([row[i] for row in bag], type=ARROW[kind])
            for i, (name, kind) in enumerate(self.tables[table])
        }
        return pa.table(columns | {"__w": pa.array(list(bag.values()), type=pa.int64())})
