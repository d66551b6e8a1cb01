"""Live views of the measurement without a store: their tables are given as Arrow."""

from __future__ import annotations

from collections.abc import Mapping
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
from rollview.live.graph.protocol import GraphOf, LookAhead
from rollview.live.graphs import best_graph
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
