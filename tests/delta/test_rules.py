"""The delta of every operator, and the passes over delta plans: old rows plus delta are the new rows, with and without them.

Here nothing is stored: the three relations of each table are tables of DuckDB, and plans run over them.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from typing import Any

import duckdb
import pytest
from sqlglot import exp

import duck
import generate
from histories import Writer
from rollview.codegen.printer import print_plan
from rollview.delta.derivation import CHANGE, NEW, OLD, Derivation, Step
from rollview.delta.passes import PASSES, Pass, improved
from rollview.delta.passes.literal_keys import literal_keys
from rollview.delta.rewrites import prepared
from rollview.delta.rules import RULES
from rollview.engine.duck import DuckEngine, DuckFrame
from rollview.frontend.query import compile_view
from rollview.plan.expressions import ref
from rollview.plan.nodes import INNER, Column, Filter, Join, Node, Scan, distinct, show_plan
from rollview.plan.reserved import WEIGHT
from rollview.state.types import FoundTypes, added_up, window_types

Rows = Counter[tuple[Any, ...]]


def relation(scan: Scan) -> str:
    return {OLD: f"old_{scan.table}", CHANGE: f"change_{scan.table}"}.get(scan.version, scan.table)


def rows_of(db: duckdb.DuckDBPyConnection, plan: Node, names: Sequence[str]) -> list[tuple[Any, ...]]:
    picked = [column.name for column in plan.columns]
    found = db.execute(print_plan(plan, "duckdb", picked, relation)).fetchall()
    return [tuple(row[picked.index(name)] for name in names) for row in found]


def changed_tables(db: duckdb.DuckDBPyConnection, statements: Sequence[str]) -> list[str]:
    """Runs statements, with the tables before and their changes beside them; tells which tables changed."""
    for table in generate.TABLES:
        db.execute(f"CREATE OR REPLACE TABLE old_{table} AS FROM {table}")
    for text in statements:
        duck.execute_spark_sql(db, text)
    changed = []
    for table in generate.TABLES:
        db.execute(
            f"CREATE OR REPLACE TABLE change_{table} AS SELECT *, 1::BIGINT AS __w FROM (FROM {table} EXCEPT ALL FROM old_{table}) "
            f"UNION ALL SELECT *, -1::BIGINT FROM (FROM old_{table} EXCEPT ALL FROM {table})"
        )
        if db.execute(f"SELECT 1 FROM change_{table} LIMIT 1").fetchall():
            changed.append(table)
    return changed


def after_delta(
    db: duckdb.DuckDBPyConnection, plan: Node, before: Rows, changed: Sequence[str], passes: Sequence[Pass]
) -> Rows:
    engine = DuckEngine(db)

    def ask(part: Node) -> list[str]:
        names = [f"c{i}" for i in range(len(part.columns))]
        return [kind for _, kind in engine.columns(DuckFrame(print_plan(_now(part), "duckdb", names, relation)))]

    types = FoundTypes(ask)

    added, kinds = added_up(plan, types) if passes else ({}, {})
    derivation = Derivation(RULES, changed, added, kinds | window_types(plan, types) if passes else {})
    if passes:
        plan = prepared(plan, derivation)
    delta = derivation.delta(plan)
    if delta is None:
        return before
    *steps, last = improved([*derivation.steps, Step("rows", delta, "")], passes)
    for step in steps:
        names = [column.name for column in step.plan.columns]
        db.execute(f'CREATE OR REPLACE TEMP TABLE "{step.name}" AS {print_plan(step.plan, "duckdb", names, relation)}')
    found = Counter(before)
    for row in rows_of(db, last.plan, [*(c.name for c in plan.columns), WEIGHT.name]):
        found[row[:-1]] += row[-1]
    return Counter({row: n for row, n in found.items() if n})


def check(seed: int, choices: Sequence[Sequence[Pass]], sql: str | None = None) -> None:
    rng = random.Random(seed)
    db = DuckEngine(duckdb.connect()).connection
    generate.fill(db, rng)
    sql = sql or generate.Generator(rng).query()
    plan = compile_view(sql, duck.finder(generate.TABLES)).keyed.plan
    names = [column.name for column in plan.columns]
    writer = Writer(rng)
    for table in generate.TABLES.values():
        if table.key:
            writer.keys[table.name] = set(db.execute(f"SELECT {', '.join(table.key)} FROM {table.name}").fetchall())
    for _ in range(2):
        before = Counter(rows_of(db, _now(plan), names))
        statements = [text for text in (writer.statement() for _ in range(rng.randrange(1, 5))) if text is not None]
        changed = changed_tables(db, statements)
        after = Counter(rows_of(db, _now(plan), names))
        for passes in choices:
            got = after_delta(db, plan, before, changed, passes)
            told = f"seed {seed}: {sql}\n{statements}\npasses {[p.__name__ for p in passes]}\n{show_plan(plan)}"
            assert got == after, told


def _now(plan: Node) -> Node:
    from rollview.delta.derivation import at

    return at(plan, NEW, ())


def test_deltas_lead_from_old_to_new_with_and_without_passes() -> None:
    choices: list[Sequence[Pass]] = [(), PASSES, *((each,) for each in PASSES)]
    for seed in range(300_000, 300_012):
        check(seed, choices)


_JOINS = [
    "SELECT r.k, w.l, u.b, x.s FROM r JOIN w ON r.k = w.k JOIN u ON u.a = r.a JOIN x ON x.b = w.l",
    "SELECT r.k, u.b, u2.a, w.l FROM r, u, u AS u2, w WHERE r.a = u.a AND u.b = u2.b AND w.k = r.k AND w.l < u2.a + r.k",
    "SELECT r.s, sum(w.a) AS n FROM r, w, u, x WHERE r.k = w.k AND x.s = r.s AND u.a > w.l AND u.b = 2 GROUP BY r.s",
    "SELECT r.k, w.l, n FROM r, w, (SELECT a, count(*) AS n FROM u GROUP BY a) AS g, x WHERE r.k = w.k AND g.a = r.b AND x.s = r.s AND x.b > 1",
    "SELECT r.k, w.l FROM r, w, x WHERE r.k = w.k AND x.s = r.s AND w.l IN (SELECT a FROM u)",
]


@pytest.mark.parametrize("sql", _JOINS)
def test_joins_of_which_some_tables_change(sql: str) -> None:
    for seed in range(10):
        check(seed, [(), PASSES], sql)


@pytest.mark.parametrize(("changed", "times"), [("rw", {"u": 1, "x": 1}), ("rwx", {"u": 1}), ("xu", {"r": 2, "w": 2})])
def test_tables_that_did_not_change_are_read_once(changed: str, times: dict[str, int]) -> None:
    """Unless they stand between those that did."""
    plan = compile_view(_JOINS[0], duck.finder(generate.TABLES)).keyed.plan
    derivation = Derivation(RULES, list(changed))
    delta = derivation.delta(plan)
    assert delta is not None
    readers = distinct([delta, *(step.plan for step in derivation.steps)])
    scans = [node for reader in readers for node in reader.inputs if isinstance(node, Scan)]
    read = Counter(node.table for node in scans if node.version == NEW)
    assert {table: read[table] for table in times} == times


def _windows() -> list[str]:
    over = [
        f"{by} ORDER BY {first} {direction} {nulls}, k"
        for by in ("PARTITION BY b", "")
        for first in ("a", "k")
        for direction in ("ASC", "DESC")
        for nulls in ("NULLS FIRST", "NULLS LAST")
    ]
    carried = (
        "sum(a) OVER ({0}) AS total, count(s) OVER ({0}) AS n, row_number() OVER ({0}) AS at, min(s) OVER ({0}) AS low"
    )
    rows = "lag(a, 2) OVER ({0}) AS l, max(a) OVER ({0} ROWS BETWEEN 3 PRECEDING AND CURRENT ROW) AS m"
    return [f"SELECT k, {functions.format(each)} FROM r" for each in over for functions in (carried, rows)] + [
        "SELECT k, rank() OVER (PARTITION BY b ORDER BY a) AS r FROM r",
        "SELECT k, sum(a) OVER (ORDER BY a ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) > 3 AS big FROM r WHERE a = k",
        "SELECT r.k, count(*) OVER (PARTITION BY r.b ORDER BY r.k) AS n, l FROM r JOIN w ON r.k = w.k",
        "SELECT k, sum(a) OVER (PARTITION BY b ORDER BY k) + lag(a) OVER (PARTITION BY b ORDER BY k) AS mixed FROM r",
    ]


@pytest.mark.parametrize("sql", _windows())
def test_windows_from_the_first_touched_position_on(sql: str) -> None:
    check(len(sql) % 5, [(), PASSES], sql)


def test_windows_that_look_backward_do_not_read_their_partitions_twice() -> None:
    plan = compile_view(_windows()[0], duck.finder(generate.TABLES)).keyed.plan
    derivation = Derivation(RULES, ["r"], {}, {"t1_total": "bigint"} | {c.name: "bigint" for c in plan.columns})
    derivation.delta(plan)
    assert [step.name.split("_")[1] for step in derivation.steps] == ["first", "before", "partitions"]


@pytest.mark.parametrize(
    ("kind", "listed"), [("bigint", True), ("decimal(10, 2)", True), ("string", False), ("date", False)]
)
def test_keys_are_listed_for_columns_of_their_own_type(kind: str, listed: bool) -> None:
    """Spark compares a string with a list of numbers as strings, with a column of numbers as numbers."""
    key, other = Column("a", "a", exp.DataType.build("int")), Column("b", "b", exp.DataType.build(kind))
    change = Scan("r", (key, WEIGHT), ("a", "__w"), version=CHANGE)
    join = Join(INNER, change, Scan("w", (other,), ("b",), version=NEW), exp.EQ(this=ref("a"), expression=ref("b")))
    found = literal_keys(join, lambda scan, column: [1, 2])
    assert [node.details for node in found.walk() if isinstance(node, Filter)] == (["b IN (1, 2)"] if listed else [])


@pytest.mark.slow
@pytest.mark.parametrize("start", range(0, 3000, 250))
def test_many_deltas_lead_from_old_to_new(start: int) -> None:
    for seed in range(start, start + 250):
        check(seed, [(), PASSES, tuple(each for each in PASSES if each is not PASSES[seed % len(PASSES)])])
