"""Statements, names and references, without Spark."""

from __future__ import annotations

import pytest

from rollview import connect
from rollview.errors import SqlSyntaxError, Unsupported
from rollview.parse.names import parse_name, quote_name
from rollview.parse.references import references, substitute
from rollview.parse.tables import (
    CreateTable,
    Delete,
    DropPlainView,
    DropTable,
    Insert,
    Merge,
    ShowTables,
    Update,
    When,
    parse_table_statement,
)
from rollview.parse.tokens import SqlTokens, split_script
from rollview.parse.views import (
    CreateView,
    DescribeView,
    DropView,
    ExplainView,
    Policy,
    RefreshView,
    ShowViews,
    parse_view_statement,
)


@pytest.mark.parametrize(
    ("sql", "statement"),
    [
        ("create materialized view v as select 1 as a", CreateView(("v",), "select 1 as a")),
        (
            "CREATE OR REPLACE MATERIALIZED VIEW `my v` COMMENT 'it''s' REFRESH POLICY INCREMENTAL STRICT AS\n SELECT 1 ;",
            CreateView(("my v",), "SELECT 1", Policy.STRICT, "it's", or_replace=True),
        ),
        (
            "CREATE MATERIALIZED VIEW IF NOT EXISTS a.b REFRESH POLICY FULL AS WITH x AS (SELECT 1) SELECT * FROM x",
            CreateView(("a", "b"), "WITH x AS (SELECT 1) SELECT * FROM x", Policy.FULL, if_not_exists=True),
        ),
        ("CREATE MATERIALIZED VIEW `select` AS SELECT 1 -- end", CreateView(("select",), "SELECT 1 -- end")),
        ("REFRESH MATERIALIZED VIEW v FULL", RefreshView(("v",), full=True)),
        ("/* c */ REFRESH MATERIALIZED VIEW v", RefreshView(("v",))),
        ("DROP MATERIALIZED VIEW IF EXISTS v", DropView(("v",), if_exists=True)),
        ("SHOW MATERIALIZED VIEWS", ShowViews()),
        ("DESC MATERIALIZED VIEW v", DescribeView(("v",))),
        ("EXPLAIN MATERIALIZED VIEW v", ExplainView(("v",))),
        ("SELECT 1", None),
        ("SHOW TABLES", None),
        ("CREATE VIEW v AS SELECT 1", None),
    ],
)
def test_view_statements(sql: str, statement: object) -> None:
    assert parse_view_statement(sql) == statement


@pytest.mark.parametrize(
    ("sql", "place"),
    [
        ("CREATE MATERIALIZED VIEW my view AS SELECT 1", "view"),
        ("CREATE MATERIALIZED VIEW a-b AS SELECT 1", "-"),
        ("CREATE MATERIALIZED VIEW 'v' AS SELECT 1", "'v'"),
        ("CREATE MATERIALIZED VIEW v REFRESH POLICY SOMETIMES AS SELECT 1", "SOMETIMES"),
        ("CREATE MATERIALIZED VIEW v COMMENT hello AS SELECT 1", "hello"),
        ("CREATE MATERIALIZED VIEW v AS", ""),
        ("REFRESH MATERIALIZED VIEW v FULLY", "FULLY"),
        ("DROP MATERIALIZED VIEW", ""),
        ("UPDATE t SET a", ""),
        ("DELETE t WHERE a = 1", "t"),
        ("MERGE INTO t USING s ON t.a = s.a WHEN MATCHED THEN INSERT *", "INSERT"),
        ("CREATE TABLE t (a INT) STORED AS ORC", "STORED"),
        ("INSERT INTO t", ""),
        ("CREATE TABLE t (a INT PRIMARY KEY, PRIMARY KEY (a))", "PRIMARY"),
    ],
)
def test_a_syntax_error_points_at_the_place(sql: str, place: str) -> None:
    with pytest.raises(SqlSyntaxError) as caught:
        parse_view_statement(sql) or parse_table_statement(sql)
    where = caught.value.where
    assert where is not None
    assert sql[where.start : where.stop] == place
    assert "^" in str(caught.value)


