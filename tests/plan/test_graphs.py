"""Large and deep queries: a plan is a graph, and what is compiled grows with the text, not with its expansion."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Mapping

import pytest

import duck
import generate
from rollview import Rollview, connect
from rollview.codegen.printer import print_plan
from rollview.delta import derivation
from rollview.errors import Unsupported, UserError
from rollview.frontend import query as query_module
from rollview.frontend.query import CompiledView, compile_view
from rollview.plan.nodes import Aggregate, Join, Node, Scan, UnionAll, show_plan, size
from rollview.plan.rename import renamed
from rollview.plan.rewrite import apply_rule
from rollview.state.make import state_of
from rollview.state.types import FoundTypes
from rollview.strategy import choose
from rollview.strategy.choose import first_that_applies
from rollview.strategy.plan import RefreshPlan
from rollview.strategy.propagate import Change
from rollview.strategy.show import show_stages
from rollview.strategy.strategy import Situation
from tpcds import queries
from tpcds.data import Retailer


def compiled(sql: str) -> CompiledView:
    return compile_view(sql, duck.finder(generate.TABLES))


def mentions(k: int) -> str:
    """A query that reads one CTE k times."""
    joins = "".join(f" JOIN g g{i} ON g{i}.a = g0.a" for i in range(1, k))
    columns = ", ".join(f"g{i}.n AS n{i}" for i in range(k))
    return f"WITH g AS (SELECT r.a, count(*) AS n FROM r JOIN u ON r.a = u.a GROUP BY r.a) SELECT g0.a, {columns} FROM g g0{joins}"


def doubling(n: int) -> str:
    """n CTEs, each of which reads the one before it twice: written out, 2ⁿ tables."""
    steps = "".join(
        f", c{i} AS (SELECT p.k, p.n + q.n AS n FROM c{i - 1} p JOIN c{i - 1} q ON p.k = q.k)" for i in range(1, n + 1)
    )
    return f"WITH c0 AS (SELECT k, count(*) AS n FROM r GROUP BY k){steps} SELECT * FROM c{n}"


def check_growth(measure: Callable[[int], int], start: int, most: float = 2) -> None:
    """What is measured at start, 2 × start and 4 × start grows as the text does, or ``most`` times as much at each
    doubling."""
    a, b, c = (measure(n) for n in (start, 2 * start, 4 * start))
    assert c - b <= most * 1.1 * (b - a), (a, b, c)


def characters(text: str) -> int:
    """Without the indentation, which tells how deep a line is."""
    return sum(len(line.lstrip()) for line in text.splitlines())


def script_of(sql: str) -> list[str]:
    view = compiled(sql)
    types = FoundTypes(lambda plan: ["bigint"] * len(plan.columns))
    state = state_of(view, types, [c.label for c in view.plan.columns])
    plan = first_that_applies(Situation(state, Change(frozenset(["r"]))))
    assert isinstance(plan, RefreshPlan)
    return show_stages(plan)


# plans are graphs


def test_a_cte_that_is_read_several_times_is_one_operator() -> None:
    plan = compiled(mentions(3)).plan
    assert [type(node) for node in plan.walk()].count(Aggregate) == 1
    assert show_plan(plan).count("aggregate #1 by") == 1
    assert show_plan(plan).count("#1, as above") == 2


def test_a_cte_that_is_read_several_times_is_printed_once() -> None:
    assert print_plan(compiled(mentions(3)).plan).count("GROUP BY") == 1


def test_a_cte_that_is_read_several_times_is_derived_once() -> None:
    steps = [line for line in script_of(mentions(3)) if line.startswith("step")]
    assert sum("delta of aggregate" in line for line in steps) == 1


def test_operators_and_characters_grow_with_the_number_of_mentions() -> None:
    check_growth(lambda k: size(compiled(mentions(k)).plan), 2)
    check_growth(lambda k: len(print_plan(compiled(mentions(k)).plan)), 2)


def test_ctes_that_double_each_other_grow_with_their_text() -> None:
    check_growth(lambda n: size(compiled(doubling(n)).plan), 5)
    check_growth(lambda n: characters(compiled(doubling(n)).shown()), 5)
    check_growth(lambda n: len(print_plan(compiled(doubling(n)).plan)), 5)


def test_the_script_of_ctes_that_double_each_other_does_not_double() -> None:
    """Each CTE is a term of each one above it: n CTEs have n² terms, and not 2ⁿ."""
    check_growth(lambda n: len(script_of(doubling(n))), 3, most=4)


def test_the_steps_of_a_union_are_compared_once_each(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[Node] = []

    def counted(plan: Node, names: Mapping[str, str]) -> Node:
        calls.append(plan)
        return renamed(plan, names)

    monkeypatch.setattr(derivation, "renamed", counted)

    def comparisons(n: int) -> int:
        calls.clear()
        sides = (f"SELECT a, {n + i} AS i, count(*) AS n FROM r WHERE b = {n + i} GROUP BY a" for i in range(n))
        script_of(" UNION ALL ".join(sides))
        return len(calls)

    check_growth(comparisons, 4)


def test_a_rule_looks_at_each_operator_once() -> None:
    plan = compiled(doubling(16)).plan
    seen: list[Node] = []

    def rule(node: Node) -> Node | None:
        seen.append(node)
        return None

    assert apply_rule(plan, rule) is plan
    assert len(seen) == size(plan) < 100


def test_equal_operators_become_one() -> None:
    left, right = (compiled("SELECT a, count(*) AS n FROM r GROUP BY a").plan for _ in range(2))
    assert left == right
    assert hash(left) == hash(right)
    one = apply_rule(UnionAll(left, right, left.columns), lambda node: None)
    assert isinstance(one, UnionAll)
    assert one.left is one.right


def test_a_rule_that_splits_what_is_shared_stops_in_time() -> None:
    """Each CTE reads the one before it under two conditions: pushed down, they would give 2ⁿ plans."""
    steps = "".join(
        f", c{i} AS (SELECT p.k, p.a, q.b FROM (SELECT * FROM c{i - 1} WHERE a > {i}) p"
        f" JOIN (SELECT * FROM c{i - 1} WHERE b > {i}) q ON p.k = q.k)"
        for i in range(1, 15)
    )
    sql = f"WITH c0 AS (SELECT k, max(a) AS a, max(b) AS b FROM r GROUP BY k){steps} SELECT * FROM c14"
    assert size(compiled(sql).plan) < 1500


def test_unions_and_conditions_are_flat() -> None:
    def depth(node: Node) -> int:
        return 1 + max((depth(child) for child in node.inputs), default=0)

    union = compiled(" UNION ALL ".join(f"SELECT k, {i} AS n FROM r WHERE a = {i}" for i in range(256))).plan
    assert depth(union) < 16
    where = compiled("SELECT k FROM r WHERE " + " OR ".join(f"a = {i} AND b = {i}" for i in range(256))).plan
    deepest = max(node.depth for expr in (e for n in where.walk() for e in n.expressions) for node in expr.walk())
    assert deepest < 20


def test_a_chain_keeps_its_order() -> None:
    where = compiled("SELECT k FROM r WHERE a = 1 OR a = 2 OR b = 3 OR a = 4 OR b = 5").shown()
    assert "t0_a = 1 OR t0_a = 2 OR t0_b = 3 OR t0_a = 4 OR t0_b = 5" in where


def test_columns_that_any_reader_needs_are_there() -> None:
    sql = "WITH g AS (SELECT a, count(*) AS n, max(b) AS m, min(b) AS l FROM r GROUP BY a) SELECT p.n, q.m FROM g p JOIN g q ON p.a = q.a"
    (groups,) = [node for node in compiled(sql).plan.walk() if isinstance(node, Aggregate)]
    assert [item.column.label for item in groups.aggregates] == ["count", "max"]


def test_a_join_reads_what_it_joins_under_different_names() -> None:
    for sql in (mentions(4), doubling(3)):
        for node in compiled(sql).keyed.plan.walk():
            if isinstance(node, Join):
                assert not node.left.names & node.right.names


# what comes of it


@pytest.fixture
def rv() -> Rollview:
    rv = connect("duckdb:")
    rv.sql("CREATE TABLE t (id INT, x INT, PRIMARY KEY (id))")
    rv.sql("INSERT INTO t SELECT CAST(i AS INT), CAST(i * 3 % 17 AS INT) FROM (SELECT explode(sequence(0, 40)) AS i)")
    return rv


CHANGES = (
    "INSERT INTO t VALUES (100, 5), (101, NULL)",
    "UPDATE t SET x = x + 1 WHERE id < 4",
    "DELETE FROM t WHERE id IN (7, 100)",
)


def follows(rv: Rollview, query: str) -> None:
    """The view of a query is followed, and equals its query after each change."""
    rv.create("v", query, policy="INCREMENTAL")
    for change in CHANGES:
        rv.sql(change)
        assert rv.refresh("v").strategy != "full"
        assert rv.verify("v").ok, change
    rv.explain("v")
    rv.drop("v")


def nested(kind: str, depth: int) -> str:
    if kind == "redundant":
        return f"SELECT id, {'(' * depth}x{')' * depth} AS y FROM t"
    if kind == "sum":
        return f"SELECT id, {'(1 + ' * depth}x{')' * depth} AS y FROM t"
    if kind == "subquery":
        return "SELECT id, x AS y FROM " + "(SELECT id, x FROM " * depth + "t" + ") AS s" * depth
    if kind == "not":
        return f"SELECT id, {'NOT ' * depth}(x > 3) AS y FROM t"
    cases = "".join(f"CASE WHEN x = {i} THEN {i} ELSE " for i in range(depth))
    return f"SELECT id, {cases}x{' END' * depth} AS y FROM t"


@pytest.mark.parametrize("kind", ["redundant", "sum", "case"])
@pytest.mark.one_in(3)
def test_200_nested_expressions_are_followed(rv: Rollview, kind: str) -> None:
    follows(rv, nested(kind, 200))


def test_60_nested_subqueries_are_followed(rv: Rollview) -> None:
    follows(rv, nested("subquery", 60))


def test_5000_nots_are_refused_in_our_words(rv: Rollview) -> None:
    with pytest.raises(UserError, match=r"depth|deeply"):
        rv.create("v", nested("not", 5000))


@pytest.mark.parametrize("kind", ["redundant", "sum", "case", "subquery"])
@pytest.mark.one_in(2)
def test_what_nests_too_deeply_is_refused_in_our_words(rv: Rollview, kind: str) -> None:
    before = sys.getrecursionlimit(), threading.stack_size(), threading.active_count()
    for run, depth in ((lambda sql: rv.create("v", sql), 5000), (rv.sql, 1500)):
        with pytest.raises(Unsupported) as error:
            run(nested(kind, depth))
        assert error.value.what == "This SQL is nested too deeply"
        assert error.value.where is not None
        assert error.value.why
        assert error.value.todo
    assert (sys.getrecursionlimit(), threading.stack_size(), threading.active_count()) == before
    assert rv.views() == []


@pytest.mark.parametrize(
    "query",
    [
        " UNION ALL ".join(f"SELECT id, {i} AS k, x + {i} AS y FROM t WHERE x % 61 = {i}" for i in range(61)),
        " UNION ".join(f"SELECT x + {i} AS y FROM t" for i in range(61)),
        "SELECT id, x FROM t WHERE " + " OR ".join(f"(x = {i} AND id > {i % 7})" for i in range(300)),
        "SELECT id, x FROM t WHERE " + " AND ".join(f"x <> {i}" for i in range(100, 700)),
        "SELECT id, x FROM t WHERE x IN (" + ", ".join(map(str, range(3000))) + ")",
        "SELECT id, " + ", ".join(f"x + {i} AS c{i}" for i in range(300)) + " FROM t",
        "SELECT a0.id" + "".join(f", a{i}.x AS x{i}" for i in range(16)) + " FROM t a0"
        + "".join(f" JOIN t a{i} ON a{i}.id = a{i - 1}.id" for i in range(1, 16)),
    ],
    ids=["union all", "union", "or", "and", "in", "columns", "joins"],
)  # fmt: skip
@pytest.mark.one_in(3)
def test_wide_queries_are_followed(rv: Rollview, query: str) -> None:
    follows(rv, query)


@pytest.mark.parametrize(
    "query",
    [
        "SELECT p.id, p.n + q.n AS n FROM g p LEFT JOIN g q ON p.n = q.n",
        "SELECT p.id, q.n FROM g p FULL JOIN (SELECT * FROM g WHERE n > 5) q ON p.id = q.id",
        "SELECT id, n FROM g WHERE n > (SELECT avg(n) FROM g) AND n >= (SELECT min(n) FROM g)",
        "SELECT id, n FROM g p WHERE EXISTS (SELECT 1 FROM g q WHERE q.n = p.n + 1)",
        "SELECT id, n FROM g WHERE EXISTS (SELECT 1 FROM g) AND id IN (SELECT n FROM g)",
        "SELECT id, n FROM g WHERE id NOT IN (SELECT n FROM g WHERE n IS NOT NULL)",
        "SELECT id, n, (SELECT count(*) FROM g q WHERE q.n = p.n) AS same FROM g p",
        "SELECT id, n FROM g UNION ALL SELECT n, id FROM g UNION ALL SELECT id, n + 1 FROM g",
        "SELECT id FROM g INTERSECT SELECT n FROM g",
        "SELECT n, id, count(*) AS c, sum(id) AS s FROM g GROUP BY ROLLUP (n, id)",
        "SELECT p.id, p.n FROM g p, (SELECT max(n) AS m FROM g) q WHERE p.n = q.m",
        "SELECT h.id, h.n FROM (SELECT id, n, row_number() OVER (PARTITION BY n ORDER BY id) AS r FROM g) h JOIN g ON g.id = h.id WHERE r = 1",
        "SELECT a.m AS m1, b.m AS m2 FROM (SELECT max(n) AS m FROM g) a CROSS JOIN (SELECT max(n) AS m FROM g) b",
    ],
)
@pytest.mark.parametrize(
    "g", ["SELECT id, max(x) AS n FROM t GROUP BY id", "SELECT a.id, b.x AS n FROM t a JOIN t b ON a.id = b.x"]
)
@pytest.mark.one_in(5)
def test_views_that_read_a_cte_several_times(rv: Rollview, g: str, query: str) -> None:
    follows(rv, f"WITH g AS ({g}) {query}")


def test_one_row_that_is_compared_twice(rv: Rollview) -> None:
    one = "WITH o AS (SELECT avg(x) AS a, max(x) AS m FROM t WHERE x IS NOT NULL)"
    follows(
        rv,
        f"{one} SELECT id FROM t WHERE x > (SELECT a FROM o) AND x < (SELECT a + 9 FROM o) AND EXISTS (SELECT 1 FROM o)",
    )


def test_ctes_that_double_each_other_are_followed(rv: Rollview) -> None:
    follows(rv, doubling(6).replace("FROM r", "FROM t").replace("k", "id"))


def test_a_union_of_types_keeps_the_types_of_its_columns(rv: Rollview) -> None:
    sides = ["SELECT id, CAST(x AS SMALLINT) AS y FROM t"] + [
        f"SELECT id, CAST(x + {i} AS BIGINT) AS y FROM t" for i in range(5)
    ]
    follows(rv, " UNION ALL ".join([*sides, "SELECT id, CAST(x AS DECIMAL(12, 2)) FROM t WHERE x > 3"]))


# TPC-DS 14: three channels, two CTEs that each of them reads, and a roll-up


@pytest.fixture(scope="module")
def channels() -> Rollview:
    rv = connect("duckdb:")
    for statement in Retailer(3).start():
        rv.sql(statement)
    return rv


def test_tpcds_14_is_explained_in_less_than_60000_characters(channels: Rollview) -> None:
    (query,) = [query for query in queries() if query.name == "q14a"]
    channels.create("q14a", query.sql, policy="INCREMENTAL")
    text = channels.explain("q14a", verbose=True)
    assert len(text) < 60_000
    assert sum(line.startswith("    step") for line in text.splitlines()) < 16


def test_a_second_refresh_compiles_nothing(channels: Rollview, monkeypatch: pytest.MonkeyPatch) -> None:
    (query,) = [query for query in queries() if query.name == "q14b"]
    channels.create("q14b", query.sql, policy="INCREMENTAL")
    calls: list[str] = []

    def counted(name: str, function: Callable[..., object]) -> Callable[..., object]:
        def run(*args: object, **kwargs: object) -> object:
            calls.append(name)
            return function(*args, **kwargs)

        return run

    for module, name in ((choose, "first_that_applies"), (query_module, "compile_view")):
        monkeypatch.setattr(module, name, counted(name, getattr(module, name)))
    for number in range(2):
        channels.sql(f"INSERT INTO item (i_item_sk, i_brand_id) VALUES ({90000 + number}, 1)")
        assert channels.refresh("q14b").strategy != "full"
        assert channels.verify("q14b").ok
    assert calls == ["first_that_applies"]


def test_the_tables_below_an_operator_are_known() -> None:
    plan = compiled(mentions(2)).plan
    assert plan.tables == {"r", "u"} == {node.table for node in plan.walk() if isinstance(node, Scan)}
