"""Columns of users that are named like rollview's own: kept apart, or refused with a reason, as ``plan/reserved`` says."""

from __future__ import annotations

import pytest

from compare import rows
from rollview import NotIncremental, Rollview, UserError, connect

OWN = ("__n", "__p0", "__rank", "__one", "__v_total", "__has", "__shown")


@pytest.fixture
def rv() -> Rollview:
    rv = connect("duckdb:")
    rv.sql(f"CREATE TABLE w (id INT, {', '.join(f'{name} INT' for name in OWN)}, __w INT, __t INT, PRIMARY KEY (id))")
    rv.sql(f"INSERT INTO w VALUES (1{', 1' * len(OWN)}, 1, 1), (2{', 2' * len(OWN)}, 1, 1)")
    return rv


def test_columns_that_are_named_like_own_ones_are_kept_apart(rv: Rollview) -> None:
    views = {
        "rows": f"SELECT id, {', '.join(OWN)} FROM w",
        "groups": "SELECT __n, sum(__p0) AS __p1, count(*) AS __rank FROM w GROUP BY __n",
        "extremes": "SELECT __one, max(__has) AS __n FROM w GROUP BY __one",
        "ranked": "SELECT id, __n, row_number() OVER (PARTITION BY __n ORDER BY __rank, id) AS __rank FROM w",
        "first": "SELECT id, __shown AS __w FROM w ORDER BY __shown, id LIMIT 1",
    }
    for name, query in views.items():
        rv.create(name, query)
    rv.sql(
        f"INSERT INTO w VALUES (3{', 1' * len(OWN)}, 1, 1); UPDATE w SET __n = 7, __has = 0, __shown = 5 WHERE id = 1"
    )
    for name in views:
        assert rv.refresh(name).reason is None
        assert rv.verify(name).ok
    assert rows(rv.sql("SELECT __n, __p1, __rank FROM groups ORDER BY 1")) == [(1, 1, 1), (2, 2, 1), (7, 1, 1)]


@pytest.mark.parametrize("name", ["__w", "__t"])
def test_a_view_of_a_column_that_changes_have_is_recomputed(rv: Rollview, name: str) -> None:
    rv.create("v", f"SELECT id, {name} FROM w")
    rv.create("without", "SELECT id FROM w")
    rv.sql(f"UPDATE w SET {name} = 5, id = 9 WHERE id = 1")
    assert rv.refresh("v").reason == "not_compiled"
    assert rows(rv.sql("SELECT * FROM v")) == [(2, 1), (9, 5)]
    with pytest.raises(NotIncremental, match="cannot be propagated"):
        rv.propagate("v")
    assert rv.refresh("without").strategy == "row_delta"
    for relation in ("v", "w"):
        with pytest.raises(UserError, match=f"The changes of {relation} cannot be shown"):
            rv.changes(relation, rv.commits()[0].position, rv.position())


def test_no_column_of_a_view_is_named_like_its_state(rv: Rollview) -> None:
    with pytest.raises(UserError, match="No column of a view can be named __state"):
        rv.create("v", "SELECT id AS __state FROM w")
    assert rv.views() == []
