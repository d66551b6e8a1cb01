"""What a join graph holds, in a form in which two graphs can be compared; and which flags are right."""

from __future__ import annotations

from collections import Counter
from datetime import timezone
from typing import Any

from live_arena import elements
from live_model import COLUMNS, Bag, History, View, arrow, plain, table_of
from rollview.engine.expressions import Settings
from rollview.frontend.query import Query
from rollview.live.compile.compiling import compiled_shape
from rollview.live.core import Core
from rollview.live.core import arrow as rows_of
from rollview.live.graph.elements import JoinTuple
from rollview.live.graph.protocol import LookAhead
from rollview.live.graph.reference import ReferenceGraph
from rollview.live.net import Change
from rollview.live.shape import Shape

SETTINGS = Settings.in_zone(timezone.utc)


def shape_of(view: View) -> Shape:
    plan = Query(view.sql).plan(lambda name: table_of(name[-1])).plan
    return compiled_shape(plan, lambda table: list(COLUMNS.items()), SETTINGS)


def core_of(shape: Shape, look_ahead: LookAhead = LookAhead.GLOBAL, **options: Any) -> Core:
    return Core(shape, SETTINGS, look_ahead=look_ahead, **({"graph_of": ReferenceGraph} | options))


def loaded(history: History, shape: Shape, look_ahead: LookAhead = LookAhead.GLOBAL, **options: Any) -> Core:
    core = core_of(shape, look_ahead, **options)
    load(core, history.start)
    return core


def load(core: Core, tables: Any) -> None:
    for table, bag in tables.items():
        core.load(table, arrow(bag))
    core.loaded()


def diff_of(core: Core, change: Change) -> Bag:
    """A change of a view as weighted rows."""
    found: Bag = Counter()
    for *row, weight in zip(
        *(column.to_pylist() for column in rows_of(core, change.rows, change.weights).columns), strict=True
    ):
        assert weight
        assert plain(tuple(row)) not in found or any(isinstance(value, float) for value in row), "a row comes twice"
        found[plain(tuple(row))] += weight
    return Counter({row: weight for row, weight in found.items() if weight})


def generated(core: Core) -> Bag:
    """The rows of a view, from its graph."""
    found: Bag = Counter()
    for rows, weights in core.rows():
        for *row, weight in zip(*(column.to_pylist() for column in rows_of(core, rows, weights).columns), strict=True):
            found[plain(tuple(row))] += weight
    return Counter({row: weight for row, weight in found.items() if weight})


def content(core: Core) -> Any:
    """All that a graph and its groups hold, with interned values instead of their numbers."""
    graph = elements(core.graph)
    tuples = {}
    for part, items in zip(core.shape.parts, graph.tuples, strict=True):
        for item in items.values():
            assert item.projected, "a join tuple without rows"
            keys = tuple(_decoded(core, v.key, core.shape.vertices[v.vertex].layout) for v in item.values)
            states: dict[Any, Any] = {}  # 0.0 and −0.0 are two projected tuples that look the same
            for projected, state in item.projected.items():
                known = states.setdefault(_decoded(core, projected, part.layout), [0] * len(state))
                known[:] = [a + b for a, b in zip(known, state, strict=True)]
            tuples[part.number, keys] = states
    values = {}
    for vertex, found in zip(core.shape.vertices, graph.values, strict=True):
        for value in found.values():
            assert not value.empty, "a vertex value without join tuples"
            counts = {part: len(each.items) for part, each in value.neighbours.items()}
            values[vertex.number, _decoded(core, value.key, vertex.layout)] = counts
    groups = {}
    if core._groups is not None and core.push:
        layout = core.shape.grouping.layout  # type: ignore[union-attr]
        for key, group in core._groups.found.items():
            groups[_decoded(core, key, layout)] = (group.rows, repr([_state(core, s) for s in group.states]))
    return tuples, values, groups


def _state(core: Core, state: Any) -> Any:
    if hasattr(state, "copies"):
        return [(key, state.copies[key][0]) for key in state.order]
    return state


def _decoded(core: Core, words: tuple[int, ...], layout: Any) -> Any:
    import numpy as np

    arrays = layout.arrays(np.array([words], dtype=np.int64).reshape(1, layout.width), core.interner)
    return plain(tuple(array[0].as_py() for array in arrays))


def completable(item: JoinTuple, side: int) -> bool:
    """Whether, coming from one of its vertices, a path can be completed beyond a join tuple."""
    for other, value in enumerate(item.values):
        if other == side:
            continue
        for part, neighbours in value.neighbours.items():
            if part != item.part and not any(
                completable(each, next(i for i, v in enumerate(each.values) if v is value)) for each in neighbours.items
            ):
                return False
    return True


def check_flags(core: Core) -> None:
    """No flag says no where a path exists; and places are right."""
    graph = elements(core.graph)
    for items in graph.tuples:
        for item in items.values():
            for side in range(len(item.values)):
                assert item.neighbours(side).items[item.places[side]] is item
                assert item.is_live(side) or not completable(item, side), "a flag says no where a path exists"


def check_visits(core: Core) -> None:
    """Once visited, no flag says yes where no path is: what is visited then, is on a path, or the first on a dead end."""
    graph = core.graph
    for part in core.shape.parts:
        for _ in graph.generate(part.number):
            pass
    for part in core.shape.parts:
        for item in elements(graph).tuples[part.number].values():
            before = graph.visited
            vertex, key = (item.values[0].vertex, item.values[0].key) if item.values else (None, ())
            paths = sum(len(found) for found in graph.generate(part.number, vertex, [key]))
            starts = len(item.neighbours(0).items) if item.values else 1
            assert graph.visited - before <= len(core.shape.parts) * (paths + starts), "a dead end is visited again"
