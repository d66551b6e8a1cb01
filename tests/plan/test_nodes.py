"""Kinds of joins, window functions, and traits of operators."""

from __future__ import annotations

import pytest
from sqlglot import exp, parse_one

from rollview.delta.rules import RULES
from rollview.frontend.sql.windows import window_function
from rollview.plan.expressions import ref
from rollview.plan.nodes import (
    ANTI,
    CROSS,
    CURRENT_ROW,
    FROM_START,
    FULL,
    INNER,
    LEFT,
    MARK,
    RIGHT,
    SEMI,
    SINGLE,
    TO_END,
    Bound,
    Column,
    Distinct,
    Filter,
    Frame,
    Join,
    JoinKind,
    Node,
    Ordering,
    Recursive,
    Scan,
    SetOperation,
    UnionAll,
)
from rollview.plan.traits import TRAITS, Trait, grows_with, trait_of

X = Column("x", "x")


def test_the_kinds_of_joins() -> None:
    def those(name: str) -> set[JoinKind]:
        return {kind for kind in JoinKind if getattr(kind, name)}

    assert those("is_inner") == {INNER, CROSS}
    assert those("pads_left") == {RIGHT, FULL}
    assert those("pads_right") == {LEFT, FULL}
    assert those("is_outer") == {LEFT, RIGHT, FULL}
    assert those("keeps_left_only") == {SEMI, ANTI}
    assert those("hides_right") == {SEMI, ANTI, MARK}
    assert those("is_lookup") == {SEMI, ANTI, MARK, SINGLE}
    assert those("keeps_unmatched_left") == {LEFT, FULL, ANTI, MARK, SINGLE}
    assert f"{LEFT}" == "left"


@pytest.mark.parametrize("kind", JoinKind)
def test_a_join_has_the_columns_that_its_kind_says(kind: JoinKind) -> None:
    left, right = (Scan(name, (Column(name, name),), (name,)) for name in "ab")
    mark = X if kind is MARK else None
    names = ["a"] if kind.hides_right else ["a", "b"]
    found = Join(kind, left, right, exp.true(), mark)
    assert [column.name for column in found.columns] == names + (["x"] if mark else [])


@pytest.mark.parametrize(
    "sql",
    [
        "SUM(x) OVER ()",
        "ROW_NUMBER() OVER (PARTITION BY a, b ORDER BY c DESC, d)",
        "LAG(x, 2) OVER (ORDER BY c NULLS LAST)",
        "FIRST_VALUE(x) IGNORE NULLS OVER (PARTITION BY a ORDER BY c)",
        "COUNT(x) FILTER(WHERE y > 1) OVER (PARTITION BY a)",
        "MAX(x) OVER (ORDER BY c ROWS BETWEEN 2 PRECEDING AND CURRENT ROW)",
        "MAX(x) OVER (ORDER BY c ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)",
        "MAX(x) OVER (ORDER BY c RANGE BETWEEN INTERVAL '2' DAY PRECEDING AND INTERVAL '1' DAY FOLLOWING)",
    ],
)
def test_a_window_function_is_printed_as_it_was_read(sql: str) -> None:
    window = parse_one(sql, read="spark")
    assert isinstance(window, exp.Window)
    assert window_function(X, window).value.sql("spark") == window.sql("spark")


def test_ascending_goes_without_saying() -> None:
    window = parse_one("ROW_NUMBER() OVER (ORDER BY c ASC)", read="spark")
    assert isinstance(window, exp.Window)
    assert window_function(X, window).value.sql("spark") == "ROW_NUMBER() OVER (ORDER BY c)"


def test_a_window_function_over_other_values() -> None:
    window = parse_one("SUM(x) OVER (PARTITION BY a ORDER BY c DESC ROWS 2 PRECEDING)", read="spark")
    assert isinstance(window, exp.Window)
    found = window_function(X, window).over(
        lambda value: value.transform(lambda n: ref("z") if n.key == "column" else n)
    )
    assert found.call == exp.Sum(this=ref("z"))
    assert (found.partition_by, found.order) == ((ref("z"),), (Ordering(ref("z"), True, False),))
    assert found.frame == Frame("ROWS", Bound(exp.Literal.number(2), "PRECEDING"), CURRENT_ROW)


def test_frames() -> None:
    assert Frame("ROWS", FROM_START, TO_END).is_whole
    assert Frame("RANGE", FROM_START, CURRENT_ROW).is_running
    assert not Frame("ROWS", Bound(exp.Literal.number(1), "PRECEDING"), CURRENT_ROW).is_running
    assert Ordering(ref("a"), True, False).turned() == Ordering(ref("a"), False, True)


def test_every_operator_has_a_trait_and_every_one_with_a_delta_rule_is_known() -> None:
    def below(kind: type[Node]) -> set[type[Node]]:
        return {kind}.union(*(below(each) for each in kind.__subclasses__()))

    operators = {kind for kind in below(Node) if kind.__subclasses__() == [] and kind.__module__.startswith("rollview")}
    assert operators == TRAITS.keys() | {Join}
    assert operators - RULES.deltas.keys() == {kind for kind in operators if kind.__name__ in _WITHOUT_RULE}


_WITHOUT_RULE = ("Values", "RecursiveRef", "Recursive")


def test_linear_operators_are_derived_by_the_rules_of_linear_operators() -> None:
    linear = {kind for kind, trait in TRAITS.items() if trait is Trait.LINEAR}
    assert {RULES.deltas[kind].__module__ for kind in linear} == {"rollview.delta.rules.linear"}


@pytest.mark.parametrize("kind", JoinKind)
def test_which_inputs_a_join_grows_with(kind: JoinKind) -> None:
    left, right = (Scan(name, (Column(name, name),), (name,)) for name in "ab")
    join = Join(kind, left, right, exp.true(), X if kind is MARK else None)
    both = {INNER: (True, True), CROSS: (True, True), SEMI: (True, True), RIGHT: (False, False), FULL: (False, False)}
    assert grows_with(join) == both.get(kind, (True, False))
    assert trait_of(join) is (Trait.BILINEAR if kind in (INNER, CROSS) else Trait.MATCHED)


def test_which_other_operators_grow() -> None:
    a, b = (Scan(name, (Column(name, name),), (name,)) for name in "ab")
    assert grows_with(UnionAll(a, b, (X,))) == (True, True)
    assert grows_with(Distinct(a)) == (True,)
    assert grows_with(Filter(a, exp.true())) == (True,)
    assert grows_with(SetOperation(a, b, (X,))) == (False, False)
    assert grows_with(Recursive(a, b, (X,), name="n")) == (False, False)


def test_a_set_operation_is_no_union() -> None:
    assert not issubclass(SetOperation, UnionAll)
    assert not issubclass(Recursive, UnionAll)
