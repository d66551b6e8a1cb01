"""The changes of any view between two moments: what its rows at both say."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest

import shop
from compare import rows
from rolled import AT_ONCE
from rollview import connect
from rollview.limits import Limits
from rounds import VIEWS
from seeds import sample

EVERYWHERE = Limits(helper_rows=0, helper_rows_per_group=0, settle_seconds=0)


def text(row: Any) -> str:
    return repr(tuple(row))


def told_as_the_rows_say(views: list[shop.ShopView], limits: Limits, times: int, choose: random.Random) -> Counter[str]:
    """Compares the changes of views with their rows; counts the views by whether they were compared."""
    rv = connect("duckdb:", limits=limits)
    for sql in shop.schema():
        rv.sql(sql)
    first = rv.position() or 0
    for view in views:
        rv.create(view.name, view.sql)
    for turn in shop.rounds():
        for sql in turn.statements:
            rv.sql(sql)
    last, done = rv.position() or 0, Counter[str]()
    for view in views:
        columns = rv.catalog.get(view.name).columns
        if any(column.is_float or "map<" in column.type for column in columns):
            done["not compared"] += 1
            continue
        for _ in range(times):
            after, upto = choose.randint(first, last), choose.randint(first, last)
            expected = Counter(map(text, rows(rv.table(view.name, as_of=upto))))
            expected.subtract(Counter(map(text, rows(rv.table(view.name, as_of=after)))))
            found: Counter[str] = Counter()
            for *row, weight in rows(rv.changes(view.name, after, upto)):
                found[text(row)] += weight
            assert {k: n for k, n in found.items() if n} == {k: n for k, n in expected.items() if n}, view.name
        done["compared"] += 1
    return done


def test_changes_of_some_conformance_views() -> None:
    assert told_as_the_rows_say(sample(VIEWS, 8), AT_ONCE, 1, random.Random(5))["compared"] > 0


@pytest.mark.slow
@pytest.mark.parametrize("limits", [AT_ONCE, EVERYWHERE], ids=["plain", "helpers"])
def test_changes_of_every_conformance_view(limits: Limits) -> None:
    assert told_as_the_rows_say(VIEWS, limits, 4, random.Random(6))["compared"] > 100
