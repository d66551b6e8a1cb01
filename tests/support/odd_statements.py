"""Malformed and odd statements: good ones over the shop, with one to three mutations each.

``statement(seed)`` is always the same text for the same seed.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import cache

from sqlglot import TokenType

import shop
from rollview.parse.tokens import SqlTokens, Word

#: Statements that the conformance set has no example of.
_MORE = (
    "REFRESH MATERIALIZED VIEW paid",
    "REFRESH MATERIALIZED VIEW pages FULL",
    "DROP MATERIALIZED VIEW IF EXISTS cities",
    "DROP TABLE IF EXISTS spare",
    "DROP VIEW targets",
    "TRUNCATE TABLE spare",
    "SHOW MATERIALIZED VIEWS",
    "SHOW TABLES",
    "DESCRIBE MATERIALIZED VIEW paid",
    "EXPLAIN MATERIALIZED VIEW pages",
    "INSERT INTO spare (name, id) SELECT name, cust_id FROM customers",
    "INSERT OVERWRITE spare VALUES (9, 'nine', 9.5, DATE'2025-01-01')",
    "WITH q AS (SELECT 7 AS id) INSERT INTO spare (id) SELECT id + 10 FROM q",
    "UPDATE spare AS s SET name = upper(s.name), x = x * 2 WHERE s.id IN (SELECT cust_id FROM blocked)",
    "DELETE FROM spare WHERE x IS NULL OR d < DATE'2025-02-02'",
    "MERGE INTO spare AS s USING (SELECT cust_id, name FROM customers) AS c ON s.id = c.cust_id "
    "WHEN MATCHED AND s.x > 1 THEN UPDATE SET name = c.name WHEN MATCHED THEN DELETE "
    "WHEN NOT MATCHED THEN INSERT (id, name) VALUES (c.cust_id, c.name)",
    "CREATE TABLE fresh (a INT, b STRING NOT NULL, c DECIMAL(8,2), d ARRAY<INT>, PRIMARY KEY (a)) COMMENT 'x'",
    "CREATE OR REPLACE TABLE spare AS SELECT cust_id AS id, name FROM customers",
    "CREATE TABLE IF NOT EXISTS fresh USING DELTA TBLPROPERTIES ('a' = 'b') AS SELECT 1 AS one",
    "CREATE OR REPLACE MATERIALIZED VIEW pages REFRESH POLICY INCREMENTAL COMMENT 'it''s' AS SELECT page FROM visits",
    "CREATE MATERIALIZED VIEW IF NOT EXISTS paid REFRESH POLICY FULL AS SELECT 1 AS one",
    "CREATE MATERIALIZED VIEW w REFRESH POLICY INCREMENTAL STRICT AS SELECT status, count(*) AS n FROM paid GROUP BY 1",
    "SELECT * FROM paid p JOIN pages USING (page)",
    "SELECT CASE WHEN price > 20 THEN 'dear' ELSE title END AS c, `price` FROM products -- all of them",
    "SELECT map('a', 1)['a'], named_struct('f', 1).f, transform(array(1, 2), x -> x + 1), INTERVAL 1 DAY",
    "EXPLAIN SELECT 1",
    "SET x = 1",
    "VALUES (1, 'a'), (2, 'b')",
)

_ODD_NAMES = (
    "`a b`", "``", "```", "`a``b`", "`__from`", "`__rv_file`", "`__rollview__paid`", "`__w`", "rv_data", "rowid", "1abc",
    "`\x00`", "`ü🦆`", "select", "`.`", "`..`", "`../x`", "`/`", "a.b.c.d", "`_delta_log`", "`" + "n" * 300 + "`",
    "_rollview", "information_schema.tables", "`x\ny`", "`'`", '"q"', "$x", "@v", "#", "nowhere", "customers", "items",
)  # fmt: skip

_ODD_VALUES = (
    "NULL", "''", "'x", "'\x00'", "-1", "99999999999999999999999", "1e400", "1.5e", "0x1F", "TRUE", "DATE'2025-13-45'",
    "TIMESTAMP'x'", "INTERVAL 1 fortnight", "ARRAY(1, 'a')", "MAP(1)", "STRUCT(", "CAST('x' AS INT)", "X'zz'", "?", ":p",
    "{d '2025-01-01'}", "${x}", "b'ab'", "current_date()", "rand()", "count(*)", "sum(sum(qty))", "row_number() OVER ()",
    "(SELECT 1, 2)", "(SELECT cust_id FROM customers)", "explode(tags)", "nope(1)", "1 / 0", "*", "x -> x", "'é😀'",
)  # fmt: skip

_ODD_SIGNS = (
    "(", ")", "[", "]", "{", "}", ",", ";", "'", '"', "`", "\\", "/*", "*/", "--", "\x00", "\n", "\t", "\u00a0", "\u200b",
    "\ufeff", "😀", "=", "<=>", "||", "|>", "::", "->", "=>", ".", "..", "*", "%", "!", "@", "#", "$", "?", ":", "~", "^",
    "{{", "{%", "{#",
)  # fmt: skip

_WORDS = (
    "SELECT", "FROM", "WHERE", "GROUP BY", "HAVING", "ORDER BY", "LIMIT", "OFFSET", "JOIN", "LEFT", "ASOF", "NATURAL",
    "LATERAL", "VIEW", "ON", "USING", "UNION", "EXCEPT", "INTERSECT", "ALL", "DISTINCT", "WITH", "RECURSIVE", "AS", "IN",
    "EXISTS", "NOT", "IS", "NULL", "CASE", "WHEN", "THEN", "ELSE", "END", "CAST", "OVER", "PARTITION BY", "WINDOW", "ROWS",
    "PIVOT", "UNPIVOT", "TABLESAMPLE (1 ROWS)", "VALUES", "INSERT", "INTO", "UPDATE", "SET", "DELETE", "MERGE", "MATCHED",
    "CREATE", "TABLE", "MATERIALIZED VIEW", "REFRESH", "POLICY", "INCREMENTAL", "STRICT", "FULL", "COMMENT", "PRIMARY KEY",
    "DROP", "IF", "QUALIFY", "BETWEEN", "AND", "OR", "LIKE", "FOR", "OF", "INTERVAL", "FILTER", "GROUPING SETS", "ROLLUP",
    "CLUSTER BY", "FETCH FIRST 1 ROWS WITH TIES", "ANY", "DEFAULT", "IGNORE NULLS", "BEGIN", "COMMIT", "ATTACH", "PRAGMA",
)  # fmt: skip

#: What stands around a nested expression, and how often at most: deeper ones have tests of their own.
_NESTS = (
    ("(", ")", 100),
    ("CASE WHEN true THEN ", " END", 60),
    ("(SELECT max(", "))", 24),
    ("abs(", ")", 80),
    ("NOT ", "", 100),
    ("sum(", ") OVER (PARTITION BY status)", 30),
)


@cache
def good() -> tuple[str, ...]:
    """The statements that are mutated."""
    views = [view.sql for view in (*shop.views(), *shop.more_views()) if not view.spark_only]
    changes = [sql for each in shop.rounds() for sql in each.statements]
    made = [sql for sql in shop.schema() if sql.upper().startswith("CREATE")]
    created = [f"CREATE MATERIALIZED VIEW w AS {sql}" for sql in views]
    return (*_MORE * 6, *changes, *made, *created, *views[::4])


@cache
def _tokens(sql: str) -> tuple[Word, ...]:
    return tuple(SqlTokens.of(sql).tokens)


def statement(seed: int) -> str:
    """A statement that is probably wrong."""
    rng = random.Random(seed)
    sql = rng.choice(good())
    for number in range(rng.choice((1, 1, 1, 2, 3))):
        sql = rng.choice(_MUTATIONS)(rng, sql, number == 0)
    return sql


Mutation = Callable[[random.Random, str, bool], str]


def _pieces(sql: str, whole: bool) -> list[str]:
    """The text in words and what is between them."""
    if not whole:  # no longer known to be readable
        return sql.split(" ")
    pieces, at = [], 0
    for token in _tokens(sql):
        pieces += [sql[at : token.start], sql[token.start : token.stop]]
        at = token.stop
    return [piece for piece in [*pieces, sql[at:]] if piece]


def _spot(rng: random.Random, pieces: list[str]) -> int:
    """Some word; rarely one of the first, which say what kind of statement it is."""
    words = [i for i, piece in enumerate(pieces) if piece.strip()]
    if len(words) > 6 and rng.random() < 0.9:
        words = words[5:]
    return rng.choice(words) if words else 0


def _joined(pieces: list[str], whole: bool) -> str:
    return "".join(pieces) if whole else " ".join(pieces)


def _cut(rng: random.Random, sql: str, _: bool) -> str:
    return sql[: rng.randrange(1, len(sql) + 1)]


def _beheaded(rng: random.Random, sql: str, _: bool) -> str:
    return sql[rng.randrange(len(sql)) :]


def _put(words: tuple[str, ...]) -> Mutation:
    """Another text in place of a word."""

    def mutated(rng: random.Random, sql: str, whole: bool) -> str:
        pieces = _pieces(sql, whole)
        if pieces:
            pieces[_spot(rng, pieces)] = rng.choice(words)
        return _joined(pieces, whole)

    return mutated


def _replaced(kinds: set[TokenType], texts: tuple[str, ...]) -> Mutation:
    """Another text in place of a name, or of a value: the statement can still be read."""

    def mutated(rng: random.Random, sql: str, whole: bool) -> str:
        words = [token for token in _tokens(sql) if token.kind in kinds] if whole else []
        if not words:
            return _put(texts)(rng, sql, whole)
        chosen = rng.choice(words)
        other = rng.choice((rng.choice(words).text, rng.choice(texts)))
        return sql[: chosen.start] + other + sql[chosen.stop :]

    return mutated


def _added(words: tuple[str, ...]) -> Mutation:
    """One more text beside a word."""

    def mutated(rng: random.Random, sql: str, whole: bool) -> str:
        pieces = _pieces(sql, whole)
        if pieces:
            pieces[_spot(rng, pieces)] += " " + rng.choice(words)
        return _joined(pieces, whole)

    return mutated


def _dropped(rng: random.Random, sql: str, whole: bool) -> str:
    pieces = _pieces(sql, whole)
    if pieces:
        del pieces[_spot(rng, pieces)]
    return _joined(pieces, whole)


def _doubled(rng: random.Random, sql: str, whole: bool) -> str:
    pieces = _pieces(sql, whole)
    if pieces:
        at = _spot(rng, pieces)
        pieces[at] += " " + pieces[at]
    return _joined(pieces, whole)


def _swapped(rng: random.Random, sql: str, whole: bool) -> str:
    pieces = _pieces(sql, whole)
    if pieces:
        a, b = _spot(rng, pieces), _spot(rng, pieces)
        pieces[a], pieces[b] = pieces[b], pieces[a]
    return _joined(pieces, whole)


def _anywhere(rng: random.Random, sql: str, _: bool) -> str:
    at = rng.randrange(len(sql) + 1)
    return sql[:at] + rng.choice(_ODD_SIGNS) + sql[at:]


def _unbalanced(rng: random.Random, sql: str, _: bool) -> str:
    spots = [i for i, sign in enumerate(sql) if sign in "()[]'`\""]
    if not spots:
        return sql + ")"
    at = rng.choice(spots)
    return sql[:at] + sql[at + 1 :]


def _nested(rng: random.Random, sql: str, whole: bool) -> str:
    pieces = _pieces(sql, whole)
    at = _spot(rng, pieces)
    before, after, deepest = rng.choice(_NESTS)
    depth = rng.randrange(2, deepest)
    if pieces:
        pieces[at] = before * depth + pieces[at] + after * (depth - (rng.random() < 0.2))
    return _joined(pieces, whole)


def _crossed(rng: random.Random, sql: str, _: bool) -> str:
    """The beginning of one statement and the end of another."""
    other = rng.choice(good())
    return sql[: rng.randrange(len(sql) + 1)] + " " + other[rng.randrange(len(other)) :]


_MUTATIONS: tuple[Mutation, ...] = (
    *[_replaced({TokenType.VAR, TokenType.IDENTIFIER}, _ODD_NAMES)] * 4,
    *[_replaced({TokenType.VAR, TokenType.IDENTIFIER}, _ODD_VALUES)] * 5,
    *[_replaced({TokenType.NUMBER, TokenType.STRING}, _ODD_VALUES)] * 4,
    _put(_WORDS), _added(_WORDS), _added(_ODD_VALUES), _put(_ODD_SIGNS), _cut, _beheaded, _dropped, _dropped, _swapped,
    _swapped, _nested, _nested, _doubled, _anywhere, _unbalanced, _crossed,
)  # fmt: skip
