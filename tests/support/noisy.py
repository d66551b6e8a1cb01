"""A DuckDB on which no floating-point aggregate repeats: its last bits are other ones each time it is computed.

A sum of doubles depends on the order of its rows, and that order is chance wherever several threads or machines add.
Here chance strikes every time, so that what relies on two equal sums fails at once, and on a small table. ``NULL``,
``NaN``, infinities and zero stay as they are, and so do sums of integers and decimals.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator, Sequence
from typing import Any

import duckdb
from sqlglot import exp

from rollview import Rollview
from rollview.engine.duck import DuckEngine
from rollview.limits import DEFAULT, Limits
from rollview.store.duck import DuckStore
from rollview.views.relation import query_at, relation

#: How much of a value may be noise; twelve digits are left alone.
_NOISE = 2e-13

#: What is computed by adding floats up.
_ADDING = (
    exp.Sum, exp.Avg, exp.Stddev, exp.StddevPop, exp.StddevSamp, exp.Variance, exp.VariancePop, exp.Corr, exp.CovarPop,
    exp.CovarSamp, exp.RegrAvgx, exp.RegrAvgy, exp.RegrIntercept, exp.RegrR2, exp.RegrSlope, exp.RegrSxx, exp.RegrSxy,
    exp.RegrSyy, exp.Skewness, exp.Kurtosis,
)  # fmt: skip

#: What is put around an aggregate to say over which rows it is.
_AROUND = (exp.Window, exp.Filter, exp.IgnoreNulls, exp.RespectNulls)


class NoisyEngine(DuckEngine):
    """DuckDB with noise in every floating-point aggregate; the noise follows from the seed."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, seed: int = 0) -> None:
        super().__init__(connection)
        self.noisy = True
        connection.execute("SET threads = 1")
        connection.execute("SELECT setseed(?)", [seed % 1000 / 1000])
        connection.execute(
            "CREATE MACRO rv_noise(v) AS CASE WHEN typeof(v) IN ('DOUBLE', 'FLOAT') AND isfinite(CAST(v AS DOUBLE)) "
            f"THEN cast_to_type(CAST(v AS DOUBLE) * (1 + (random() - 0.5) * {_NOISE}), v) ELSE v END"
        )

    def text(self, query: exp.Expr) -> str:
        return super().text(_with_noise(query) if self.noisy else query)

    @contextlib.contextmanager
    def quiet(self) -> Iterator[None]:
        """Without noise."""
        self.noisy = False
        self._printed.cache_clear()  # texts with noise
        try:
            yield
        finally:
            self.noisy = True
            self._printed.cache_clear()


def noisy(seed: int = 0, limits: Limits = DEFAULT) -> Rollview:
    """A session on such a DuckDB, in memory."""
    engine = NoisyEngine(duckdb.connect(), seed)
    return Rollview(engine, DuckStore(engine), limits)


def _with_noise(query: exp.Expr) -> exp.Expr:
    """The query with noise around each of its aggregates. A part that is read twice is computed twice."""
    query = query.copy()
    for cte in query.find_all(exp.CTE):
        cte.set("materialized", False)
    for found in list(query.find_all(*_ADDING)):
        whole: exp.Expr = found
        while isinstance(whole.parent, _AROUND) and whole.arg_key == "this":
            whole = whole.parent
        parent, place, index = whole.parent, whole.arg_key, whole.index
        if parent is not None and place is not None:
            parent.set(place, exp.Anonymous(this="rv_noise", expressions=[whole]), index)
    return query


Rows = list[tuple[Any, ...]]


def alike(a: Rows, b: Rows) -> bool:
    """Whether two bags of rows are equal: everything exactly, floats to twelve digits."""
    if len(a) != len(b):
        return False
    left: dict[str, Rows] = {}
    for row in b:
        left.setdefault(_exact(row), []).append(row)
    for row in a:
        found = next((other for other in left.get(_exact(row), []) if _close(row, other)), None)
        if found is None:
            return False
        left[_exact(row)].remove(found)
    return True


def _exact(row: Sequence[Any]) -> str:
    return repr([None if isinstance(value, float) else value for value in row])


def _close(a: Any, b: Any) -> bool:
    if isinstance(a, float) and isinstance(b, float):
        return a == b or (math.isnan(a) and math.isnan(b)) or math.isclose(a, b, rel_tol=1e-12)
    if isinstance(a, list | tuple) and isinstance(b, list | tuple):
        return len(a) == len(b) and all(map(_close, a, b))
    return bool(a == b)


def answers(rv: Rollview, name: str, times: int = 3) -> list[Rows]:
    """What the query of a view returns over the tables that the view shows: once without noise, then with noise."""
    assert isinstance(rv.engine, NoisyEngine)
    view = rv.catalog.get(name)
    vector = rv.catalog.reflected(view).vector
    at = {table: identity for table, identity in vector.items() if table in view.tables}
    with rv.engine.quiet():
        found = [rv.engine.fetch(query_at(rv.catalog, view, at))]
    return [*found, *(rv.engine.fetch(query_at(rv.catalog, view, at)) for _ in range(times - 1))]


def shown(rv: Rollview, name: str) -> Rows:
    """The rows that a view shows."""
    assert isinstance(rv.engine, NoisyEngine)
    return rv.engine.fetch(relation(rv.catalog, name).rows())


def right(rv: Rollview, name: str) -> bool | None:
    """Whether a view shows what its query returns; None if noise decides what the query returns: which of two equal
    sums is the greater, say."""
    found = answers(rv, name)
    if not all(alike(found[0], other) for other in found[1:]):
        return None
    return alike(found[0], shown(rv, name))
