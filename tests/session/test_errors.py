"""Bad input: a clear error that says what, where, why and what to do, and nothing changed."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest
from pyspark.errors import PySparkException
from pyspark.logger import PySparkLogger
from pyspark.sql import SparkSession

from compare import rows
from rollview import Rollview, RollviewError, connect
from rollview.engine import session
from rollview.errors import JavaMissing, NotAWarehouse, Place, SqlError, TableNotFound, UserError, VersionGone
from rollview.parse.stored_names import damaged

CASES = {
    "SELECT nme FROM people": """\
There is no column named `nme`
   1 | SELECT nme FROM people
     |        ^^^
What to do: did you mean `name`?""",
    "SELECT * FROM peple": """\
There is no table or view named `peple`
   1 | SELECT * FROM peple
     |               ^^^^^
What to do: did you mean `people`?""",
    "CREATE MATERIALIZED VIEW w AS\nSELECT p.id\nFROM peopel p": """\
There is no table or view named peopel
   2 | FROM peopel p
     |      ^^^^^^
What to do: did you mean `people`?""",
    "CREATE MATERIALIZED VIEW w AS SELECT\n  agee + 1 AS a FROM people": """\
There is no column named `agee`
   2 |   agee + 1 AS a FROM people
     |   ^^^^
What to do: did you mean `age`?""",
    "CREATE MATERIALIZED VIEW adults AS SELECT 1 AS one FROM people": """\
There is a materialized view named adults already
What to do: choose another name, or use CREATE OR REPLACE MATERIALIZED VIEW""",
    "CREATE MATERIALIZED VIEW people AS SELECT 1 AS one": """\
people is the name of a table
What to do: choose another name for the view""",
    "CREATE TABLE people (a INT)": """\
There is a table named people already
What to do: choose another name, or drop it first: DROP TABLE `people`""",
    "DROP MATERIALIZED VIEW adults": """\
adults cannot be dropped
Why: names read it
What to do: drop these first: DROP MATERIALIZED VIEW `names`""",
    "REFRESH MATERIALIZED VIEW adult": """\
There is no materialized view named adult
What to do: did you mean `adults`?""",
    "REFRESH MATERIALIZED VIEW people": """\
There is no materialized view named people
What to do: people is a table, not a materialized view""",
    "INSERT INTO people VALUES (1, 'again', 9)": """\
Two rows of people would have the key id = 1
Why: people declares PRIMARY KEY (id)
What to do: change the rows, or use MERGE to update the ones that are there""",
    "INSERT INTO people VALUES (NULL, 'nobody', 9)": """\
Column id of people cannot be NULL
Why: it is part of the key""",
    "INSERT INTO people VALUES (5, 'x', 'old')": """\
A STRING cannot be stored in column age of people
Why: the column's type is INT, and values are not converted where something could be lost silently
What to do: write CAST(… AS INT) to convert it""",
    "INSERT INTO adults VALUES (1)": """\
adults is a materialized view and cannot be inserted into
   1 | INSERT INTO adults VALUES (1)
     |             ^^^^^^
Why: it shows its query's result and changes when its base tables do
What to do: change the base tables, then REFRESH MATERIALIZED VIEW `adults`""",
    "UPDATE people SET nme = 'x'": """\
people has no column named nme
   1 | UPDATE people SET nme = 'x'
     |                   ^^^
What to do: did you mean `name`?""",
    "CREATE MATERIALIZED VIEW my view AS SELECT 1 AS a": """\
Syntax error: expected REFRESH POLICY, COMMENT, KEEP CHANGES or AS, found 'view'
   1 | CREATE MATERIALIZED VIEW my view AS SELECT 1 AS a
     |                             ^^^^
What to do: CREATE MATERIALIZED VIEW name [REFRESH POLICY …] [COMMENT '…'] [KEEP CHANGES '7 days'] AS SELECT …; quote a name that has characters other than letters, digits and _ with backticks""",
    "CREATE MATERIALIZED VIEW a.b.c AS SELECT 1 AS a": """\
