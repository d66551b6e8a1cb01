"""What a query leaves open is decided by the key, the same way at creation, refresh and recomputation; and verify knows."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest
from typer.testing import CliRunner

import duck
from compare import rows
from rollview import Rollview, connect
from rollview.cli.main import app
from rollview.codegen.printer import print_plan
from rollview.errors import Unsupported
from rollview.frontend.query import compile_view
from rollview.frontend.sql import BaseTable
from rollview.views.results import Verification
from seeds import sample

TABLES = {
    "t": BaseTable("t", (("id", "int"), ("g", "int"), ("x", "int"), ("d", "double")), ("id",)),
    "b": BaseTable("b", (("g", "int"), ("x", "int"), ("m", "string")), ()),
}

#: Queries that leave a choice open, and how it is decided.
OPEN = {
    "SELECT g, x FROM t LIMIT 3": ["LIMIT 3: the first rows by the key: id"],
    "SELECT m FROM b LIMIT 3": ["LIMIT 3: the first rows by all columns: m"],
    "SELECT id FROM t OFFSET 4": ["OFFSET 4: the first rows by the key: id"],
    "SELECT g, x FROM t ORDER BY x DESC LIMIT 4": ["LIMIT 4: ties by the key: id"],
    "SELECT g, x FROM t ORDER BY x LIMIT 1": ["LIMIT 1: ties by the key: id"],
    "SELECT g, sum(d) AS s FROM t GROUP BY g LIMIT 2": ["LIMIT 2: the first rows by the key: g"],
    "SELECT sum(x) AS s FROM (SELECT x FROM t ORDER BY g LIMIT 4)": ["LIMIT 4: ties by the key: id"],
    "SELECT g, x FROM t WHERE x IN (SELECT x FROM b LIMIT 2)": ["LIMIT 2: the first rows by all columns: x"],
    "SELECT id, (SELECT b.m FROM b WHERE b.g = t.g LIMIT 1) AS m FROM t": [
        "LIMIT 1 for each g: the first rows by all columns: m"
    ],
    "SELECT id, (SELECT u.id FROM t u WHERE u.g = t.g ORDER BY u.x LIMIT 1) AS y FROM t": [
        "LIMIT 1 for each g: ties by the key: id"
    ],
    "SELECT id, (SELECT u.id FROM t u WHERE u.g = t.g AND u.x < t.x ORDER BY u.d LIMIT 1 OFFSET 2) AS y FROM t": [
        "LIMIT 1 for each g, x: ties by the key: id"
    ],
    "SELECT g, x, row_number() OVER (PARTITION BY g ORDER BY x) AS n FROM t": [
        "ROW_NUMBER() OVER (PARTITION BY g ORDER BY x): ties by the key: id"
    ],
    "SELECT g, m, row_number() OVER (PARTITION BY g ORDER BY x) AS n FROM b": [
        "ROW_NUMBER() OVER (PARTITION BY g ORDER BY x): ties by all columns: m"
    ],
    "SELECT id, sum(x) OVER (PARTITION BY g ORDER BY x ROWS 1 PRECEDING) AS s FROM t": [
        "SUM(x) OVER (PARTITION BY g ORDER BY x ROWS BETWEEN 1 PRECEDING AND CURRENT ROW): ties by the key: id"
    ],
    "SELECT id, last_value(id) OVER (PARTITION BY g ORDER BY x) AS l, nth_value(id, 2) OVER (PARTITION BY g ORDER BY x) AS n FROM t": [
        "LAST_VALUE(id) OVER (PARTITION BY g ORDER BY x): ties by the key: id",
        "NTH_VALUE(id, 2) OVER (PARTITION BY g ORDER BY x): ties by the key: id",
    ],
    "SELECT id, collect_list(id) OVER (PARTITION BY g ORDER BY x DESC) AS l, first_value(id) OVER (PARTITION BY g) AS f FROM t": [
        "COLLECT_LIST(id) OVER (PARTITION BY g ORDER BY x DESC): ties by the key: id",
        "FIRST_VALUE(id) OVER (PARTITION BY g): rows by the key: id",
    ],
    "SELECT g, collect_list(x) AS l, collect_set(x) AS s FROM t GROUP BY g": [
        "COLLECT_LIST(x): elements by the key: id",
        "COLLECT_SET(x): elements in order",
    ],
    "SELECT g, array_agg(x) AS l, array_agg(m) AS m FROM b GROUP BY g": [
        "COLLECT_LIST(x): elements by all columns: x, m",
        "COLLECT_LIST(m): elements by all columns: x, m",
    ],
    "SELECT x, listagg(m, ',') AS l, listagg(DISTINCT m, ',') AS s FROM b GROUP BY x": [
        "LISTAGG(m, ','): elements by all columns: m",
        "LISTAGG(DISTINCT m, ','): elements in order",
    ],
    "SELECT g, first(x) AS f, last(x) AS l, any_value(x) AS a, mode(x) AS m FROM t GROUP BY g": [
        "FIRST(x): rows by the key: id",
        "LAST(x): rows by the key: id",
        "ANY_VALUE(x): rows by the key: id",
        "MODE(x): the least of these values",
    ],
    "SELECT g, max_by(id, x) AS a, min_by(id, x) AS i, first(x, true) AS f FROM t GROUP BY g": [
        "MAX_BY(id, x): ties by the key: id",
        "MIN_BY(id, x): ties by the key: id",
        "FIRST(x) IGNORE NULLS: rows by the key: id",
    ],
}

#: Queries that have one right answer, though they look as if they had several.
CLOSED = [
    "SELECT count(*) AS n, sum(x) AS s FROM t LIMIT 100",
    "SELECT g, x FROM t ORDER BY id LIMIT 3",
    "SELECT g, x FROM t ORDER BY g, id DESC LIMIT 3",
    "SELECT id FROM t WHERE EXISTS (SELECT 1 FROM b WHERE b.g = t.g LIMIT 1)",
    "SELECT g, rank() OVER (ORDER BY x) AS n, sum(x) OVER (ORDER BY x) AS s FROM t",
    "SELECT id, row_number() OVER (ORDER BY id) AS n, max(x) OVER (PARTITION BY g) AS m FROM t",
    "SELECT g, sort_array(collect_list(x)) AS l, size(collect_set(x)) AS n FROM t GROUP BY g",
    "SELECT id, collect_list(x) AS l, first(x) AS f FROM t GROUP BY id",
    "SELECT g, max_by(x, id) AS a, first(g) AS f, mode(g) AS m FROM t GROUP BY g",
    "SELECT g, listagg(m, ',') WITHIN GROUP (ORDER BY m) AS l FROM b GROUP BY g",
]


def filled() -> Rollview:
    rv = connect("duckdb:")
    rv.sql("CREATE TABLE t (id INT, g INT, x INT, d DOUBLE, PRIMARY KEY (id))")
    rv.sql("CREATE TABLE b (g INT, x INT, m STRING)")
    rv.sql("INSERT INTO t VALUES " + ", ".join(f"({i}, {i % 3}, {i * 7 % 5}, {i} / 7.0D)" for i in range(40, 0, -1)))
    rv.sql("INSERT INTO b VALUES " + ", ".join(f"({i % 3}, {i * 7 % 5}, 'm{i % 4}')" for i in range(30)))
    return rv


def changes(rng: random.Random, turn: int) -> list[str]:
    return [
        f"DELETE FROM t WHERE id = {rng.randrange(45)}",
        f"UPDATE t SET x = {rng.choice([0, 1, 2, 'NULL'])} WHERE id = {rng.randrange(40)}",
        f"INSERT INTO t VALUES ({100 + turn}, {rng.randrange(4)}, {rng.randrange(4)}, 0.5)",
        f"INSERT INTO b VALUES ({rng.randrange(3)}, {rng.randrange(4)}, 'a')",
        f"DELETE FROM b WHERE x = {rng.randrange(4)} AND g = {rng.randrange(4)}",
    ]


@pytest.mark.parametrize("sql", [*OPEN, *CLOSED])
def test_explain_and_the_plan_say_what_is_open(sql: str) -> None:
    compiled = compile_view(sql, duck.finder(TABLES))
    assert list(map(str, compiled.choices)) == OPEN.get(sql, [])


@pytest.mark.parametrize("one_in", [3, pytest.param(1, marks=pytest.mark.slow)])
def test_creation_refresh_and_recomputation_make_one_choice(one_in: int) -> None:
    """A view that was refreshed, the same one recomputed, and one that is made only now, show the same rows."""
    rv, rng = filled(), random.Random(3)
    views = {f"v{i}": sql for i, sql in enumerate(sample([*OPEN, *CLOSED], one_in))}
    for name, sql in views.items():
        rv.sql(f"CREATE MATERIALIZED VIEW {name} REFRESH POLICY INCREMENTAL AS {sql}")
        assert rv.verify(name).ok, sql
    for turn in range(2):
        for statement in changes(rng, turn):
            rv.sql(statement)
        for name, sql in views.items():
            assert rv.refresh(name).strategy != "full", sql
            shown, check = rows(rv.table(name)), rv.verify(name)
            assert check.ok, (sql, turn, check)
            assert not check.choices or sql in OPEN, sql
            if turn == 1:
                rv.refresh(name, full=True)
                assert rows(rv.table(name)) == shown, (sql, turn)
                rv.create("w", sql, or_replace=True)
                assert rows(rv.table("w")) == shown, (sql, turn)


def test_the_rows_of_a_limit_are_rows_of_the_query() -> None:
    """Independently of verify: as many as there can be, and none that the query does not have."""
    rv, rng = filled(), random.Random(4)
    whole = {"SELECT g, x FROM t": 7, "SELECT m FROM b": 5, "SELECT t.g, b.m FROM t JOIN b ON t.x = b.x": 9}
    for i, (sql, count) in enumerate(whole.items()):
        rv.create(f"l{i}", f"{sql} LIMIT {count}")
    for turn in range(5):
        for statement in [*changes(rng, turn), f"DELETE FROM t WHERE id > {30 - 7 * turn}"]:
            rv.sql(statement)
        rv.refresh_all()
        for i, (sql, count) in enumerate(whole.items()):
            found, those = Counter(rows(rv.table(f"l{i}"))), Counter(rows(rv.sql(sql)))
            assert found <= those
            assert found.total() == min(count, those.total())


def test_functions_over_frames_with_ties_take_right_answers() -> None:
    """All rows that tie have one frame, and so one answer; and it is one of the frame's values."""
    rv = filled()
    over = "OVER (PARTITION BY g ORDER BY x)"
    rv.create(
        "v",
        f"SELECT id, g, x, last_value(id) {over} AS l, collect_list(id) {over} AS c, nth_value(id, 3) {over} AS n, "
        f"first_value(CASE WHEN id > 20 THEN id END) IGNORE NULLS {over} AS f, listagg(CAST(id AS STRING), ',') {over} AS s FROM t",
    )
    rv.sql("DELETE FROM t WHERE id % 11 = 1; INSERT INTO t VALUES (50, 1, 2, 0), (0, 1, 2, 0)")
    rv.refresh("v")
    by_id = {row[0]: row for row in rows(rv.table("v"))}
    for _, g, x, last, collected, third, first, listed in by_id.values():
        order = sorted((row[2], row[0]) for row in by_id.values() if row[1] == g and row[2] <= x)
        frame = [key for _, key in order]
        assert (last, collected, listed) == (frame[-1], frame, ",".join(map(str, frame)))
        assert third == (frame[2] if len(frame) > 2 else None)
        assert first == next((key for key in frame if key > 20), None)


