"""What the builder understands of a query, and that it refuses all else instead of leaving it out."""

from __future__ import annotations

import random
from collections import Counter

import duckdb
import pytest
import sqlglot
from sqlglot import exp

import duck
import generate
import shop
from rollview import NotIncremental, Rollview, connect
from rollview.codegen.printer import print_plan
from rollview.errors import NotDeterministic
from rollview.frontend.query import compile_view
from rollview.frontend.sql import (
    Unbuildable,
    bind,
    build_plan,
    from_clause,
    pivot,
    query,
    select,
    subqueries,
    understood,
)
from rollview.frontend.sql.context import Context
from rollview.frontend.sql.unique_names import Numbering
from rollview.parse.references import parse_query
from rollview.plan.expressions import Expr

_QUERY = (
    "match laterals joins connect pivots prewhere where group having qualify windows distribute sort cluster order "
    "limit offset locks sample settings format options for_"
)
_SET = f"with_ this expression distinct by_name side kind on {_QUERY}"

#: The arguments that the library's nodes have. If a new release of it adds one, the builder has to learn what it means,
#: or refuse it, and then it is listed here.
KNOWN: dict[type[Expr], str] = {
    exp.Select: f"with_ kind expressions hint distinct into from_ operation_modifiers exclude {_QUERY}",
    exp.Union: _SET,
    exp.Except: _SET,
    exp.Intersect: _SET,
    exp.Subquery: f"this alias with_ {_QUERY}",
    exp.Values: "expressions alias order limit offset pivots",
    exp.Table: "this alias db catalog laterals joins pivots hints system_time version format pattern ordinality when "
    "only partition changes rows_from sample indexed",
    exp.Join: "this on side kind using method global_ hint match_condition nearest directed expressions pivots",
    exp.Lateral: "this view outer alias cross_apply ordinality",
    exp.Pivot: "this alias expressions fields unpivot using group columns include_nulls default_on_null into with_ "
    "identify_pivot_strings prefixed_pivot_columns pivot_column_naming value_columns_first",
    exp.In: "this expressions query unnest field is_global",
    exp.Window: "this partition_by order spec alias over first",
    exp.Star: "except_ replace rename ilike",
    exp.Column: "this table db catalog join_mark shadow",
    exp.Exists: "this expression",
    exp.Explode: "this expressions",
    exp.Posexplode: "this expressions",
    exp.PosexplodeOuter: "this expressions",
    exp.Inline: "this",
    exp.Stack: "this expressions",
    exp.From: "this",
    exp.Where: "this",
    exp.Having: "this",
    exp.Qualify: "this",
    exp.With: "expressions recursive search cycle udfs",
    exp.CTE: "this alias scalar materialized key_expressions",
    exp.TableAlias: "this columns",
    exp.Distinct: "expressions on",
    exp.Group: "expressions grouping_sets cube rollup totals all",
    exp.GroupingSets: "expressions",
    exp.Rollup: "expressions",
    exp.Cube: "expressions",
    exp.Order: "this expressions siblings",
    exp.Ordered: "this desc nulls_first with_fill",
    exp.Limit: "this expression offset limit_options expressions",
    exp.Offset: "this expression expressions",
    exp.WindowSpec: "kind start start_side end end_side exclude",
}
OPENED = [(node, opening) for opening in understood.OPENINGS for node in opening.nodes]


def _context() -> Context:
    return Context("", lambda _: None, Numbering(), lambda *_: pytest.fail("nothing is built"))


def test_every_node_that_the_builder_reads_has_the_arguments_that_are_known() -> None:
    assert {node for node, _ in OPENED} == KNOWN.keys()
    for node, listed in KNOWN.items():
        assert sorted(node.arg_types) == sorted(listed.split()), f"arguments of {node.__name__}"


@pytest.mark.parametrize(("node", "opening"), OPENED)
def test_each_argument_is_understood_or_refused(node: type[Expr], opening: understood.Opening) -> None:
    assert opening.arguments.keys() <= node.arg_types.keys()
    for name in node.arg_types:
        known = opening.arguments.get(name)
        understood.only(_context(), node(**{name: False}), opening)
        if known is understood.ANY:
            understood.only(_context(), node(**{name: exp.to_identifier("x")}), opening)
            continue
        if known is not None:
            good = known() if isinstance(known, type) else min(known)  # type: ignore[call-overload]
            understood.only(_context(), node(**{name: good}), opening)
        for value in (True, "OTHER", [exp.to_identifier("x")], exp.Null()):
            with pytest.raises(Unbuildable, match="cannot be compiled yet"):
                understood.only(_context(), node(**{name: value}), opening)


