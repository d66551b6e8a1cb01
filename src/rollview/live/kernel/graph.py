"""The join graph in one arena, kept by compiled functions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from types import ModuleType

import numpy as np
import numpy.typing as npt

from rollview.live.graph.protocol import LookAhead, Paths, Rows, Size
from rollview.live.graph.reference import no_such_row
from rollview.live.interning import Words
from rollview.live.kernel import numbers as n
from rollview.live.kernel.build import kernel
from rollview.live.kernel.plan import Plan, plan_of
from rollview.live.shape import Shape
from rollview.live.words import Kind, Layout

#: The paths for which the reused output buffer has room at first. Most changes make few.
_FEW = 64

#: A buffer for this many paths or more is not reused.
_MUCH = 2048

#: The row and the phase in the state before a change.
_BEGIN = (0, n.NEXT)


#: What ``kernel/change.py`` has as ``changed``.
Changed = Callable[..., int]


class CompiledGraph:
    """Implements ``Graph``."""

    def __init__(self, shape: Shape, look_ahead: LookAhead, piece: int) -> None:
        self.shape, self._piece = shape, piece
        self.plan = plan_of(shape, look_ahead)
        self._words = self.plan.words()
        self._height = self.plan.fields + 1 + self.plan.sums
        self._state = np.zeros(n.PATH + self.plan.fields + 1, dtype=np.int64)
        self._out = np.empty((self._height, min(_FEW, piece)), dtype=np.int64)
        self._counted = [part.in_fields + part.width for part in self.plan.parts]
        self._kernel = self.kernel()
        #: For each part, the function that changes its rows.
        self.functions: list[Changed] = [self._kernel.changed for _ in shape.parts]
        self.arena = _empty(self.plan)
        self.shows, self.distinct = self.plan.shown.rows, self.plan.shown.distinct

    def kernel(self) -> ModuleType:
        """The functions that keep the graph."""
        return kernel()

    @property
    def visited(self) -> int:
        return int(self.arena[n.VISITED])

    def expect(self, rows: Mapping[int, int]) -> None:
        """A vertex is taken to have as many values as the smallest of its parts has rows: mostly they are its keys."""
        plan, parts = self.plan, self.plan.parts
        words = sum(plan.row_words(part) * count for part, count in rows.items())
        self.arena = self._kernel.grown(self.arena, words)
        tables = [(each.table, each.key, min(rows.get(part, 0) for part in each.slots)) for each in plan.vertices]
        tables += [(each.table, len(each.vertices), rows.get(each.number, 0)) for each in parts if not each.leaf]
        for table, key, count in tables:
            size = 16
            while 8 * (count + 1) > 5 * size:
                size *= 2
            if size > int(self.arena[table + 1]) + 1:
                if not self._kernel.has_room(self.arena, size):
                    self.arena = self._kernel.grown(self.arena, size)
                self._kernel.resize(self.arena, table, size, key)

    def change(self, part: int, rows: Rows, *, push: bool = True) -> Iterator[Paths]:
        return self.changed(part, rows.all, push=push)

    def changed(self, part: int, rows: Words, *, push: bool = True) -> Iterator[Paths]:
        """Like ``change``; of each row, all words lie side by side: keys, fields, count, sums."""
        words, count = rows.reshape(-1), len(rows)
        plan, state = self._words, self._state
        if not count:
            return
        counted = self._counted[part]
        least = words[counted] if count == 1 else rows[:, counted].min()
        if count > 1 and least <= 0:
            words = rows.copy().reshape(-1)
            self._kernel.added_up(plan, part, words, count)
            words = _deleted_first(words.reshape(rows.shape), counted).reshape(-1)
        if least <= 0 and not self._kernel.possible(self.arena, plan, state, part, words, count):
            raise no_such_row(self.shape, part)
        state[:2] = _BEGIN
        change, tuples = self.functions[part], 0 if count == 1 else int(self.arena[n.PROJECTED])
        while True:
            out = self._out
            done = change(self.arena, plan, state, part, words, count, push, out)
            if done >= 0:
                # rows that are only inserted were not added up: if each is a tuple of its own, no two are equal
                differ = count == 1 or least <= 0 or int(self.arena[n.PROJECTED]) - tuples == count
                self.distinct = self.plan.shown.distinct and differ
                if done:
                    yield self._paths(out, done)
                return
            self._make_room(state)
            if ~done:
                yield self._paths(out, ~done)

    def generate(self, part: int, vertex: int | None = None, keys: Sequence[tuple[int, ...]] = ()) -> Iterator[Paths]:
        state = np.zeros_like(self._state)
        side = -1 if vertex is None else self.plan.parts[part].vertices.index(vertex)
        words = np.array([word for key in keys for word in key], dtype=np.int64)
        ended, out = False, np.empty_like(self._out)  # others may use the graph's own between two pieces
        while not ended:
            ended = self._kernel.generated(self.arena, self._words, state, part, side, words, len(keys), out)
            if done := int(state[n.DONE]):
                yield self._paths(out, done)
            if not ended:
                out = self._larger(out)

    def size(self) -> Size:
        values, tuples, projected = (int(self.arena[at]) for at in (n.VERTEX_VALUES, n.JOIN_TUPLES, n.PROJECTED))
        return Size(0 if self.plan.without_vertices else values, tuples, projected, 8 * int(self.arena[n.TOP]))

    def numbers(self) -> npt.NDArray[np.int64]:
        found = [np.zeros(0, dtype=np.int64)]
        for vertex in self.shape.vertices:
            found += _interned(self.values(vertex.number), vertex.layout)
        for part in self.shape.parts:
            if any(kind.interned for kind in part.layout.kinds):
                found += _interned(self.tuples(part.number)[:, 1:], part.layout)
        return np.unique(np.concatenate(found))

    def values(self, vertex: int) -> Words:
        """The keys of a vertex."""
        plan = self.plan.vertices[vertex]
        found = np.empty((int(self.arena[plan.table + 2]), plan.key), dtype=np.int64)
        self._kernel.listed_values(self.arena, self._words, vertex, found)
        return found

    def tuples(self, part: int) -> Words:
        """The projected tuples of a part: where the join tuple is, the fields, the count, the sums."""
        found: Words = self._kernel.listed_tuples(self.arena, self._words, part)
        return found

    def _make_room(self, state: Words) -> None:
        """After a kernel has stopped: makes the arena larger, or what is put out."""
        if wanted := int(state[n.WANTED]):
            self.arena = self._kernel.grown(self.arena, wanted)
        else:
            self._out = self._larger(self._out)

    def _larger(self, out: Words) -> Words:
        """What a kernel puts out next."""
        return np.empty((self._height, min(16 * out.shape[1], self._piece)), dtype=np.int64)

    def _paths(self, out: Words, done: int) -> Paths:
        """The output of a kernel: the buffer itself if it is large, otherwise a copy."""
        found, width = out[:, :done], self.plan.fields
        if out is not self._out or done < _MUCH:
            found = found.copy()
        else:
            self._out = np.empty_like(out)
        return Paths(found[:width].T, found[width], found[width + 1 :].T)


def _deleted_first(rows: Words, counted: int) -> Words:
    signs = rows[:, counted] > 0
    return rows if signs.all() or not signs.any() else rows[np.argsort(signs, kind="stable")]


def _empty(plan: Plan) -> Words:
    """An arena that holds nothing."""
    size = 16
    tables = [vertex.table for vertex in plan.vertices] + [part.table for part in plan.parts if not part.leaf]
    arena = np.zeros(plan.top + size * len(tables) + 4096, dtype=np.int64)
    arena[n.TOP] = plan.top
    for table in tables:
        arena[table], arena[table + 1] = arena[n.TOP], size - 1
        arena[n.TOP] += size
    return arena


def _interned(words: Words, layout: Layout) -> list[Words]:
    """The columns of some tuples that are numbers of interned values."""
    kinds: Sequence[Kind] = layout.kinds
    return [words[:, at] for at, kind in zip(layout.places, kinds, strict=False) if kind.interned]
