"""Each rule: where it fires, what comes of it, and where it must not fire."""

from __future__ import annotations

import pytest

import duck
import generate
from rollview.frontend.sql import build_plan
from rollview.parse.references import parse_query
from rollview.plan.nodes import MultiJoin, show_plan
from rollview.plan.rewrite import RULES, Rule, apply_rule, normalise
from rollview.plan.rewrite.drop_projects import drop_projects
from rollview.plan.rewrite.expand_grouping_sets import expand_grouping_sets
from rollview.plan.rewrite.infer_predicates import infer_predicates
from rollview.plan.rewrite.merge_filters import merge_filters
from rollview.plan.rewrite.merge_projects import merge_projects
from rollview.plan.rewrite.push_join_conditions import push_join_conditions
from rollview.plan.rewrite.right_to_left import right_to_left


def shown(sql: str, *rules: Rule) -> list[str]:
    """The plan's operators, indented, after each rule has been applied once."""
    plan = build_plan(parse_query(sql), sql, duck.finder(generate.TABLES))
    for rule in rules:
        plan = apply_rule(plan, rule)
    return [line for line in show_plan(plan).splitlines() if not line.strip().startswith("scan")]


def test_right_to_left() -> None:
    assert shown("SELECT r.k FROM r RIGHT JOIN u ON r.a = u.a", right_to_left) == [
        "project t0_k",
        "  join left t0_a = t1_a",
    ]


def test_merge_filters() -> None:
    grouped = "SELECT k FROM r GROUP BY k HAVING max(a) > 1 AND max(b) > 1"
    assert shown(grouped)[:3] == ["project t0_k", "  filter t2_max > 1", "    filter t1_max > 1"]
    assert shown(grouped, merge_filters)[:2] == ["project t0_k", "  filter (t1_max > 1) AND (t2_max > 1)"]


def test_push_filters_into_a_join_and_below_a_projection() -> None:
    sql = "SELECT q.y FROM (SELECT r.a + 1 AS y, r.b AS z, u.a AS v FROM r, u) q WHERE q.z = q.v AND q.y > 2"
    assert shown(sql, *RULES, *RULES, *RULES) == [
        "project (t0_a + 1) AS t2_y",
        "  join inner t0_b = t1_a",
        "    filter (t0_a + 1) > 2",
    ]


