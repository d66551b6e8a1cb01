"""Figure 9.9: what it costs to insert and delete projected tuples and join tuples."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from rollview.bench.drawing import Chart
from rollview.bench.graphivm.cores import core_of, load, shape_of, weighted, words_of
from rollview.bench.graphivm.data import Data, table_of
from rollview.bench.graphivm.figures import Claimed
from rollview.bench.graphivm.room import Room
from rollview.bench.graphivm.timing import Way, measured
from rollview.bench.graphivm.views import AGGREGATES, ROWS
from rollview.live.core import Core
from rollview.live.interning import Words
from rollview.live.kernel.graph import CompiledGraph

_CLAIM = "Figure 9.9: a join tuple takes more time than a projected tuple"


def run(room: Room) -> Iterator[Claimed]:
    data = room.large
    tuples = {"projected tuple": _projected(data, room.diffs), "join tuple": _join(data, room.diffs)}
    bars: dict[str, float] = {}
    for view in (*ROWS, *AGGREGATES):
        core = load(core_of(shape_of(view)), data.tables)
        times: dict[str, float] = {}
        for what, rows in tuples.items():
            (_, added), *_ = words = words_of(core, {"tweet": weighted(rows)})
            (_, gone), *_ = words_of(core, {"tweet": weighted(rows, -1)})
            part = words[0][0]
            times |= measured({f"inserting a {what}": _way(core, part, added, gone)})
            _changed(core, part, added)
            times |= measured({f"deleting a {what}": _way(core, part, gone, added)})
            _changed(core, part, gone)
        bars |= {f"{view.name} {what}": each for what, each in times.items()}
        for verb in ("inserting", "deleting"):
            ratio = times[f"{verb} a join tuple"] / times[f"{verb} a projected tuple"]
            yield Claimed(f"{view.name}: {verb} a join tuple, as against a projected tuple", ratio, claim=_CLAIM)
    room.charts.append(Chart("Figure 9.9, the graph alone", "µs", bars=bars))


def _projected(data: Data, count: int) -> pa.Table:
    """Tweets with the keys of others and other dates."""
    tweets = data.tables["tweet"]
    places = np.linspace(0, tweets.num_rows - 1, count).astype(np.int64)
    user, number, date = (column.to_numpy()[places] for column in tweets.columns)
    return table_of("tweet", [user, number, date + data.next])


def _join(data: Data, count: int) -> pa.Table:
    """Tweets with keys that nobody has."""
    new = data.next + np.arange(count, dtype=np.int64)
    return table_of("tweet", [new, new, new])


def _way(core: Core, part: int, rows: Words, back: Words) -> Way:
    return Way(lambda: _changed(core, part, rows), lambda: _ignore(_changed(core, part, back)), len(rows))


def _changed(core: Core, part: int, rows: Words) -> int:
    graph = core.graph
    assert isinstance(graph, CompiledGraph)
    return sum(len(paths.weights) for paths in graph.changed(part, rows, push=False))


def _ignore(_: object) -> None:
    return None