a.b.c has 3 parts
Why: a warehouse folder has one level of names
What to do: use a name without dots, or quote it as one name: `a.b.c`""",
    "CREATE MATERIALIZED VIEW w AS SELECT p.id, q.id FROM people p JOIN people q ON p.id = q.id": """\
Two columns of the view are named id
   1 | SELECT p.id, q.id FROM people p JOIN people q ON p.id = q.id
     |              ^^^^
Why: names are compared without regard to case
What to do: give one of them another name: … AS other_name""",
    "CREATE MATERIALIZED VIEW w AS DELETE FROM people": """\
A materialized view is defined by one query
   1 | DELETE FROM people
     | ^^^^^^^^^^^^^^^^^^
What to do: start it with SELECT or WITH""",
    "ALTER TABLE people ADD COLUMN x INT": """\
The embedded store has no ALTER
   1 | ALTER TABLE people ADD COLUMN x INT
     | ^^^^^
What to do: it runs CREATE TABLE, INSERT, UPDATE, DELETE, MERGE, TRUNCATE and DROP; for others open the warehouse with rollview.connect(folder, store='delta')""",
    "CREATE TABLE pets (`my pet` STRING)": """\
'my pet' cannot be the name of a column of pets
Why: Delta tables allow no ' ' in column names
What to do: give the column another name""",
    "DELETE FROM people WHERE age / 0 > 1": """\
Spark refuses this statement
   1 | DELETE FROM people WHERE age / 0 > 1
     |                          ^^^^^^^
Why: Division by zero. Use `try_divide` to tolerate divisor being 0 and return NULL instead. If necessary set "spark.sql.ansi.enabled" to "false" to bypass this error.""",
    "SELECT FROM WHERE": None,
    "SELECT 'open": None,
    "": None,
}


@pytest.fixture(scope="module")
def people(spark: object, tmp_path_factory: pytest.TempPathFactory) -> Rollview:
    rv = connect(tmp_path_factory.mktemp("people"), spark=spark.newSession())  # type: ignore[attr-defined]
    rv.sql(
        "CREATE TABLE people (id INT, name STRING, age INT, PRIMARY KEY (id));"
        "INSERT INTO people VALUES (1, 'Ada', 36), (2, 'Bo', 12);"
        "CREATE MATERIALIZED VIEW adults AS SELECT id, name FROM people WHERE age > 17;"
        "CREATE MATERIALIZED VIEW names AS SELECT name FROM adults"
    )
    return rv


@pytest.mark.parametrize("sql", CASES)
def test_a_mistake_is_explained_and_changes_nothing(people: Rollview, sql: str) -> None:
    with pytest.raises(RollviewError) as caught:
        people.sql(sql)
    if CASES[sql] is not None:
        assert str(caught.value) == CASES[sql]
    assert caught.value.code not in ("internal", "error")
    assert rows(people.table("people")) == [(1, "Ada", 36), (2, "Bo", 12)]
    assert people.store.version("people") == 1
    assert [view.name for view in people.views()] == ["adults", "names"]
    assert all(view.fresh for view in people.views())
    assert people.tables() == ["people"]


def test_a_folder_that_is_no_warehouse(tmp_path: Path, spark: object) -> None:
    (tmp_path / "file").write_text("x")
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "cat.png").write_text("x")
    (tmp_path / "newer").mkdir()
    (tmp_path / "newer" / "rollview.json").write_text('{"format": 99}')
    for name, message in (("file", "not a folder"), ("photos", "no Delta table"), ("newer", "format is 99")):
        with pytest.raises(NotAWarehouse, match=message):
            connect(tmp_path / name, spark=spark)  # type: ignore[arg-type]
    assert [path.name for path in (tmp_path / "photos").iterdir()] == ["cat.png"]


def test_no_java_names_the_package(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(JavaMissing, match="openjdk-17-jre-headless"):
        session.require_java()
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(JavaMissing, match="JAVA_HOME"):
        session.require_java()
    old = tmp_path / "bin" / "java"
    old.parent.mkdir()
    old.write_text("#!/bin/sh\necho 'openjdk version \"11.0.2\" 2019-01-15' >&2\n")
    old.chmod(0o755)
    shutil.copy("/bin/sh", tmp_path / "sh")
    with pytest.raises(JavaMissing, match="is Java 11"):
        session.require_java()


def test_a_place_in_long_and_many_lines_is_shown_around_it() -> None:
    long = "SELECT " + ", ".join(f"column_{i}" for i in range(60)) + ", oops FROM t"
    shown = Place(long, long.index("oops"), long.index("oops") + 4).underlined().splitlines()
    assert all(len(line) < 125 for line in shown)
    assert shown[0][shown[1].index("^") :].startswith("oops")
    two = Place("SELECT a\nFROM b", 7, 13).underlined()
    assert two == "   1 | SELECT a\n     |        ^\n   2 | FROM b\n     | ^^^^"


#: What once leaked names of a library or of rollview's own, or underlined the wrong thing; on DuckDB.
TEXTS = {
    "CREATE MATERIALIZED VIEW w AS SELECT id + FROM people": """\
