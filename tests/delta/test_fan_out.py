"""A few changed rows that join very many others: AUTO recomputes, INCREMENTAL follows; and what is counted before."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest

from rollview import Rollview, connect
from rollview.delta.analysis.fan_out import before_consolidation, most_rows
from rollview.delta.weights import consolidated
from rollview.engine.protocol import Kept
from rollview.frontend.sql import BaseTable, build_plan
from rollview.parse.references import parse_query
from rollview.plan.nodes import Node, Scan
from rollview.plan.rewrite import normalise

ROWS = 150_000


@pytest.fixture
def rv() -> Rollview:
    rv = connect("duckdb:")
    rv.sql("CREATE TABLE kinds (k INT, name STRING, PRIMARY KEY (k)); INSERT INTO kinds VALUES (1, 'a'), (2, 'b')")
    rv.sql("CREATE TABLE facts (id BIGINT, k INT, PRIMARY KEY (id))")
    rv.sql(f"INSERT INTO facts SELECT id, 1 FROM (SELECT explode(sequence(1, {ROWS})) AS id)")
    return rv


JOINED = "SELECT f.id, k.name FROM facts f JOIN kinds k ON f.k = k.k"


def test_auto_recomputes_if_one_changed_row_joins_very_many(rv: Rollview) -> None:
    rv.create("auto", JOINED)
    rv.create("followed", JOINED, policy="INCREMENTAL")
    rv.sql("UPDATE kinds SET name = 'z' WHERE k = 1")
    done = rv.refresh("auto")
    assert (done.strategy, done.reason) == ("full", "too_many_rows_differ")
    assert "join too many other rows" in done.explanation
    assert rv.refresh("followed").strategy == "row_delta"
    assert rv.verify("auto").ok
    assert rv.verify("followed").ok


def test_auto_recomputes_if_the_groups_of_very_many_rows_are_touched(rv: Rollview) -> None:
    sql = (
        "SELECT k.name, f.id % 7 AS g, max(f.id) AS m FROM facts f JOIN kinds k ON f.k = k.k GROUP BY k.name, f.id % 7"
    )
    rv.create("auto", sql)
    rv.create("followed", sql, policy="INCREMENTAL")
    rv.sql("UPDATE kinds SET name = 'z' WHERE k = 1")
    assert (rv.refresh("auto").strategy, rv.refresh("followed").strategy) == ("full", "group_recompute")
    assert rv.verify("auto").ok
    assert rv.verify("followed").ok


def test_auto_follows_a_changed_row_that_joins_few(rv: Rollview) -> None:
    rv.create("auto", JOINED)
    rv.sql("UPDATE kinds SET name = 'z' WHERE k = 2; UPDATE facts SET k = 2 WHERE id < 10")
    done = rv.refresh("auto")
    assert (done.strategy, done.reason) == ("row_delta", None)
    assert rv.verify("auto").ok


def test_a_delta_is_limited_only_if_it_could_have_too_many_rows(rv: Rollview, monkeypatch: pytest.MonkeyPatch) -> None:
    limits: list[int] = []
    keep_up_to = rv.engine.keep_up_to

    def counted(frame: Any, most: Callable[[], int]) -> Kept | None:
        limits.append(most())
        return keep_up_to(frame, most)

    monkeypatch.setattr(rv.engine, "keep_up_to", counted)
    rv.create("auto", JOINED)
    rv.sql("DELETE FROM facts WHERE id <= 10")
    assert rv.refresh("auto").strategy == "row_delta"
    assert limits == []  # each fact has one kind: its key is compared
    rv.sql("UPDATE kinds SET name = 'z' WHERE k = 2")
    assert rv.refresh("auto").strategy == "row_delta"
    assert limits == [100_000]
    assert rv.verify("auto").ok


TABLES = {
    "orders": BaseTable("orders", (("o", "int"), ("c", "int")), ("o",)),
    "lines": BaseTable("lines", (("o", "int"), ("n", "int"), ("q", "int")), ("o", "n")),
    "log": BaseTable("log", (("o", "int"), ("text", "string")), ()),
}
COUNTS = {"orders": 1_000, "lines": 4_000, "log": 500}


def plan_of(sql: str) -> Node:
    return normalise(build_plan(parse_query(sql), sql, lambda name: TABLES.get(name[-1])))


@pytest.mark.parametrize(
    ("sql", "most"),
    [
        ("SELECT q FROM lines WHERE q > 1", 4_000),
        ("SELECT l.q FROM lines l JOIN orders o ON l.o = o.o", 4_000),
        ("SELECT g.text FROM log g JOIN lines l ON g.o = l.o", 500 * 8),  # n is 1 to 7, or NULL
        ("SELECT g.text FROM log g JOIN orders o ON g.o > o.o", 500_000),
        ("SELECT g.text FROM log g LEFT JOIN orders o ON g.o = o.o", 1_000),
        ("SELECT text FROM log UNION ALL SELECT text FROM log", 1_000),
        ("SELECT c FROM orders WHERE o IN (SELECT o FROM log)", 500),
        ("SELECT count(*) AS n FROM lines", 1),
        ("SELECT o, explode(sequence(1, q)) AS i FROM lines", math.inf),
    ],
)
def test_the_most_rows_that_a_plan_can_have(sql: str, most: float) -> None:
    def bounds(scan: Scan, column: str) -> tuple[int, int] | None:
        return (1, 7) if (scan.table, column) == ("lines", "n") else None

    assert most_rows(plan_of(sql), lambda scan: COUNTS[scan.table], bounds) == most


def test_copies_among_changed_rows_limit_what_a_join_can_give() -> None:
    plan = plan_of("SELECT g.text FROM log g JOIN log h ON g.o = h.o")
    assert most_rows(plan, lambda scan: COUNTS[scan.table], lambda *_: None) == 500 * 500
    assert most_rows(plan, lambda scan: COUNTS[scan.table], lambda *_: None, lambda scan, columns: 3) == 500 * 3


def test_the_delta_below_a_consolidation_is_found() -> None:
    from rollview.delta.weights import weighted

    delta = weighted(plan_of("SELECT o, c FROM orders"), 1)
    assert before_consolidation(consolidated(delta)) == delta
    assert before_consolidation(delta) is None
