"""Tokens that Spark reads in another way than sqlglot, and what keeps rollview working if sqlglot is compiled."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from sqlglot.errors import ParseError

import rollview
from rollview.parse.tree import read


def printed(sql: str) -> str:
    return read(sql)[0].sql("spark")


@pytest.mark.parametrize(
    ("value", "same"),
    [
        ("v:a", "VARIANT_GET(v, '$[\"a\"]', 'variant') AS `a`"),
        ("v : a.b[0]", "VARIANT_GET(v, '$[\"a\"][\"b\"][0]', 'variant')"),
        ("v:`x y`['z'] AS w", "VARIANT_GET(v, '$[\"x y\"][\"z\"]', 'variant') AS w"),
        ("v:a[0]:b", "VARIANT_GET(VARIANT_GET(v, '$[\"a\"][0]', 'variant'), '$[\"b\"]', 'variant') AS `b`"),
        ("1 + v:a::int", "1 + CAST(VARIANT_GET(v, '$[\"a\"]', 'variant') AS INT)"),
        ("my(s):date", "VARIANT_GET(MY(s), '$[\"date\"]', 'variant') AS `date`"),
        ("m['k']:x", "VARIANT_GET(m['k'], '$[\"x\"]', 'variant') AS `x`"),
        ("CAST(s AS STRUCT<a: INT, b: ARRAY<STRUCT<c: STRING>>>)", "CAST(s AS STRUCT<a: INT, b: ARRAY<STRUCT<c: STRING>>>)"),
    ],
)  # fmt: skip
def test_a_colon_after_a_value_is_a_path(value: str, same: str) -> None:
    assert printed(f"SELECT {value} FROM t") == f"SELECT {same} FROM t"


@pytest.mark.parametrize("value", ["v:", "v:[0]", "v:1"])
def test_a_colon_without_a_path_is_an_error(value: str) -> None:
    with pytest.raises(ParseError):
        read(f"SELECT {value} FROM t")


@pytest.mark.parametrize("value", [":a", "DISTINCT :a", "CASE WHEN :a THEN :b ELSE :c END", "x BETWEEN :a AND :b"])
def test_a_colon_where_a_value_begins_is_a_parameter(value: str) -> None:
    assert printed(f"SELECT {value} FROM t") == f"SELECT {value} FROM t"


@pytest.mark.parametrize(
    "query",
    [
        "SELECT rank() OVER (PARTITION BY a ORDER BY b) FROM t",
        "SELECT sum(a) OVER w FROM t WINDOW w AS (ORDER BY b)",
        "SELECT listagg(a, ',') WITHIN GROUP (ORDER BY b) FROM t",
        "SELECT a FROM t WHERE b IN (SELECT b FROM u ORDER BY b LIMIT 1)",
        "SELECT a FROM t WHERE EXISTS (FROM u ORDER BY b LIMIT 1)",
        "SELECT coalesce((SELECT a FROM u HAVING max(a) > 1 LIMIT 1), limit, 0) FROM t",
        "(SELECT a FROM t) UNION ((SELECT a FROM u) ORDER BY a LIMIT 1)",
        "(SELECT a FROM t) UNION ALL ((SELECT a FROM u) ORDER BY a LIMIT 1)",
        "SELECT a FROM t WHERE EXISTS ((SELECT a FROM u) LIMIT 1)",
        "WITH c AS (SELECT a FROM t ORDER BY a LIMIT 3) SELECT * FROM (SELECT * FROM c ORDER BY a) ORDER BY a",
    ],
)
def test_clauses_outside_of_calls_are_read(query: str) -> None:
    assert printed(query)


def test_no_class_is_made_from_one_that_sqlglot_compiles() -> None:
    """A user may have installed ``sqlglot[c]``: its classes allow no subclasses, but for tokenizers."""
    found = set()
    for file in Path(rollview.__file__).parent.rglob("*.py"):
        tree = ast.parse(file.read_text(encoding="utf-8"))
        imported = {
            name.asname or name.name
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("sqlglot")
            for name in node.names
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                bases = [ast.unparse(base) for base in node.bases]
                found |= {base for base in bases if base.split(".")[0] in imported}
    assert found == {"Spark.Tokenizer"}
