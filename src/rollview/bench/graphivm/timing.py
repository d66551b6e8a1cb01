"""The measuring loop: the same diffs, by several ways in turns, in CPU seconds of this process.

After each turn the diffs are taken back, so that each turn begins with the same tables. The first turn warms up: what
is not compiled is compiled, and memory grows. The median of the others counts.
"""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from rollview.bench.graphivm.cores import weighted, words_of
from rollview.bench.graphivm.peers.peer import Peer
from rollview.live.core import Core
from rollview.live.interning import Words
from rollview.live.kernel.graph import CompiledGraph
from rollview.plan.reserved import WEIGHT

#: How many turns count.
TURNS = 3
#: The most turns. No further turn begins if the turns so far have taken this many seconds.
_MOST_TURNS, _LEAST_SECONDS = 15, 0.5


@dataclass
class Way:
    """One way of doing something: ``run`` is measured, ``undo`` is not. ``count`` is how much is done in a turn."""

    run: Callable[[], int]
    undo: Callable[[], None]
    count: int
    #: The rows of the diffs in the last run.
    rows: int = 0
    seconds: list[float] = field(default_factory=list)

    @property
    def each(self) -> float:
        """CPU microseconds of one."""
        return 1e6 * statistics.median(self.seconds) / self.count


def measured(ways: Mapping[str, Way]) -> dict[str, float]:
    """The CPU microseconds that each way takes for one of what it does. If a turn takes no time, there are more."""
    gc.collect()
    gc.disable()
    try:
        _in_turns(ways)
    finally:
        gc.enable()
    return {name: way.each for name, way in ways.items()}


def _in_turns(ways: Mapping[str, Way]) -> None:
    turns, turn = TURNS, -1
    while turn < turns:
        turn += 1
        for name in list(ways)[:: -1 if turn % 2 else 1]:
            way = ways[name]
            seconds = cpu(way)
            if turn:
                way.seconds.append(seconds)
            way.undo()
        if turn == turns < _MOST_TURNS and sum(sum(way.seconds) for way in ways.values()) < _LEAST_SECONDS:
            turns += 2


def cpu(way: Way) -> float:
    """The CPU seconds of one run."""
    start = time.process_time()
    way.rows = way.run()
    return time.process_time() - start


def graph_way(core: Core, changes: Mapping[str, pa.Table], *, push: bool = True, eager: bool = False) -> Way:
    """Weighted rows through the graph of a core, or its peer: all at once, or row by row. Tables that are named first
    are changed first."""
    graph = core.graph
    assert isinstance(graph, CompiledGraph | Peer)
    words = words_of(core, changes)
    pieces = [(part, rows[i : i + 1]) for part, rows in words for i in range(len(rows))] if eager else words

    def run() -> int:
        found = 0
        for part, rows in pieces:
            for paths in graph.changed(part, rows, push=push):
                found += len(paths.weights)
        return found

    saved = None
    if isinstance(graph, Peer) and not graph.deletes:
        saved = graph.arena.copy()

    def undo() -> None:
        if saved is not None:
            graph.arena[: len(saved)] = saved
            return
        for part, rows in reversed(_negated(core, words)):
            for _ in graph.changed(part, rows, push=False):
                pass

    return Way(run, undo, sum(len(rows) for _, rows in words) // _occurrences(core, changes))


def core_way(core: Core, changes: Mapping[str, pa.Table], *, eager: bool = False) -> Way:
    """Weighted rows through a core: Arrow in, the change of the view out."""
    back = {table: _with_weight(rows, -1) for table, rows in changes.items()}
    pieces = [(t, rows.slice(i, 1)) for t, rows in changes.items() for i in range(rows.num_rows)]
    steps = [{table: row} for table, row in pieces] if eager else [dict(changes)]

    def run() -> int:
        return sum(len(core.apply(step)) for step in steps)

    return Way(run, lambda: _apply(core, back), len(pieces))


def _apply(core: Core, changes: Mapping[str, pa.Table]) -> None:
    core.apply(changes)


def _occurrences(core: Core, changes: Mapping[str, pa.Table]) -> int:
    found = {len(core.shape.occurrences(table)) for table in changes}
    assert len(found) == 1, "diffs of tables that occur differently often"
    return found.pop()


def _negated(core: Core, words: Sequence[tuple[int, Words]]) -> list[tuple[int, Words]]:
    found = []
    for part, rows in words:
        plan = core.graph.plan.parts[part]  # type: ignore[attr-defined]
        back = rows.copy()
        back[:, plan.in_fields + plan.width :] *= -1
        found.append((part, back))
    return found


def _with_weight(rows: pa.Table, weight: int) -> pa.Table:
    return weighted(rows.drop_columns([WEIGHT.label]), weight)
