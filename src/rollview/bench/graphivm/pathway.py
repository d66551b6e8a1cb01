"""Pushed diffs as subscribers get them, beside Pathway, if it is there: at once, and one call for each."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from rollview.bench.drawing import Chart
from rollview.bench.graphivm.cores import compile_changes
from rollview.bench.graphivm.fanout import with_fanout
from rollview.bench.graphivm.figures import Claimed
from rollview.bench.graphivm.room import PATHWAY, Room
from rollview.bench.graphivm.timing import Way, measured
from rollview.bench.graphivm.views import FANOUT
from rollview.errors import UserError
from rollview.live.live import Live
from rollview.live.serve.diff import Batch
from rollview.plan.reserved import WEIGHT
from rollview.session import Rollview, connect

#: The times as long that Pathway takes at least, by fanout: all at once, and one call for each.
_AT_ONCE, _ONE_BY_ONE = {10: 20.0, 100: 100.0}, {10: 1.5, 100: 8.0}
#: One by one, fewer diffs are enough.
_FEW = 10_000


def run(room: Room) -> Iterator[Claimed]:
    bars: dict[str, float] = {}
    for fanout in _AT_ONCE:
        tables, changes = with_fanout(room.small, room.diffs, fanout)
        few = {"tweet": changes["tweet"].slice(0, _FEW)}
        with connect("duckdb:") as rv, _live(rv, tables) as live:
            ways = {"at once": _way(live, changes, eager=False), "one by one": _way(live, few, eager=True)}
            own = {name: measured({name: way})[name] for name, way in ways.items()}
        for name, each in own.items():
            bars[f"fanout {fanout}, {name}"] = each
            yield Claimed(f"fanout {fanout}, {name}, delivered as Arrow: µs for a base diff", each)
        if room.pathway is not None:
            given = {"at once": changes["tweet"], "one by one": few["tweet"]}
            files = _files(room.folder, tables["follower"], given)
            yield from _pathway(
                room.pathway, files, {name: len(rows) for name, rows in given.items()}, fanout, own, bars
            )
    if room.pathway is None:
        yield Claimed(f"Pathway: left out, {PATHWAY} names no Python that has it", 0)
    room.charts.append(Chart("Diffs delivered, and Pathway", "µs for a base diff", bars=bars, log=True))


def _pathway(
    python: str,
    files: Mapping[str, Path],
    counts: Mapping[str, int],
    fanout: int,
    own: Mapping[str, float],
    bars: dict[str, float],
) -> Iterator[Claimed]:
    """At once, rows that Pathway discards count, which is the least that it can do with them; one by one, rows that a
    function gets, as with a live view."""
    for name in counts:
        bounds = _AT_ONCE if name == "at once" else _ONE_BY_ONE
        for sink in ("discarded", "delivered"):
            bounded = (sink == "discarded") == (name == "at once")
            options = [*(["eager"] if name == "one by one" else []), sink]
            seconds = _run(python, files["follower"], files[name], counts[name], options)
            each = 1e6 * seconds / counts[name]
            bars[f"fanout {fanout}, {name}, Pathway, {sink}"] = each
            yield Claimed(
                f"fanout {fanout}, {name}: Pathway with rows {sink}, as against the live view",
                each / own[name],
                least=bounds[fanout] if bounded else None,
            )


def _live(rv: Rollview, tables: Mapping[str, pa.Table]) -> Live:
    for name in sorted(set(FANOUT.tables)):
        rv.store.create(name, tables[name])
    live = rv.live(FANOUT.sql)
    compile_changes(live._state.core, ["tweet"])
    return live


def _way(live: Live, changes: Mapping[str, pa.Table], *, eager: bool) -> Way:
    """Changes that are given to a live view whose subscriber counts rows."""
    got: list[int] = []

    def took(batch: Batch) -> None:
        got.append(batch.table.num_rows)

    live.subscribe(took, when_behind="hold")
    ((table, rows),) = changes.items()
    steps = [{table: rows.slice(i, 1)} for i in range(rows.num_rows)] if eager else [dict(changes)]
    back = rows.set_column(rows.num_columns - 1, WEIGHT.label, pa.array([-1] * rows.num_rows, pa.int64()))

    def run() -> int:
        got.clear()
        for step in steps:
            live.apply(step)
        return sum(got)

    def undo() -> None:
        live.apply({table: back})

    return Way(run, undo, rows.num_rows)


def _files(folder: Path, follower: pa.Table, given: Mapping[str, pa.Table]) -> dict[str, Path]:
    found = {}
    for name, rows in {"follower": follower, **given}.items():
        found[name] = folder / f"{name.replace(' ', '-')}.parquet"
        pq.write_table(rows.drop_columns([WEIGHT.label]) if WEIGHT.label in rows.column_names else rows, found[name])
    return found


def _run(python: str, follower: Path, tweet: Path, count: int, options: list[str]) -> float:
    script = Path(__file__).with_name("pathway_run.py").read_text(encoding="utf-8")
    command = [python, "-", str(follower), str(tweet), str(count), *options]
    others = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run(
        command, input=script, capture_output=True, text=True, check=False, env=others, cwd=follower.parent
    )
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["it ended without a word"])[-1]
        raise UserError("Pathway has failed", why=last, todo=f"check the Python that {PATHWAY} names")
    return float(json.loads(done.stdout.strip().splitlines()[-1])["seconds"])
