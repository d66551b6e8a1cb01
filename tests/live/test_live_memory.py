"""What a compiled graph takes, and what is estimated beforehand."""

from __future__ import annotations

import random
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from live_graphs import SETTINGS
from rollview.frontend.query import Query
from rollview.frontend.sql import BaseTable
from rollview.live.compile.compiling import compiled_shape
from rollview.live.core import Core
from rollview.live.graph.protocol import GraphOf
from rollview.live.interning import Words
from rollview.live.kernel import numbers as n
from rollview.live.kernel.graph import CompiledGraph
from rollview.live.memory import row_bytes
from seeds import numbers

COLUMNS = [("a", "bigint"), ("b", "bigint")]
CHAIN = "SELECT r.b AS x, t.b AS y FROM r JOIN s ON r.a = s.a JOIN t ON s.b = t.a"
ROWS = 20_000


class Tight(CompiledGraph):
    """A graph whose arena never has more room than was asked for."""

    def kernel(self) -> Any:
        def grown(arena: Words, words: int) -> Words:
            new = np.empty(int(arena[n.TOP]) + words, dtype=np.int64)
            new[: arena[n.TOP]] = arena[: arena[n.TOP]]
            return new

        return SimpleNamespace(**{**vars(super().kernel()), "grown": grown})


def made(graph_of: GraphOf) -> Core:
    tables = {name: BaseTable(name, tuple(COLUMNS)) for name in "rst"}
    shape = compiled_shape(Query(CHAIN).plan(lambda name: tables[name[-1]]).plan, lambda _: COLUMNS, SETTINGS)
    return Core(shape, SETTINGS, graph_of=graph_of)


def rows_of(rng: random.Random, a: int, b: int) -> pa.Table:
    """Rows that have so many different values in each column, about."""
    values = [[rng.randrange(each) for _ in range(ROWS)] for each in (a, b)]
    return pa.table([*map(pa.array, values), pa.array([1] * ROWS)], names=["a", "b", "__w"])


@pytest.mark.parametrize("expected", [False, True], ids=["unexpected", "expected"])
@pytest.mark.parametrize("each", [1, 10], ids=["keys", "ten_of_a_key"])
def test_a_row_takes_at_most_150_bytes_and_about_what_was_estimated(each: int, expected: bool) -> None:
    rng, core = random.Random(numbers(1)[0]), made(CompiledGraph)
    empty = core.graph.size().bytes
    if expected:
        core.expect(dict.fromkeys("rst", ROWS))
    for name in "rst":
        core.load(name, rows_of(rng, ROWS // each, ROWS // each))
    taken = (core.graph.size().bytes - empty) / (3 * ROWS)
    estimated = sum(row_bytes(core).values()) / 3
    assert taken <= 150
    assert 0.6 * estimated <= taken <= 1.3 * estimated


@pytest.mark.parametrize(
    "keys", [pytest.param(ROWS, id="large_tables"), pytest.param(3, id="long_lists_and_large_blocks")]
)
def test_no_row_takes_more_of_the_arena_than_was_asked_for(keys: int) -> None:
    seed = numbers(1)[0]
    cores = [made(Tight), made(CompiledGraph)]
    for core in cores:
        rng = random.Random(seed)
        for name in "rst":
            rows = rows_of(rng, keys, ROWS)
            core.load(name, rows)
            core.load(name, rows.slice(0, ROWS // 2))  # what is there has another count
    tight, usual = cores
    assert tight.graph.size() == usual.graph.size()
    for part in range(3):
        found = []
        for core in cores:
            assert isinstance(core.graph, CompiledGraph)
            found.append(sorted(map(tuple, core.graph.tuples(part)[:, 1:].tolist())))
        assert found[0] == found[1]
