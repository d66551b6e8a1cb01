"""Every case of the delta rules, checked in three ways; see ``cases`` for what a file looks like."""

from __future__ import annotations

import re
from collections import Counter
from functools import lru_cache
from typing import Any

import duckdb
import pytest

import duck
from cases import Case, bless, cases, difference, written
from compare import bag_of, computed, stored
from deltas import COMPLETE, PLAIN, PlanDeltas, Versions
from rollview import Rollview, connect
from rollview.engine.duck import DuckEngine, translated
from rollview.frontend.query import compile_view
from rollview.limits import DEFAULT, Limits
from rollview.store.edits import Replace

ALL = list(cases())

#: Those of views that may have helpers.
GROUPED = [case for case in ALL if re.search(r"GROUP BY|OVER \(|DISTINCT", case.view)]

#: Every aggregate and window that can have a helper gets one, however small its table is.
HELPERS_FOR_ALL = Limits(helper_rows=0, helper_rows_per_group=0)


@pytest.fixture(scope="module")
def db() -> duckdb.DuckDBPyConnection:
    return duckdb.connect()


@pytest.fixture
def versions(case: Case, db: duckdb.DuckDBPyConnection) -> Versions:
    """The tables of the case before its change."""
    for text in case.start:
        duck.execute_spark_sql(db, text.replace("CREATE TABLE", "CREATE OR REPLACE TABLE"))
    return Versions(case.tables, db)


def from_scratch(versions: Versions, case: Case) -> Counter[Any]:
    """The rows of the query as DuckDB returns them for its text: nothing of the compiler is used."""
    return Counter(versions.db.execute(translated(case.view)).fetchall())


@pytest.mark.parametrize("case", ALL, ids=str)
def test_the_delta_is_what_recomputing_would_change(
    case: Case, versions: Versions, request: pytest.FixtureRequest
) -> None:
    compiled = compile_view(case.view, duck.finder(case.tables))
    derivation = PlanDeltas(versions, compiled.keyed.plan)
    shown = [i for i, c in enumerate(compiled.keyed.plan.columns) if c.name not in compiled.keyed.hidden]
    before = from_scratch(versions, case)
    changed = versions.change(case.change)
    recomputed = difference(from_scratch(versions, case), before)
    if not request.config.getoption("--bless"):
        assert recomputed == case.rows, "the file says something else than the query"
    for choice in (COMPLETE, PLAIN):
        delta: Counter[Any] = Counter()
        for row, weight in derivation.delta(changed, choice).items():
            delta[tuple(row[i] for i in shown)] += weight
        assert difference(delta, Counter()) == recomputed, choice


@lru_cache(maxsize=4)
def session(start: tuple[str, ...], view: str, limits: Limits) -> Rollview:
    """The tables and the view before any change; every case leaves them so."""
    rv = connect("duckdb:", limits=limits)
    assert isinstance(rv.engine, DuckEngine)
    rv.engine.connection.execute("SET threads = 1")
    for text in start:
        rv.sql(text)
    rv.create("v", view)
    assert rv.verify("v").ok
    return rv


@pytest.mark.parametrize("case", ALL, ids=str)
@pytest.mark.one_in(10)
def test_a_refresh_changes_the_view_by_that_and_back(case: Case, request: pytest.FixtureRequest) -> None:
    rv = session(case.start, case.view, DEFAULT)
    found = refreshed(rv, case)
    if request.config.getoption("--bless"):
        bless(case, found)
    else:
        assert found == case.expected


@pytest.mark.parametrize("case", GROUPED, ids=str)
@pytest.mark.one_in(10)
def test_a_refresh_with_helpers_changes_the_view_by_that_and_back(case: Case, request: pytest.FixtureRequest) -> None:
    rv = session(case.start, case.view, HELPERS_FOR_ALL)
    if rv.catalog.get("v").helpers and not request.config.getoption("--bless"):
        assert refreshed(rv, case).partition("\n")[2] == case.expected.partition("\n")[2]


def refreshed(rv: Rollview, case: Case) -> str:
    """What a refresh does to the view, whose stored rows are then those that its plan gives; and all of it undone."""
    try:
        versions = {table: rv.store.version(table) for table in case.tables}
        before = bag_of(rv, "v")
        for text in case.change:
            rv.sql(text)
        strategy = rv.refresh("v").strategy
        assert strategy != "full"
        change, columns = difference(bag_of(rv, "v"), before), [column.name for column in rv.catalog.get("v").columns]
        assert Counter(map(repr, stored(rv, "v"))) == Counter(map(repr, computed(rv, "v")))
        for table, version in versions.items():
            if rv.store.version(table) != version:
                rv.store.commit(table, [Replace(rv.store.read(table, version))])
        rv.refresh("v")
        assert bag_of(rv, "v") == before
    except BaseException:
        session.cache_clear()  # the next case needs the tables as they were
        raise
    return written(strategy, columns, change)
