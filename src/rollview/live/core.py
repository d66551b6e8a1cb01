"""A live view without a store and without subscribers: changes of its tables in, changes of the view out.

changed rows → ingest → graph → residual conditions → groups, or projection → consolidated change

A table that occurs several times is changed in one part after the other: each meets what the earlier ones became.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from rollview.engine.expressions import Settings
from rollview.live.graph.elements import Key
from rollview.live.graph.protocol import GraphOf, LookAhead, Paths, Rows
from rollview.live.graphs import best_graph
from rollview.live.groups import Groups
from rollview.live.ingest import Ingest
from rollview.live.interning import Interner, Words
from rollview.live.net import Change, Net
from rollview.live.paths import Filtered, Projection, path_columns
from rollview.live.shape import Shape
from rollview.live.words import Layout
from rollview.plan.reserved import WEIGHT


@dataclass(frozen=True)
class Start:
    """Where the rows of a view are looked for: at a value of a vertex, or in a group."""

    vertex: int | None = None
    key: Key = ()
    group: Key | None = None


class Core:
    """One live view. With ``push`` its changes are computed; without, only the graph is kept."""

    def __init__(
        self,
        shape: Shape,
        settings: Settings,
        *,
        push: bool = True,
        look_ahead: LookAhead = LookAhead.GLOBAL,
        graph_of: GraphOf = best_graph,
        piece: int = 10_000,
        rows_in_memory: int = 1_000_000,
    ) -> None:
        self.lock = threading.RLock()  # held by those who share the core between threads
        self.shape, self.push, self.rows_in_memory = shape, push, rows_in_memory
        self._key: Sequence[int] | None = None
        self.interner = Interner()
        self.graph = graph_of(shape, look_ahead, piece)
        self._ingests = [Ingest(shape, part, self.interner, settings) for part in shape.parts]
        self._parts = {table: shape.occurrences(table) for table in shape.tables}
        columns = path_columns(shape, self.interner)
        self._residual = Filtered(shape.residual, columns, settings)
        self._groups: Groups | None = None
        self._shown: Projection | None = None
        if shape.grouping is None:
            self._shown = Projection(shape.output.values, shape.output.kinds, columns, self.interner, settings)
        else:
            self._groups = Groups(shape, shape.grouping, self.interner, settings)

    @property
    def layout(self) -> Layout:
        """How the view's rows are laid out."""
        return self.shape.output.layout

    def sources(self, table: str) -> list[str]:
        """The columns of a table that are read."""
        parts = [self._ingests[part.number].sources for part in self.shape.occurrences(table)]
        return list(dict.fromkeys(name for names in parts for name in names))

    def expect(self, counts: Mapping[str, int]) -> None:
        """Makes room for tables of these numbers of rows, which are loaded next; not for those that are filtered, of
        which fewer rows may remain."""
        parts = [part for part in self.shape.parts if not part.filters]
        self.graph.expect({part.number: counts.get(part.table, 0) for part in parts})

    def load(self, table: str, rows: pa.Table) -> None:
        """Adds rows of a table, before anything is pushed. ``loaded`` must be called after the last ones."""
        for part in self.shape.occurrences(table):
            for _ in self.graph.change(part.number, self._ingests[part.number].rows(rows), push=False):
                raise AssertionError("nothing is pushed while rows are loaded")

    def loaded(self) -> None:
        """Groups what was loaded."""
        if self._groups is not None and self.push:
            self._regroup(self._groups)

    def apply(self, changes: Mapping[str, pa.Table]) -> Change:
        """Changes the tables, and tells what this does to the view. The rows have a weight. If it fails, nothing is
        changed."""
        ingested = [
            (part.number, self._ingests[part.number].rows(rows))
            for table, rows in changes.items()
            for part in self._parts.get(table, ())
        ]
        done: list[tuple[int, Rows]] = []
        try:
            return self._applied(ingested, done)
        except BaseException:
            for part, rows in reversed(done):
                for _ in self.graph.change(part, rows.negated(), push=False):
                    pass
            if self._groups is not None and self.push:
                self._regroup(self._groups)
            raise

    def rows(self, at: Start | None = None) -> Iterator[tuple[Words, Words]]:
        """The rows of the view with the number of their copies, in pieces: all, or at least those from a start."""
        if self._groups is None:
            for paths in self._paths(at):
                yield self._of_paths(paths)
            return
        groups = self._groups
        if not self.push:
            self._regroup(groups, at)
        listed = list(groups.rows(None if at is None or at.group is None else [at.group]))
        if not self.push:
            groups.clear()
        shown = groups.shown(listed)
        yield shown, np.ones(len(shown), dtype=np.int64)

    def _paths(self, at: Start | None) -> Iterator[Paths]:
        if at is None or at.vertex is None:
            return self.graph.generate(0)
        return self.graph.generate(self.shape.vertices[at.vertex].parts[0], at.vertex, [at.key])

    def put_together(self, key: Sequence[int]) -> None:
        """From now on, rows of a change that have the same values in some columns are put side by side."""
        self._key = self.layout.places_of(key)

    def net(self) -> Net:
        """Adds up changes of the view."""
        return Net(self.layout.width, self.rows_in_memory, self._key)

    @property
    def bytes(self) -> int:
        """About how many bytes the view takes."""
        return self.graph.size().bytes + self.interner.bytes + (0 if self._groups is None else self._groups.bytes)

    def sweep(self, kept: Iterable[int] = ()) -> None:
        """Forgets interned values that no row has any more, and that are not among these."""
        used = {*self.graph.numbers().tolist(), *kept}
        self.interner.sweep(used if self._groups is None else used | self._groups.numbers())

    def _applied(self, ingested: Sequence[tuple[int, Rows]], done: list[tuple[int, Rows]]) -> Change:
        net = self.net()
        for part, changed in ingested:
            pieces = self.graph.change(part, changed, push=self.push)
            first = next(pieces, None)  # raises before anything is changed if the rows cannot be
            done.append((part, changed))
            try:
                for paths in [first] if first is not None else []:
                    self._take(paths, net)
                for paths in pieces:
                    self._take(paths, net)
            finally:
                for _ in pieces:  # the change is made when all pieces are taken
                    pass
        if self._groups is not None and self.push:
            net.add(*self._groups.taken())
        return net.done(distinct=len(ingested) == 1 and self.graph.distinct)

    def _take(self, paths: Paths, net: Net) -> None:
        if self._groups is not None:
            self._groups.add(self._residual.paths(paths))
            return
        net.add(*self._of_paths(paths))

    def _of_paths(self, paths: Paths) -> tuple[Words, Words]:
        if self.graph.shows:
            return paths.fields, paths.weights
        assert self._shown is not None
        kept = self._residual.paths(paths)
        return self._shown.words(kept.fields), kept.weights

    def _regroup(self, groups: Groups, at: Start | None = None) -> None:
        groups.clear()
        for paths in self._paths(at):
            groups.add(self._residual.paths(paths))
        groups.forget_changes()


def moved(core: Core, rows: Words, other: Core) -> Words:
    """Rows of a view as the words of another core of the same view."""
    return other.layout.encode(core.layout.arrays(rows, core.interner), len(rows), other.interner)


def arrow(core: Core, rows: Words, weights: Words | None = None) -> pa.Table:
    """Rows of a view as an Arrow table; with their weights as the last column, if given."""
    arrays = core.layout.arrays(rows, core.interner)
    names = list(core.shape.output.labels)
    if weights is not None:
        arrays, names = [*arrays, pa.array(weights)], [*names, WEIGHT.label]
    return pa.Table.from_arrays(arrays, names=names)