#: Node types of which each must be opened, whatever it stands in.
RELATIONAL = (exp.Query, exp.From, exp.Join, exp.Table, exp.CTE, exp.With, exp.Lateral, exp.Pivot, exp.Group)


def test_no_part_of_a_query_is_read_without_being_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: set[tuple[str, str]] = set()
    original = understood.only

    def recorded(context: Context, node: Expr, opening: understood.Opening) -> None:
        opened.add((node.key, node.sql("spark")))
        original(context, node, opening)

    for module in (understood, bind, pivot, query, from_clause, select, subqueries):
        monkeypatch.setattr(module, "only", recorded)
    generated = [generate.Generator(random.Random(seed)).query() for seed in range(60)]
    texts = [(view.sql, duck.shop_tables()) for view in shop.views() if view.expect != "error"]
    for sql, tables in [*texts, *((sql, generate.TABLES) for sql in generated)]:
        opened.clear()
        tree = parse_query(sql)
        there = {(node.key, node.sql("spark")) for node in tree.find_all(*RELATIONAL)}
        build_plan(tree, sql, duck.finder(tables))
        assert there <= opened, sql


#: What cannot be planned, with the part that the error names.
REFUSED = {
    "SELECT r.k FROM r ASOF JOIN u ON r.a >= u.a": "ASOF JOIN",
    "SELECT r.k FROM r STRAIGHT_JOIN u": "STRAIGHT_JOIN JOIN",
    "SELECT r.k FROM r RIGHT SEMI JOIN u ON r.a = u.a": "RIGHT SEMI JOIN",
    "SELECT r.k, l.b FROM r RIGHT JOIN LATERAL (SELECT b FROM u WHERE u.a = r.a) l ON true": "RIGHT JOIN",
    "SELECT r.k, l.b FROM r FULL JOIN LATERAL (SELECT b FROM u WHERE u.a = r.a) l ON true": "FULL JOIN",
    "SELECT r.k, e.v FROM r LEFT JOIN LATERAL explode(array(r.a)) AS e(v) ON true": "LEFT JOIN",
    "SELECT r.k, e.v FROM r JOIN LATERAL explode(array(r.a)) AS e(v) ON v > 1": "v > 1",
    "SELECT r.k FROM r CROSS APPLY (SELECT b FROM u WHERE u.a = r.a) l": "CROSS_APPLY of LATERAL",
    "SELECT * FROM r WITH ORDINALITY": "ORDINALITY of TABLE",
    "SELECT * FROM r x WITH (NOLOCK)": "NOLOCK",
    "SELECT * FROM r FOR UPDATE": "FOR UPDATE",
    "SELECT * INTO q FROM r": "SELECT INTO",
    "SELECT AS STRUCT k FROM r": "SELECT AS",
    "SELECT DISTINCT ON (a) a, b FROM r": "DISTINCT ON",
    "SELECT k FROM r START WITH k = 1 CONNECT BY k = a": "CONNECT BY",
    "SELECT k FROM r SORT BY k": "SORT BY",
    "SELECT k FROM r CLUSTER BY k": "CLUSTER BY",
    "SELECT k FROM r DISTRIBUTE BY k": "DISTRIBUTE BY",
    "SELECT a FROM r UNION BY NAME SELECT a FROM u": "BY NAME",
    "SELECT a FROM r LEFT OUTER UNION SELECT a FROM u": "LEFT UNION",
    "SELECT a, count(*) AS n FROM r GROUP BY a WITH TOTALS": "WITH TOTALS",
    "SELECT a, count(*) AS n FROM r GROUP BY DISTINCT a": "GROUP BY DISTINCT",
    "SELECT k FROM r ORDER BY k WITH FILL": "WITH FILL",
    "SELECT k FROM r ORDER BY k FETCH FIRST 3 ROWS WITH TIES": "FETCH FIRST 3 ROWS WITH TIES",
    "SELECT k FROM r ORDER BY k LIMIT 10 PERCENT": "LIMIT with PERCENT or TIES",
    "SELECT k FROM r ORDER BY k LIMIT 3 BY a": "a cannot",
    "SELECT sum(a) OVER (ORDER BY k ROWS BETWEEN 1 PRECEDING AND CURRENT ROW EXCLUDE CURRENT ROW) AS s FROM r": "EXCLUDE",
    "SELECT * REPLACE (1 AS a) FROM r": "1 AS a",
    "SELECT * RENAME (a AS z) FROM r": "a AS z",
    "SELECT * ILIKE '%a' FROM r": "%a",
    "SELECT r.k FROM r LEFT JOIN u ON r.a IN (SELECT a FROM w WHERE w.k = u.b)": "a subquery in ON that reads columns of both sides",
    "WITH q AS MATERIALIZED (SELECT k FROM r) SELECT * FROM q": "MATERIALIZED of CTE",
    "WITH RECURSIVE q AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM q WHERE n < 9) SEARCH DEPTH FIRST BY n SET o SELECT n FROM q": "SEARCH",
    "WITH RECURSIVE q AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM q LIMIT 5) SELECT n FROM q": "LIMIT 5",
    "SELECT * FROM r PIVOT (sum(b) FOR s IN (ANY))": "PIVOT over any value",
    "SELECT * FROM r PIVOT (sum(b) FOR s IN ('p') DEFAULT ON NULL (0))": "0 cannot",
    "SELECT * FROM r PIVOT (sum(b) FOR s IN ('p') GROUP BY k)": "GROUP BY",
    "SELECT * FROM r PIVOT (sum(b) FOR s IN (SELECT s FROM x))": "a subquery at this place",
    "SELECT * FROM r@v3": "v3",
    "FROM r |> WHERE a > 1 |> LIMIT 3 |> WHERE b > 1": "|> WHERE at this place",
    "FROM r |> ORDER BY a |> LIMIT 3 |> ORDER BY b |> LIMIT 2": "|> ORDER at this place",
    "FROM r |> LIMIT 3 |> AGGREGATE count(*) AS n": "|> AGGREGATE at this place",
    "FROM r |> WHERE b > 1 |> RIGHT JOIN u ON r.a = u.a": "|> RIGHT at this place",
    "SELECT k FROM r WHERE k IN (FROM w |> LIMIT 1 |> SELECT k)": "|> SELECT at this place",
}  # fmt: skip


