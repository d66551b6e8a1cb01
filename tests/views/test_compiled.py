"""What is compiled, how often, and what becomes of a view on which the compiler fails."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace

import pytest

from rollview import Rollview, connect
from rollview.delta.derivation import Derivation
from rollview.delta.rules import RULES
from rollview.frontend import query
from rollview.parse import tree
from rollview.plan.nodes import Aggregate, Join
from rollview.state.types import FORMAT
from rollview.views.catalog import DEFINITION
from rollview.views.compiled import CompilerBug

JOINED = "SELECT u.x, sum(t.n) AS s FROM t JOIN u ON t.g = u.g GROUP BY u.x"


@pytest.fixture
def rv() -> Rollview:
    rv = connect("duckdb:")
    rv.sql(
        "CREATE TABLE t (id INT, g STRING, n INT, PRIMARY KEY (id)); CREATE TABLE u (g STRING, x INT, PRIMARY KEY (g))"
    )
    rv.sql("INSERT INTO t VALUES (1, 'a', 1), (2, 'a', 2), (3, 'b', 3); INSERT INTO u VALUES ('a', 1), ('b', 2)")
    return rv


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What was read and compiled, in the order of the calls."""
    found: list[str] = []

    def noted(what: str, plain: Callable[..., object]) -> Callable[..., object]:
        def run(text: str, *rest: object) -> object:
            found.append(f"{what} {text}")
            return plain(text, *rest)

        return run

    monkeypatch.setattr(query, "compile_view", noted("compile", query.compile_view))
    monkeypatch.setattr("rollview.parse.references.read", noted("parse", tree.read))
    return found


def test_a_view_is_parsed_once_and_compiled_once(rv: Rollview, calls: list[str]) -> None:
    text = f"{JOINED} -- this one"
    rv.create("v", text)
    assert sorted(call for call in calls if call.endswith(text)) == [f"compile {text}", f"parse {text}"]
    del calls[:]
    rv.sql("INSERT INTO t VALUES (4, 'a', 4)")
    assert rv.refresh("v").strategy == "aggregate_merge"
    assert not [call for call in calls if call.startswith("compile") or call.endswith(text)]


def test_a_query_that_cannot_be_planned_is_tried_once(rv: Rollview, calls: list[str]) -> None:
    text = (
        "WITH RECURSIVE r AS (SELECT 1 AS a UNION ALL SELECT a + 1 FROM r WHERE a < 3) SELECT a FROM r, u -- this one"
    )
    rv.create("v", text)
    assert len([call for call in calls if call == f"compile {text}"]) == 1


def _failing(*_: object) -> None:
    raise AssertionError("planted")


def test_a_failure_of_the_compiler_is_told_apart(
    rv: Rollview, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.delenv("ROLLVIEW_STRICT")
    monkeypatch.setitem(RULES.deltas, Join, _failing)
    with pytest.warns(CompilerBug, match="AssertionError: planted"), caplog.at_level(logging.ERROR, "rollview"):
        rv.create("v", "SELECT t.id, u.x FROM t JOIN u ON t.g = u.g")
    assert "planted" in caplog.text
    assert rv.catalog.get("v").always_full == "compiler_bug"
    assert "Traceback" in rv.explain("v")
    rv.sql("INSERT INTO t VALUES (4, 'a', 4)")
    result = rv.refresh("v")
    assert (result.strategy, result.reason) == ("full", "compiler_bug")
    assert rv.verify("v").ok


def test_a_failure_while_the_plan_is_built_is_told_apart_too(rv: Rollview, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ROLLVIEW_STRICT")
    monkeypatch.setattr(query, "build_plan", _failing)
    with pytest.warns(CompilerBug, match="planted"):
        rv.create("v", f"{JOINED} -- built by nobody")
    assert rv.refresh("v").strategy == "no_op"
    assert "Traceback" in rv.explain("v")
    assert rv.verify("v").ok


def test_a_failure_at_a_refresh_recomputes_the_view_and_says_so(rv: Rollview, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was derived at creation need not be all that a change asks for."""
    plain = RULES.deltas[Join]

    def failing_for_t_alone(node: Join, derivation: Derivation) -> object:
        if derivation.changed == {"t"}:
            raise AssertionError("planted")
        return plain(node, derivation)

    rv.create("v", "SELECT t.id, u.x FROM t JOIN u ON t.g = u.g")
    monkeypatch.delenv("ROLLVIEW_STRICT")
    rv.sql("INSERT INTO t VALUES (4, 'a', 4)")
    with monkeypatch.context() as patch:
        patch.setitem(RULES.deltas, Join, failing_for_t_alone)
        following = rv.explanation("v").next
        assert (following.strategy, following.reason) == ("full", "compiler_bug")
        assert "AssertionError: planted" in following.why
        with pytest.warns(CompilerBug, match=r"planted\. The view is recomputed now"):
            result = rv.refresh("v")
    assert (result.strategy, result.reason) == ("full", "compiler_bug")
    assert rv.verify("v").ok
    rv.sql("INSERT INTO t VALUES (5, 'a', 4)")
    assert rv.refresh("v").strategy == "append"
    assert rv.verify("v").ok


def test_a_failure_of_the_compiler_fails_the_tests(rv: Rollview, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(RULES.deltas, Aggregate, _failing)
    with pytest.raises(AssertionError, match="planted"):
        rv.create("v", "SELECT DISTINCT n FROM (SELECT g, count(*) AS n FROM t GROUP BY g)")
    assert not rv.views()


def test_a_view_of_another_layout_is_recomputed_with_its_reason(rv: Rollview) -> None:
    rv.create("v", JOINED)
    view = rv.catalog.get("v")
    other = replace(view, layout=replace(view.layout, format=FORMAT + 1))
    rv.store.set_properties(rv.catalog.state("v"), {DEFINITION: other.to_json()})
    assert rv.catalog.get("v").layout.types == {}
    rv.sql("INSERT INTO t VALUES (4, 'a', 4)")
    result = rv.refresh("v")
    assert (result.strategy, result.reason) == ("full", "layout_changed")
    rv.sql("INSERT INTO t VALUES (5, 'a', 4)")
    assert rv.refresh("v").strategy == "aggregate_merge"
    assert rv.verify("v").ok


def test_types_are_recorded_by_name(rv: Rollview) -> None:
    rv.create("v", "SELECT g, avg(n) AS a FROM t GROUP BY g")
    layout = rv.catalog.get("v").layout
    assert list(layout.types) == list(layout.columns)
    assert layout.types["g"] == "string"
    assert layout.made
