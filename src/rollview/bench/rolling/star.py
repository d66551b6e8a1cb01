"""A star: one busy table, and three quiet ones that have a fifth of the commits, of few rows each. Each table has
intervals of its own, as against one interval for all."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np
import pyarrow as pa

from rollview.bench.drawing import Chart
from rollview.bench.report import Figure
from rollview.bench.rolling.room import Room
from rollview.bench.rolling.shop import spread
from rollview.bench.turns import Way, check
from rollview.refresh.steps import Pace
from rollview.refresh.used import used_columns
from rollview.roll.begin import Begun, begun
from rollview.roll.propagate import Propagation
from rollview.roll.results import ForwardStep
from rollview.roll.shelf import Shelves
from rollview.session import Rollview
from rollview.store.edits import Append

QUIET = ("customer", "item", "shop")

#: At scale 1: the rows of the busy table and of each quiet one, and the commits.
ROWS, QUIET_ROWS, COMMITS = 200_000, 10_000, 1_000

#: The rows of a commit. Every fifth one is of a quiet table.
COMMIT_ROWS, QUIET_COMMIT_ROWS, QUIET_EACH = 500, 5, 5

#: One interval for all takes in as many commits as this; a step of a table, as many rows as the busy one has there.
WIDTH = 40
STEP_ROWS = COMMIT_ROWS * WIDTH * (QUIET_EACH - 1) // QUIET_EACH

VIEW = f"""
SELECT {", ".join(f"{each}.{each}_kind" for each in QUIET)}, sum(sale.amount) AS total, count(*) AS sold
FROM sale {" ".join(f"JOIN {each} ON sale.{each} = {each}.id" for each in QUIET)}
GROUP BY {", ".join(f"{each}.{each}_kind" for each in QUIET)}
"""


def run(room: Room) -> Iterator[Figure]:
    with room.opened("star") as rv:
        _load(rv, room.scale)
        for view in ("own", "one"):
            rv.create(view, VIEW, policy="INCREMENTAL")
            rv.propagate(view)
        _commit(rv, max(3 * WIDTH, round(COMMITS * room.scale)))
        newest = rv.position()
        assert newest is not None
        own = rv.propagate("own", step_rows=STEP_ROWS).steps
        one = _in_one_interval(rv, "one", newest)
        for view in ("own", "one"):
            rv.apply(view)
        check(Way(rv, view) for view in ("own", "one"))
    yield Figure(f"queries in one interval for all, as against {len(own)}", len(one) / len(own), least=3)
    few = _of_quiet(own)
    yield Figure(f"reads of the busy table in one interval for all, as against {few}", _of_quiet(one) / few, least=10)
    lags = {"own": _lag(own), "one": _lag(one)}
    yield Figure("commits between the mark and the newest forwarded one: own intervals", lags["own"])
    yield Figure("commits between the mark and the newest forwarded one: one interval for all", lags["one"])
    counts = {
        "queries, own": len(own),
        "queries, one": len(one),
        "busy table read, own": few,
        "busy table read, one": _of_quiet(one),
        "lag, own": lags["own"],
        "lag, one": lags["one"],
    }
    room.charts.append(Chart("Intervals of their own, or one for all", "queries, reads, commits", bars=counts))


def _load(rv: Rollview, scale: float) -> None:
    for name in QUIET:
        rv.store.create(name, _kinds(name, 0, max(50, round(QUIET_ROWS * scale))), key=["id"])
    rv.store.create("sale", _sales(0, max(500, round(ROWS * scale)), scale), key=["id"])


def _commit(rv: Rollview, commits: int) -> None:
    scale = rv.store.count("customer") / QUIET_ROWS
    sale, others = rv.store.count("sale"), dict.fromkeys(QUIET, rv.store.count("customer"))
    for number in range(commits):
        if number % QUIET_EACH:
            rv.store.commit("sale", [Append(_sales(sale, COMMIT_ROWS, scale))])
            sale += COMMIT_ROWS
        else:
            name = QUIET[number // QUIET_EACH % len(QUIET)]
            rv.store.commit(name, [Append(_kinds(name, others[name], QUIET_COMMIT_ROWS))])
            others[name] += QUIET_COMMIT_ROWS


def _kinds(name: str, first: int, count: int) -> pa.Table:
    ids = np.arange(first, first + count, dtype=np.int64)
    return pa.table({"id": ids, f"{name}_kind": spread(ids, len(name), 10)})


def _sales(first: int, count: int, scale: float) -> pa.Table:
    """Some are of customers, items and shops that come later."""
    ids, most = np.arange(first, first + count, dtype=np.int64), max(50, round(1.1 * QUIET_ROWS * scale))
    keys = {name: spread(ids, number, most) for number, name in enumerate(QUIET, 1)}
    return pa.table({"id": ids, **keys, "amount": spread(ids, 9, 100)})


def _in_one_interval(rv: Rollview, view: str, newest: int) -> Sequence[ForwardStep]:
    """Forwards all tables over an interval before any is forwarded over the next one."""
    steps: list[ForwardStep] = []
    at = _begun(rv, view, newest)
    for upto in (*range(at.extent.mark + WIDTH, newest, WIDTH), newest):
        at = _begun(rv, view, newest)
        shelves = Shelves(rv.catalog, partial(used_columns, rv.catalog, at.rolled.view), upto, 10 * STEP_ROWS)
        running = Propagation(at, Pace(10 * STEP_ROWS), shelves, upto)
        steps += iter(running.step, None)
        running.finish()
        shelves.close()
    return steps


def _begun(rv: Rollview, view: str, newest: int) -> Begun:
    return begun(rv.catalog, view, newest, lambda names: None)  # it reads no views


def _of_quiet(steps: Sequence[ForwardStep]) -> int:
    """The queries that read the busy table, because they forward another one."""
    return max(1, sum(step.table != "sale" for step in steps))


def _lag(steps: Sequence[ForwardStep]) -> float:
    """How far the mark is behind what has been forwarded, on average."""
    return statistics.mean(max(step.upto for step in steps[: n + 1]) - step.mark for n, step in enumerate(steps))