@pytest.mark.parametrize("sql", REFUSED)
def test_what_is_not_understood_is_refused_and_named(sql: str) -> None:
    with pytest.raises(Unbuildable) as caught:
        compile_view(sql, duck.finder(generate.TABLES))
    assert "cannot be compiled yet" in caught.value.what
    assert REFUSED[sql].casefold() in caught.value.what.casefold()


#: What was left out once, and is planned now.
PLANNED = {
    "a limit that is none": "SELECT k FROM r ORDER BY k LIMIT ALL",
    "joins in a join": "SELECT r.k, w.l FROM r JOIN u JOIN w ON u.a = w.a ON r.a = u.a",
    "a left join of a join": "SELECT r.k, w.l FROM r LEFT JOIN u JOIN w ON u.a = w.a ON r.a = u.a",
    "an alias of joined tables": "SELECT q.k, q.l FROM (r JOIN (SELECT l, a AS c FROM w) v ON r.a = v.c) q",
    "an alias of a query with an alias": "SELECT q.m FROM ((SELECT k, a FROM r) x) q(n, m)",
    "a limit around a query in parentheses": "SELECT * FROM ((SELECT k FROM r) ORDER BY k LIMIT 2)",
    "a limit around a subquery of IN": "SELECT k FROM r WHERE k IN ((SELECT k FROM w) ORDER BY k DESC LIMIT 1)",
    "a limit around a scalar": "SELECT k, ((SELECT a FROM u) ORDER BY a LIMIT 1) AS m FROM r",
    "a limit of no rows in EXISTS": "SELECT k FROM r WHERE EXISTS (((SELECT a FROM u) ORDER BY a LIMIT 0))",
    "a limit of VALUES": "WITH q(n) AS (VALUES (3), (1), (2) ORDER BY 1 LIMIT 2) SELECT n FROM q",
    "ORDER BY ALL": "SELECT a, b FROM r ORDER BY ALL LIMIT 2",
    "ORDER BY ALL around a union": "(SELECT a FROM r) UNION ALL (SELECT b FROM u) ORDER BY ALL DESC LIMIT 3",
    "a pipe": "FROM r |> WHERE a > 1 |> LEFT JOIN x ON r.s = x.s |> EXTEND a + 1 AS c |> WHERE c > 1 |> AGGREGATE count(*) AS n GROUP BY c |> WHERE n > 1",
    "a pipe in a query": "SELECT k FROM r WHERE k IN (FROM w |> SELECT k |> ORDER BY k |> LIMIT 1)",
    "a hint": "SELECT /*+ BROADCAST(u) */ r.k FROM r JOIN u ON r.a = u.a",
}


