"""The join graph in plain Python: the reference that compiled graphs must agree with.

A change of rows is grouped by join tuple, and the changes of each projected tuple are added up. Each changed join tuple
is traversed once: a path adds, for each changed projected tuple, the *change* of its count times the counts of the
other parts' projected tuples. What goes is traversed before the graph forgets it, what comes after the graph has it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product
from math import prod

import numpy as np
import numpy.typing as npt

from rollview.errors import UserError
from rollview.live.graph.elements import JoinTuple, Key, Projected, State, VertexValue
from rollview.live.graph.look_ahead import Flags
from rollview.live.graph.protocol import LookAhead, Paths, Rows, Size, joined, split
from rollview.live.graph.traversal import Traversal
from rollview.live.shape import Shape

#: About how many bytes an object of each kind takes in Python.
_VERTEX_VALUE, _JOIN_TUPLE, _PROJECTED = 500, 450, 250

#: The changes of the projected tuples of one join tuple.
Changes = dict[Projected, State]


class NoSuchRow(UserError):
    """A change takes away a row that is not there."""

    code = "no_such_row"


def no_such_row(shape: Shape, part: int) -> NoSuchRow:
    return NoSuchRow(
        f"A change deletes a row that {shape.parts[part].table} does not have",
        why="the live view has not been given the row, or its deletion was given twice",
        todo="give each change once and in order; or make the live view again",
    )


class ReferenceGraph:
    """Implements ``Graph``."""

    shows = distinct = False

    def __init__(self, shape: Shape, look_ahead: LookAhead, piece: int) -> None:
        self.shape, self._piece = shape, piece
        sides = [{vertex: side for side, vertex in enumerate(part.vertices)} for part in shape.parts]
        self._flags = Flags(look_ahead, sides)
        self._traversal = Traversal(shape, self._flags, sides)
        self.values: list[dict[Key, VertexValue]] = [{} for _ in shape.vertices]
        self.tuples: list[dict[tuple[Key, ...], JoinTuple]] = [{} for _ in shape.parts]
        self._sums = [len(part.pushed) for part in shape.parts]
        self._projected = 0

    @property
    def visited(self) -> int:
        return self._traversal.visited

    def expect(self, rows: Mapping[int, int]) -> None:
        """Python's dicts need no room beforehand."""

    def change(self, part: int, rows: Rows, *, push: bool = True) -> Iterator[Paths]:
        found = _netted(rows, self._sums[part])
        self._check(part, found)
        buffer = _Buffer(self.shape, self._piece)
        for keys, changes in found.items():
            item = self.tuples[part].get(keys) or self._created(part, keys)
            if push:
                yield from self._completed(item, changes, buffer)
            self._count(item, changes)
            if not item.projected:
                self._forget(item, keys)
        yield from buffer.rest()

    def generate(self, part: int, vertex: int | None = None, keys: Sequence[Key] = ()) -> Iterator[Paths]:
        buffer = _Buffer(self.shape, self._piece)
        for item in list(self._starts(part, vertex, keys)):
            yield from self._completed(item, item.projected, buffer)
        yield from buffer.rest()

    def size(self) -> Size:
        values, tuples = sum(map(len, self.values)), sum(map(len, self.tuples))
        total = values * _VERTEX_VALUE + tuples * _JOIN_TUPLE + self._projected * _PROJECTED
        return Size(values, tuples, self._projected, total)

    def numbers(self) -> npt.NDArray[np.int64]:
        found: set[int] = set()
        for vertex, values in zip(self.shape.vertices, self.values, strict=True):
            places = [at for at, kind in zip(vertex.layout.places, vertex.kinds, strict=False) if kind.interned]
            found |= {key[at] for key in values for at in places}
        for part, tuples in zip(self.shape.parts, self.tuples, strict=True):
            kinds = part.layout.kinds
            places = [at for at, kind in zip(part.layout.places, kinds, strict=False) if kind.interned]
            found |= {each[at] for item in tuples.values() for each in item.projected for at in places}
        return np.array(sorted(found), dtype=np.int64)

    def _starts(self, part: int, vertex: int | None, keys: Sequence[Key]) -> Iterable[JoinTuple]:
        if vertex is None:
            return self.tuples[part].values()
        values = self.values[vertex]
        return (item for key in keys if key in values for item in values[key].neighbours[part].items)

    def _check(self, part: int, found: Mapping[tuple[Key, ...], Changes]) -> None:
        """Raises an error if more copies of a row go than there are."""
        for keys, changes in found.items():
            item = self.tuples[part].get(keys)
            for projected, change in changes.items():
                known = None if item is None else item.projected.get(projected)
                after = change if known is None else [a + b for a, b in zip(known, change, strict=True)]
                if after[0] < 0 or (after[0] == 0 and any(after)):
                    raise no_such_row(self.shape, part)

    def _created(self, part: int, keys: tuple[Key, ...]) -> JoinTuple:
        """A new join tuple, with the vertex values that it needs."""
        values = []
        for vertex, key in zip(self.shape.parts[part].vertices, keys, strict=True):
            known = self.values[vertex].get(key)
            if known is None:
                known = self.values[vertex][key] = VertexValue(vertex, key, self.shape.vertices[vertex].parts)
            values.append(known)
        item = self.tuples[part][keys] = JoinTuple(part, values)
        self._flags.enter(item)
        return item

    def _count(self, item: JoinTuple, changes: Mapping[Projected, State]) -> None:
        """Changes the counts and sums of projected tuples; those that stand for no row go."""
        for projected, change in changes.items():
            known = item.projected.get(projected)
            if known is None:
                item.projected[projected] = list(change)
                self._projected += 1
            else:
                known[:] = [a + b for a, b in zip(known, change, strict=True)]
                if not known[0]:
                    del item.projected[projected]
                    self._projected -= 1

    def _forget(self, item: JoinTuple, keys: tuple[Key, ...]) -> None:
        """Removes a join tuple that stands for no row, and the vertex values that only it had."""
        self._flags.leave(item)
        del self.tuples[item.part][keys]
        for value in item.values:
            if value.empty:
                del self.values[value.vertex][value.key]

    def _completed(self, item: JoinTuple, changes: Mapping[Projected, State], buffer: _Buffer) -> Iterator[Paths]:
        """The completed paths through a join tuple, each as often as a change of it says."""
        for path in self._traversal.paths(item):
            choices = [changes if other is item else other.projected for other in path]
            for combination in product(*(choice.items() for choice in choices)):
                buffer.add(combination)
                if buffer.full:
                    yield buffer.taken()


