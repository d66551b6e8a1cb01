"""Counting the rows of a delta in this process, by DuckDB over the tables' Parquet files.

Whether a few changed rows join more rows than it is worth to follow is known only by counting. Spark takes for that
about as long as for recomputing a view over a few million rows: it has to plan, to schedule and to exchange. DuckDB
reads just the columns that are compared, in milliseconds. The count decides how a view is refreshed, never what it
shows; so it does not matter if the two engines compare some values in different ways. If DuckDB fails, Spark counts.
"""

from __future__ import annotations

from collections.abc import Callable

import duckdb
import pyarrow as pa

from rollview.engine.duck import DuckEngine, DuckFrame
from rollview.engine.protocol import relation_name
from rollview.errors import RollviewError
from rollview.plan.nodes import Node, Scan

#: The rows of a relation: in memory, or in Parquet files; None if this process cannot read them.
Rows = Callable[[Scan], pa.Table | list[str] | None]


def counted_here(plan: Node, rows: Rows, most: int) -> int | None:
    """The rows of a plan, counted up to ``most`` and one more; None if they cannot be counted here."""
    given: dict[str, pa.Table | list[str]] = {}
    for scan in plan.walk():
        if isinstance(scan, Scan):
            found = rows(scan)
            if found is None:
                return None
            given[relation_name(scan)] = found
    try:
        with duckdb.connect() as db:
            frames = {name: _frame(db, f"given_{i}", each) for i, (name, each) in enumerate(given.items())}
            engine = DuckEngine(db)
            sql = engine.select(plan, frames, [column.name for column in plan.columns]).sql
            row = db.execute(f"SELECT count(*) FROM (SELECT 1 FROM ({sql}) LIMIT {most + 1})").fetchone()
    except (duckdb.Error, RollviewError):
        return None
    return None if row is None else int(row[0])


def _frame(db: duckdb.DuckDBPyConnection, name: str, rows: pa.Table | list[str]) -> DuckFrame:
    if isinstance(rows, pa.Table):
        db.register(name, rows)
        return DuckFrame(f"SELECT * FROM {name}")
    listed = ", ".join("'" + path.replace("'", "''") + "'" for path in rows)
    return DuckFrame(f"SELECT * FROM read_parquet([{listed}], hive_partitioning = false, union_by_name = true)")
