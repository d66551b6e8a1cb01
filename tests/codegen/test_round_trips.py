"""Round trips: the plan of a query, printed again, returns what the query returns."""

from __future__ import annotations

import random
from pathlib import Path

import duckdb
import pytest
import sqlglot
from pyspark.sql import SparkSession

import duck
import facts_hold
import generate
import shop
from compare import bag
from rollview import Rollview, RollviewError
from rollview.bench import tpch as tpch_suite
from rollview.codegen.printer import DIALECTS, print_plan
from rollview.frontend.query import compile_view
from rollview.frontend.sql import BaseTable, Unbuildable, build_plan
from rollview.parse.references import parse_query
from rollview.plan.nodes import Node, show_plan
from rollview.plan.rewrite import RULES, apply_rule

VIEWS = {view.name: view for view in shop.views()}
GOOD = [name for name, view in VIEWS.items() if view.expect != "error"]
BAD = [name for name, view in VIEWS.items() if view.expect == "error"]

#: DuckDB's reading of the text is wrong here: the library that translates it drops OUTER, and takes a percentile that
#: interpolates for one that does not.
LOST_IN_TRANSLATION: dict[str, dict[tuple[object, ...], int]] = {
    "explode_outer_count": {(None, 2): 1, ("gift", 3): 1, ("light", 1): 1, ("desk", 2): 1, ("indoor", 1): 1},
    "agg_percentile": {("home", 7.0): 1, ("cart", 26.0): 1, ("help", 0.0): 1},
}


@pytest.fixture(scope="module")
def db() -> duckdb.DuckDBPyConnection:
    db = duckdb.connect()
    for sql in shop.schema():
        duck.execute_spark_sql(db, sql)
    return db


@pytest.mark.parametrize("name", GOOD)
@pytest.mark.one_in(4)
def test_every_conformance_view_survives_the_round_trip_on_duckdb(db: duckdb.DuckDBPyConnection, name: str) -> None:
    sql = VIEWS[name].sql
    compiled = compile_view(sql, duck.finder(duck.shop_tables()))
    assert not compiled.plan.free
    expected = LOST_IN_TRANSLATION.get(name) or duck.result(db, sqlglot.transpile(sql, read="spark", write="duckdb")[0])
    assert duck.result(db, print_plan(compiled.plan, "duckdb")) == expected
    assert duck.result(
        db, print_plan(compiled.keyed.plan, "duckdb", [c.name for c in compiled.keyed.plan.columns])
    ).total() == sum(expected.values())
    for dialect in DIALECTS:
        assert sqlglot.parse_one(print_plan(compiled.plan, dialect), read=dialect)


@pytest.fixture(scope="module")
def tpch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with TPC-H's tables at scale 0.01."""
    folder = tmp_path_factory.mktemp("tpch")
    duck.make_tpch(folder)
    return folder


@pytest.mark.parametrize("name", sorted(tpch_suite.queries()))
@pytest.mark.one_in(4)
def test_every_query_of_tpch_survives_the_round_trip_on_duckdb(tpch: Path, name: str) -> None:
    sql = tpch_suite.queries()[name]
    with duckdb.connect() as db:
        for table in tpch_suite.TABLES:
            db.execute(f"CREATE VIEW {table} AS FROM '{tpch}/{table}.parquet'")
        compiled = compile_view(sql, duck.finder(tpch_suite.TABLES))
        expected = duck.result(db, sqlglot.transpile(sql, read="spark", write="duckdb")[0])
        assert duck.result(db, print_plan(compiled.plan, "duckdb")) == expected
    assert compiled.reason is None


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(tpch_suite.queries()))
def test_every_query_of_tpch_survives_the_round_trip_on_spark(spark: SparkSession, tpch: Path, name: str) -> None:
    session = spark.newSession()
    for table in tpch_suite.TABLES:
        session.read.parquet(f"{tpch}/{table}.parquet").createOrReplaceTempView(table)
    _round_trip(session, tpch_suite.queries()[name], tpch_suite.TABLES)


SAMPLE = ("join_using", "full_join", "anti_not_in_nullable", "mark_in_select_list", "agg_rollup", "agg_percentile", "except_all",
          "window_range_frame", "top_k_of_groups", "scalar_correlated", "explode_outer_count", "pivot", "recursive_referrals",
          "deep_mix", "current_time")  # fmt: skip


