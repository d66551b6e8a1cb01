"""Following an embedded store, beside refreshing; and ten thousand subscriptions, beside one."""

from __future__ import annotations

import statistics
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import patch

import numpy as np
import pyarrow as pa

from rollview.bench.drawing import Chart
from rollview.bench.graphivm.cores import weighted
from rollview.bench.graphivm.data import table_of
from rollview.bench.graphivm.fanout import with_fanout
from rollview.bench.graphivm.figures import Claimed
from rollview.bench.graphivm.room import Room
from rollview.bench.graphivm.timing import Way, measured
from rollview.bench.graphivm.views import FANOUT, Q3
from rollview.live.interning import Words
from rollview.live.live import Live
from rollview.live.serve.diff import Batch
from rollview.session import Rollview, connect
from rollview.store.edits import Append
from rollview.store.embedded.log import Log
from rollview.store.embedded.snapshot import Snapshot

#: The commits that are followed and refreshed, after those that warm up; the rows of each.
_COMMITS, _WARM_UP, _ROWS = 10, 3, 10
#: The seconds between looks for new commits.
_EVERY = 0.002
#: Subscriptions, and the diffs of one turn, to users with this many followers each.
_SUBSCRIPTIONS, _DIFFS, _FANOUT = 10_000, 5_000, 10


def run(room: Room) -> Iterator[Claimed]:
    yield from _followed(room)
    yield from _subscribed(room)


def _followed(room: Room) -> Iterator[Claimed]:
    data = room.small
    with connect(room.folder / "follow") as rv:
        for name in Q3.tables:
            rv.store.create(name, data.tables[name])
        rv.create("q3", Q3.sql)
        arrived: list[float] = []
        told = threading.Event()

        def took(_: Batch) -> None:
            arrived.append(time.perf_counter())
            told.set()

        with rv.live("q3") as live:
            live.subscribe(took, when_behind="hold")
            jobs, replays = _polled(rv, live, data.user)
            yield Claimed("follow: Spark jobs for ten commits", jobs, most=0)
            yield Claimed("follow: replays of the log for ten commits", replays, most=0)
            rv.refresh("q3")
            live.follow(_EVERY)
            latencies, refreshes = [], []
            for number in range(_WARM_UP + _COMMITS):
                told.clear()
                rv.store.commit("retweet", [Append(_retweets(1000 + number, data.user))])
                committed = time.perf_counter()
                told.wait(60)
                latencies.append(arrived[-1] - committed)
                refreshes.append(rv.refresh("q3").seconds)
        found = statistics.median(latencies[_WARM_UP:])
        refreshed = statistics.median(refreshes[_WARM_UP:])
        yield Claimed(
            "follow: from commit to callback, as against a refresh of the same commit", found / refreshed, most=1 / 20
        )
        yield Claimed("follow: milliseconds from commit to callback", 1000 * found)
        bars = {"from commit to callback": found, "refresh": refreshed}
        room.charts.append(Chart("Following, and refreshing", "seconds", bars=bars, log=True))


def _polled(rv: Rollview, live: Live, user: int) -> tuple[int, int]:
    """The Spark jobs and replays of logs while ten commits are followed."""
    jobs = replays = 0
    for number in range(_COMMITS):
        rv.store.commit("retweet", [Append(_retweets(number, user))])
        with rv.engine.measured() as work, _replays() as found:
            live.poll()
        jobs += work.jobs or 0
        replays += len(found)
    return jobs, replays


@contextmanager
def _replays() -> Iterator[list[int | None]]:
    """The versions of tables whose logs are replayed inside the block."""
    found: list[int | None] = []
    snapshot = Log.snapshot

    def counted(self: Log, version: int | None = None) -> Snapshot:
        found.append(version)
        return snapshot(self, version)

    with patch.object(Log, "snapshot", counted):
        yield found


def _retweets(number: int, user: int) -> pa.Table:
    """Rows of one commit: retweets of the first tweets."""
    own = np.arange(_ROWS, dtype=np.int64)
    return table_of("retweet", [np.full(_ROWS, user), 10**9 + number * _ROWS + own, own, own])


def _subscribed(room: Room) -> Iterator[Claimed]:
    """Diffs for one user with one subscription, and as many for as many users as there are subscriptions."""
    most = max(20, round(_SUBSCRIPTIONS * min(1.0, room.scale)))
    diffs = max(20, round(_DIFFS * min(1.0, room.scale)))
    tables, changes = with_fanout(room.small, most, _FANOUT)
    users = changes["tweet"].column("userId").to_numpy()
    ways: dict[str, Way] = {}
    with connect("duckdb:") as rv:
        for name in sorted(set(FANOUT.tables)):
            rv.store.create(name, tables[name])
        lives = {"one": rv.live(FANOUT.sql), "many": rv.live(FANOUT.sql)}
        for name, live in lives.items():
            asked = users if name == "many" else users[:1]
            ways[name] = _way(live, asked, diffs)
        times = measured(ways)
        delivered = {name: way.rows for name, way in ways.items()}
    yield Claimed(
        f"{most:,} subscriptions by key: throughput, as against one", times["one"] / times["many"], least=1 / 3
    )
    yield Claimed(f"{most:,} subscriptions: diffs delivered, as against one", delivered["many"] / delivered["one"])
    bars = {"one": times["one"], f"{most:,}": times["many"]}
    room.charts.append(Chart("Subscriptions by key", "µs for a base diff", bars=bars))


def _way(live: Live, users: Words, diffs: int) -> Way:
    got: list[int] = []
    for user in users.tolist():
        live.subscribe(lambda batch: got.append(len(batch)), where={"c0": user}, when_behind="hold")
    who = users[np.arange(diffs) % len(users)]
    own = np.arange(diffs, dtype=np.int64)
    rows = table_of("tweet", [who, 10**9 + own, own])
    steps = [{"tweet": weighted(rows.slice(i, 1))} for i in range(diffs)]
    back = {"tweet": weighted(rows, -1)}

    def run() -> int:
        got.clear()
        for step in steps:
            live.apply(step)
        return len(got)

    def undo() -> None:
        live.apply(back)

    return Way(run, undo, diffs)