This query cannot be read
   1 | SELECT id + FROM people
     |             ^^^^
Why: an expression is missing here""",
    "CREATE MATERIALIZED VIEW w AS SELECT id FROM WHERE": """\
This query cannot be read
   1 | SELECT id FROM WHERE
     |                ^^^^^
Why: expected table name, found WHERE""",
    "CREATE MATERIALIZED VIEW w AS SELECT id FROM people JOIN": """\
This query cannot be read
   1 | SELECT id FROM people JOIN
     |                       ^^^^
Why: expected table name, but the text ends here""",
    "SELECT id\nFROM people\nWHERE name = 'Ada AND id = 1\nORDER BY id": """\
A string is not closed
   3 | WHERE name = 'Ada AND id = 1
     |              ^^^^^^^^^^^^^^^
What to do: end it with '""",
    "SELECT `id FROM people": """\
A name in backticks is not closed
   1 | SELECT `id FROM people
     |        ^^^^^^^^^^^^^^^
What to do: end it with `""",
    "SELECT id /* the key FROM people": """\
A comment is not closed
   1 | SELECT id /* the key FROM people
     |           ^^^^^^^^^^^^^^^^^^^^^^
What to do: end it with */""",
    "MERGE INTO people USING new ON people.id = new.id WHEN MATCHED THEN UPDATE name = 'x'": """\
Syntax error: expected SET, found 'name'
   1 | MERGE INTO people USING new ON people.id = new.id WHEN MATCHED THEN UPDATE name = 'x'
     |                                                                            ^^^^""",
    "CREATE MATERIALIZED VIEW w AS WITH c AS (SELECT id, age FROM people) SELECT age, id AS age FROM c": """\
Two columns of the view are named age
   1 | WITH c AS (SELECT id, age FROM people) SELECT age, id AS age FROM c
     |                                                    ^^^^^^^^^
Why: names are compared without regard to case
What to do: give one of them another name: … AS other_name""",
    "CREATE MATERIALIZED VIEW w AS SELECT age, p.* FROM people p": """\
Two columns of the view are named age
   1 | SELECT age, p.* FROM people p
     |             ^^^
Why: names are compared without regard to case
What to do: give one of them another name: … AS other_name""",
    "UPDATE people SET age = age + WHERE id = 1": """\
This SQL cannot be read
   1 | UPDATE people SET age = age + WHERE id = 1
     |                             ^
Why: an expression is missing here""",
    "SELECT nme FROM people": """\
There is no column named nme
   1 | SELECT nme FROM people
     |        ^^^
What to do: did you mean `name`?""",
    "SELECT id FROM peple": """\
There is no table or view named peple
   1 | SELECT id FROM peple
     |                ^^^^^
What to do: did you mean `people`?""",
    "DROP VIEW people": """\
The DuckDB store has no DROP VIEW
   1 | DROP VIEW people
     | ^^^^^^^^^
What to do: use a statement that rollview runs on DuckDB: a query, CREATE TABLE, INSERT, UPDATE, DELETE, MERGE, TRUNCATE, DROP TABLE, or a statement about a MATERIALIZED VIEW""",
    "UPDAT people SET age = 1": """\
No statement begins with UPDAT
   1 | UPDAT people SET age = 1
     | ^^^^^
What to do: use a statement that rollview runs on DuckDB: a query, CREATE TABLE, INSERT, UPDATE, DELETE, MERGE, TRUNCATE, DROP TABLE, or a statement about a MATERIALIZED VIEW""",
    "CREATE TABLE x (a INT, PRIMARY KEY ( ))": """\
Syntax error: expected a column, found ')'
   1 | CREATE TABLE x (a INT, PRIMARY KEY ( ))
     |                                      ^
What to do: quote a name that has characters other than letters, digits and _ with backticks: `my name`""",
    "CREATE TABLE x (a INT, PRIMARY KEY (a b))": """\
Syntax error: expected ), found 'b'
   1 | CREATE TABLE x (a INT, PRIMARY KEY (a b))
     |                                       ^""",
    "CREATE TABLE x (a INT) AS SELECT 1 AS a": """\
A column list and AS SELECT exclude each other
   1 | CREATE TABLE x (a INT) AS SELECT 1 AS a
     |                        ^^
What to do: leave out one of them""",
    "CREATE OR REPLACE TABLE IF NOT EXISTS x (a INT)": """\
OR REPLACE and IF NOT EXISTS exclude each other
   1 | CREATE OR REPLACE TABLE IF NOT EXISTS x (a INT)
     |                         ^^^^^^^^^^^^^
What to do: keep one of the two""",
    "UPDATE people SET agge = 1": """\
people has no column named agge
   1 | UPDATE people SET agge = 1
     |                   ^^^^
What to do: did you mean `age`?""",
    "DELETE FROM peple": """\
There is no table named peple
   1 | DELETE FROM peple
     |             ^^^^^
What to do: did you mean `people`?""",
    "CREATE MATERIALIZED VIEW w AS SELECT p.nme FROM people p": """\
There is no column named nme in p
   1 | SELECT p.nme FROM people p
     |        ^^^^^""",
    "INSERT INTO people (id, nme) SELECT 1, 'x'": """\
There is no column named nme in people
   1 | INSERT INTO people (id, nme) SELECT 1, 'x'
     |                         ^^^""",
    "SELECT o.id FROM people p": """\
There is no table named o here
   1 | SELECT o.id FROM people p
     |        ^""",
    "SELECT nope(id) AS nope FROM people": """\
DuckDB has no function named nope
   1 | SELECT nope(id) AS nope FROM people
     |        ^^^^""",
    "CREATE MATERIALIZED VIEW w AS SELECT name AS uper, uper(name) AS n FROM people": """\
DuckDB has no function named uper
   1 | SELECT name AS uper, uper(name) AS n FROM people
     |                      ^^^^
What to do: did you mean `upper` or `user` or `query`?""",
    "CREATE MATERIALIZED VIEW w AS SELECT random() AS r FROM people": """\
A view cannot use random()
   1 | SELECT random() AS r FROM people
     |        ^^^^^^
Why: it returns another result at every call, so the view could never equal its query
What to do: compute the value once, into a column of a base table""",
    "INSERT INTO people VALUES (7)": """\
people takes 3 values per row, but 1 are given
   1 | INSERT INTO people VALUES (7)
     |                    ^^^^^^^^^^
Why: the columns are id, name, age
What to do: name the columns: INSERT INTO t (a, b) …""",
    "CREATE MATERIALIZED VIEW w AS SELECT": """\
DuckDB cannot read this statement
   1 | SELECT
     | ^^^^^^
Why: this SELECT has no columns""",
    "SELECT id FROM people VERSION AS OF 99": """\
A query on DuckDB cannot read a fixed version of people
   1 | SELECT id FROM people VERSION AS OF 99
     |                ^^^^^^
What to do: rv.table('people', version) reads one""",
    "SELECT id FROM people WHERE id = ?": """\
There is no value for a parameter
   1 | SELECT id FROM people WHERE id = ?
     |                                  ^
What to do: pass the values, too: rv.sql(text, args)""",
    "DELETE FROM people WHERE id IS ASOF": """\
DuckDB cannot read this statement
   1 | DELETE FROM people WHERE id IS ASOF
     |                                ^^^^
Why: syntax error at ASOF""",
    "CREATE MATERIALIZED VIEW w AS SELECT p.id FROM people p JOIN people (SELECT 1) ON true": """\
A view cannot read PEOPLE(SELECT 1)
   1 | SELECT p.id FROM people p JOIN people (SELECT 1) ON true
     |                                ^^^^^^
Why: it is not a table with versions
What to do: load the rows into a table and read that""",
    "FROM people |> LIMIT 1 |> WHERE id > 1": """\
DuckDB does not support |> WHERE at this place of a pipe
   1 | FROM people |> LIMIT 1 |> WHERE id > 1
     |                        ^^^^^^^^
What to do: write the query with clauses, or open the warehouse on Spark""",
}


