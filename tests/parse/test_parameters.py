"""Parameters of SQL text: where a marker is one, which literal a value becomes, and what is said of wrong ones."""

from __future__ import annotations

import collections
import datetime
from decimal import Decimal
from typing import Any

import pytest
from pyspark.sql.functions import lit

from rollview import Rollview, UserError, connect
from rollview.parse.parameters import bound, literal, markers

UTC2 = datetime.timezone(datetime.timedelta(hours=2))
Pair = collections.namedtuple("Pair", "a b")

LITERALS: list[tuple[object, str]] = [
    (None, "NULL"),
    (True, "TRUE"),
    (7, "7"),
    (-7, "(-7)"),
    (2**40, "1099511627776"),
    (0.1, "0.1E0D"),
    (-1e-300, "(-1e-300D)"),
    (float("nan"), "CAST('NaN' AS DOUBLE)"),
    (float("-inf"), "CAST('-Infinity' AS DOUBLE)"),
    (Decimal("1.50"), "CAST(1.50 AS DECIMAL(3, 2))"),
    (Decimal("-1E+3"), "CAST((-1000) AS DECIMAL(4, 0))"),
    (Decimal("0.001"), "CAST(0.001 AS DECIMAL(3, 3))"),
    ("", "''"),
    ("it's \\ :x ?", "'it\\'s \\\\ :x ?'"),
    ("${spark.app.name}", "concat('$', '{spark.app.name}')"),
    (b"\x00ab", "X'006162'"),
    (datetime.date(2025, 1, 2), "DATE'2025-01-02'"),
    (datetime.datetime(2025, 1, 2, 3, 4, 5, 6), "TIMESTAMP'2025-01-02 03:04:05.000006'"),
    (datetime.datetime(2025, 1, 2, 3, 4, 5, tzinfo=UTC2), "TIMESTAMP'2025-01-02 03:04:05+02:00'"),
    (
        datetime.timedelta(seconds=-1, microseconds=5),
        "CAST(INTERVAL '-0.999995' SECOND AS INTERVAL DAY TO SECOND)",
    ),
    ([1, None, "a"], "array(1, NULL, 'a')"),
    ({"a": [1], "b": []}, "map('a', array(1), 'b', array())"),
    (Pair(1, "x"), "named_struct('a', 1, 'b', 'x')"),
]


@pytest.mark.parametrize(("value", "text"), LITERALS, ids=[text for _, text in LITERALS])
def test_the_literal_of_a_value(value: object, text: str) -> None:
    assert literal(value) == text


@pytest.mark.parametrize(
    "value", [object(), {1, 2}, Decimal("NaN"), 10**40, Decimal("0." + "1" * 39), datetime.timedelta(days=106751992)]
)
def test_what_has_no_literal_is_refused(value: object) -> None:
    with pytest.raises(UserError, match="value of :x"):
        bound(["SELECT :x"], {"x": value})


@pytest.mark.parametrize(
    ("sql", "found"),
    [
        ("SELECT :a, x = :b AND y>=:c OR NOT :d", [":a", ":b", ":c", ":d"]),
        ("SELECT ?, f(?) FROM t LIMIT ?", ["?", "?", "?"]),
        ("SELECT ':a', \":a\", `:a`, r':a' -- :a ?\n /* :a ? */ FROM t", []),
        ("SELECT x::INT, v:a.b, v :a, v:a[0]:b, f(x):a, s[1]:a FROM t", []),
        ("SELECT CAST(x AS STRUCT<a: INT, b:STRING>) FROM t", []),
        ("SELECT CASE :a WHEN :b THEN :c ELSE :d END:e, transform(x, y -> :f)", [":a", ":b", ":c", ":d", ":f"]),
        ("SELECT m[:k]:path, :row.x, :n::STRING", [":k", ":row", ":n"]),
        ("SELECT * FROM t WHERE x LIKE :p ESCAPE :q AND y IN (:date, :limit)", [":p", ":q", ":date", ":limit"]),
        ("SELECT :`my value`, : a", [":`my value`"]),
        ("REFRESH MATERIALIZED VIEW v AS OF POSITION :n", [":n"]),
        ("REFRESH MATERIALIZED VIEW v AS OF TIMESTAMP :time", [":time"]),
        ("SELECT position:n, timestamp:n FROM t", []),
        ("UPDATE t SET v=:v WHERE id BETWEEN :low AND :high", [":v", ":low", ":high"]),
        ("MERGE INTO t USING (SELECT :a AS id) AS s ON t.id=s.id WHEN MATCHED AND :b THEN DELETE", [":a", ":b"]),
    ],
)
def test_markers_are_found_among_the_tokens(sql: str, found: list[str]) -> None:
    assert [sql[marker.start : marker.stop] for marker in markers(sql)] == found


