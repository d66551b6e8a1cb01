"""Nothing grows faster than the text: twice as many parts of a query are about twice as much of everything.

Counted, for n and 2 n parts, are operators and characters of the plan and of its SQL, and those of the Δ-script of a
change of all tables: what is derived, its steps, its operators and its SQL. A constant part is in both counts, so twice
the text gives at most twice the count; what is over that is the depth of halved joins, and columns that several SELECTs
pass on.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

import duck
from rollview.codegen.printer import print_plan
from rollview.delta import derivation
from rollview.engine.protocol import relation_name
from rollview.frontend.query import compile_view
from rollview.frontend.sql import BaseTable
from rollview.plan.nodes import Node, size
from rollview.state.make import state_of
from rollview.state.types import FoundTypes
from rollview.strategy.choose import first_that_applies
from rollview.strategy.plan import RefreshPlan
from rollview.strategy.propagate import Change
from rollview.strategy.strategy import Situation

TABLES = {
    "t": BaseTable("t", (("id", "int"), ("x", "int")), ("id",)),
    "u": BaseTable("u", (("k", "int"), ("a", "int"), ("b", "int")), ("k",)),
}

#: Two doublings of a count may differ by this much from doubling.
MOST = 2.3


def conditions(text: str, word: str = "AND") -> Callable[[int], str]:
    return lambda n: "SELECT t.id, t.x FROM t WHERE " + f" {word} ".join(text.format(i=i) for i in range(n))


def values(text: str) -> Callable[[int], str]:
    return lambda n: f"SELECT t.id, {', '.join(f'({text.format(i=i)}) AS c{i}' for i in range(n))} FROM t"


def joins(text: str, first: str = "t.x") -> Callable[[int], str]:
    """n joins, each with a column of it in the result; ``last`` is a column of the one before."""

    def sql(n: int) -> str:
        joined = (text.format(i=i, last=first if i == 0 else f"u{i - 1}.a") for i in range(n))
        return f"SELECT t.id, {', '.join(f'u{i}.b AS b{i}' for i in range(n))} FROM t {' '.join(joined)}"

    return sql


def nested(text: str) -> Callable[[int], str]:
    """n levels of derived tables."""

    def sql(n: int) -> str:
        found = "SELECT id, x FROM t"
        for i in range(n):
            found = text.format(i=i, below=found)
        return found

    return sql


_GROUPS = "(SELECT a, max(b) AS b FROM u WHERE b <> {i} GROUP BY a) u{i} ON u{i}.a = t.x"

SHAPES: dict[str, Callable[[int], str]] = {
    "in": conditions("x IN (SELECT a FROM u WHERE b > {i})"),
    "not in": conditions("x NOT IN (SELECT a FROM u WHERE b = {i})"),
    "exists": conditions("EXISTS (SELECT 1 FROM u WHERE u.a = t.x AND b > {i})"),
    "not exists": conditions("NOT EXISTS (SELECT 1 FROM u WHERE u.a = t.x AND b = {i})"),
    "or exists": conditions("EXISTS (SELECT 1 FROM u WHERE u.a = t.x AND b = {i})", "OR"),
    "scalar": values("SELECT max(b) FROM u WHERE u.a = t.x AND u.b <> {i}"),
    "count": values("SELECT count(*) FROM u WHERE u.a = t.x AND u.b <> {i}"),
    "scalar in where": conditions("t.x > (SELECT min(b) - {i} FROM u WHERE u.a = t.x AND u.b <> {i})"),
    "left joins": joins("LEFT JOIN u u{i} ON u{i}.k = t.id + {i}"),
    "left joins of groups": joins("LEFT JOIN " + _GROUPS),
    "left joins in a row": joins("LEFT JOIN u u{i} ON u{i}.k = {last}"),
    "joins": joins("JOIN u u{i} ON u{i}.k = t.id + {i}"),
    "joins of groups": joins("JOIN " + _GROUPS),
    "joins in a row": joins("JOIN u u{i} ON u{i}.k = {last}"),
    "nested left joins": nested(
        "SELECT s{i}.id, s{i}.x + coalesce(u{i}.b, 0) AS x FROM ({below}) s{i} LEFT JOIN u u{i} ON u{i}.k = s{i}.id"
    ),
    "nested left joins of groups": nested(
        "SELECT s{i}.id, s{i}.x + g{i}.b AS x FROM ({below}) s{i} "
        "LEFT JOIN (SELECT a, max(b) AS b FROM u WHERE b <> {i} GROUP BY a) g{i} ON g{i}.a = s{i}.id"
    ),
    "nested groups": nested(
        "SELECT s{i}.id, max(s{i}.x + u{i}.b) AS x FROM ({below}) s{i} JOIN u u{i} ON u{i}.k = s{i}.id GROUP BY s{i}.id"
    ),
    "sums": lambda n: f"SELECT x, {', '.join(f'sum(id + {i}) AS s{i}' for i in range(n))} FROM t GROUP BY x",
    "ors": conditions("(x = {i} AND id = {i} % 7)", "OR"),
    "columns": lambda n: f"SELECT id, {', '.join(f'x + {i} AS c{i}' for i in range(n))} FROM t",
    "union": lambda n: " UNION ALL ".join(f"SELECT id, {i} AS k FROM t WHERE x % 61 = {i}" for i in range(n)),
}


def counts(sql: str, monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    derived: list[Node] = []

    def checked(delta: Node, of: Node) -> Node:
        derived.append(of)
        return delta

    monkeypatch.setattr(derivation, "check_delta", checked)
    view = compile_view(sql, duck.finder(TABLES))
    types = FoundTypes(lambda plan: ["bigint"] * len(plan.columns))
    state = state_of(view, types, [c.label for c in view.plan.columns])
    plan = first_that_applies(Situation(state, Change(frozenset(TABLES))))
    assert isinstance(plan, RefreshPlan)
    assert plan.write is not None, "the view is recomputed"
    plans = [*(step.plan for step in plan.steps), plan.write.rows]
    return {
        "operators": size(view.plan),
        "SQL": len(print_plan(view.plan, "duckdb")),
        "derived": len(derived),
        "steps": len(plan.steps),
        "operators of the script": sum(map(size, plans)),
        "SQL of the script": sum(len(print_plan(each, "duckdb", relations=relation_name)) for each in plans),
    }


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.one_in(5)
def test_twice_the_text_is_about_twice_as_much(shape: str, monkeypatch: pytest.MonkeyPatch) -> None:
    once, twice = (counts(SHAPES[shape](n), monkeypatch) for n in (20, 40))
    grown = {what: (once[what], twice[what]) for what in once if twice[what] > MOST * once[what]}
    assert not grown