@pytest.fixture(scope="module")
def on_duckdb() -> Rollview:
    rv = connect("duckdb:")
    rv.sql(
        "CREATE TABLE people (id INT, name STRING, age INT, PRIMARY KEY (id));"
        "INSERT INTO people VALUES (1, 'Ada', 36), (2, 'Bo', 12)"
    )
    return rv


@pytest.mark.parametrize("sql", TEXTS)
def test_an_error_is_said_in_the_words_of_sql(on_duckdb: Rollview, sql: str) -> None:
    with pytest.raises(RollviewError) as caught:
        on_duckdb.sql(sql)
    assert str(caught.value) == TEXTS[sql]
    assert on_duckdb.table("people").fetchall() == [(1, "Ada", 36), (2, "Bo", 12)]  # type: ignore[operator]
    assert on_duckdb.views() == []


def test_a_version_that_is_gone_is_said_of_the_view() -> None:
    rv = connect("duckdb:")
    rv.sql("CREATE TABLE t (a INT)")
    rv.create("v", "SELECT a FROM t")
    with pytest.raises(VersionGone, match="Version 99 of v no longer exists"):
        rv.table("v", 99)


def test_explain_says_that_a_view_without_its_table_cannot_be_refreshed() -> None:
    rv = connect("duckdb:")
    rv.sql("CREATE TABLE t (a INT)")
    rv.create("v", "SELECT a FROM t")
    rv.sql("DROP TABLE t")
    assert rv.explain("v").endswith("not possible: A table that v reads is gone: There is no table named t")
    rv.sql("CREATE TABLE t (a INT)")
    assert "full, because table_replaced" in rv.explain("v")