def test_literals_do_not_run_into_the_words_beside_them() -> None:
    assert bound(["SELECT x LIMIT:n"], {"n": 5}) == ["SELECT x LIMIT 5"]
    assert bound(["SELECT x>?AND y-?"], [1, -2]) == ["SELECT x>1 AND y-(-2)"]


@pytest.mark.parametrize(
    ("sql", "args", "message"),
    [
        ("SELECT :a, :b", {"a": 1}, "There is no value for :b"),
        ("SELECT :amount", {"amuont": 1}, "did you mean `amuont`"),
        ("SELECT ?", [], r"There is no value for a \? marker"),
        ("SELECT ?; SELECT ?", [1], r"There is no value for a \? marker"),
        ("SELECT ?", {"a": 1}, "a text uses either names or positions"),
        ("SELECT :a", [1], "a text uses either names or positions"),
        ("SELECT :a, ?", {"a": 1}, "a text uses either names or positions"),
        ("SELECT ?", "x", "Parameters cannot be given as str"),
        ("SELECT ?", 5, "Parameters cannot be given as int"),
    ],
)
def test_wrong_parameters_are_told_and_nothing_is_run(sql: str, args: Any, message: str) -> None:
    rv = connect("duckdb:")
    with pytest.raises(UserError, match=message):
        rv.sql("CREATE TABLE made (a INT); " + sql, args)
    assert rv.tables() == []


@pytest.fixture(params=["duckdb", pytest.param("embedded", marks=pytest.mark.spark)])
def session(request: pytest.FixtureRequest) -> Rollview:
    found: Rollview = connect("duckdb:") if request.param == "duckdb" else request.getfixturevalue("rv")
    return found


def test_values_that_no_marker_asks_for_are_ignored() -> None:
    """As ``spark.sql`` ignores them."""
    assert bound(["SELECT :a", "SELECT 1"], {"a": 1, "b": 2}) == ["SELECT 1", "SELECT 1"]
    assert bound(["SELECT ?"], [1, 2]) == ["SELECT 1"]
    assert bound(["SELECT 1"], [2]) == bound(["SELECT 1"], {"b": 2}) == ["SELECT 1"]


RAW: list[tuple[object, str]] = [
    ("plain", "'plain'"),
    ("it's", "concat('it', chr(39), 's')"),
    ("\\n", "concat(chr(92), 'n')"),
    ("\\", "chr(92)"),
    ("${x}'", "concat('$', '{x}', chr(39))"),
    (["a", {"b'": 1}], "array('a', map(concat('b', chr(39)), 1))"),
]


@pytest.mark.parametrize(("value", "text"), RAW, ids=[text for _, text in RAW])
def test_the_literal_of_a_string_where_strings_have_no_escapes(value: object, text: str) -> None:
    assert literal(value, raw=lambda: True) == text


def test_the_session_is_asked_how_it_reads_strings_only_if_that_matters() -> None:
    def asked() -> bool:
        raise AssertionError

    assert bound(["SELECT :a, :b"], {"a": "plain ${x}", "b": 1}, asked)
    with pytest.raises(AssertionError):
        bound(["SELECT :a"], {"a": "it's"}, asked)


def fetched(frame: Any) -> list[tuple[Any, ...]]:
    """The rows of a result of either engine."""
    return [tuple(row) for row in (frame.fetchall() if hasattr(frame, "fetchall") else frame.collect())]


