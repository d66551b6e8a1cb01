"""What compiling brings: the graph in plain Python, by compiled functions, and by functions of the view's own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pyarrow as pa

from rollview.bench.drawing import Chart
from rollview.bench.graphivm.cores import SETTINGS, compile_changes, core_of, load, shape_of, weighted
from rollview.bench.graphivm.data import Data
from rollview.bench.graphivm.figures import Claimed
from rollview.bench.graphivm.room import Room, new_followers, new_tweets
from rollview.bench.graphivm.timing import Way, graph_way, measured
from rollview.bench.graphivm.views import LENGTHS, Q3, JoinView, follower_chain, retweet_chain
from rollview.live.core import Core
from rollview.live.graph.protocol import Rows
from rollview.live.graph.reference import ReferenceGraph
from rollview.live.ingest import Ingest
from rollview.live.kernel.graph import CompiledGraph

_SPECIFIC, _GENERIC, _PYTHON = "own functions", "generic functions", "plain Python"
_CLAIM = "Figure 9.5: the compiled version is faster by an order of magnitude (Java and C++)"

#: Plain Python is measured with few diffs, on two views.
_FEW = 500


def run(room: Room) -> Iterator[Claimed]:
    data, lines = room.small, _no_lines()
    views: list[tuple[JoinView, dict[str, pa.Table]]] = [(Q3, _last_retweets(data, room.diffs))]
    views += [(follower_chain(n), {"tweet": new_tweets(data, room.diffs)}) for n in LENGTHS]
    views += [(retweet_chain(n), {"follower": new_followers(data, room.diffs)}) for n in LENGTHS]
    for view, changes in views:
        cores = {
            _GENERIC: load(core_of(shape_of(view), CompiledGraph), data.tables),
            _SPECIFIC: _specific(data, view, changes),
        }
        times = measured({name: graph_way(core, changes) for name, core in cores.items()})
        joins = len(view.tables) - 1
        for name, each in times.items():
            lines[view.name.split(",")[0]].setdefault(name, []).append((joins, each))
        yield Claimed(
            f"{view.name}: generic functions, as against the view's own",
            times[_GENERIC] / times[_SPECIFIC],
            least=1.2 if joins == 2 else 1.7,
        )
        if joins == 2:
            yield from _python(data, view, cores[_GENERIC], changes)
    for name, found in lines.items():
        if len(next(iter(found.values()))) > 1:
            room.charts.append(Chart(f"Compiling, {name}", "µs for a base diff", "joins", found, log=True))


def _no_lines() -> dict[str, dict[str, list[tuple[float, float]]]]:
    return {"Q3": {}, "follower chain": {}, "retweet chain": {}}


def _specific(data: Data, view: JoinView, changes: Mapping[str, pa.Table]) -> Core:
    core = load(core_of(shape_of(view)), data.tables)
    compile_changes(core, list(changes))
    return core


def _python(data: Data, view: JoinView, generic: Core, changes: Mapping[str, pa.Table]) -> Iterator[Claimed]:
    """Rows to paths by each graph."""
    few = {name: rows.slice(0, _FEW) for name, rows in changes.items()}
    core = load(core_of(shape_of(view), ReferenceGraph), data.tables)
    times = measured({_GENERIC: _way(generic, few), _PYTHON: _way(core, few)})
    ratio = times[_PYTHON] / times[_GENERIC]
    yield Claimed(f"{view.name}: plain Python, as against generic functions", ratio, least=50, claim=_CLAIM)


def _way(core: Core, changes: Mapping[str, pa.Table]) -> Way:
    (table, rows), *_ = changes.items()
    (part,) = core.shape.occurrences(table)
    added = Ingest(core.shape, part, core.interner, SETTINGS).rows(rows)

    def changed(given: Rows, *, push: bool) -> int:
        return sum(len(paths.weights) for paths in core.graph.change(part.number, given, push=push))

    def undo() -> None:
        changed(added.negated(), push=False)

    return Way(lambda: changed(added, push=True), undo, len(added))


def _last_retweets(data: Data, count: int) -> dict[str, pa.Table]:
    """The last retweets once more: each stands for another row."""
    rows = data.tables["retweet"]
    return {"retweet": weighted(rows.slice(max(0, rows.num_rows - count)).combine_chunks())}
