"""All queries of TPC-H as views: new orders in, old orders out, and updates of the dimensions."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import duck
from rollview import Rollview, connect
from rollview.bench.tpch import TABLES, queries
from rollview.engine.duck import DuckFrame
from seeds import sample

ROUNDS = (
    (
        "INSERT INTO orders SELECT o_orderkey + 8, o_custkey, o_orderstatus, o_totalprice, o_orderdate, o_orderpriority, o_clerk, "
        "o_shippriority, o_comment FROM orders WHERE o_orderkey % 97 = 1",
        "INSERT INTO lineitem SELECT l_orderkey + 8, l_partkey, l_suppkey, l_linenumber, l_quantity, l_extendedprice, l_discount, "
        "l_tax, l_returnflag, l_linestatus, l_shipdate, l_commitdate, l_receiptdate, l_shipinstruct, l_shipmode, l_comment "
        "FROM lineitem WHERE l_orderkey % 97 = 1",
        "DELETE FROM orders WHERE o_orderkey % 89 = 3",
        "DELETE FROM lineitem WHERE l_orderkey % 89 = 3",
    ),
    (
        "UPDATE customer SET c_mktsegment = 'BUILDING', c_acctbal = c_acctbal + 500 WHERE c_custkey % 13 = 0",
        "UPDATE supplier SET s_nationkey = 20 WHERE s_suppkey % 7 = 0",
        "UPDATE part SET p_brand = 'Brand#23', p_container = 'MED BOX' WHERE p_partkey % 50 = 0",
        "UPDATE partsupp SET ps_supplycost = ps_supplycost * 2 WHERE ps_partkey % 11 = 0",
    ),
    (
        "UPDATE orders SET o_orderpriority = '1-URGENT' WHERE o_orderkey % 31 = 0",
        "DELETE FROM lineitem WHERE l_orderkey % 61 = 5 AND l_linenumber > 1",
        "UPDATE nation SET n_name = 'FRANCE' WHERE n_nationkey = 3",
        "DELETE FROM part WHERE p_partkey % 101 = 0",
    ),
)  # fmt: skip


def followed(rv: Rollview, load: Callable[[str], Any], folder: Path, one_in: int = 1) -> None:
    duck.make_tpch(folder)
    for name, table in TABLES.items():
        rv.store.create(name, load(name), key=table.key)
    views = dict(sample(list(queries().items()), one_in))
    for name, sql in views.items():
        rv.create(name, sql)
        assert rv.catalog.get(name).always_full is None, name
    for number, statements in enumerate(ROUNDS):
        for sql in statements:
            rv.sql(sql)
        for name in views:
            result = rv.refresh(name)
            assert result.strategy != "full", (name, result.reason)
            check = rv.verify(name)
            assert check.ok, (number, name, result.strategy, check)


def _picked(name: str) -> str:
    return ", ".join(
        f"CAST({column} AS {kind.replace('string', 'VARCHAR')}) AS {column}" for column, kind in TABLES[name].columns
    )


@pytest.mark.parametrize("one_in", [6, pytest.param(1, marks=pytest.mark.slow)])
def test_queries_of_tpch_follow_their_tables_on_duckdb(one_in: int, tmp_path: Path) -> None:
    rv = connect("duckdb:")
    followed(rv, lambda name: DuckFrame(f"SELECT {_picked(name)} FROM '{tmp_path}/{name}.parquet'"), tmp_path, one_in)


@pytest.mark.slow
def test_every_query_of_tpch_follows_its_tables_on_spark(rv: Rollview, tmp_path: Path) -> None:
    def load(name: str) -> Any:
        rows = rv.spark.read.parquet(f"{tmp_path}/data/{name}.parquet")
        return rows.selectExpr(*[f"CAST({column} AS {kind}) AS {column}" for column, kind in TABLES[name].columns])

    followed(rv, load, tmp_path / "data")