@pytest.mark.parametrize("title", PLANNED)
@pytest.mark.one_in(3)
def test_every_clause_of_what_is_planned_counts(title: str) -> None:
    sql = PLANNED[title]
    plan = compile_view(sql, duck.finder(generate.TABLES)).plan
    original, printed = sqlglot.transpile(sql, read="spark", write="duckdb")[0], print_plan(plan, "duckdb")
    db, seen = duckdb.connect(), Counter[int]()
    for seed in range(25):
        generate.fill(db, random.Random(seed), rows=6)
        expected = duck.result(db, original)
        assert duck.result(db, printed) == expected, f"seed {seed}"
        seen[expected.total()] += 1
    assert len(seen) > 1 or title == "a limit of VALUES" or "of no rows" in title


@pytest.fixture
def tables() -> Rollview:
    rv = connect("duckdb:")
    rv.sql(
        "CREATE TABLE a (id INT, t INT, PRIMARY KEY (id)); CREATE TABLE b (id INT, t INT, PRIMARY KEY (id));"
        "INSERT INTO a VALUES (1, 10), (2, 20); INSERT INTO b VALUES (1, 5), (2, 15), (3, 18)"
    )
    return rv


ASOF = "SELECT a.id, b.id AS other FROM a ASOF JOIN b ON a.t >= b.t"


def test_a_join_that_is_not_understood_is_recomputed_and_named(tables: Rollview) -> None:
    tables.create("v", ASOF)
    assert sorted(tables.table("v").fetchall()) == [(1, 1), (2, 3)]  # type: ignore[operator]
    tables.sql("INSERT INTO b VALUES (4, 9)")
    result = tables.refresh("v")
    assert (result.strategy, result.reason, result.part) == ("full", "not_compiled", "ASOF JOIN cannot be compiled yet")
    assert result.explanation.endswith("ASOF JOIN cannot be compiled yet")
    assert sorted(tables.table("v").fetchall()) == [(1, 4), (2, 3)]  # type: ignore[operator]
    assert tables.verify("v").ok
    assert "none: ASOF JOIN cannot be compiled yet" in tables.explain("v", verbose=True)
    with pytest.raises(NotIncremental, match="ASOF JOIN cannot be compiled yet"):
        tables.create("w", ASOF, policy="INCREMENTAL")
    assert [view.name for view in tables.views()] == ["v"]


#: What gives other rows each time, and the part of the text that is underlined.
CHANCE = {
    "SELECT id FROM a TABLESAMPLE (10 PERCENT)": "TABLESAMPLE (10 PERCENT)",
    "SELECT id FROM a TABLESAMPLE (5 ROWS) x": "TABLESAMPLE (5 ROWS)",
    "SELECT id FROM a TABLESAMPLE (BUCKET 1 OUT OF 4)": "TABLESAMPLE (BUCKET 1 OUT OF 4)",
    "SELECT 'TABLESAMPLE (1 ROWS)' AS s, id FROM a TABLESAMPLE (10 PERCENT) REPEATABLE (7)": "TABLESAMPLE (10 PERCENT)",
    "SELECT * FROM (SELECT id FROM a) TABLESAMPLE (50 PERCENT)": "TABLESAMPLE (50 PERCENT)",
    "WITH q AS (SELECT id FROM b TABLESAMPLE (1 ROWS)) SELECT a.id FROM a JOIN q ON a.id = q.id": "TABLESAMPLE (1 ROWS)",
    "SELECT id, reflect('java.util.UUID', 'randomUUID') AS u FROM a": "reflect('java.util.UUID', 'randomUUID')",
    "SELECT id, java_method('java.lang.Math', 'random') AS u FROM a": "java_method('java.lang.Math', 'random')",
    "SELECT id, try_reflect('java.lang.System', 'nanoTime') AS u FROM a": "try_reflect('java.lang.System', 'nanoTime')",
    "SELECT id FROM a WHERE rand() < 0.5": "rand()",
}  # fmt: skip


@pytest.mark.parametrize("query", CHANCE)
def test_what_depends_on_chance_is_refused_and_underlined(tables: Rollview, query: str) -> None:
    _refused_for_chance(tables, query)


def test_what_depends_on_chance_is_refused_on_spark_too(rv: Rollview) -> None:
    rv.sql("CREATE TABLE a (id INT, t INT); CREATE TABLE b (id INT, t INT)")
    for text in CHANCE:
        _refused_for_chance(rv, text)


def _refused_for_chance(rv: Rollview, query: str) -> None:
    for policy in ("AUTO", "FULL"):
        with pytest.raises(NotDeterministic) as caught:
            rv.create("v", query, policy=policy)
        where = caught.value.where
        assert where is not None
        underlined = where.sql[where.start : where.stop]
        assert underlined.startswith(CHANCE[query].split("(")[0].strip())
        assert CHANCE[query].startswith(underlined)
    assert rv.views() == []
