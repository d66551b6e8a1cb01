"""Strategies: which one a refresh takes, and what each says of itself."""

from __future__ import annotations

import pytest

from rollview import Rollview, connect
from rollview.parse.views import Policy
from rollview.refresh.explain import situation_of
from rollview.strategy.choose import STRATEGIES, choices, first_that_applies
from rollview.strategy.plan import Advance, Compute, Put, Recompute, RefreshPlan, Refusal
from rollview.strategy.propagate import Change, affected_groups, group_sums, row_changes
from rollview.strategy.strategy import Situation


@pytest.fixture(scope="module")
def rv() -> Rollview:
    rv = connect("duckdb:")
    rv.sql("CREATE TABLE t (id INT, g STRING, n INT, PRIMARY KEY (id)); CREATE TABLE bag (g STRING, n INT)")
    for name, query in VIEWS.items():
        rv.create(name, query)
    return rv


VIEWS = {
    "rows": "SELECT id, n FROM t WHERE n > 0",
    "copies": "SELECT g FROM bag",
    "sums": "SELECT g, sum(n) AS s FROM t GROUP BY g",
    "extremes": "SELECT g, max(n) AS m FROM t GROUP BY g",
    "medians": "SELECT g, percentile(n, 0.5) AS m FROM t GROUP BY g",
    "numbered": "SELECT id, row_number() OVER (PARTITION BY g ORDER BY n, id) AS r FROM t",
    "first": "SELECT id, n FROM t ORDER BY n, id LIMIT 3",
    "missing": "SELECT id FROM t WHERE g NOT IN (SELECT g FROM bag WHERE g IS NOT NULL)",
}


@pytest.mark.parametrize(
    ("view", "growing", "mixed"),
    [
        ("rows", "append", "row_delta"),
        ("copies", "append", "row_delta"),
        ("sums", "aggregate_merge", "aggregate_merge"),
        ("extremes", "aggregate_merge", "group_recompute"),
        ("medians", "group_recompute", "group_recompute"),
        ("numbered", "partition_recompute", "partition_recompute"),
        ("first", "row_delta", "row_delta"),
        ("missing", "row_delta", "row_delta"),
    ],
)
def test_the_first_strategy_that_applies_is_taken(rv: Rollview, view: str, growing: str, mixed: str) -> None:
    definition = rv.catalog.get(view)
    state, tables = rv.catalog.compiled(definition).state, frozenset(definition.tables)
    for change, expected in (
        (Change(tables, tables), growing),
        (Change(tables), mixed),
        (Change(frozenset()), "no_op"),
    ):
        plan = first_that_applies(Situation(state, change))
        assert isinstance(plan, RefreshPlan)
        assert plan.strategy == expected
        assert isinstance(plan.stages[-1], Advance)
        assert all(isinstance(stage, Compute | Put) for stage in plan.stages[:-1])


def test_a_view_that_has_to_be_recomputed_is_refused_by_all_others(rv: Rollview) -> None:
    plan = first_that_applies(Situation(None, Change(frozenset()), reason="time_dependent"))
    assert isinstance(plan, RefreshPlan)
    assert plan.stages[0] == Recompute("time_dependent")
    strict = first_that_applies(Situation(None, Change(frozenset()), Policy.STRICT, "history_gone"))
    assert isinstance(strict, Refusal)
    assert "history_gone" in strict.why


@pytest.mark.parametrize("view", VIEWS)
def test_explain_and_refresh_ask_the_same_objects(rv: Rollview, view: str) -> None:
    """A strategy that explain calls applicable is taken after some change; one that it does not is never."""
    definition = rv.catalog.get(view)
    state, tables = rv.catalog.compiled(definition).state, definition.tables
    taken = set()
    for changed in ([], *([table] for table in tables), tables):
        for growing in ([], *([table] for table in tables), tables):
            plan = first_that_applies(Situation(state, Change(frozenset(changed), frozenset(growing))))
            assert isinstance(plan, RefreshPlan)
            taken.add(plan.strategy)
    told = {each.strategy for each in choices(situation_of(rv.catalog, definition)) if each.applies}
    assert taken == told - {"full"}
    assert [each.name for each in STRATEGIES][-1] == "full"


def test_a_view_delta_is_independent_of_what_is_stored(rv: Rollview) -> None:
    """Propagation and application are apart: the same change of a view is written as its state takes it."""
    change = Change(frozenset({"t"}))
    keyed = rv.catalog.compiled(rv.catalog.get("rows")).state
    sums = rv.catalog.compiled(rv.catalog.get("sums")).state
    assert keyed is not None
    assert sums is not None
    rows = row_changes(keyed, change)
    assert rows is not None
    assert {"__w"} <= rows.rows.names
    assert keyed.take(rows).what == "merged into the state on its key"
    added, touched = group_sums(sums, change), affected_groups(sums, change)  # type: ignore[arg-type]
    assert added is not None
    assert touched is not None
    assert sums.take(added).details()
    assert not sums.take(touched).details()
