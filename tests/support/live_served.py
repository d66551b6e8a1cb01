"""What subscribers of a live view make of their batches, and what the view's query returns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from datetime import datetime, timezone
from decimal import Decimal
from typing import Any

import pyarrow as pa

from rollview import Rollview
from rollview.live.live import Live
from rollview.live.serve.diff import Batch
from rollview.live.serve.subscription import Subscription

Rows = Counter[tuple[Any, ...]]


def plain(value: Any) -> Any:
    """A value in a form in which Spark's, DuckDB's and Arrow's are equal: numbers to nine digits."""
    if isinstance(value, bool):
        return value
    if isinstance(value, int | float | Decimal):
        return "NaN" if value != value else float(f"{float(value):.8e}")
    if isinstance(value, bytearray):
        return bytes(value)
    if isinstance(value, list):
        return tuple(map(plain, value))
    if isinstance(value, dict):
        return tuple((name, plain(each)) for name, each in value.items())
    if isinstance(value, datetime):
        return (value if value.tzinfo is not None else value.replace(tzinfo=timezone.utc)).timestamp()
    return value


def rows_of(table: pa.Table) -> Rows:
    """The rows of a table with the number of copies of each."""
    return Counter(tuple(map(plain, row.values())) for row in table.to_pylist())


def queried(rv: Rollview, sql: str, types: Iterable[str] = ()) -> Rows:
    """The rows of a query. DuckDB does not round means of decimals as Spark does: ``types`` are those of Spark."""
    found: Any = rv.sql(sql)
    listed = found.collect() if hasattr(found, "collect") else found.fetchall()
    scales = [int(kind[:-1].split(",")[1]) if kind.startswith("decimal") else None for kind in types]
    return Counter(tuple(map(plain, map(_rounded, row, scales or [None] * len(row)))) for row in listed)


def _rounded(value: Any, scale: int | None) -> Any:
    return round(value, scale) if scale is not None and isinstance(value, float) else value


def held(live: Live) -> Rows:
    """The rows of a live view."""
    return rows_of(live.table())


def weighed(batch: Batch) -> Rows:
    """The rows of a batch with their weights."""
    found: Rows = Counter()
    for row in batch.to_pylist():
        weight = row.pop("__w")
        assert weight
        found[tuple(map(plain, row.values()))] += weight
    return found


class Mirror:
    """A subscriber that keeps the view by its batches."""

    def __init__(self, rows: Rows | None = None) -> None:
        self.rows: Rows = Counter(rows or {})
        self.batches: list[Batch] = []
        self.token = ""

    def __call__(self, batch: Batch) -> None:
        self.batches.append(batch)
        if batch.snapshot and (len(self.batches) == 1 or self.batches[-2].complete):
            self.rows = Counter()
        for row, weight in weighed(batch).items():
            self.rows[row] += weight
            if not self.rows[row]:
                del self.rows[row]
        assert all(copies > 0 for copies in self.rows.values()) or not batch.complete, "a row is deleted twice"
        self.token = batch.token

    def take(self, batches: Iterable[Batch]) -> Mirror:
        for batch in batches:
            self(batch)
        return self


def waiting(subscription: Subscription) -> list[Batch]:
    """The batches that are there now."""
    found = []
    while (batch := subscription.next(0)) is not None:
        found.append(batch)
    return found
