"""Helpers that compare whole results."""

from __future__ import annotations

from collections import Counter
from typing import Any

from pyspark.sql import DataFrame

from rollview import Rollview
from rollview.delta.derivation import NEW, at
from rollview.delta.partials import COUNT
from rollview.engine.protocol import relation_name
from rollview.plan.nodes import Scan
from rollview.views.relation import relation


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
    return _copied(rv, view, rv.store.read(rv.catalog.state(view)))


def computed(rv: Rollview, view: str) -> list[tuple[Any, ...]]:
    """What a view would have stored if it were made now."""
    state = rv.catalog.compiled(rv.catalog.get(view)).state
    assert state is not None
    plan = at(state.plan, NEW, ())
    frames = {relation_name(s): relation(rv.catalog, s.table).rows() for s in plan.walk() if isinstance(s, Scan)}
    return _copied(rv, view, rv.engine.select(plan, frames))


def _copied(rv: Rollview, view: str, frame: Any) -> list[tuple[Any, ...]]:
    layout = rv.catalog.get(view).layout
    if layout.feed is None and layout.kind != "groups":
        return rows(rv.table(view))
    found = rv.engine.output(frame).fetchall()
    has_copies = layout.columns[-1] == COUNT.label and layout.kind in ("bag", "top_rows")
    return [tuple(row) for *row, copies in found for _ in range(copies)] if has_copies else found


def _hashable(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(_hashable(item) for item in value)
    if isinstance(value, tuple):
        return tuple(_hashable(item) for item in value)
    if isinstance(value, dict):
        return tuple(sorted((k, _hashable(v)) for k, v in value.items()))
    return value
