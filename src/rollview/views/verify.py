"""Comparing a view with its query run from scratch, both ways, as bags.

The engine runs the user's text, so that a fault of the compiler is seen, too. If the view differs, and only if the
query leaves a choice open (ties, the order of elements), the view is compared with the compiled query, which makes the
same choices as the view. Then every row has to be equal.

Each row of the query counts +1 and each row of the view −1. Rows whose counts do not add up to zero are missing or
extra. DOUBLE and FLOAT values are equal if they agree to nine significant digits: a sum depends on the order of its
terms.

Other values that are computed from such a sum, ``CAST(SUM(x) AS STRING)`` or its hash, may differ by chance, or because
the view is wrong; the values do not show which. Such a view is reported as different. If its other columns are equal,
as a bag, the result names the columns that may have differed by chance.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from sqlglot import exp

from rollview.engine.protocol import Engine, Frame
from rollview.errors import named_error
from rollview.plan.reserved import STATE
from rollview.views.catalog import Catalog
from rollview.views.define import tables_at, with_choices_made
from rollview.views.relation import query_at, relation
from rollview.views.results import Verification

_SAMPLE = 5
_TOLERANCE = 1e-8


def verify_view(catalog: Catalog, name: str) -> Verification:
    """Compares a view with its query over the vector that the view reflects."""
    view = catalog.get(name)
    engine = catalog.engine
    vector = catalog.reflected(view).vector
    with engine.settings(view.settings), engine.errors(view.query.text):
        stored = relation(catalog, name).rows()
        fresh = query_at(catalog, view, vector)
        found = compare(catalog, name, fresh, stored)
        if not found.ok and (made := with_choices_made(catalog, view, tables_at(catalog, view, vector))) is not None:
            fresh, choices = made
            found = replace(compare(catalog, name, fresh, stored), choices=tuple(map(str, choices)))
        if not found.ok and view.inexact:
            kept = [column.name for column in view.columns if column.name not in view.inexact]
            others = compare(catalog, name, picked(engine, fresh, kept), picked(engine, stored, kept))
            found = replace(found, inexact=tuple(view.inexact) if others.ok else ())
        return found


def picked(engine: Engine, rows: Frame, columns: Sequence[str]) -> Frame:
    """Some columns of all rows."""
    items: list[exp.Expr] = [exp.column(name, quoted=True) for name in columns]
    query = exp.select(*(items or [exp.alias_(exp.null(), "none")]))
    return engine.over_state(rows, query.from_(exp.table_(STATE, quoted=True)).sql(engine.dialect))


def verify_all(catalog: Catalog, names: Iterable[str] | None = None) -> list[Verification]:
    """Compares every view, or those that are named. One that cannot be compared has an error, and the others go on."""
    return [_verified(catalog, name) for name in dict.fromkeys(catalog.names() if names is None else names)]


def _verified(catalog: Catalog, name: str) -> Verification:
    try:
        return verify_view(catalog, name)
    except Exception as error:
        return Verification(name, 0, 0, error=named_error(f"{name} could not be verified", error))


def compare(catalog: Catalog, name: str, fresh: Frame, stored: Frame) -> Verification:
    """What of ``fresh`` is missing in ``stored``, and what ``stored`` has beyond it."""
    engine = catalog.engine
    columns = engine.columns(fresh)
    names = [column for column, _ in columns]
    floats = [kind in ("double", "float") for _, kind in columns]
    rows, totals = engine.difference(fresh, stored, floats, catalog.limits.verify_rows)
    missing = [(row, weight) for row, weight in rows if weight > 0]
    extra = [(row, -weight) for row, weight in rows if weight < 0]
    if totals is not None:
        return Verification(name, totals[0], totals[1], _sample(names, missing), _sample(names, extra))
    if any(floats):
        missing, extra = _cancel(missing, extra, floats)
    return Verification(
        name, sum(n for _, n in missing), sum(n for _, n in extra), _sample(names, missing), _sample(names, extra)
    )


Weighted = tuple[tuple[Any, ...], int]


def _cancel(
    missing: list[Weighted], extra: list[Weighted], floats: Sequence[bool]
) -> tuple[list[Weighted], list[Weighted]]:
    """Takes out pairs that differ only in how a float fell on either side of a rounding step."""
    left: dict[str, list[list[Any]]] = {}
    for row, count in extra:
        left.setdefault(_exact(row, floats), []).append([row, count])
    remaining: list[Weighted] = []
    for row, count in missing:
        for candidate in left.get(_exact(row, floats), []):
            if count and candidate[1] and _close(row, candidate[0], floats):
                cancelled = min(count, candidate[1])
                count -= cancelled
                candidate[1] -= cancelled
        if count:
            remaining.append((row, count))
    return remaining, [(row, count) for group in left.values() for row, count in group if count]


def _exact(row: tuple[Any, ...], floats: Sequence[bool]) -> str:
    return repr([value for value, is_float in zip(row, floats, strict=True) if not is_float])


def _close(a: tuple[Any, ...], b: tuple[Any, ...], floats: Sequence[bool]) -> bool:
    for x, y, is_float in zip(a, b, floats, strict=True):
        if not is_float or x == y:
            continue
        if x is None or y is None or not math.isclose(x, y, rel_tol=_TOLERANCE):
            return False
    return True


def _sample(names: Sequence[str], rows: list[Weighted]) -> tuple[dict[str, Any], ...]:
    return tuple(dict(zip(names, row, strict=True)) for row, _ in rows[:_SAMPLE])