@pytest.mark.parametrize(
    ("sql", "statement"),
    [
        (
            "CREATE TABLE t (id INT NOT NULL, m MAP<STRING, ARRAY<INT>>, d DECIMAL(10,2) COMMENT 'a, b', PRIMARY KEY (id, `m x`))",
            CreateTable(
                ("t",), "id INT NOT NULL, m MAP<STRING, ARRAY<INT>>, d DECIMAL(10,2) COMMENT 'a, b'", ("id", "m x")
            ),
        ),
        ("CREATE TABLE t (id INT PRIMARY KEY, v INT)", CreateTable(("t",), "id INT, v INT", ("id",))),
        (
            "CREATE TABLE IF NOT EXISTS t (id INT, CONSTRAINT pk PRIMARY KEY (id)) USING delta COMMENT 'c' TBLPROPERTIES ('a.b' = '1')",
            CreateTable(("t",), "id INT", ("id",), "c", {"a.b": "1"}, None, False, True),
        ),
        ("CREATE OR REPLACE TABLE t AS SELECT 1 AS a", CreateTable(("t",), "", (), None, {}, "SELECT 1 AS a", True)),
        ("INSERT INTO t VALUES (1, 'a;b')", Insert(("t",), "VALUES (1, 'a;b')")),
        ("INSERT INTO t (b, `a c`) SELECT 1, 2", Insert(("t",), "SELECT 1, 2", ("b", "a c"))),
        ("INSERT INTO t (SELECT 1)", Insert(("t",), "(SELECT 1)")),
        ("INSERT INTO t (TABLE u)", Insert(("t",), "(TABLE u)")),
        ("WITH x AS (SELECT 1) INSERT INTO t SELECT * FROM x", Insert(("t",), "WITH x AS (SELECT 1) SELECT * FROM x")),
        ("WITH x AS (SELECT 1) SELECT * FROM x", None),
        ("UPDATE t SET v = r'WHERE CASE' WHERE id = 1", Update(("t",), "t", ((("v",), "r'WHERE CASE'"),), "id = 1")),
        ("DROP VIEW IF EXISTS v", DropPlainView(("v",), True)),
        ("INSERT OVERWRITE t BY NAME SELECT 1 AS a", Insert(("t",), "SELECT 1 AS a", (), True, True)),
        (
            "UPDATE t AS x SET a = f(b, 1), x.c = CASE WHEN a > 1 THEN 'w' ELSE (SELECT max(z) FROM y WHERE q) END WHERE a IN (1, 2)",
            Update(
                ("t",),
                "x",
                ((("a",), "f(b, 1)"), (("x", "c"), "CASE WHEN a > 1 THEN 'w' ELSE (SELECT max(z) FROM y WHERE q) END")),
                "a IN (1, 2)",
            ),
        ),
        ("UPDATE t SET a = 1.5D", Update(("t",), "t", ((("a",), "1.5D"),), None)),
        ("DELETE FROM d.t x WHERE x.a IS NULL -- all", Delete(("d", "t"), "x", "x.a IS NULL")),
        ("DELETE FROM t", Delete(("t",), "t", None)),
        ("TRUNCATE TABLE t", Delete(("t",), "t", None)),
        (
            "MERGE INTO t x USING (SELECT 1 AS a) s ON x.a = s.a WHEN MATCHED AND s.a > 1 THEN DELETE WHEN MATCHED THEN "
            "UPDATE SET a = s.a, b = 2 WHEN NOT MATCHED BY TARGET THEN INSERT (a, b) VALUES (s.a, g(1, 2)) "
            "WHEN NOT MATCHED BY SOURCE AND x.b = 0 THEN DELETE",
            Merge(
                ("t",),
                "x",
                "(SELECT 1 AS a) s",
                "s",
                "x.a = s.a",
                (
                    When("both", "s.a > 1", "delete"),
                    When("both", None, "update", ((("a",), "s.a"), (("b",), "2"))),
                    When("source", None, "insert", ((("a",), "s.a"), (("b",), "g(1, 2)"))),
                    When("target", "x.b = 0", "delete"),
                ),
            ),
        ),
        (
            "MERGE INTO t USING s ON t.a = s.a WHEN MATCHED AND CASE WHEN s.a > 1 THEN true END THEN UPDATE SET "
            "a = CASE s.a WHEN 1 THEN 2 ELSE 3 END WHEN NOT MATCHED THEN INSERT *",
            Merge(
                ("t",),
                "t",
                "s",
                "s",
                "t.a = s.a",
                (
                    When(
                        "both",
                        "CASE WHEN s.a > 1 THEN true END",
                        "update",
                        ((("a",), "CASE s.a WHEN 1 THEN 2 ELSE 3 END"),),
                    ),
                    When("source", None, "insert", None),
                ),
            ),
        ),
        ("DROP TABLE IF EXISTS t", DropTable(("t",), True)),
        ("SHOW TABLES", ShowTables()),
        ("SELECT * FROM t", None),
        ("ALTER TABLE t ADD COLUMN a INT", None),
    ],
)
def test_table_statements(sql: str, statement: object) -> None:
    assert parse_table_statement(sql) == statement


