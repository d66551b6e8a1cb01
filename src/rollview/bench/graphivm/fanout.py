"""Figures 9.5 and 9.10: what a growing fanout costs, pushed and kept; and what it costs to list the view."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import duckdb
import numpy as np
import pyarrow as pa

from rollview.bench.drawing import Chart
from rollview.bench.graphivm.cores import compile_changes, core_of, load, shape_of, weighted
from rollview.bench.graphivm.data import Data, table_of
from rollview.bench.graphivm.figures import Claimed
from rollview.bench.graphivm.peers.peer import Kind, peer
from rollview.bench.graphivm.room import Room
from rollview.bench.graphivm.timing import Way, graph_way, measured
from rollview.bench.graphivm.views import FANOUT
from rollview.live.core import Core

FANOUTS = (1, 10, 30, 50, 70, 100)

#: By fanout: the least ratio of the time of classic IVM that keeps the view to the time of the graph alone.
_KEPT = {10: 5.0, 100: 50.0}

_KINDS = (Kind.CLASSIC, Kind.OUTER)

Lines = dict[str, list[tuple[float, float]]]


def run(room: Room) -> Iterator[Claimed]:
    pushed: Lines = {}
    kept: Lines = {}
    listed: Lines = {}
    bytes_: Lines = {}
    for fanout in FANOUTS:
        tables, changes = with_fanout(room.small, room.diffs, fanout)
        cores = {"graph": _core(None, tables), **{kind.value: _core(kind, tables) for kind in _KINDS}}
        yield from _pushed(cores, changes, fanout, pushed)
        cores[Kind.CLASSIC.value] = _core(Kind.CLASSIC, tables, keep=True)
        yield from _kept(cores, changes, fanout, kept)
        yield from _listed(cores, tables, changes, fanout, listed, bytes_)
    first, last = (kept["graph"][at][1] for at in (0, -1))
    claim = "Figure 9.5b: almost constant"
    yield Claimed("fanout 100: the graph alone, as against fanout 1", last / first, most=1.5, claim=claim)
    for title, unit, lines in (
        ("Figure 9.5a, pushed", "µs for a base diff", pushed),
        ("Figure 9.5b, kept", "µs for a base diff", kept),
        ("Figure 9.10, listing the view", "ns for a row", listed),
        ("Figure 9.11a, memory", "bytes for a row of the tables", bytes_),
    ):
        room.charts.append(Chart(title, unit, "fanout", lines, log=True))


def with_fanout(data: Data, users: int, fanout: int) -> tuple[dict[str, pa.Table], dict[str, pa.Table]]:
    """The tables with more users, each with as many followers; and one tweet of each, as weighted rows."""
    new = data.next + np.arange(users, dtype=np.int64)
    followed = np.random.default_rng(fanout).permutation(np.repeat(new, fanout))
    more = table_of("follower", [followed, data.next + users + np.arange(users * fanout, dtype=np.int64)])
    tables = {**data.tables, "follower": pa.concat_tables([data.tables["follower"], more]).combine_chunks()}
    tweets = table_of("tweet", [new, new, np.ones(users, dtype=np.int64)])
    return tables, {"tweet": weighted(tweets)}


def _core(kind: Kind | None, tables: Mapping[str, pa.Table], *, keep: bool = False) -> Core:
    shape = shape_of(FANOUT)
    if kind is not None:
        return load(core_of(shape, peer(kind, FANOUT, keep=keep)), tables)
    core = load(core_of(shape), tables)
    compile_changes(core, ["tweet"])
    return core


def _pushed(cores: Mapping[str, Core], changes: Mapping[str, pa.Table], fanout: int, lines: Lines) -> Iterator[Claimed]:
    times = measured({name: graph_way(core, changes) for name, core in cores.items()})
    _add(lines, fanout, times)
    for kind, least in ((Kind.CLASSIC, 0.9), (Kind.OUTER, None)):
        claim = "Figure 9.5a: better than classic IVM; the full outer join table is worse than that"
        what = f"fanout {fanout}: pushed, {kind.value} as against the graph"
        yield Claimed(what, times[kind.value] / times["graph"], least=least, claim=claim)


def _kept(cores: Mapping[str, Core], changes: Mapping[str, pa.Table], fanout: int, lines: Lines) -> Iterator[Claimed]:
    ways = {name: graph_way(core, changes, push=False) for name, core in cores.items()}
    times = measured(ways)
    _add(lines, fanout, times)
    for kind in _KINDS:
        what = f"fanout {fanout}: kept, {kind.value} as against the graph"
        least = _KEPT.get(fanout) if kind is Kind.CLASSIC else None
        claim = "Figure 9.5b: the graph does not depend on the fanout, all others do"
        yield Claimed(what, times[kind.value] / times["graph"], least=least, claim=claim)
    for way in ways.values():
        way.run()


def _listed(
    cores: dict[str, Core],
    tables: Mapping[str, pa.Table],
    changes: Mapping[str, pa.Table],
    fanout: int,
    lines: Lines,
    bytes_: Lines,
) -> Iterator[Claimed]:
    """After the diffs: the bytes that are taken, and listing the view."""
    rows = sum(tables[name].num_rows for name in FANOUT.tables) + changes["tweet"].num_rows
    _add(bytes_, fanout, {name: core.graph.size().bytes / rows for name, core in cores.items()})
    del cores[Kind.OUTER.value]
    everything = {name: _listing(core) for name, core in cores.items()}
    everything["DuckDB, computing it"] = _recomputing(tables, changes)
    found = measured(everything)
    _add(lines, fanout, {name: 1000 * each for name, each in found.items()})
    claim = "Figure 9.10: the graph needs more time than a view that is stored"
    for name in list(found)[1:]:
        ratio = found["graph"] / found[name]
        yield Claimed(f"fanout {fanout}: listing the view from the graph, as against {name}", ratio, claim=claim)


def _listing(core: Core) -> Way:
    """All rows of the view from a core."""
    count = sum(len(weights) for _, weights in core.rows())
    return Way(lambda: sum(len(weights) for _, weights in core.rows()), lambda: None, count)


def _recomputing(tables: Mapping[str, pa.Table], changes: Mapping[str, pa.Table]) -> Way:
    """All rows of the view by its query."""
    found = duckdb.connect()
    for name, table in tables.items():
        more = changes[name].select(table.column_names) if name in changes else table.slice(0, 0)
        found.register("given", pa.concat_tables([table, more]))
        found.execute(f"CREATE TABLE {name} AS SELECT * FROM given")

    def run() -> int:
        return sum(batch.num_rows for batch in found.sql(FANOUT.sql).to_arrow_reader(100_000))

    return Way(run, lambda: None, run())


def _add(lines: Lines, x: float, values: Mapping[str, float]) -> None:
    for name, value in values.items():
        lines.setdefault(name, []).append((x, value))