def damaged(rv: Rollview, view: str, change: str) -> Verification:
    state = rv.catalog.state(view)
    rv.catalog.engine.connection.execute(f'UPDATE rv_data."{state}" SET {change}')  # type: ignore[attr-defined]
    return rv.verify(view)


def test_verify_excuses_a_choice_and_nothing_else() -> None:
    rv = filled()
    rv.create("tied", "SELECT id, g, row_number() OVER (PARTITION BY g ORDER BY x) AS n FROM t")
    found = rv.verify("tied")
    assert found.ok
    assert found.choices == ("ROW_NUMBER() OVER (PARTITION BY g ORDER BY x): ties by the key: id",)
    found = damaged(rv, "tied", "g = 77 WHERE id = 5")
    assert (found.ok, found.missing, found.extra) == (False, 1, 1)
    assert found.extra_sample[0]["g"] == 77
    rv.refresh("tied", full=True)
    assert not damaged(rv, "tied", "n = n + 1 WHERE id = 5").ok
    rv.create("closed", "SELECT id, g, row_number() OVER (PARTITION BY g ORDER BY x, id) AS n FROM t")
    found = rv.verify("closed")
    assert (found.ok, found.choices) == (True, ())
    found = damaged(rv, "closed", "n = n + 1 WHERE id = 5")
    assert (found.ok, found.choices) == (False, ())


