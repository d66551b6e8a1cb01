"""How soon a live view is ready: to build it, to answer its first diff, to compile its own functions."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import duckdb
import numpy as np

from rollview.bench.drawing import Chart
from rollview.bench.graphivm.cores import weighted
from rollview.bench.graphivm.data import table_of
from rollview.bench.graphivm.figures import Claimed
from rollview.bench.graphivm.room import Room
from rollview.bench.graphivm.views import Q3
from rollview.errors import InternalError
from rollview.live.generated.graph import SpecificGraph
from rollview.session import Rollview, connect


def run(room: Room) -> Iterator[Claimed]:
    data = room.large
    with connect(room.folder / "ready") as rv:
        for name in Q3.tables:
            rv.store.create(name, data.tables[name])
        new = data.next
        del data
        yield from _built(rv, room, new)
    yield from _compiled(room)


def _built(rv: Rollview, room: Room, new: int) -> Iterator[Claimed]:
    rv.store.create("few", table_of("users", [np.arange(2, dtype=np.int64)]))
    with rv.live("SELECT a.userId FROM few AS a, few AS b WHERE a.userId = b.userId"):
        pass  # what every live view needs is compiled or loaded
    files = {name: rv.store.files(name) for name in Q3.tables}
    start, wall = time.process_time(), time.perf_counter()
    live = rv.live(Q3.sql)
    built, built_wall = time.process_time() - start, time.perf_counter() - wall
    start, wall = time.process_time(), time.perf_counter()
    connection = duckdb.connect()
    for name, found in files.items():
        if found is None:
            raise InternalError("an embedded store has files")
        connection.execute(f"CREATE VIEW {name} AS SELECT * FROM read_parquet({found!r})")
    (count,) = connection.execute(f"SELECT count(*) FROM ({Q3.sql})").fetchall()[0]
    counted, counted_wall = time.process_time() - start, time.perf_counter() - wall
    yield Claimed(
        "large Q3: to build it, as against DuckDB reading the files and counting the join", built / counted, most=5
    )
    yield Claimed("large Q3: the same by the clock on the wall", built_wall / counted_wall)
    yield Claimed("large Q3: rows of the view", int(count))
    one = table_of("users", [np.array([new], dtype=np.int64)])
    live.apply({"users": weighted(one)})
    graph = live._state.core.graph
    assert isinstance(graph, SpecificGraph)
    ready = sum(each.is_set() for each in graph.compiled)
    yield Claimed("large Q3: functions of its own that were compiled when the first diff was answered", ready, most=0)
    live.close()
    bars = {"live view": built, "DuckDB": counted}
    room.charts.append(Chart("Ready: large Q3", "CPU seconds", bars=bars))


def _compiled(room: Room) -> Iterator[Claimed]:
    cache = room.folder / "compiled"
    first, second = (_process(cache) for _ in range(2))
    yield Claimed("six tables: own functions compiled, CPU seconds", first, most=30)
    yield Claimed("six tables: loaded by a second process, CPU seconds", second, most=1)


def _process(cache: Path) -> float:
    command = [sys.executable, "-m", "rollview.bench.graphivm.compiling"]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env={**os.environ, "ROLLVIEW_CACHE": str(cache)}
    )
    if done.returncode:
        raise InternalError(f"compiling in another process has failed: {done.stderr}")
    return float(done.stdout)
