"""Changes in turns: after each, every view is refreshed, and a second one of its query recomputed, in one session.

The first turns warm both ways up; of the others the median time is taken. What is recomputed is made to be: it has no
helpers to keep. At the end, after one more change, every view is refreshed and compared with its query.
"""

from __future__ import annotations

import shutil
import statistics
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rollview.bench.counting import Counting, Rows, compared
from rollview.errors import InternalError
from rollview.session import Rollview, connect
from rollview.views.results import RefreshResult

#: Turns that warm both ways up, and turns that are measured.
WARM_UP, MEASURED = 2, 3


@dataclass(frozen=True)
class Measured:
    """What was found of a view: how it was refreshed, how many times as long recomputing took, and its table line."""

    strategy: str
    ratio: float
    line: list[Any]


def measure(
    prefix: str,
    views: Mapping[str, str],
    load: Callable[[Rollview, Path], None],
    change: Callable[[Rollview, int], None],
) -> list[Measured]:
    """Measures views, given by what they are called in the table. ``load`` makes the tables, with a folder for what it
    needs; ``change`` is told the number of the turn, from one on."""
    folder = Path(tempfile.mkdtemp(prefix=f"rollview-{prefix}-"))
    turns = WARM_UP + MEASURED
    names = {title: f"v{i}" for i, title in enumerate(views)}
    seen: dict[str, list[tuple[RefreshResult, RefreshResult]]] = {title: [] for title in views}
    try:
        counting = Counting(folder / "log")
        rv = connect(folder / "warehouse", spark=counting.spark)
        load(rv, folder)
        for title, sql in views.items():
            rv.create(names[title], sql)
            rv.create(f"{names[title]}_full", sql, policy="FULL")
        for turn in range(1, turns + 1):
            change(rv, turn)
            for title, name in names.items():
                with counting.label(f"{name} refresh {turn}"):
                    done = rv.refresh(name)
                with counting.label(f"{name} recompute {turn}"):
                    again = rv.refresh(f"{name}_full", full=True)
                seen[title].append((done, again))
        change(rv, turns + 1)
        for title, name in names.items():
            done = rv.refresh(name)
            if not rv.verify(name).ok:
                raise InternalError(f"{title} differs from its query after a refresh by {done.strategy}")
        counted = counting.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    found = []
    for title, results in seen.items():
        a, b = (counted.get(f"{names[title]} {what} {turns}", Rows()) for what in ("refresh", "recompute"))
        seconds, whole = (statistics.median(each[i].seconds for each in results[WARM_UP:]) for i in (0, 1))
        last = results[-1][0]
        line = [title, *compared(last.strategy, seconds, whole, a, b, last.rows_written)]
        found.append(Measured(last.strategy, whole / seconds, line))
    return found
