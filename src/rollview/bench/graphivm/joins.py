"""Figures 9.6 and 9.7 and Table 9.3: chains of 2 to 5 joins, pushed and kept, beside the peers."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pyarrow as pa

from rollview.bench.drawing import Chart
from rollview.bench.graphivm.cores import compile_changes, core_of, load, shape_of
from rollview.bench.graphivm.data import FOLLOWER_FANOUTS, RETWEET_FANOUTS, Data
from rollview.bench.graphivm.figures import Claimed
from rollview.bench.graphivm.peers.peer import Kind, peer
from rollview.bench.graphivm.room import MOST_ROWS, Room, new_followers, new_tweets
from rollview.bench.graphivm.timing import Way, graph_way, measured
from rollview.bench.graphivm.views import LENGTHS, JoinView, follower_chain, retweet_chain
from rollview.live.core import Core

#: This many rows are added to a view that is kept: a turn has fewer diffs if each makes many.
_KEPT_ROWS = 2_000_000

_CLAIMS = {
    ("follower", Kind.CLASSIC): "Figure 9.6: always better than all others",
    ("follower", Kind.AUXILIARY): "Figure 9.6: always better than all others",
    ("retweet", Kind.CLASSIC): "Figure 9.7: better with each join",
    ("retweet", Kind.AUXILIARY): "Figure 9.7: DBToaster becomes worse with each join",
}


def run(room: Room) -> Iterator[Claimed]:
    data = room.small
    yield from _chain(room, data, "follower", follower_chain, "tweet", new_tweets, FOLLOWER_FANOUTS)
    yield from _chain(room, data, "retweet", retweet_chain, "follower", new_followers, RETWEET_FANOUTS)


def _chain(
    room: Room,
    data: Data,
    name: str,
    chain: Callable[[int], JoinView],
    changed: str,
    rows: Callable[[Data, int], pa.Table],
    fanouts: tuple[int, ...],
) -> Iterator[Claimed]:
    lines: dict[bool, dict[str, list[tuple[float, float]]]] = {True: {}, False: {}}
    for n, fanout in zip(LENGTHS, fanouts, strict=True):
        view, joins = chain(n), n + 1
        pushed, ways = _pushed(room, data, view, {changed: rows(data, room.diffs)})
        found = round(ways["graph"].rows / room.diffs)
        yield Claimed(f"{view.name}: view diffs for a base diff", found, fanout, fanout, f"Table 9.3: {fanout}")
        for kind in Kind:
            if kind.value in pushed:
                least = (3 if name == "retweet" and joins == 5 else 1.2) if kind is Kind.CLASSIC else None
                ratio = pushed[kind.value] / pushed["graph"]
                yield Claimed(
                    f"{view.name}: pushed, {kind.value} as against the graph",
                    ratio, least=least, claim=_CLAIMS[name, kind],
                )  # fmt: skip
        few = max(20, min(room.diffs, _KEPT_ROWS // fanout))
        kept = _kept(room, data, view, {changed: rows(data, few)})
        for kind in Kind:
            if kind.value in kept:
                ratio = kept[kind.value] / kept["graph"]
                yield Claimed(f"{view.name}: kept, {kind.value} as against the graph", ratio, claim=_CLAIMS[name, kind])
        for push, times in ((True, pushed), (False, kept)):
            for way, each in times.items():
                lines[push].setdefault(way, []).append((joins, each))
    number = "9.6" if name == "follower" else "9.7"
    for push, title in ((True, "a: pushed"), (False, "b: kept")):
        room.charts.append(
            Chart(f"Figure {number}{title}, {name} chain", "µs for a base diff", "joins", lines[push], log=True)
        )


def _pushed(
    room: Room, data: Data, view: JoinView, changes: dict[str, pa.Table]
) -> tuple[dict[str, float], dict[str, Way]]:
    cores = {"graph": _graph(data, view, changes)}
    for kind in (Kind.CLASSIC, Kind.AUXILIARY):
        if kind is Kind.CLASSIC or room.fits(view, data.tables):
            cores[kind.value] = load(core_of(shape_of(view), peer(kind, view)), data.tables)
    ways = {name: graph_way(core, changes) for name, core in cores.items()}
    return measured(ways), ways


def _kept(room: Room, data: Data, view: JoinView, changes: dict[str, pa.Table]) -> dict[str, float]:
    cores = {"graph": _graph(data, view, changes)}
    for kind in (Kind.CLASSIC, Kind.AUXILIARY):
        if room.fits(view, data.tables, MOST_ROWS // 10):
            cores[kind.value] = load(core_of(shape_of(view), peer(kind, view, keep=True)), data.tables)
    return measured({name: graph_way(core, changes, push=False) for name, core in cores.items()})


def _graph(data: Data, view: JoinView, changes: dict[str, pa.Table]) -> Core:
    core = load(core_of(shape_of(view)), data.tables)
    compile_changes(core, list(changes))
    return core
