"""Plans and deltas that are wrong are found where they are made."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from sqlglot import exp

import duck
import generate
from rollview.delta.derivation import Derivation, Rule, Rules, Step, change_scan
from rollview.delta.passes import improved
from rollview.delta.rules import RULES
from rollview.errors import InternalError
from rollview.frontend.query import compile_view
from rollview.frontend.sql import build_plan
from rollview.parse.references import parse_query
from rollview.plan.check import check
from rollview.plan.expressions import conjuncts, ref
from rollview.plan.nodes import (
    SEMI,
    Aggregate,
    Column,
    Computed,
    Distinct,
    Filter,
    Join,
    Limit,
    Node,
    Ordering,
    Project,
    Restrict,
    Scan,
    SetOperation,
    UnionAll,
    Window,
    WindowFunction,
)
from rollview.plan.rewrite import apply_rule

A, B, C = (Column(name, name, exp.DataType.build("int")) for name in "abc")
T, U = Scan("t", (A,), ("a",)), Scan("u", (B,), ("b",))
STRAY = exp.GT(this=ref("c"), expression=exp.Literal.number(1))


@pytest.mark.parametrize(
    "node",
    [
        Filter(T, STRAY),
        Project(T, (Computed(B, STRAY),)),
        Join(SEMI, T, U, STRAY),
        Aggregate(T, (Computed(B, STRAY),), ()),
        Limit(T, (Ordering(ref("c")),), 1),
        Window(T, (WindowFunction(B, exp.RowNumber(), order=(Ordering(ref("c")),)),)),
        Window(T, (WindowFunction(B, exp.RowNumber(), (ref("c"),)),)),
        Window(T, (WindowFunction(B, exp.Sum(this=ref("c"))),)),
        Restrict(T, Distinct(U), (ref("c"),), ("b",)),
    ],
    ids=lambda node: f"{node.title} {node.details}",
)
def test_a_column_that_no_input_has(node: Node) -> None:
    with pytest.raises(InternalError, match=f"{node.title} .* uses c, which no input has"):
        check(UnionAll(node, node, node.columns), "a test")


def test_a_column_of_an_outer_query_is_gone_when_a_plan_is_built() -> None:
    sql = "SELECT k, (SELECT max(l) FROM w WHERE w.a = r.a) AS m FROM r WHERE EXISTS (SELECT 1 FROM u WHERE u.a = r.b)"
    plan = build_plan(parse_query(sql), sql, duck.finder(generate.TABLES))
    assert plan.fault is None
    assert not plan.free


def test_sides_and_keys_that_do_not_fit() -> None:
    two = Scan("t", (A, B), ("a", "b"))
    for kind in (UnionAll, SetOperation):
        with pytest.raises(InternalError, match="of 2 and 1 columns"):
            kind(two, replace(U, output=(C,)), (A, B))
    with pytest.raises(InternalError, match="a restriction compares"):
        Restrict(T, Distinct(U), (ref("a"),), ("c",))


def test_a_rule_that_loses_a_column_is_named() -> None:
    def drop_needed(node: Node) -> Node | None:
        return replace(node, output=(), sources=()) if isinstance(node, Scan) else None

    def forget(node: Node) -> Node | None:
        return Filter(node.input, STRAY) if isinstance(node, Filter) else None

    plan = Filter(T, exp.GT(this=ref("a"), expression=exp.Literal.number(1)))
    with pytest.raises(InternalError, match="forget made a wrong plan: filter c > 1 uses c"):
        apply_rule(plan, forget)
    with pytest.raises(InternalError, match="uses a, which no input has"):
        improved([Step("rows", apply_rule(plan, drop_needed), "")])


def without_weight(node: Scan, derivation: Derivation) -> Node:
    return node


def with_another_column(node: Scan, derivation: Derivation) -> Node:
    return replace(change_scan(node), output=(*change_scan(node).output, B), sources=("a", "__w", "b"))


def with_a_stray_column(node: Scan, derivation: Derivation) -> Node:
    return Filter(change_scan(node), STRAY)


@pytest.mark.parametrize(
    ("rule", "what"),
    [
        (without_weight, "the delta of scan t .* lacks __w"),
        (with_another_column, "the delta of scan t .* has b"),
        (with_a_stray_column, "the delta rule of scan made a wrong plan: filter c > 1 uses c"),
    ],
)
def test_a_delta_has_the_columns_of_its_operator_and_a_weight(rule: Rule, what: str) -> None:
    derivation = Derivation(Rules({Scan: rule}, RULES.whole_groups), ["t"])
    with pytest.raises(InternalError, match=what):
        derivation.delta(T)


def test_a_step_is_checked() -> None:
    with pytest.raises(InternalError, match="uses c"):
        Derivation(RULES, ["t"]).step("wrong", Filter(T, STRAY), "")


def test_a_restriction_to_keys_that_change_has_no_delta() -> None:
    keys = Distinct(Project(T, (Computed(C, ref("a")),)))
    with pytest.raises(InternalError, match=r"the keys of restrict .* change"):
        Derivation(RULES, ["t", "u"]).delta(Restrict(U, keys, (ref("b"),), ("c",)))


def test_the_delta_of_a_restriction_is_restricted() -> None:
    found = Derivation(RULES, ["u"]).delta(
        Restrict(U, Distinct(Project(T, (Computed(C, ref("a")),))), (ref("b"),), ("c",))
    )
    assert found is not None
    (restriction,) = [node for node in found.walk() if isinstance(node, Restrict)]
    assert restriction.input == change_scan(U)
    assert restriction.pairs == ((ref("b"), "c"),)


def test_a_restriction_says_the_same_as_a_semi_join() -> None:
    keys = Distinct(Project(T, (Computed(C, ref("a")),)))
    found = Restrict(U, keys, (ref("b"),), ("c",), optional=True, small=True)
    assert found.join.kind is SEMI
    assert tuple(conjuncts(found.join.condition)) == found.conditions
    assert found.details == "b IS NOT DISTINCT FROM c (only to read less) (keys small)"


@pytest.mark.parametrize(
    "made",
    [
        lambda: compile_view("SELECT r.k FROM r JOIN u ON r.a = u.a AND r.b > 1", duck.finder(generate.TABLES)).plan,
        lambda: compile_view("SELECT DISTINCT a FROM r UNION SELECT b FROM u", duck.finder(generate.TABLES)).plan,
    ],
)
def test_faults_are_found_once(made: Callable[[], Node]) -> None:
    """An operator keeps the answer, so that asking again costs nothing."""
    plan = made()
    check(plan, "a test")
    assert all("fault" in vars(node) for node in plan.walk())
