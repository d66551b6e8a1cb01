"""A long backlog, worked off in steps: what the largest of them takes, and all of them with the apply, as against one
refresh over the same way; and what it costs to be killed three times."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from rollview.bench.drawing import Chart
from rollview.bench.report import Figure
from rollview.bench.rolling.room import Room, replaced
from rollview.bench.rolling.shop import SUMS, VIEWS, Shop
from rollview.bench.turns import Way, check
from rollview.parse.stored_names import DELTA_PREFIX
from rollview.roll.results import Propagated
from rollview.session import Rollview
from rollview.store.protocol import Commit

#: The changed rows that a step takes in at most, at scale 1.
STEP_ROWS = 100_000

#: The commits that warm up; and which of the steps are killed at the end of their work.
WARM_UP, KILLED = 20, (2, 6, 11)

#: A refresh of the whole way is measured so often. The fastest counts.
TIMES = 2


def run(room: Room) -> Iterator[Figure]:
    step_rows = max(10, round(STEP_ROWS * room.scale))
    with room.opened("backlog") as rv:
        shop = Shop(rv, room.scale)
        shop.load()
        views = {**VIEWS, "killed": SUMS}
        for name, sql in views.items():
            rv.create(name, sql, policy="INCREMENTAL")
            rv.create(f"{name}_at_once", sql, policy="INCREMENTAL")
        for _ in shop.commits(WARM_UP, large=False):
            pass
        for name in views:
            rv.propagate(name)
            rv.apply(name)
            rv.refresh(f"{name}_at_once")
        start = rv.position()
        assert start is not None
        for _ in shop.commits(shop.backlog):
            pass
        queries = 0
        for name in VIEWS:
            done = rv.propagate(name, step_rows=step_rows)
            queries = done.queries
            applied = rv.apply(name).seconds
            yield from _figures(room, name, done, step_rows, applied, at_once(rv, f"{name}_at_once", start))
        lost = _queries_with_kills(rv, "killed", step_rows) - queries
        yield Figure(f"steps lost by {len(KILLED)} kills", lost, most=len(KILLED))
        rv.apply("killed")
        check(Way(rv, name) for name in [*views, *(f"{name}_at_once" for name in VIEWS)])


def at_once(rv: Rollview, view: str, start: int) -> float:
    """The seconds of a refresh from a position to the newest one."""
    times = [rv.refresh(view).seconds]
    for _ in range(TIMES - 1):
        rv.refresh(view, as_of=start)
        times.append(rv.refresh(view).seconds)
    return min(times)


def _figures(
    room: Room, view: str, done: Propagated, step_rows: int, applied: float, refreshed: float
) -> Iterator[Figure]:
    steps = [step.seconds for step in done.steps]
    most = max(step.rows for step in done.steps)
    yield Figure(f"{view}: most rows that a step takes in, as a part of step_rows", most / step_rows, most=1)
    whole = f"as against one refresh, of {refreshed:.1f} s"
    yield Figure(f"{view}: largest of {len(steps)} steps, {whole}", max(steps) / refreshed, most=1 / 5)
    yield Figure(f"{view}: all steps and the apply, {whole}", (sum(steps) + applied) / refreshed, most=2)
    lines = {view: list(enumerate(steps, 1))}
    room.charts.append(Chart(f"Steps of {view}; a fifth of one refresh", "seconds", "step", lines, bound=refreshed / 5))


class _Killed(BaseException):
    """The process ends here."""


def _queries_with_kills(rv: Rollview, view: str, step_rows: int) -> int:
    """The forward queries that it takes if some of them are killed before they are committed. Another session goes on
    each time."""
    commit, queries = rv.store.commit, 0

    def killed(table: str, *rest: Any, **more: Any) -> Commit:
        nonlocal queries
        if table.startswith(DELTA_PREFIX):
            queries += 1
            if queries in KILLED:
                raise _Killed
        return commit(table, *rest, **more)

    with replaced(rv.store, commit=killed):
        for _ in range(len(KILLED) + 1):
            with suppress(_Killed):
                Rollview(rv.engine, rv.store, rv.catalog.limits).propagate(view, step_rows=step_rows)
    return queries