def test_a_script_is_split_at_its_semicolons_only() -> None:
    script = "SELECT 'a;b' AS `x;y`; -- one; two\n ; /* ; */ SELECT 2;\n-- nothing more;"
    assert split_script(script) == ["SELECT 'a;b' AS `x;y`", "/* ; */ SELECT 2"]
    assert split_script("  ") == []


def test_words_are_the_names_a_text_could_mean() -> None:
    assert {"t", "a b", "münze"} <= SqlTokens.of("SELECT 'u' FROM T JOIN `A b` ON münze").words()
    assert {"2024_x", "u"} <= SqlTokens.of("SELECT * FROM 2024_x, IDENTIFIER('u')").words()


@pytest.mark.parametrize(
    ("text", "name"),
    [("v", ("v",)), ("a.b", ("a", "b")), ("`a.b`", ("a.b",)), ("my view", ("my view",)), ("`x``y`", ("x`y",))],
)
def test_names(text: str, name: tuple[str, ...]) -> None:
    assert parse_name(text) == name
    assert parse_name(quote_name(name)) == name


def test_references_are_tables_not_ctes() -> None:
    sql = "WITH o AS (SELECT * FROM orders) SELECT orders.x FROM o JOIN db.items i ON 1 = 1 LEFT JOIN `wé ird` WHERE x IN (SELECT 1 FROM orders)"
    refs = references(sql)
    assert [ref.name for ref in refs] == [("orders",), ("db", "items"), ("wé ird",), ("orders",)]
    assert [sql[ref.start : ref.stop] for ref in refs] == ["orders", "db.items", "`wé ird`", "orders"]
    names = {("orders",): "{a}", ("db", "items"): "{b}", ("wé ird",): "{c}"}
    assert substitute(sql, refs, names) == (
        "WITH o AS (SELECT * FROM {a} AS `orders`) SELECT orders.x FROM o JOIN {b} i ON 1 = 1 LEFT JOIN {c} AS `wé ird` "
        "WHERE x IN (SELECT 1 FROM {a} AS `orders`)"
    )


def test_a_cte_may_have_the_name_of_the_table_it_reads() -> None:
    sql = "WITH orders AS (SELECT * FROM orders WHERE a > 1) SELECT * FROM orders"
    assert [(ref.name, ref.start) for ref in references(sql)] == [(("orders",), sql.index("orders WHERE"))]


def test_ctes_are_found_whatever_their_case() -> None:
    assert [ref.name for ref in references("WITH T AS (SELECT * FROM u) SELECT * FROM t JOIN U ON 1 = 1")] == [
        ("u",),
        ("u",),
    ]


def test_a_table_that_is_only_known_at_run_time_is_refused() -> None:
    with pytest.raises(Unsupported, match="not a table with versions"):
        references("SELECT a FROM IDENTIFIER('t')")


@pytest.mark.parametrize("sql", ["SELECT * FROM t VERSION AS OF 3", "SELECT * FROM t TIMESTAMP AS OF '2025-01-01'"])
def test_a_view_over_a_fixed_version_is_refused(sql: str) -> None:
    with pytest.raises(Unsupported, match="fixed version"):
        references(sql)


@pytest.mark.parametrize(
    "sql", ["DELETE FROM t", "SELEC 1", "SELECT (1", "SELECT 1; SELECT 2", "INSERT INTO t VALUES (1)"]
)
def test_what_is_not_one_query_cannot_be_a_view(sql: str) -> None:
    with pytest.raises(SqlSyntaxError):
        references(sql)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("'it''s'", "it's"),
        ("''''", "'"),
        ("'''a'''", "'a'"),
        ("'a\\''''", "a''"),
        ('"say ""so"""', 'say "so"'),
        ("'a' 'b'", "ab"),
        ("'a' ''", "a"),
    ],
)
def test_a_doubled_quote_in_a_string_is_a_quote(text: str, value: str) -> None:
    rv = connect("duckdb:")
    rv.sql("CREATE TABLE t (id INT); INSERT INTO t VALUES (1)")
    rv.create("v", f"SELECT id, {text} AS x FROM t")
    assert rv.table("v").fetchall() == [(1, value)]  # type: ignore[operator]