@pytest.fixture(scope="module")
def spark_shop(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Rollview:
    from rollview import connect

    rv = connect(tmp_path_factory.mktemp("shop"), spark=spark.newSession())
    for sql in shop.schema():
        rv.sql(sql)
    rv.store.sync(set(shop.TABLES))
    return rv


def _round_trip(spark: SparkSession, sql: str, tables: dict[str, BaseTable]) -> None:
    compiled = compile_view(sql, duck.finder(tables))
    original, printed = spark.sql(sql), spark.sql(print_plan(compiled.plan, "spark"))
    assert printed.columns == original.columns
    assert [f.dataType for f in printed.schema] == [f.dataType for f in original.schema]
    assert bag(printed) == bag(original)


@pytest.mark.parametrize("name", SAMPLE)
@pytest.mark.one_in(3)
def test_some_conformance_views_survive_the_round_trip_on_spark(spark_shop: Rollview, name: str) -> None:
    _round_trip(spark_shop.spark, VIEWS[name].sql, duck.shop_tables())


@pytest.mark.slow
@pytest.mark.parametrize("name", GOOD)
def test_every_conformance_view_survives_the_round_trip_on_spark(spark_shop: Rollview, name: str) -> None:
    _round_trip(spark_shop.spark, VIEWS[name].sql, duck.shop_tables())


@pytest.mark.parametrize("name", BAD)
def test_what_cannot_be_a_view_is_refused_and_underlined(spark_shop: Rollview, name: str) -> None:
    with pytest.raises(RollviewError) as caught:
        spark_shop.create(name, VIEWS[name].sql)
    assert caught.value.where is not None
    assert "^" in str(caught.value)
    assert spark_shop.views() == []


MORE = {
    "lateral alias": "SELECT qty * 2 AS d, d + 1 AS e FROM items",
    "group by all": "SELECT city, count(*) AS n FROM customers GROUP BY ALL",
    "natural join": "SELECT * FROM orders NATURAL JOIN items",
    "full using": "SELECT * FROM visits FULL JOIN blocked USING (cust_id)",
    "an alias that is the name of a column": "SELECT cust_id.cust_id, city, x.n FROM customers cust_id LEFT JOIN (SELECT cust_id, count(*) AS n FROM orders GROUP BY cust_id) x ON cust_id.cust_id = x.cust_id",
    "star except": "SELECT * EXCEPT (tags) FROM products",
    "lateral with both sides": "SELECT c.name, l.x FROM customers c, LATERAL (SELECT o.order_id + c.cust_id AS x FROM orders o WHERE o.cust_id = c.cust_id) l",
    "lateral limit": "SELECT c.name, l.order_id FROM customers c, LATERAL (SELECT order_id FROM orders o WHERE o.cust_id = c.cust_id ORDER BY order_id DESC LIMIT 1) l",
    "lateral aggregate": "SELECT c.name, l.n FROM customers c, LATERAL (SELECT count(*) AS n FROM orders o WHERE o.cust_id = c.cust_id) l",
    "correlated without equality": "SELECT c.name, (SELECT count(*) FROM orders o WHERE o.cust_id < c.cust_id) AS n FROM customers c",
    "correlated with an expression": "SELECT c.name, (SELECT max(o.order_id) + c.cust_id FROM orders o WHERE o.cust_id + 1 = c.cust_id) AS n FROM customers c",
    "exists over a union": "SELECT name FROM customers c WHERE EXISTS (SELECT cust_id FROM orders o WHERE o.cust_id = c.cust_id UNION ALL SELECT cust_id FROM visits v WHERE v.cust_id = c.cust_id)",
    "in over groups": "SELECT order_id FROM orders o WHERE 2 IN (SELECT count(*) FROM items i WHERE i.order_id = o.order_id GROUP BY prod_id)",
    "nested correlation": "SELECT name FROM customers c WHERE EXISTS (SELECT 1 FROM orders o WHERE o.cust_id = c.cust_id AND EXISTS (SELECT 1 FROM items i WHERE i.order_id = o.order_id AND i.qty > 1))",
    "not in with null": "SELECT cust_id FROM orders WHERE cust_id NOT IN (SELECT referrer_id FROM customers)",
    "mark of not in": "SELECT order_id, cust_id NOT IN (SELECT cust_id FROM blocked) AS free FROM orders",
    "quantified": "SELECT prod_id FROM products WHERE price >= ALL (SELECT goal FROM targets WHERE month = 4) OR price < ANY (SELECT goal FROM targets WHERE city = 'Lima')",
    "having subquery": "SELECT cust_id, count(*) AS n FROM orders GROUP BY cust_id HAVING count(*) >= (SELECT avg(qty) FROM items) OR cust_id IN (SELECT cust_id FROM blocked)",
    "qualify": "SELECT order_id, line FROM items QUALIFY row_number() OVER (PARTITION BY order_id ORDER BY qty DESC, line) = 1",
    "window over groups": "SELECT city, count(*) AS n, sum(count(*)) OVER (ORDER BY city) AS running FROM customers GROUP BY city",
    "order by hidden": "SELECT name FROM customers ORDER BY cust_id DESC LIMIT 2",
    "union limit": "SELECT cust_id FROM orders UNION SELECT cust_id FROM visits ORDER BY cust_id LIMIT 3",
    "cte with columns": "WITH a(x, y) AS (SELECT cust_id, count(*) FROM orders GROUP BY cust_id) SELECT * FROM a t(p, q) WHERE q > 1",
    "scalar in select over nothing": "SELECT (SELECT sum(qty) FROM items WHERE qty > 1000) AS s, (SELECT count(*) FROM items WHERE qty > 1000) + 1 AS c",
    "grouping": "SELECT city, segment, grouping(city) AS g, count(*) AS n FROM customers GROUP BY ROLLUP (city, segment)",
    "case in group": "SELECT CASE WHEN qty > 1 THEN 'many' ELSE 'one' END AS k, sum(qty) AS s FROM items GROUP BY 1",
    "a group that nobody looks at": "SELECT a.page FROM visits a CROSS JOIN (SELECT count(*) AS n FROM blocked WHERE cust_id > 99) q",
    "a union that nobody looks at": "SELECT count(*) AS n FROM (SELECT cust_id FROM visits UNION ALL SELECT cust_id FROM orders) q",
    "self join thrice": "SELECT a.page FROM visits a, visits b, visits c WHERE a.cust_id = b.cust_id AND b.cust_id = c.cust_id AND a.seconds > 5",
}  # fmt: skip


@pytest.mark.parametrize("title", MORE)
def test_more_of_the_language(db: duckdb.DuckDBPyConnection, title: str) -> None:
    sql = MORE[title]
    plan = compile_view(sql, duck.finder(duck.shop_tables())).plan
    assert not plan.free, show_plan(plan)
    expected = duck.result(db, sqlglot.transpile(sql, read="spark", write="duckdb")[0])
    assert duck.result(db, print_plan(plan, "duckdb")) == expected, show_plan(plan)


@pytest.mark.slow
@pytest.mark.parametrize("start", range(0, 5000, 250))
def test_random_queries_survive_the_round_trip_and_their_keys_are_true(start: int) -> None:
    _random_round_trips(start, start + 250)


def test_some_random_queries_survive_the_round_trip_and_their_keys_are_true() -> None:
    _random_round_trips(100_000, 100_040)


#: DuckDB contradicts itself here: EXISTS over a query that returns four rows is false.
MISREAD_BY_DUCKDB = {2312}


def _settles(plan: Node) -> bool:
    """Whether a round comes in which no rule fires."""
    for _ in range(12):
        before = plan
        for rule in RULES:
            plan = apply_rule(plan, rule)
        if plan == before:
            return True
    return False


def _random_round_trips(first: int, last: int) -> None:
    """As built and as normalised, each query returns what its text returns; and every key holds."""
    db = duckdb.connect()
    for seed in range(first, last):
        if seed % 20 == 0 or seed == first:
            generate.fill(db, random.Random(seed))
        if seed in MISREAD_BY_DUCKDB:
            continue
        sql = generate.Generator(random.Random(seed)).query()
        expected = duck.result(db, sqlglot.transpile(sql, read="spark", write="duckdb")[0])
        tables = duck.finder(generate.TABLES)
        compiled = compile_view(sql, tables)
        built = build_plan(parse_query(sql), sql, tables)
        assert _settles(built), f"seed {seed}: the rules chase each other"
        for plan in (built, compiled.plan):
            assert duck.result(db, print_plan(plan, "duckdb")) == expected, f"seed {seed}: {sql}\n{show_plan(plan)}"
        for node in compiled.keyed.plan.walk():
            if node.columns and not node.free:
                facts_hold.check(db, f"seed {seed}: {sql}", node)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT order_id FROM orders DISTRIBUTE BY order_id",
        "SELECT o.order_id FROM orders o LEFT JOIN items i ON o.order_id = i.order_id AND i.prod_id IN (SELECT prod_id FROM products WHERE prod_id = o.order_id)",
    ],
)
def test_what_cannot_be_compiled_says_so(sql: str) -> None:
    with pytest.raises(Unbuildable, match="cannot be compiled yet"):
        compile_view(sql, duck.finder(duck.shop_tables()))