class _Buffer:
    """Completed paths that were not yet handed on."""

    def __init__(self, shape: Shape, piece: int) -> None:
        self._piece = piece
        self._width = sum(part.layout.width for part in shape.parts)
        self._pushed = [len(part.pushed) for part in shape.parts]
        self._fields: list[list[int]] = []
        self._weights: list[int] = []
        self._sums: list[list[int]] = []

    @property
    def full(self) -> bool:
        return len(self._weights) >= self._piece

    def add(self, combination: Sequence[tuple[Projected, State]]) -> None:
        """Adds a projected tuple of each part, with its count and sums."""
        counts = [state[0] for _, state in combination]
        self._fields.append([word for projected, _ in combination for word in projected])
        self._weights.append(prod(counts))
        words: list[int] = []
        for number, (_, state) in enumerate(combination):
            if self._pushed[number]:
                others = prod(counts[:number]) * prod(counts[number + 1 :])
                for at in range(1, len(state), 2):
                    words += (state[at] * others, *split(state[at + 1] * others))
        self._sums.append(words)

    def taken(self) -> Paths:
        rows = len(self._weights)
        fields = np.array(self._fields, dtype=np.int64).reshape(rows, self._width)
        sums = np.array(self._sums, dtype=np.int64).reshape(rows, 3 * sum(self._pushed))
        found = Paths(fields, np.array(self._weights, dtype=np.int64), sums)
        self._fields, self._weights, self._sums = [], [], []
        return found

    def rest(self) -> Iterator[Paths]:
        if self._weights:
            yield self.taken()


def _netted(rows: Rows, sums: int) -> dict[tuple[Key, ...], Changes]:
    """The changes by join tuple and projected tuple, without those that amount to nothing."""
    found: dict[tuple[Key, ...], Changes] = {}
    keys = [list(map(tuple, each.tolist())) for each in rows.keys]
    fields, counts, words = map(tuple, rows.fields.tolist()), rows.counts.tolist(), rows.sums.tolist()
    for at, projected in enumerate(fields):
        state = found.setdefault(tuple(each[at] for each in keys), {}).setdefault(projected, [0] * (1 + 2 * sums))
        state[0] += counts[at]
        for i in range(sums):
            number, low, high = words[at][3 * i : 3 * i + 3]
            state[2 * i + 1] += number
            state[2 * i + 2] += joined(low, high)
    for tuple_, changes in list(found.items()):
        found[tuple_] = {projected: state for projected, state in changes.items() if any(state)}
        if not found[tuple_]:
            del found[tuple_]
    return found