def test_a_view_without_open_choices_is_never_compared_with_its_own_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    """If the compiler were wrong, the text would tell: here a plan that forgets a filter."""
    from rollview.plan.nodes import Filter, Node
    from rollview.plan.rewrite import apply_rule

    def forgetful(plan: Node) -> Node:
        return apply_rule(plan, lambda node: node.input if isinstance(node, Filter) else None)

    rv = filled()
    monkeypatch.setattr("rollview.frontend.query.normalise", forgetful)
    rv.create("v", "SELECT g, count(*) AS n FROM t WHERE x > 1 GROUP BY g")
    assert not rv.verify("v").ok


def test_explain_names_the_choices_and_the_columns_that_decide() -> None:
    rv = filled()
    rv.create("v", "SELECT g, x FROM t ORDER BY x LIMIT 3")
    assert "  choices that the query leaves open\n    LIMIT 3: ties by the key: id\n" in rv.explain("v")
    rv.create("w", "SELECT g, x FROM t ORDER BY x, id LIMIT 3")
    assert "leaves open" not in rv.explain("w")


def test_the_command_line_says_that_the_key_decided(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    rv = filled()
    rv.create("tied", "SELECT id, row_number() OVER (ORDER BY x) AS n FROM t")
    rv.create("plain", "SELECT id FROM t")
    monkeypatch.setattr("rollview.cli.app.connect", lambda *_, **__: rv)
    shown = CliRunner().invoke(app, ["verify", "-w", str(tmp_path)])
    assert shown.exit_code == 0
    assert "equal, ties decided by the key" in shown.output
    assert "tied leaves open ROW_NUMBER() OVER (ORDER BY x): ties by the key: id" in shown.output
    assert "plain leaves open" not in shown.output
    assert (
        '"choices": ["ROW_NUMBER()' in CliRunner().invoke(app, ["verify", "tied", "-w", str(tmp_path), "--json"]).output
    )


@pytest.mark.parametrize(
    ("sql", "in_spark", "in_duckdb"),
    [
        ("first(x)", "MIN_BY(`x`, STRUCT(`id`))", 'FIRST("x" ORDER BY "id" NULLS FIRST)'),
        ("last(x, true)", "MAX_BY(`x`, CASE WHEN NOT `x` IS NULL THEN STRUCT(`id`) END)", 'LAST("x" ORDER BY "id" NULLS FIRST) FILTER(WHERE NOT "x" IS NULL)'),
        ("max_by(d, x)", "MAX_BY(`d`, CASE WHEN NOT `x` IS NULL THEN STRUCT(`x`, `id`) END)", 'ARG_MAX("d", "x" ORDER BY "id" DESC)'),
        ("collect_set(x)", "SORT_ARRAY(COLLECT_SET(`x`))", 'ARRAY_AGG(DISTINCT "x" ORDER BY "x" NULLS FIRST) FILTER(WHERE'),
        ("mode(x)", "MODE(`x`, TRUE)", 'MODE("x" ORDER BY "x"'),
        ("collect_list(x) FILTER (WHERE d > 1)", "TRANSFORM(SORT_ARRAY(COLLECT_LIST(CASE WHEN (`d` > 1) AND (NOT `x` IS NULL) THEN NAMED_STRUCT('o', STRUCT(`id`), 'v', `x`) END)), e -> e.v)",
         'ARRAY_AGG("x" ORDER BY "id" NULLS FIRST) FILTER(WHERE (NOT "x" IS NULL) AND ("d" > 1)'),
        ("listagg(x, ',')", "LISTAGG(`x`, ',') WITHIN GROUP (ORDER BY `id`)", """LISTAGG("x", ',' ORDER BY "id" NULLS FIRST)"""),
    ],
)  # fmt: skip
def test_each_dialect_says_an_order_inside_an_aggregate_in_its_own_way(sql: str, in_spark: str, in_duckdb: str) -> None:
    plan = compile_view(f"SELECT g, {sql} AS v FROM t GROUP BY g", duck.finder(TABLES)).plan
    assert in_spark in " ".join(print_plan(plan, "spark").split())
    assert in_duckdb in " ".join(print_plan(plan, "duckdb").split())


def test_a_cte_with_a_limit_is_the_same_rows_for_all_its_readers() -> None:
    """Its readers need different columns of it."""
    rv = filled()
    rv.create(
        "v",
        "WITH few AS (SELECT * FROM b LIMIT 4) SELECT (SELECT count(*) FROM few) AS n, "
        "(SELECT count(*) FROM few f JOIN few e ON f.g = e.g AND f.x = e.x AND f.m = e.m) AS pairs, (SELECT sum(x) FROM few WHERE m > 'm1') AS s",
    )
    db = duckdb.connect()
    first = sorted(rows(rv.sql("SELECT * FROM b")))[:4]
    db.execute("CREATE TABLE few (g INT, x INT, m VARCHAR)")
    db.executemany("INSERT INTO few VALUES (?, ?, ?)", first)
    expected = db.execute(
        "SELECT (SELECT count(*) FROM few), (SELECT count(*) FROM few f JOIN few e ON f.g = e.g AND f.x = e.x AND f.m = e.m), "
        "(SELECT sum(x) FROM few WHERE m > 'm1')"
    ).fetchall()
    assert rows(rv.table("v")) == expected


def test_spark_collects_numbers_and_limits_as_the_key_decides(opened: Callable[..., Rollview]) -> None:
    """Spark's own order is that of its shuffles. Two views hold all kinds, so that few jobs are needed."""
    rv = opened("embedded")
    rv.sql("CREATE TABLE t (id INT, g INT, x INT, PRIMARY KEY (id))")
    rv.sql("INSERT INTO t SELECT CAST(id AS INT), CAST(id % 3 AS INT), CAST(id * 7 % 4 AS INT) FROM range(60)")
    over = "OVER (PARTITION BY g ORDER BY x)"
    rv.create(
        "a",
        "SELECT g, collect_list(x) AS l, collect_set(x) AS s, first(x) AS f, last(x) AS e, any_value(x) AS v, mode(x) AS m, "
        "max_by(id, x) AS a, min_by(id, x) AS i, listagg(CAST(x AS STRING), ',') AS t FROM t GROUP BY g",
        policy="INCREMENTAL",
    )
    rv.create(
        "w",
        f"SELECT * FROM (SELECT id, g, x, row_number() {over} AS n, last_value(id) {over} AS l, collect_list(id) {over} AS c, "
        f"nth_value(id, 2) {over} AS h, listagg(CAST(id AS STRING), ',') {over} AS s FROM t) LIMIT 50",
        policy="INCREMENTAL",
    )
    rv.sql("DELETE FROM t WHERE id % 7 = 1")
    rv.sql("INSERT INTO t VALUES (60, 1, NULL), (61, 2, 1)")
    rv.sql("UPDATE t SET x = 3 WHERE id = 4")
    assert [rv.refresh(name).strategy != "full" for name in ("a", "w")] == [True, True]
    base = rows(rv.sql("SELECT id, g, x FROM t"))
    groups: dict[int, list[tuple[int, Any]]] = {}
    for key, g, x in sorted(base):
        groups.setdefault(g, []).append((key, x))
    expected = []
    for g, members in groups.items():
        there = [x for _, x in members if x is not None]
        most = Counter(there).most_common()
        expected.append((
            g, there, sorted(set(there)), members[0][1], members[-1][1], there[0], min(x for x, n in most if n == most[0][1]),
            max(k for k, x in members if x == max(there)), min(k for k, x in members if x == min(there)), ",".join(map(str, there)),
        ))  # fmt: skip
    assert rows(rv.table("a")) == sorted(expected)
    numbered = []
    for key, g, x in sorted(base)[:50]:
        order = sorted((-1 if v is None else v, k) for k, v in groups[g])
        place = -1 if x is None else x
        frame = [k for v, k in order if v <= place]
        numbered.append((
            key, g, x, order.index((place, key)) + 1, frame[-1], frame, frame[1] if len(frame) > 1 else None, ",".join(map(str, frame)),
        ))  # fmt: skip
    assert rows(rv.table("w")) == sorted(numbered, key=repr)
    assert rv.verify("a").ok
    assert rv.verify("w").ok


def test_what_cannot_be_followed_makes_the_same_choices(monkeypatch: pytest.MonkeyPatch) -> None:
    """A view whose state its store cannot hold is recomputed at every refresh, by its plan and not by its text."""
    rv = filled()
    asked = []

    def holds_only_the_query(title: str, frame: Any) -> None:
        asked.append(frame)
        if len(asked) % 2 == 0:  # the rows of the query come first, then those of its state
            raise Unsupported(f"{title} cannot be stored")

    monkeypatch.setattr(rv.store, "check_types", holds_only_the_query)
    rv.create("v", "SELECT id, row_number() OVER (PARTITION BY g ORDER BY x) AS n FROM t")
    rv.sql("DELETE FROM t WHERE id = 7")
    assert rv.refresh("v").reason == "not_stored"
    decided = "SELECT id, row_number() OVER (PARTITION BY g ORDER BY x, id) AS n FROM t"
    assert rows(rv.table("v")) == rows(rv.sql(decided))
    assert rv.verify("v").ok


def test_rows_of_grouping_sets_are_told_apart_by_their_key() -> None:
    """Not by the sums in them: a group of NULL and the total have the same visible columns."""
    sql = "SELECT g, x, sum(d) AS s FROM t GROUP BY ROLLUP (g, x) ORDER BY g, x LIMIT 5"
    assert list(map(str, compile_view(sql, duck.finder(TABLES)).choices)) == [
        "LIMIT 5: ties by the key: the branch of the UNION ALL"
    ]
    rv = filled()
    rv.create("v", sql, policy="INCREMENTAL")
    for change in (
        "UPDATE t SET g = NULL WHERE id < 9",
        "UPDATE t SET x = NULL WHERE id % 2 = 0",
        "DELETE FROM t WHERE id > 30",
    ):
        rv.sql(change)
        assert rv.refresh("v").strategy != "full"
        assert rv.verify("v").ok
