"""What a compiled graph takes, and what is estimated beforehand."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest

from live_graphs import SETTINGS
from rollview.frontend.query import Query
from rollview.frontend.sql import BaseTable
from rollview.live.compile.compiling import compiled_shape
from rollview.live.core import Core
from rollview.live.kernel.graph import CompiledGraph
from rollview.live.memory import row_bytes
from seeds import numbers

COLUMNS = [("a", "bigint"), ("b", "bigint")]
CHAIN = "SELECT r.b AS x, t.b AS y FROM r JOIN s ON r.a = s.a JOIN t ON s.b = t.a"
ROWS = 20_000


@pytest.mark.parametrize("each", [1, 10], ids=["keys", "ten_of_a_key"])
def test_a_row_takes_at_most_150_bytes_and_about_what_was_estimated(each: int) -> None:
    rng = random.Random(numbers(1)[0])
    tables = {name: BaseTable(name, tuple(COLUMNS)) for name in "rst"}
    shape = compiled_shape(Query(CHAIN).plan(lambda name: tables[name[-1]]).plan, lambda _: COLUMNS, SETTINGS)
    core = Core(shape, SETTINGS, graph_of=CompiledGraph)
    empty = core.graph.size().bytes
    for name in tables:
        values = [[rng.randrange(ROWS // each) for _ in range(ROWS)] for _ in range(2)]
        core.load(name, pa.table([*map(pa.array, values), pa.array([1] * ROWS)], names=["a", "b", "__w"]))
    taken = (core.graph.size().bytes - empty) / (3 * ROWS)
    expected = sum(row_bytes(core).values()) / 3
    assert taken <= 150
    assert 0.6 * expected <= taken <= 1.3 * expected
