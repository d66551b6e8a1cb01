"""Figure 9.8: what look-ahead saves, on the chains of 2 to 5 joins."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise

import pyarrow as pa

from rollview.bench.drawing import Chart
from rollview.bench.graphivm.cores import compile_changes, core_of, load, shape_of
from rollview.bench.graphivm.data import Data
from rollview.bench.graphivm.figures import Claimed
from rollview.bench.graphivm.room import Room, new_followers, new_tweets
from rollview.bench.graphivm.timing import Way, graph_way, measured
from rollview.bench.graphivm.views import LENGTHS, JoinView, follower_chain, retweet_chain
from rollview.live.graph.protocol import LookAhead

#: The longest chain has bounds.
_LONGEST = LENGTHS[-1]


def run(room: Room) -> Iterator[Claimed]:
    data = room.small
    times: list[dict[str, float]] = []
    every: dict[str, Way] = {}
    for n in LENGTHS:
        view = retweet_chain(n)
        found, ways, visited = _measured(view, data, {"follower": new_followers(data, room.diffs)})
        times.append(found)
        every[view.name] = replace(ways["global"], seconds=[])
        bounded = n == _LONGEST
        diffs = ways["global"].rows / room.diffs
        yield Claimed(
            f"{view.name}: join tuples visited for a base diff, of tables × (view diffs + 1)",
            visited["global"] / (len(view.tables) * (diffs + 1)),
            most=1 if bounded else None,
        )
        yield Claimed(f"{view.name}: visited with none, as against global", visited["none"] / visited["global"])
        for name in ("none", "local"):
            yield Claimed(
                f"{view.name}: {name}, as against global",
                found[name] / found["global"],
                least=2.5 if bounded and name == "none" else None,
                claim="Figure 9.8a: none gets slower with each join, local hardly changes, global gets faster",
            )
    by_joins = measured(every)
    claim = "Figure 9.8a: faster with each join added"
    for (_, less), (name, more) in pairwise(by_joins.items()):
        yield Claimed(f"{name}: global, as against one join less", more / less, most=1, claim=claim)
    _chart(room, "9.8a, retweet chain", times)
    times = []
    for n in LENGTHS:
        view = follower_chain(n)
        found, _, _ = _measured(view, data, {"tweet": new_tweets(data, room.diffs)})
        times.append(found)
        yield Claimed(
            f"{view.name}: none, as against global",
            found["none"] / found["global"],
            claim="Figure 9.8b: slower with each join, global extremely beneficial",
        )
    _chart(room, "9.8b, follower chain", times)


def _measured(
    view: JoinView, data: Data, changes: dict[str, pa.Table]
) -> tuple[dict[str, float], dict[str, Way], dict[str, float]]:
    """Microseconds, ways, and join tuples visited for a base diff."""
    ways, visited = {}, {}
    for look_ahead in LookAhead:
        core = load(core_of(shape_of(view), look_ahead=look_ahead), data.tables)
        compile_changes(core, list(changes))
        way = ways[look_ahead.value] = graph_way(core, changes)
        way.run()
        way.undo()
        before = core.graph.visited
        way.run()
        visited[look_ahead.value] = (core.graph.visited - before) / way.count
        way.undo()
    return measured(ways), ways, visited


def _chart(room: Room, title: str, times: list[dict[str, float]]) -> None:
    lines = {
        each.value: [(n + 1, found[each.value]) for n, found in zip(LENGTHS, times, strict=True)] for each in LookAhead
    }
    room.charts.append(Chart(f"Figure {title}", "µs for a base diff", "joins", lines, log=True))
