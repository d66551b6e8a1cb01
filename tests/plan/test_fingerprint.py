"""Spellings of one query have one fingerprint, and other queries another one."""

from __future__ import annotations

import pytest

import duck
import generate
from compare import rows
from rollview import Rollview
from rollview.frontend.query import compile_view
from rollview.plan.fingerprint import fingerprint

BASE = "SELECT q.k, count(*) AS n FROM (SELECT k, a AS y FROM r WHERE s = 't0_a') q JOIN u ON q.y = u.a GROUP BY q.k"


def print_of(sql: str) -> str:
    return fingerprint(compile_view(sql, duck.finder(generate.TABLES)).plan)


@pytest.mark.parametrize(
    "sql",
    [
        "select  Q.k, COUNT(*) n\nfrom (select K, A y from R where S='t0_a') Q join U on Q.y = U.a group by Q.K",
        "SELECT z.k, count(*) AS n FROM (SELECT k, a AS other FROM r WHERE s = 't0_a') z JOIN u v ON z.other = v.a GROUP BY z.k",
        "WITH w AS (SELECT k, a AS y FROM r WHERE s = 't0_a') SELECT w.k, count(*) AS N FROM w JOIN u ON w.y = u.a GROUP BY 1",
        "SELECT r.k, count(*) AS n FROM r JOIN u ON r.a = u.a WHERE r.s = 't0_a' GROUP BY r.k",
    ],
)
def test_spellings_of_one_query(sql: str) -> None:
    assert print_of(sql) == print_of(BASE)


@pytest.mark.parametrize(
    "sql",
    [
        BASE.replace("AS n", "AS m"),
        BASE.replace("'t0_a'", "'t1_a'"),
        BASE.replace("count(*)", "count(q.y)"),
        BASE.replace("JOIN u", "LEFT JOIN u"),
        BASE.replace("q.y = u.a", "q.y = u.b"),
        BASE.replace("FROM r", "FROM (SELECT * FROM r WHERE b = 1) r"),
    ],
)
def test_other_queries(sql: str) -> None:
    assert print_of(sql) != print_of(BASE)


def test_replacing_a_view_by_another_spelling_keeps_its_rows(rv: Rollview) -> None:
    rv.sql("CREATE TABLE t (id INT, g STRING, PRIMARY KEY (id)); INSERT INTO t VALUES (1, 'a')")
    rv.create("v", "SELECT g, count(*) AS n FROM t GROUP BY g")
    before = rv.store.version("__rollview__v")
    rv.sql("INSERT INTO t VALUES (2, 'b')")
    assert (
        rv.create("v", "WITH x AS (SELECT g FROM t) select X.g, COUNT(*) n from x group by 1", or_replace=True).strategy
        == "no_op"
    )
    assert rows(rv.table("v")) == [("a", 1)]
    assert rv.store.changes("__rollview__v", before, rv.store.version("__rollview__v")).isEmpty()
    assert "WITH x AS" in rv.explain("v")
    new = rv.sql(
        "CREATE OR REPLACE MATERIALIZED VIEW v COMMENT 'kept' REFRESH POLICY FULL AS SELECT g AS G, count(*) AS n FROM t GROUP BY g"
    )
    assert new.collect()[0]["strategy"] == "no_op"
    (status,) = rv.views()
    assert (status.policy, status.comment, rv.table("v").columns) == ("FULL", "kept", ["G", "n"])
    assert rv.refresh("v").reason == "policy"
    assert rv.create("v", "SELECT g, count(*) AS m FROM t GROUP BY g", or_replace=True).reason == "replaced"
    assert rows(rv.table("v")) == [("a", 1), ("b", 1)]