def test_every_kind_of_statement_takes_parameters(session: Rollview) -> None:
    rv = session
    rv.sql("CREATE TABLE t (id INT, v STRING, PRIMARY KEY (id))")
    rv.sql("INSERT INTO t VALUES (?, ?), (?, ?)", [1, "a", 2, "it's; -- \\ :v ?"])
    rv.sql("UPDATE t SET v = :v WHERE id = :id", {"v": "b", "id": 1})
    assert fetched(rv.sql("SELECT id, v FROM t WHERE id >= :low ORDER BY id", {"low": 1})) == [
        (1, "b"),
        (2, "it's; -- \\ :v ?"),
    ]
    rv.sql("INSERT INTO t VALUES (:a, 'c'); DELETE FROM t WHERE id = :b", {"a": 3, "b": 2})
    rv.sql(
        "MERGE INTO t USING (SELECT ? AS id, ? AS v) AS s ON t.id = s.id WHEN MATCHED THEN UPDATE SET v = s.v "
        "WHEN NOT MATCHED THEN INSERT (id, v) VALUES (s.id, ?)",
        [3, "d", "e"],
    )
    assert fetched(rv.sql("SELECT id, v FROM t ORDER BY id")) == [(1, "b"), (3, "d")]
    rv.sql("CREATE MATERIALIZED VIEW some AS SELECT id FROM t WHERE v <> :v AND id < :most", {"v": "b'", "most": 4})
    rv.create("more", "SELECT id FROM t WHERE id > ?", args=[1])
    assert rv.catalog.get("some").query.text == "SELECT id FROM t WHERE v <> 'b\\'' AND id < 4"
    rv.sql("INSERT INTO t VALUES (?, 'b\\''), (?, 'f')", (2, 5))
    rv.refresh_all()
    assert sorted(fetched(rv.table("some"))) == [(1,), (3,)]
    assert all(rv.verify(name).ok for name in ("some", "more"))


def test_values_come_back_as_they_were_given(session: Rollview) -> None:
    values = [None, True, -5, 2**40, 0.12345678901234568, -0.0, Decimal("1.50"), "it's \\ ${x} \n é", b"\x00'ab",
              datetime.date(2025, 1, 2), ["a", None], "", datetime.timedelta(days=2, microseconds=5), Decimal("-12345678901234567890.5")]  # fmt: skip
    (row,) = fetched(session.sql(f"SELECT {', '.join(f'? AS c{i}' for i in range(len(values)))}", values))
    assert [bytes(value) if isinstance(value, bytearray) else value for value in row] == values
    assert str(row[5]) == "-0.0"
    assert row[6].as_tuple() == Decimal("1.50").as_tuple()


def test_parameters_have_the_types_that_spark_gives_them(rv: Rollview) -> None:
    """``spark.sql(text, args)`` itself knows no parameters in a session with Delta's parser."""
    args = {
        "a": 5, "b": 2**31, "c": 1.5, "d": Decimal("1.50"), "e": "x", "f": b"x", "g": datetime.date(2025, 1, 2),
        "h": datetime.datetime(2025, 1, 2, 3, 4, 5, 6), "i": datetime.datetime(2025, 1, 2, tzinfo=UTC2), "j": True,
        "k": datetime.timedelta(days=1, microseconds=5), "l": datetime.timedelta(days=-106751991, hours=3),
    }  # fmt: skip
    text = "SELECT " + ", ".join(f":{name} AS {name}" for name in args)
    ours = rv.sql(text, args)
    sparks = rv.spark.range(1).select(*(lit(value).alias(name) for name, value in args.items()))
    assert ours.dtypes == sparks.dtypes
    assert ours.collect() == sparks.collect()


def test_strings_arrive_as_they_were_given_if_the_session_has_no_escapes(rv: Rollview) -> None:
    texts = ["it's", "\\", "a\\nb\\\\", "'\\'", 'say "it\'s"', "${x}'", "\n'é"]
    rv.sql("CREATE TABLE t (id INT, s STRING, PRIMARY KEY (id))")
    rv.spark.conf.set("spark.sql.parser.escapedStringLiterals", "true")
    try:
        for number, text in enumerate(texts):
            assert rv.sql("SELECT :s AS s", {"s": text}).collect()[0].s == text
            rv.sql("INSERT INTO t VALUES (?, ?)", [number, text])
        rv.sql("CREATE MATERIALIZED VIEW v AS SELECT id, s, 'a\\nb' AS c FROM t WHERE s <> :s", {"s": texts[0]})
    finally:
        rv.spark.conf.unset("spark.sql.parser.escapedStringLiterals")
    rv.sql("INSERT INTO t VALUES (100, 'z')")
    assert rv.refresh("v").rows_written == len(texts)  # the view keeps how its text is read
    assert sorted((row.s, row.c) for row in rv.table("v").collect()) == sorted((s, "a\\nb") for s in [*texts[1:], "z"])
    assert rv.verify("v").ok
