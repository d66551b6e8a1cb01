"""Whether a delta has too many rows is counted in this process if the tables' files are within reach."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rollview import Rollview, connect
from rollview.engine.spark import SparkEngine
from rollview.limits import Limits
from rollview.plan.nodes import Node, Scan
from rollview.refresh.counted_here import counted_here
from stores import KINDS

JOIN = "SELECT f.id, f.k, k.name FROM facts f JOIN k ON f.k = k.k WHERE f.id > 10"


def plan_of(query: str) -> Node:
    rv = connect("duckdb:")
    rv.sql("CREATE TABLE k (k INT, name STRING, PRIMARY KEY (k))")
    rv.sql("CREATE TABLE facts (id BIGINT, k INT, PRIMARY KEY (id))")
    rv.create("v", query)
    state = rv.catalog.compiled(rv.catalog.get("v")).state
    rv.close()
    assert state is not None
    return state.followed.plan


def test_rows_in_memory_and_in_files_are_counted_up_to_a_limit(tmp_path: Path) -> None:
    paths = []
    for number in range(2):
        ids = range(number * 100, number * 100 + 100)
        paths.append(str(tmp_path / f"it's {number}.parquet"))
        pq.write_table(pa.table({"id": list(ids), "k": [1] * 100}), paths[-1])
    changed = pa.table({"k": pa.array([1, 2], pa.int32()), "name": ["a", "b"]})

    def rows(scan: Scan) -> Any:
        return paths if scan.table == "facts" else changed

    plan = plan_of(JOIN)
    assert counted_here(plan, rows, 1_000) == 189
    assert counted_here(plan, rows, 100) == 101
    assert counted_here(plan, lambda scan: None, 100) is None
    Path(paths[0]).unlink()
    assert counted_here(plan, rows, 100) is None


@pytest.mark.parametrize("kind", KINDS)
def test_a_fan_out_is_found_without_spark(
    kind: str, opened: Callable[..., Rollview], monkeypatch: pytest.MonkeyPatch
) -> None:
    rv = opened(kind, limits=Limits(always_followed=100))
    rv.sql("CREATE TABLE k (k INT, name STRING, PRIMARY KEY (k)); INSERT INTO k VALUES (1, 'a'), (2, 'b')")
    rv.sql("CREATE TABLE facts (id BIGINT, k INT, PRIMARY KEY (id))")
    rv.sql("INSERT INTO facts SELECT id, IF(id > 30, 1, 2) FROM (SELECT explode(sequence(1L, 1000L)) AS id)")
    rv.create("v", JOIN)

    def counted_by_spark(*given: object) -> None:
        raise AssertionError("Spark has counted")

    monkeypatch.setattr(SparkEngine, "keep_up_to", counted_by_spark)
    rv.sql("UPDATE k SET name = 'c' WHERE k = 1")
    result = rv.refresh("v")
    assert (result.strategy, result.reason) == ("full", "too_many_rows_differ")
    rv.sql("UPDATE k SET name = 'd' WHERE k = 2")
    assert rv.refresh("v").strategy == "row_delta"
    assert rv.verify("v").ok
