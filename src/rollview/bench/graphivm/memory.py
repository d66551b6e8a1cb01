"""Figure 9.11: what a graph takes, by its rows, and by the joins of a chain."""

from __future__ import annotations

from collections.abc import Iterator

from rollview.bench.drawing import Chart
from rollview.bench.graphivm.cores import core_of, load, rows_of, shape_of
from rollview.bench.graphivm.data import Data
from rollview.bench.graphivm.figures import Claimed
from rollview.bench.graphivm.peers.peer import Kind, peer
from rollview.bench.graphivm.room import Room
from rollview.bench.graphivm.views import AGGREGATES, LENGTHS, ROWS, JoinView, follower_chain, retweet_chain

_CLAIM = "Figure 9.11b: DBToaster grows with the view, the graph by much less"


def run(room: Room) -> Iterator[Claimed]:
    large = room.large
    for view in (*ROWS, *AGGREGATES):
        size = _bytes(view, large)
        yield Claimed(
            f"{view.name}, large: bytes for a row of a table and its occurrence", size / _held(view, large), most=150
        )
    del large
    for name, data in (("small", room.small), ("small with 1 M followers", room.small_1m)):
        yield from _chains(room, name, data)


def _chains(room: Room, name: str, data: Data) -> Iterator[Claimed]:
    lines: dict[str, list[tuple[float, float]]] = {}
    rows = []
    for n in LENGTHS:
        for view in (follower_chain(n), retweet_chain(n)):
            size = _bytes(view, data)
            what = f"{view.name}, {name}: bytes for a row of a table and its occurrence"
            yield Claimed(what, size / _held(view, data), most=150)
            if view.tables[0] == "users":
                lines.setdefault("graph, bytes", []).append((n + 1, size))
                rows.append(rows_of(view, data.tables))
                if room.fits(view, data.tables):
                    other = load(core_of(shape_of(view), peer(Kind.AUXILIARY, view)), data.tables)
                    lines.setdefault("auxiliary views, bytes", []).append((n + 1, other.graph.size().bytes))
    lines["view, rows"] = [(n + 1, count) for n, count in zip(LENGTHS, rows, strict=True)]
    grown, view_grown = lines["graph, bytes"][-1][1] / lines["graph, bytes"][0][1], rows[-1] / rows[0]
    yield Claimed(f"follower chain, {name}: times that the view grows from 2 to 5 joins", view_grown)
    yield Claimed(
        f"follower chain, {name}: times that the graph grows, of the view's", grown / view_grown, most=0.1, claim=_CLAIM
    )
    room.charts.append(Chart(f"Figure 9.11b, follower chain, {name}", "bytes, rows", "joins", lines, log=True))


def _bytes(view: JoinView, data: Data) -> int:
    return load(core_of(shape_of(view)), data.tables).graph.size().bytes


def _held(view: JoinView, data: Data) -> int:
    """The rows of all occurrences of tables."""
    return sum(data.tables[table].num_rows for table in view.tables)
