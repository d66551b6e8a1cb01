"""The groups of an aggregated view: each keeps the state of its aggregates, so that a diff has its old and new row.

completed paths → keys and values → the states of the groups that they touch → old and new rows → HAVING, projection
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rollview.engine.expressions import Settings
from rollview.live.functions.function import Value
from rollview.live.functions.registry import function_of
from rollview.live.graph.elements import Key
from rollview.live.graph.protocol import Paths, joined
from rollview.live.ingest import normalised_keys
from rollview.live.interning import Interner, Words
from rollview.live.kernel.build import available, kernel
from rollview.live.paths import Columns, Filtered, Projection, path_columns
from rollview.live.shape import Grouping, Result, Shape
from rollview.live.words import Layout
from rollview.plan.expressions import ref

#: So few paths are not added up before their groups are looked up.
_FEW = 8

#: About how many bytes a group and a state take in Python.
_GROUP, _STATE = 400, 120


@dataclass
class Group:
    """The number of completed paths of a group, and the states of its aggregates."""

    rows: int = 0
    states: list[Any] = field(default_factory=list)


class Groups:
    """The groups of one view."""

    def __init__(self, shape: Shape, grouping: Grouping, interner: Interner, settings: Settings) -> None:
        self._grouping, self._interner = grouping, interner
        self._values = _Values(shape, grouping, interner, settings)
        self._functions = [function_of(result, interner) for result in grouping.results]
        self._results = Layout(tuple(result.kind for result in grouping.results), bool(grouping.results))
        names = [name for name, _, _ in grouping.keys], [result.name for result in grouping.results]
        self._columns = Columns([(names[0], grouping.layout), (names[1], self._results)], interner)
        output = shape.output
        self._having = Filtered(output.filters, self._columns, settings)
        self._shown = Projection(output.values, output.kinds, self._columns, interner, settings)
        self._before: dict[Key, Key | None] = {}
        self.clear()

    def clear(self) -> None:
        """Forgets all groups; without keys, one of no rows is left."""
        self.found: dict[Key, Group] = {}
        self._before.clear()
        if not self._grouping.keys:
            self.found[()] = self._new()

    def forget_changes(self) -> None:
        """What was added so far is no change."""
        self._before.clear()

    def add(self, paths: Paths) -> None:
        """Adds completed paths to the groups."""
        made, weights, sums = _added_up(self._values.made(paths), paths)
        keys, values = self._values.of(made, sums)
        for at, key in enumerate(map(tuple, keys.tolist())):
            group = self.found.get(key)
            if key not in self._before:
                self._before[key] = None if group is None else self._row(key, group)
            if group is None:
                group = self.found[key] = self._new()
            self._add(group, values[at], int(weights[at]))
            if not group.rows and self._grouping.keys:
                del self.found[key]

    def taken(self) -> tuple[Words, Words]:
        """What the additions since the last call do to the view: its old rows with weight −1, its new ones with 1."""
        old, new = [], []
        for key, row in self._before.items():
            group = self.found.get(key)
            now = None if group is None else self._row(key, group)
            if row != now:
                old += [row] if row is not None else []
                new += [now] if now is not None else []
        self._before.clear()
        shown = [self.shown(rows) for rows in (old, new)]
        weights = [np.full(len(words), weight) for words, weight in zip(shown, (-1, 1), strict=True)]
        return np.concatenate(shown), np.concatenate(weights).astype(np.int64)

    def rows(self, keys: Iterable[Key] | None = None) -> Iterator[Key]:
        """The groups, or some of them, as their keys and results."""
        for key in list(self.found) if keys is None else keys:
            if (group := self.found.get(key)) is not None:
                yield self._row(key, group)

    def shown(self, rows: Iterable[Key]) -> Words:
        """What the view shows of groups."""
        listed = list(rows)
        width = self._grouping.layout.width + self._results.width
        words = np.array(listed, dtype=np.int64).reshape(len(listed), width)
        kept = self._having.kept(words)
        return self._shown.words(words if kept is None else words[kept])

    def numbers(self) -> set[int]:
        """The numbers of interned values that are in use."""
        layout = self._grouping.layout
        places = [at for at, kind in zip(layout.places, layout.kinds, strict=False) if kind.interned]
        found = {key[at] for key in self.found for at in places}
        for group in self.found.values():
            for function, state in zip(self._functions, group.states, strict=True):
                found.update(function.interned(state))
        return found

    @property
    def bytes(self) -> int:
        return len(self.found) * (_GROUP + _STATE * len(self._functions))

    def _new(self) -> Group:
        return Group(0, [function.empty() for function in self._functions])

    def _add(self, group: Group, values: list[tuple[int, ...] | None], weight: int) -> None:
        group.rows += weight
        for i, (function, result) in enumerate(zip(self._functions, self._grouping.results, strict=True)):
            value = values[i]
            if result.pushed:
                assert value is not None
                group.states[i] = function.add_sum(group.states[i], value[0], joined(value[1], value[2]))
            elif value is not None:
                group.states[i] = function.add(group.states[i], value, weight)

    def _row(self, key: Key, group: Group) -> Key:
        results: list[Value | None] = []
        for function, state in zip(self._functions, group.states, strict=True):
            results.append(function.result(state))
        return (*key, *_packed(results, self._results))


class _Values:
    """The keys of completed paths, and for each the values of the aggregates."""

    def __init__(self, shape: Shape, grouping: Grouping, interner: Interner, settings: Settings) -> None:
        self._grouping = grouping
        plain = path_columns(shape, interner)
        wanted = {column: kind for _, column, kind in grouping.keys}
        wanted |= {r.column: r.of for r in grouping.results if r.column is not None and r.of and not r.pushed}
        names = list(wanted)
        values = [grouping.computed.get(name, ref(name)) for name in names]
        self._made = Projection(values, [wanted[name] for name in names], plain, interner, settings)
        self._columns = Columns([(names, self._made.layout)], interner)
        pushed = [each.column for part in shape.parts for each in part.pushed]
        self._sums = {column: 3 * i for i, column in enumerate(pushed)}

    def made(self, paths: Paths) -> Words:
        """The keys of paths and the values of those aggregates that are not pushed down."""
        return self._made.words(paths.fields)

    def of(self, made: Words, sums: Words) -> tuple[Words, list[list[tuple[int, ...] | None]]]:
        keys = np.zeros((len(made), self._grouping.layout.width), dtype=np.int64)
        for i, (_, column, _) in enumerate(self._grouping.keys):
            self._grouping.layout.words(keys, i)[:] = self._columns.words(made, column)
            self._grouping.layout.set_null(keys, i, self._columns.nulls(made, column))
        values = [self._values(each, sums, made) for each in self._grouping.results]
        listed = [list(row) for row in zip(*values, strict=True)] if values else [[] for _ in range(len(made))]
        return normalised_keys(keys, self._grouping.layout), listed

    def _values(self, result: Result, sums: Words, made: Words) -> list[tuple[int, ...] | None]:
        if result.pushed:
            assert result.column is not None
            at = self._sums[result.column]
            return list(map(tuple, sums[:, at : at + 3].tolist()))
        if result.column is None:  # COUNT(*): each row counts
            return [()] * len(made)
        words, nulls = self._columns.words(made, result.column).tolist(), self._columns.nulls(made, result.column)
        return [None if null else tuple(row) for row, null in zip(words, nulls.tolist(), strict=True)]


def _added_up(made: Words, paths: Paths) -> tuple[Words, Words, Words]:
    """Paths with the same keys and values as one, with the sum of their weights and sums."""
    if len(made) < _FEW or not available():
        return made, paths.weights, paths.sums
    columns, weights = np.ascontiguousarray(made.T), paths.weights.copy()
    sums = np.array(paths.sums.T, order="C", copy=True)
    places = kernel().grouped(columns, weights, sums)
    return columns[:, places].T, weights[places], sums[:, places].T


def _packed(values: list[Value | None], layout: Layout) -> list[int]:
    """Values as one tuple of words."""
    words: list[int] = []
    flags = [0] * layout.flags
    for i, (value, kind) in enumerate(zip(values, layout.kinds, strict=True)):
        words += [0] * kind.width if value is None else value
        if value is None:
            flags[i // 63] |= 1 << (i % 63)
    return [*words, *flags]