def test_tables_of_rollviews_own_are_not_offered() -> None:
    rv = connect("duckdb:")
    rv.sql("CREATE TABLE t (a INT); CREATE MATERIALIZED VIEW paid AS SELECT a FROM t")
    with pytest.raises(RollviewError) as caught:
        rv.sql("TRUNCATE TABLE __rollvie_paid")
    assert str(caught.value).endswith("^^^^^^^^^^^^^^")


def test_columns_of_rollviews_own_are_not_offered(people: Rollview) -> None:
    for sql in (
        "UPDATE people SET age = fle",
        "DELETE FROM people WHERE postion > 1",
        "DELETE FROM people WHERE rv > 1",
    ):
        with pytest.raises(RollviewError) as caught:
            people.sql(sql)
        assert "__rv" not in str(caught.value)


def test_an_error_that_comes_out_of_java_is_the_statements_if_spark_says_so(people: Rollview) -> None:
    with pytest.raises(SqlError, match=r"Spark refuses this statement(.|\n)*More than one row returned by a subquery"):
        people.sql("CREATE MATERIALIZED VIEW w AS SELECT id, (SELECT id FROM people) AS x FROM people")
    assert [view.name for view in people.views()] == ["adults", "names"]


def test_a_version_of_a_view_is_said_of_the_view_in_every_store(rv_each: Rollview) -> None:
    rv_each.sql("CREATE TABLE t (a INT)")
    rv_each.create("v", "SELECT a FROM t")
    with pytest.raises(VersionGone) as caught:
        rv_each.table("v", 99).collect()
    assert "Version 99 of v no longer exists" in str(caught.value)
    assert "__rollview__" not in str(caught.value)


