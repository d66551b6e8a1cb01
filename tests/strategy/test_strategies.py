"""Strategies: which one a refresh takes, and what each says of itself."""

from __future__ import annotations

import pytest

from rollview import Rollview, connect
from rollview.parse.views import Policy
from rollview.refresh.explain import situation_of
from rollview.strategy import choose
from rollview.strategy.choose import STRATEGIES, choices, first_that_applies
from rollview.strategy.plan import Advance, Compute, Put, Recompute, RefreshPlan, Refusal
from rollview.strategy.propagate import Change, affected_groups, group_sums, row_changes
from rollview.strategy.row_delta import RowDelta
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


class KeyedUpsert(RowDelta):
    """A strategy for the same changes as another one."""

    name = "keyed_upsert"


def shown(rv: Rollview, view: str) -> dict[str, str]:
    """What ``explain`` says of the strategies of a view that apply."""
    found = choices(situation_of(rv.catalog, rv.catalog.get(view)))
    return {each.strategy: each.why for each in found if each.applies and each.strategy not in ("no_op", "full")}


def test_what_is_left_to_a_strategy_follows_from_the_order_of_the_list(
    rv: Rollview, monkeypatch: pytest.MonkeyPatch
) -> None:
    any_change, other, inserts = "for any change", "for any other change", "if rows are only added, to t"
    assert shown(rv, "rows") == {"append": inserts, "row_delta": other}
    assert shown(rv, "first") == {"row_delta": any_change}
    assert shown(rv, "sums") == {"aggregate_merge": any_change}
    assert shown(rv, "medians") == {"group_recompute": any_change}
    assert set(shown(rv, "extremes")) == {"aggregate_merge", "group_recompute"}
    assert shown(rv, "extremes")["group_recompute"] == other
    place = [each.name for each in STRATEGIES].index("row_delta")
    monkeypatch.setattr(choose, "STRATEGIES", (*STRATEGIES[:place], KeyedUpsert(), *STRATEGIES[place:]))
    assert shown(rv, "rows") == {"append": inserts, "keyed_upsert": other}
    assert shown(rv, "first") == {"keyed_upsert": any_change}
    monkeypatch.setattr(choose, "STRATEGIES", (*STRATEGIES[: place + 1], KeyedUpsert(), *STRATEGIES[place + 1 :]))
    assert shown(rv, "rows") == {"append": inserts, "row_delta": other}
    refused = {each.strategy: each.why for each in choices(situation_of(rv.catalog, rv.catalog.get("rows")))}
    assert refused["keyed_upsert"] == "row_delta comes first, and applies to every change"


def test_a_view_delta_has_the_form_that_the_state_takes(rv: Rollview) -> None:
    """Rows with weights for rows; for groups, sums to add or the recomputed groups."""
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
