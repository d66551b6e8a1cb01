"""Helpers that compare whole results."""

from __future__ import annotations

from collections import Counter
from typing import Any

from pyspark.sql import DataFrame

from rollview import Rollview


def bag(frame: DataFrame) -> Counter[Any]:
    """The rows of a frame with the number of copies of each."""
    return Counter(_hashable(tuple(row)) for row in frame.collect())


def rows(frame: Any) -> list[Any]:
    """The rows of a frame, of Spark or of DuckDB, in a fixed order."""
    found = frame.collect() if isinstance(frame, DataFrame) else frame.fetchall()
    return sorted((tuple(row) for row in found), key=repr)


def bag_of(rv: Rollview, view: str) -> Counter[Any]:
    """The rows that a view on DuckDB shows."""
    return Counter(map(_hashable, rows(rv.table(view))))


def stored(rv: Rollview, view: str) -> list[tuple[Any, ...]]:
    """What a view on DuckDB has stored; of a bag, equal rows are one with all their copies. Of a LIMIT, what it shows:
    how many rows are stored beyond these is a matter of history."""
    layout = rv.catalog.get(view).layout
    if layout.feed is None and layout.kind != "groups":
        return rows(rv.table(view))
    found = rv.engine.output(rv.store.read(rv.catalog.state(view))).fetchall()
    return found if layout.kind != "bag" else [tuple(row) for *row, copies in found for _ in range(copies)]


def _hashable(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(_hashable(item) for item in value)
    if isinstance(value, tuple):
        return tuple(_hashable(item) for item in value)
    if isinstance(value, dict):
        return tuple(sorted((k, _hashable(v)) for k, v in value.items()))
    return value