@pytest.mark.parametrize(
    ("written", "printed"),
    [
        ("to_char(unix_date(placed), '99G999')", "TO_CHAR(UNIX_DATE(`placed`), '99G999')"),
        ("max_by(status, order_id, 2)", "MAX_BY(`status`, `order_id`, 2)"),
        ("listagg(status)", "LISTAGG(`status`, '')"),
        ("percentile_cont(0.5) WITHIN GROUP (ORDER BY cust_id)", "PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY"),
        ("percentile_disc(0.5) WITHIN GROUP (ORDER BY cust_id)", "PERCENTILE_DISC(0.5) WITHIN GROUP (ORDER BY"),
        ("is_variant_null(parse_json(status))", "IS_VARIANT_NULL(PARSE_JSON(`status`))"),
        ("levenshtein(status, channel, 2)", "LEVENSHTEIN(`status`, `channel`, 2)"),
        ("any(status = 'paid')", "BOOL_OR(`status` = 'paid')"),
        ("theta_sketch_agg(cust_id)", "THETA_SKETCH_AGG(`cust_id`)"),
    ],
)
def test_functions_reach_spark_as_they_were_written(written: str, printed: str) -> None:
    """The library that reads and prints SQL would make something else of each of these."""
    plan = compile_view(f"SELECT {written} AS x FROM orders", duck.finder(duck.shop_tables())).plan
    assert printed in " ".join(print_plan(plan, "spark").split())


