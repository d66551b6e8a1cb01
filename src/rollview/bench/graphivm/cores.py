"""Live views of the measurement without a store: their tables are given as Arrow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timezone

import numpy as np
import pyarrow as pa

from rollview.bench.graphivm.data import SCHEMA
from rollview.bench.graphivm.views import JoinView
from rollview.engine.expressions import Settings
from rollview.frontend.query import Query
from rollview.frontend.sql import BaseTable
from rollview.live.compile.compiling import compiled_shape
from rollview.live.core import Core
from rollview.live.generated.graph import SpecificGraph, compiled
from rollview.live.graph.protocol import GraphOf, LookAhead
from rollview.live.graphs import best_graph
from rollview.live.ingest import Ingest
from rollview.live.interning import Words
from rollview.live.shape import Shape
from rollview.plan.reserved import WEIGHT

SETTINGS = Settings.in_zone(timezone.utc)

_TABLES = {name: BaseTable(name, tuple((column, "bigint") for column in columns)) for name, columns in SCHEMA.items()}


def shape_of(view: JoinView) -> Shape:
    """The shape of a view."""
    plan = Query(view.sql).plan(lambda name: _TABLES.get(name[-1])).plan
    return compiled_shape(plan, lambda table: list(_TABLES[table].columns), SETTINGS)


def whole_shape(view: JoinView) -> Shape:
    """The shape of an aggregate that counts whole rows: no column is left out before the join."""
    if view.by is None:
        return shape_of(view)
    own, rows = shape_of(view), shape_of(view.rows())
    return replace(rows, grouping=own.grouping, output=own.output)


def core_of(
    shape: Shape, graph_of: GraphOf = best_graph, *, push: bool = True, look_ahead: LookAhead = LookAhead.GLOBAL
) -> Core:
    return Core(shape, SETTINGS, push=push, look_ahead=look_ahead, graph_of=graph_of)


def weighted(rows: pa.Table, weight: int = 1) -> pa.Table:
    """Rows that all have one weight."""
    return rows.append_column(WEIGHT.label, pa.array(np.full(rows.num_rows, weight, dtype=np.int64)))


def load(core: Core, tables: Mapping[str, pa.Table]) -> Core:
    """Loads the tables that the view reads."""
    for table in core.shape.tables:
        core.load(table, weighted(tables[table]))
    core.loaded()
    return core


def words_of(core: Core, changes: Mapping[str, pa.Table]) -> list[tuple[int, Words]]:
    """Weighted rows of tables as changed rows of each part."""
    return [
        (part.number, Ingest(core.shape, part, core.interner, SETTINGS).rows(rows).all)
        for table, rows in changes.items()
        for part in core.shape.occurrences(table)
    ]


def compile_changes(core: Core, tables: Sequence[str]) -> None:
    """Compiles the view's own functions for changes of some tables."""
    graph = core.graph
    if isinstance(graph, SpecificGraph):
        for table in tables:
            for part in core.shape.occurrences(table):
                graph.use(part.number, compiled(graph.plan, part.number))


def rows_of(view: JoinView, tables: Mapping[str, pa.Table]) -> int:
    """How many rows a view has: counted along its tree, without making them."""

    def weights(part: int, came_from: int | None) -> Words:
        """For each row of a part, the rows that it leads to beyond it."""
        table = tables[view.tables[part]]
        found = np.ones(table.num_rows, dtype=np.int64)
        for join in view.joins:
            ends = [(join.a, join.a_column), (join.b, join.b_column)]
            for (here, own), (there, other) in (ends, ends[::-1]):
                if here == part and there != came_from:
                    keys = tables[view.tables[there]].column(other).to_numpy()
                    values, at = np.unique(keys, return_inverse=True)
                    sums = np.zeros(len(values) + 1, dtype=np.int64)
                    np.add.at(sums, at, weights(there, part))
                    asked = table.column(own).to_numpy()
                    places = np.minimum(np.searchsorted(values, asked), len(values) - 1)
                    found = found * np.where(values[places] == asked, sums[places], 0)
        return found

    return int(weights(0, None).sum())
