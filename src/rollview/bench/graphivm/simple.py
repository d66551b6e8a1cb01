"""Figures 9.3 and 9.4: the views Q1 to Q3 and their aggregates on the large data, the last messages as diffs.

Views of rows are measured from words to words, in the graph and in its peers; aggregates from Arrow to Arrow, with the
grouping that all of them share.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping

import duckdb
import numpy as np
import pyarrow as pa

from rollview.bench.drawing import Chart
from rollview.bench.graphivm.cores import compile_changes, core_of, load, shape_of, weighted, whole_shape
from rollview.bench.graphivm.data import Data
from rollview.bench.graphivm.figures import Claimed
from rollview.bench.graphivm.peers.peer import Kind, peer
from rollview.bench.graphivm.room import Room
from rollview.bench.graphivm.timing import Way, core_way, graph_way, measured
from rollview.bench.graphivm.views import AGGREGATES, ROWS, JoinView
from rollview.live.core import Core

#: Row by row, fewer diffs are enough, and no more of aggregates, whose diffs cost some hundred microseconds.
_EAGER, _EAGER_AGGREGATES = 10_000, 1_000

_CLASSIC = "Figure 9.3: 2 to 3 times as fast as classic IVM in memory"
_AUXILIARY = "Figure 9.3: faster than DBToaster on Q1 to Q3 and Q3Agg, slower on Q1Agg and Q2Agg"
_CLAIMS = {Kind.CLASSIC: _CLASSIC, Kind.AUXILIARY: _AUXILIARY}
_KINDS = (Kind.CLASSIC, Kind.AUXILIARY)

Bars = dict[str, dict[str, float]]


def run(room: Room) -> Iterator[Claimed]:
    bars: Bars = {}
    tables, changes = last_messages(room.large, room.diffs)
    for view in (*ROWS, *AGGREGATES):
        own = {name: rows for name, rows in changes.items() if name in view.tables}
        measuring = _rows if view.by is None else _aggregate
        yield from measuring(room, view, tables, own, bars)
        yield from _recomputed(room, view, tables, own, bars)
    for title, found in bars.items():
        room.charts.append(Chart(title, "µs for a base diff", bars=found, log=True))


def last_messages(data: Data, count: int) -> tuple[dict[str, pa.Table], dict[str, pa.Table]]:
    """The tables without their last tweets and retweets, and these, ``count`` in all, as weighted rows."""
    dates = np.concatenate([data.tables[name].column("tweetDate").to_numpy() for name in ("tweet", "retweet")])
    last = np.sort(dates)[-count]
    tables, changes = dict(data.tables), {}
    for name in ("tweet", "retweet"):
        table = data.tables[name]
        kept = int(np.searchsorted(table.column("tweetDate").to_numpy(), last))
        tables[name], changes[name] = table.slice(0, kept), weighted(table.slice(kept).combine_chunks())
    return tables, changes


def _cores(
    room: Room, view: JoinView, tables: Mapping[str, pa.Table], changes: Mapping[str, pa.Table], *, keep: bool = False
) -> dict[str, Core]:
    cores = {"graph": load(core_of(shape_of(view)), tables)}
    compile_changes(cores["graph"], list(changes))
    for kind in _KINDS:
        if kind is Kind.AUXILIARY and len(view.tables) == 2:
            continue  # one join has no connected parts but its tables: it is classic IVM
        if not keep or room.fits(view, tables):
            shape = whole_shape(view) if kind is Kind.CLASSIC else shape_of(view)
            cores[kind.value] = load(core_of(shape, peer(kind, view, keep=keep)), tables)
    return cores


def _rows(
    room: Room, view: JoinView, tables: Mapping[str, pa.Table], changes: Mapping[str, pa.Table], bars: Bars
) -> Iterator[Claimed]:
    cores = _cores(room, view, tables, changes)
    few = {name: rows.slice(0, _EAGER) for name, rows in changes.items()}
    for title, given, eager in (("Figure 9.4: at once", changes, False), ("Figure 9.3: one by one", few, True)):
        ways = {name: graph_way(core, given, eager=eager) for name, core in cores.items()}
        yield from _beside(view, f"{title}, pushed", ways, bars, least=0.9)
    del cores
    cores = _cores(room, view, tables, changes, keep=True)
    ways = {name: graph_way(core, changes, push=False) for name, core in cores.items()}
    yield from _beside(view, "Figure 9.4: at once, kept", ways, bars)


def _aggregate(
    room: Room, view: JoinView, tables: Mapping[str, pa.Table], changes: Mapping[str, pa.Table], bars: Bars
) -> Iterator[Claimed]:
    cores = _cores(room, view, tables, changes)
    few = {name: rows.slice(0, _EAGER_AGGREGATES) for name, rows in changes.items()}
    for title, given, eager in (("Figure 9.4: at once", changes, False), ("Figure 9.3: one by one", few, True)):
        ways = {name: core_way(core, given, eager=eager) for name, core in cores.items()}
        yield from _beside(view, f"{title}, pushed", ways, bars)


def _beside(
    view: JoinView, title: str, ways: Mapping[str, Way], bars: Bars, least: float | None = None
) -> Iterator[Claimed]:
    times = measured(ways)
    bars.setdefault(title, {}).update({f"{view.name} {name}": each for name, each in times.items()})
    for kind in _KINDS:
        if kind.value in times:
            what = f"{view.name} {title.split(': ')[1]}, {kind.value} as against the graph"
            own = least if kind is Kind.CLASSIC else None
            yield Claimed(what, times[kind.value] / times["graph"], least=own, claim=_CLAIMS[kind])


def _recomputed(
    room: Room, view: JoinView, tables: Mapping[str, pa.Table], changes: Mapping[str, pa.Table], bars: Bars
) -> Iterator[Claimed]:
    """One recomputation by DuckDB, which is what a diff costs without any maintenance; all diffs at once share it."""
    if not room.fits(view, tables):
        return
    connection = duckdb.connect()
    for name in set(view.tables):
        connection.register(name, tables[name])
    start = time.process_time()
    connection.execute(f"CREATE TABLE found AS {view.sql}")
    seconds = time.process_time() - start
    each = bars["Figure 9.4: at once, pushed"][f"{view.name} graph"] * sum(map(len, changes.values())) / 1e6
    yield Claimed(f"{view.name}: computed by DuckDB once, as against all diffs at once", seconds / each)
    connection.close()