def test_a_plan_prints_as_indented_text(db: duckdb.DuckDBPyConnection) -> None:
    sql = "SELECT city, count(*) AS n FROM customers WHERE segment = 'gold' GROUP BY city HAVING count(*) > 1"
    plan = compile_view(sql, duck.finder(duck.shop_tables())).plan
    assert show_plan(plan).splitlines() == [
        "project t0_city, t1_count",
        "  filter t1_count > 1",
        "    aggregate by t0_city [COUNT(*) AS t1_count]",
        "      filter t0_segment = 'gold'",
        "        scan customers [t0_cust_id, t0_city, t0_segment]",
    ]


def test_a_time_dependent_view_is_recomputed_at_every_refresh(rv: Rollview) -> None:
    rv.sql("CREATE TABLE t (d DATE); INSERT INTO t VALUES (DATE'2025-01-01')")
    rv.create("v", "SELECT d < current_date() AS past FROM t")
    assert rv.refresh("v").reason == "time_dependent"
    assert "time_dependent" in rv.explain("v")


def test_explain_shows_plan_key_and_sql(rv: Rollview) -> None:
    rv.sql("CREATE TABLE t (id INT, g STRING, PRIMARY KEY (id))")
    rv.create("v", "SELECT g FROM t WHERE g > 'a'")
    text = rv.explain("v", verbose=True)
    for part in (
        "project t0_g",
        "filter t0_g > 'a'",
        "scan t [t0_id, t0_g]",
        "key: t0_id (hidden)",
        "WHERE `g` > 'a'",
    ):
        assert part in text


def test_compiling_needs_no_spark() -> None:
    for room in ("plan", "keys", "frontend", "delta", "codegen", "state", "strategy"):
        for file in (Path(__file__).parents[2] / "src" / "rollview" / room).rglob("*.py"):
            assert "pyspark" not in file.read_text(encoding="utf-8"), file


def test_a_registered_function_must_be_declared_deterministic(rv: Rollview) -> None:
    rv.sql("CREATE TABLE t (a INT); INSERT INTO t VALUES (1), (2)")
    rv.spark.udf.register("twice", lambda value: value * 2, "int")
    with pytest.raises(RollviewError, match=r"twice is not a function of Spark(.|\n)*declare_deterministic"):
        rv.create("v", "SELECT twice(a) AS b FROM t")
    with pytest.raises(RollviewError, match=r"Spark has no function named uper(.|\n)*did you mean `upper`"):
        rv.create("v", "SELECT uper(string(a)) AS b FROM t")
    rv.declare_deterministic("TWICE")
    rv.create("v", "SELECT twice(a) AS b, crc32(string(a)) AS c FROM t")
    assert sorted(row.b for row in rv.table("v").collect()) == [2, 4]
    assert rv.verify("v").ok


@pytest.mark.parametrize(
    "query",
    [
        "SELECT s.* FROM t",
        "SELECT transform(sequence(1, a), x -> x + a) AS l, s.f AS f FROM t",
        "SELECT * FROM t CLUSTER BY a",
        "SELECT a, n, w FROM t LATERAL VIEW inline(array(struct(1, 'x'))) i AS n, w",
        "SELECT stack(2, a, a + 1) AS b FROM t",
        "SELECT * FROM t UNPIVOT (v FOR c IN (a)) u",
    ],
)
def test_what_spark_takes_and_the_compiler_may_not_is_still_a_view(rv: Rollview, query: str) -> None:
    rv.sql("CREATE TABLE t (a INT, s STRUCT<f: INT>); INSERT INTO t VALUES (1, named_struct('f', 7))")
    rv.create("v", query)
    rv.sql("INSERT INTO t VALUES (2, named_struct('f', 8))")
    assert rv.refresh("v").reason in ("not_compiled", None)
    assert rv.verify("v").ok
