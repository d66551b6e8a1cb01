"""Each rewriting of a subquery into joins and groups: the operator that comes of it, and that it means the same.

Every query runs as it is written, and as its plan, on many random fillings of small tables with NULLs and duplicates.
"""

from __future__ import annotations

import random

import duckdb
import pytest
import sqlglot

import duck
import generate
from rollview.codegen.printer import print_plan
from rollview.frontend.sql import build_plan
from rollview.parse.references import parse_query
from rollview.plan.nodes import show_plan

REWRITINGS = {
    "EXISTS is a semi join": ("SELECT k FROM r WHERE EXISTS (SELECT 1 FROM u WHERE u.a = r.a)", ["join semi"]),
    "NOT EXISTS is an anti join": ("SELECT k FROM r WHERE NOT EXISTS (SELECT 1 FROM u WHERE u.a = r.a)", ["join anti"]),
    "EXISTS on an inequality": ("SELECT k FROM r WHERE EXISTS (SELECT 1 FROM u WHERE u.a < r.a AND u.b > 1)", ["join semi"]),
    "EXISTS that does not look outside": ("SELECT k FROM r WHERE EXISTS (SELECT 1 FROM u WHERE a > 3)", ["join semi"]),
    "EXISTS over a group without keys is always true": ("SELECT k FROM r WHERE EXISTS (SELECT count(*) FROM u WHERE u.a = r.a)", []),
    "EXISTS over groups": ("SELECT k FROM r WHERE EXISTS (SELECT a FROM u WHERE u.a = r.a GROUP BY a HAVING count(*) > 1)", ["join semi", "aggregate"]),
    "EXISTS under OR is a mark join": ("SELECT k FROM r WHERE b = 1 OR EXISTS (SELECT 1 FROM u WHERE u.a = r.a)", ["join mark"]),
    "IN is a semi join": ("SELECT k FROM r WHERE a IN (SELECT a FROM u)", ["join semi"]),
    "IN of a tuple": ("SELECT k FROM r WHERE (a, b) IN (SELECT a, b FROM u)", ["join semi"]),
    "IN that looks outside": ("SELECT k FROM r WHERE a IN (SELECT a FROM u WHERE u.b = r.b)", ["join semi"]),
    "NOT IN minds NULL": ("SELECT k FROM r WHERE a NOT IN (SELECT a FROM u)", ["join"]),
    "NOT IN that looks outside minds NULL": ("SELECT k FROM r WHERE a NOT IN (SELECT a FROM u WHERE u.b = r.b)", ["join"]),
    "NOT IN of a tuple minds NULL": ("SELECT k FROM r WHERE (a, b) NOT IN (SELECT a, b FROM u)", ["join"]),
    "NOT IN of nothing is true": ("SELECT k FROM r WHERE a NOT IN (SELECT a FROM u WHERE a > 99)", ["join"]),
    "IN as a value is a mark join": ("SELECT k, a IN (SELECT a FROM u) AS m FROM r", ["join mark"]),
    "NOT IN as a value is a mark join": ("SELECT k, a NOT IN (SELECT a FROM u WHERE u.b <= r.b) AS m FROM r", ["join mark"]),
    "ANY": ("SELECT k FROM r WHERE a < ANY (SELECT a FROM u)", ["join"]),
    "ALL": ("SELECT k FROM r WHERE a >= ALL (SELECT a FROM u)", ["join"]),
    "a scalar is a join with its one row": ("SELECT k, (SELECT max(a) FROM u) AS m FROM r", ["join", "aggregate"]),
    "a scalar of no rows is NULL": ("SELECT k, (SELECT a FROM u WHERE a > 99) AS m FROM r", ["join"]),
    "a correlated scalar is a left join with groups": ("SELECT k, (SELECT max(b) FROM u WHERE u.a = r.a) AS m FROM r", ["join left", "aggregate"]),
    "a correlated count of nothing is 0": ("SELECT k, (SELECT count(*) FROM u WHERE u.a = r.a) AS n FROM r", ["join left", "aggregate"]),
    "a correlated count plus one": ("SELECT k, (SELECT count(*) + 1 FROM u WHERE u.a = r.a) AS n FROM r", ["join left", "aggregate"]),
    "a correlated count of nothing, coalesced": ("SELECT k, (SELECT coalesce(sum(b), -1) FROM u WHERE u.a = r.a) AS n FROM r", ["aggregate"]),
    "a correlated scalar on an inequality": ("SELECT k, (SELECT sum(b) FROM u WHERE u.a <= r.a) AS m FROM r", ["join", "aggregate"]),
    "a correlated scalar compared": ("SELECT k FROM r WHERE b > (SELECT avg(b) FROM r q WHERE q.a = r.a)", ["join", "aggregate"]),
    "a correlated scalar with an outer value in its result": ("SELECT k, (SELECT max(u.b) + r.b FROM u WHERE u.a = r.a) AS m FROM r", ["aggregate"]),
    "a correlated scalar two levels down": ("SELECT k FROM r WHERE EXISTS (SELECT 1 FROM w WHERE w.k = r.k AND w.a > (SELECT min(u.b) FROM u WHERE u.a = r.a))", ["join"]),
    "a scalar in HAVING": ("SELECT a, count(*) AS n FROM r GROUP BY a HAVING count(*) > (SELECT min(b) FROM u)", ["join", "aggregate"]),
    "EXISTS over a union": ("SELECT k FROM r WHERE EXISTS (SELECT a FROM u WHERE u.a = r.a UNION ALL SELECT b FROM x WHERE x.b = r.b)", ["union all"]),
    "EXISTS over EXCEPT": ("SELECT k FROM r WHERE EXISTS (SELECT b FROM u WHERE u.a = r.a EXCEPT SELECT b FROM x)", ["set operation"]),
    "IN in the ON of a left join, over the right side": ("SELECT r.k, u.b FROM r LEFT JOIN u ON r.a = u.a AND u.b IN (SELECT b FROM x)", ["join left", "join mark"]),
    "IN in the ON of a left join, over the left side": ("SELECT r.k, u.b FROM r LEFT JOIN u ON r.a = u.a AND r.b NOT IN (SELECT b FROM x)", ["join left", "join mark"]),
    "EXISTS and a scalar in the ON of a full join": ("SELECT r.k, u.b FROM r FULL JOIN u ON r.a = u.a AND (EXISTS (SELECT 1 FROM x WHERE x.b = r.b) OR u.b > (SELECT min(b) FROM x))", ["join full", "join mark"]),
    "a subquery over both sides of an ON, each by itself": ("SELECT r.k FROM r RIGHT JOIN u ON r.a IN (SELECT a FROM w) = u.b IN (SELECT b FROM x)", ["join mark"]),
    "LATERAL is a join": ("SELECT r.k, l.b FROM r, LATERAL (SELECT b FROM u WHERE u.a = r.a) l", ["join inner"]),
    "LATERAL with groups": ("SELECT r.k, l.n FROM r, LATERAL (SELECT count(*) AS n FROM u WHERE u.a = r.a) l", ["aggregate"]),
    "LATERAL with a limit": ("SELECT r.k, l.b FROM r, LATERAL (SELECT b FROM u WHERE u.a = r.a ORDER BY b LIMIT 1) l", ["window"]),
    "LATERAL over an inequality": ("SELECT r.k, l.s FROM r, LATERAL (SELECT sum(b) AS s FROM u WHERE u.a > r.a) l", ["join", "aggregate"]),
    "a window in a correlated subquery": ("SELECT k FROM r WHERE b IN (SELECT rank() OVER (ORDER BY u.b) FROM u WHERE u.a = r.a)", ["window"]),
    "DISTINCT in a correlated subquery": ("SELECT k, (SELECT count(DISTINCT b) FROM u WHERE u.a = r.a) AS n FROM r", ["aggregate"]),
}  # fmt: skip


@pytest.mark.parametrize("title", REWRITINGS)
@pytest.mark.one_in(3)
def test_a_rewritten_subquery_means_the_same(title: str) -> None:
    sql, operators = REWRITINGS[title]
    plan = build_plan(parse_query(sql), sql, duck.finder(generate.TABLES))
    shown = show_plan(plan)
    assert not plan.free, shown
    for operator in operators:
        assert operator in shown
    original, printed = sqlglot.transpile(sql, read="spark", write="duckdb")[0], print_plan(plan, "duckdb")
    db = duckdb.connect()
    for seed in range(25):
        generate.fill(db, random.Random(seed), rows=6)
        assert duck.result(db, printed) == duck.result(db, original), f"seed {seed}\n{shown}"
