"""The columns of completed paths: where their words are, and what they are as Arrow columns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import pyarrow as pa

from rollview.engine.expressions import Settings, evaluator
from rollview.live.graph.protocol import Paths
from rollview.live.interning import Interner, Words
from rollview.live.shape import Shape
from rollview.live.words import Flags, Kind, Layout
from rollview.plan.expressions import Expr


class Columns:
    """Named columns of tuples of words; several layouts may lie side by side."""

    def __init__(self, layouts: Sequence[tuple[Sequence[str], Layout]], interner: Interner) -> None:
        self._interner = interner
        self._places: dict[str, tuple[int, Layout, int]] = {}
        start = 0
        for names, layout in layouts:
            self._places |= {name: (start, layout, i) for i, name in enumerate(names)}
            start += layout.width
        self.kinds = {name: layout.kinds[i] for name, (_, layout, i) in self._places.items()}
        self.types = {name: kind.name for name, kind in self.kinds.items()}

    def words(self, tuples: Words, name: str) -> Words:
        own, layout, i = self._of(tuples, name)
        return layout.words(own, i)

    def nulls(self, tuples: Words, name: str) -> Flags:
        own, layout, i = self._of(tuples, name)
        return layout.nulls(own, i)

    def array(self, tuples: Words, name: str) -> pa.Array:
        own, layout, i = self._of(tuples, name)
        return layout.array(own, i, self._interner)

    def table(self, tuples: Words, names: Iterable[str]) -> pa.Table:
        """Some columns, and one by which the number of rows is known if there are none."""
        found = {name: self.array(tuples, name) for name in sorted(names)}
        return pa.table(found | {"__rows": pa.nulls(len(tuples))})

    def _of(self, tuples: Words, name: str) -> tuple[Words, Layout, int]:
        start, layout, i = self._places[name]
        return tuples[:, start : start + layout.width], layout, i


def path_columns(shape: Shape, interner: Interner) -> Columns:
    """The columns of the completed paths of a graph."""
    return Columns([([name for name, _ in part.fields], part.layout) for part in shape.parts], interner)


class Filtered:
    """Keeps the tuples for which all conditions are true."""

    def __init__(self, conditions: Sequence[Expr], columns: Columns, settings: Settings) -> None:
        self._columns = columns
        self._tests = [evaluator([("kept", each)], columns.types, settings) for each in conditions]

    def kept(self, tuples: Words) -> Flags | None:
        """Which tuples are kept; None if all are."""
        found: Flags | None = None
        for test in self._tests:
            over = tuples if found is None else tuples[found]
            mask = test.mask(self._columns.table(over, test.reads)).to_numpy(zero_copy_only=False)
            if found is None:
                found = mask
            else:
                found = found.copy()
                found[found] = mask
        return found

    def paths(self, paths: Paths) -> Paths:
        kept = self.kept(paths.fields)
        return paths if kept is None else Paths(paths.fields[kept], paths.weights[kept], paths.sums[kept])


class Projection:
    """Tuples → the words of some values: of plain columns they are copied, of others computed."""

    def __init__(
        self, values: Sequence[Expr], kinds: Sequence[Kind], columns: Columns, interner: Interner, settings: Settings
    ) -> None:
        self.layout = Layout(tuple(kinds), bool(kinds))
        self._columns, self._interner = columns, interner
        self._plain = {i: value.name for i, value in enumerate(values) if _is_plain(value, kinds[i], columns)}
        made = [(f"c{i}", value) for i, value in enumerate(values) if i not in self._plain]
        self._made = evaluator(made, columns.types, settings) if made else None

    def words(self, tuples: Words) -> Words:
        found = np.zeros((len(tuples), self.layout.width), dtype=np.int64)
        for i, name in self._plain.items():
            self.layout.words(found, i)[:] = self._columns.words(tuples, name)
            self.layout.set_null(found, i, self._columns.nulls(tuples, name))
        if self._made is not None:
            table = self._made(self._columns.table(tuples, self._made.reads))
            for name, column in zip(table.column_names, table.columns, strict=True):
                self.layout.put(found, int(name[1:]), column, self._interner)
        return found


def _is_plain(value: Expr, kind: Kind, columns: Columns) -> bool:
    return value.key == "column" and columns.kinds[value.name] == kind