class _Listed(logging.Handler):
    def __init__(self, records: list[logging.LogRecord]) -> None:
        super().__init__()
        self.records = records

    def emit(self, record: logging.LogRecord) -> None:
        self.records.append(record)


def test_pyspark_logs_nothing_beside_an_error_of_rollview(
    opened: Callable[..., Rollview], remote: SparkSession, capfd: pytest.CaptureFixture[str]
) -> None:
    """As with a Connect session of the user's own: one that rollview did not start."""
    rv = opened("embedded", "connect")
    logger = PySparkLogger.getLogger("SQLQueryContextLogger")
    level, records = logger.level, list[logging.LogRecord]()
    handler = _Listed(records)
    logger.addHandler(handler)
    logger.setLevel(logging.WARNING)
    try:
        rv.sql("CREATE TABLE t (id INT, name STRING); INSERT INTO t VALUES (1, 'a')")
        capfd.readouterr()
        for sql in ("SELECT nope FROM t", "DELETE FROM t WHERE id / 0 > 1", "UPDATE t SET name = fle"):
            with pytest.raises(RollviewError):
                rv.sql(sql)
        assert records == []
        assert "JVM stacktrace" not in capfd.readouterr().err
        with pytest.raises(PySparkException):
            remote.sql("SELECT nope").collect()
        assert len(records) == 1
    finally:
        logger.setLevel(level)
        logger.removeHandler(handler)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda folder: connect(f"{folder}/a\0b"), "null byte"),
        (lambda folder: connect(f"{folder}/{'a' * 300}"), "too long"),
        (lambda folder: connect(f"{folder}/\ud800"), "cannot be a warehouse"),
        (lambda folder: connect("~nobody-of-this-name/w"), "cannot be a warehouse"),
        (lambda folder: connect(spark=cast(Any, 5)), "a SparkSession, not an int"),
        (lambda folder: connect(folder, limits=cast(Any, 3)), "limits are rollview.limits.Limits, not an int"),
        (lambda folder: connect(f"duckdb:{folder}/none/x.db"), "cannot be opened"),
        (lambda folder: connect("duckdb:").refresh_all(cast(Any, 5)), "a list, not an int"),
        (lambda folder: connect("duckdb:").sql("SELECT '\ud800'"), "no Unicode text"),
    ],
)
def test_what_cannot_be_opened_or_read_is_told_in_our_words(
    call: Callable[[Path], Any], said: str, tmp_path: Path
) -> None:
    with pytest.raises(UserError, match=said):
        call(tmp_path)


def test_a_limit_of_no_rows_leaves_nothing_open() -> None:
    rv = connect("duckdb:")
    rv.sql("CREATE TABLE t (a INT, PRIMARY KEY (a))")
    rv.create("none", "SELECT a FROM t LIMIT 0")
    rv.create("some", "SELECT a FROM t LIMIT 2")
    assert "choices" not in rv.explain("none")
    assert "LIMIT 2: the first rows by the key: a" in rv.explain("some")


def test_a_table_that_is_addressed_by_its_path_is_quoted_once() -> None:
    path = "`delta`.`/data/my t`"
    assert f"DROP TABLE {path} and load" in (damaged(path, "a file is missing").todo or "")
    assert "DROP TABLE `my t` and load" in (damaged("my t", "a file is missing").todo or "")


def test_tables_that_may_have_been_meant_are_listed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    rv = connect("duckdb:")
    rv.sql("CREATE TABLE abc (a INT)")
    monkeypatch.setattr(rv.catalog, "names", lambda: ["abc"])  # as a catalog lists the name of a view among its tables
    with pytest.raises(TableNotFound) as caught:
        rv.create("v", "SELECT 1 FROM xyz")
    assert caught.value.todo == "there are abc"


def test_a_view_that_is_not_there_is_not_dropped() -> None:
    rv = connect("duckdb:")
    rv.sql("CREATE TABLE t (a INT)")
    rv.create("v", "SELECT a FROM t")
    dropped = [rv.sql(f"DROP MATERIALIZED VIEW IF EXISTS {name}").fetchall() for name in ("nope", "v")]  # type: ignore[operator]
    assert dropped == [[], [("v",)]]