def test_push_join_conditions_but_not_of_outer_joins() -> None:
    on = "r.a = u.a AND r.b > 1 AND u.b IS NULL AND 1 = 2"
    assert shown(f"SELECT r.k FROM r JOIN u ON {on}", push_join_conditions) == [
        "project t0_k",
        "  join inner (t0_a = t1_a) AND (1 = 2)",
        "    filter t0_b > 1",
        "    filter t1_b IS NULL",
    ]
    assert shown("SELECT r.k FROM r JOIN u ON r.b > 1", push_join_conditions)[1:] == [
        "  join cross",
        "    filter t0_b > 1",
    ]
    for kind in ("LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "LEFT SEMI JOIN", "LEFT ANTI JOIN"):
        sql = f"SELECT 1 AS one FROM r {kind} u ON {on}"
        assert shown(sql, push_join_conditions) == shown(sql), kind


def test_conditions_in_on_cross_equalities_like_those_in_where() -> None:
    sql = "SELECT r.k FROM r JOIN u ON r.a = u.a AND r.a > 1"
    filters = [line.strip() for line in shown(sql, *RULES, *RULES, *RULES) if "filter" in line]
    assert filters == ["filter t0_a > 1", "filter t1_a > 1"]


@pytest.mark.parametrize(
    ("sql", "kept"),
    [
        ("SELECT r.k FROM r LEFT JOIN u ON r.a = u.a WHERE u.b IS NULL", "filter t1_b IS NULL"),
        ("SELECT k, n FROM (SELECT k, count(*) AS n FROM w GROUP BY k) q WHERE n > 1", "filter t1_count > 1"),
        (
            "SELECT k, n FROM (SELECT k, rank() OVER (PARTITION BY a ORDER BY k) AS n FROM r) q WHERE k > 1",
            "filter t0_k > 1",
        ),
        ("SELECT k FROM (SELECT k FROM r ORDER BY k LIMIT 3) q WHERE k > 1", "filter t0_k > 1"),
    ],
)
def test_push_filters_must_not_fire(sql: str, kept: str) -> None:
    lines = [line.strip() for line in shown(sql, *RULES, *RULES, *RULES)]
    place = lines.index(kept)
    assert lines[place + 1].split()[0] in ("join", "aggregate", "window", "limit")


@pytest.mark.parametrize(
    ("sql", "below"),
    [
        ("SELECT r.k FROM r LEFT JOIN u ON r.a = u.a WHERE r.b = 1", "filter t0_b = 1"),
        ("SELECT k, n FROM (SELECT k, count(*) AS n FROM w GROUP BY k) q WHERE k > 1", "filter t0_k > 1"),
        ("SELECT k, n FROM (SELECT k, a, rank() OVER (PARTITION BY a ORDER BY k) AS n FROM r) q WHERE a > 1", "filter t0_a > 1"),
        ("SELECT a FROM (SELECT a FROM r UNION ALL SELECT a FROM u) q WHERE a > 1", "filter t0_a > 1"),
    ],
)  # fmt: skip
def test_push_filters_reaches_the_scan(sql: str, below: str) -> None:
    plan = build_plan(parse_query(sql), sql, duck.finder(generate.TABLES))
    lines = [line.strip() for line in show_plan(normalise(plan)).splitlines()]
    assert lines[lines.index(below) + 1].startswith("scan")


def test_infer_predicates_across_an_equality_but_not_onto_kept_rows() -> None:
    inner = shown("SELECT r.k FROM r JOIN u ON r.a = u.a WHERE r.a = 3", *RULES, *RULES, *RULES)
    assert {line.strip() for line in inner if "filter" in line} == {"filter t0_a = 3", "filter t1_a = 3"}
    anti = shown(
        "SELECT r.k FROM r LEFT ANTI JOIN (SELECT a FROM u WHERE a = 3) q ON r.a = q.a", *RULES, *RULES, *RULES
    )
    assert [line.strip() for line in anti if "filter" in line] == ["filter t1_a = 3"]
    assert shown("SELECT r.k FROM r FULL JOIN u ON r.a = u.a", infer_predicates)[1].strip() == "join full t0_a = t1_a"


def test_outer_to_inner_but_not_where_null_may_pass() -> None:
    def kinds(sql: str) -> list[str]:
        lines = shown(sql, *RULES, *RULES, *RULES)
        return [line.split()[1] for line in lines if line.strip().startswith("join")]

    assert kinds("SELECT r.k FROM r LEFT JOIN u ON r.a = u.a WHERE u.b > 1") == ["inner"]
    assert kinds("SELECT r.k FROM r LEFT JOIN u ON r.a = u.a WHERE u.b + r.b IN (1, 2)") == ["inner"]
    assert kinds("SELECT r.k FROM r FULL JOIN u ON r.a = u.a WHERE r.b = 2") == ["left"]
    assert kinds("SELECT r.k FROM r FULL JOIN u ON r.a = u.a WHERE r.b = u.b") == ["inner"]
    for kept in ("u.b IS NULL", "coalesce(u.b, 2) > 1", "u.b <=> r.b", "NOT (u.b IN (1))", "u.b = 1 OR r.b = 1"):
        assert kinds(f"SELECT r.k FROM r LEFT JOIN u ON r.a = u.a WHERE {kept}") == ["left"], kept


def test_merge_projects_but_not_where_work_would_be_repeated() -> None:
    once = "SELECT y + 1 AS z FROM (SELECT a * 2 AS y FROM r) q"
    twice = "SELECT y + y AS z FROM (SELECT a * 2 AS y FROM r) q"
    assert len(shown(once, merge_projects)) == 1
    assert len(shown(twice, merge_projects)) == 2


def test_expand_grouping_sets() -> None:
    lines = shown("SELECT a, b, count(*) AS n FROM r GROUP BY ROLLUP (a, b)", expand_grouping_sets)
    assert [line.split()[0] for line in lines].count("aggregate") == 3
    assert not any("sets" in line for line in lines)


def test_prune_columns_keeps_keys_and_what_is_used() -> None:
    sql = "SELECT r.b FROM r JOIN x ON r.s = x.s"
    lines = show_plan(normalise(build_plan(parse_query(sql), sql, duck.finder(generate.TABLES)))).splitlines()
    assert [line.strip() for line in lines if "scan" in line] == ["scan r [t0_k, t0_b, t0_s]", "scan x [t1_s]"]


def test_drop_projects_but_not_where_every_column_counts() -> None:
    assert shown("SELECT q.k FROM (SELECT k, a FROM r) q JOIN u ON q.a = u.a", drop_projects) == [
        "project t0_k",
        "  join inner t0_a = t2_a",
    ]
    assert [line.split()[0] for line in shown("SELECT DISTINCT a FROM r", drop_projects)] == ["distinct", "project"]


def test_flatten_joins_and_the_join_graph() -> None:
    sql = "SELECT r.k FROM r JOIN u ON r.a = u.a JOIN w ON u.b = w.l AND w.a > r.b WHERE r.k > 0"
    plan = normalise(build_plan(parse_query(sql), sql, duck.finder(generate.TABLES)))
    (joined,) = [node for node in plan.walk() if isinstance(node, MultiJoin)]
    assert [sorted(edge) for edge, _ in joined.graph] == [[0, 1], [1, 2], [0, 2]]
    outer = "SELECT r.k FROM r JOIN u ON r.a = u.a LEFT JOIN w ON u.b = w.l"
    assert not any(
        isinstance(node, MultiJoin)
        for node in normalise(build_plan(parse_query(outer), outer, duck.finder(generate.TABLES))).walk()
    )
