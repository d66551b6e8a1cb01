"""Helpers that compare whole results."""

from __future__ import annotations

from collections import Counter
from typing import Any

from pyspark.sql import DataFrame


def bag(frame: DataFrame) -> Counter[Any]:
    """The rows of a frame with the number of copies of each."""
    return Counter(_hashable(tuple(row)) for row in frame.collect())


def rows(frame: Any) -> list[Any]:
    """The rows of a frame, of Spark or of DuckDB, in a fixed order."""
    found = frame.collect() if isinstance(frame, DataFrame) else frame.fetchall()
    return sorted((tuple(row) for row in found), key=repr)


def _hashable(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(_hashable(item) for item in value)
    if isinstance(value, tuple):
        return tuple(_hashable(item) for item in value)
    if isinstance(value, dict):
        return tuple(sorted((k, _hashable(v)) for k, v in value.items()))
    return value
