"""TPC-H: its tables with their keys, and its 22 queries."""

from __future__ import annotations

import re
from importlib import resources

from rollview.frontend.sql import BaseTable

_MONEY = "decimal(15,2)"

_COLUMNS = {
    "region": "r_regionkey bigint, r_name string, r_comment string",
    "nation": "n_nationkey bigint, n_name string, n_regionkey bigint, n_comment string",
    "supplier": "s_suppkey bigint, s_name string, s_address string, s_nationkey bigint, s_phone string, "
    "s_acctbal money, s_comment string",
    "customer": "c_custkey bigint, c_name string, c_address string, c_nationkey bigint, c_phone string, "
    "c_acctbal money, c_mktsegment string, c_comment string",
    "part": "p_partkey bigint, p_name string, p_mfgr string, p_brand string, p_type string, p_size int, "
    "p_container string, p_retailprice money, p_comment string",
    "partsupp": "ps_partkey bigint, ps_suppkey bigint, ps_availqty int, ps_supplycost money, ps_comment string",
    "orders": "o_orderkey bigint, o_custkey bigint, o_orderstatus string, o_totalprice money, o_orderdate date, "
    "o_orderpriority string, o_clerk string, o_shippriority int, o_comment string",
    "lineitem": "l_orderkey bigint, l_partkey bigint, l_suppkey bigint, l_linenumber int, l_quantity money, "
    "l_extendedprice money, l_discount money, l_tax money, l_returnflag string, l_linestatus string, l_shipdate date, "
    "l_commitdate date, l_receiptdate date, l_shipinstruct string, l_shipmode string, l_comment string",
}

_KEYS = {
    "region": ("r_regionkey",),
    "nation": ("n_nationkey",),
    "supplier": ("s_suppkey",),
    "customer": ("c_custkey",),
    "part": ("p_partkey",),
    "partsupp": ("ps_partkey", "ps_suppkey"),
    "orders": ("o_orderkey",),
    "lineitem": ("l_orderkey", "l_linenumber"),
}


def _columns(text: str) -> tuple[tuple[str, str], ...]:
    pairs = (part.split() for part in text.split(", "))
    return tuple((name, _MONEY if kind == "money" else kind) for name, kind in pairs)


TABLES = {name: BaseTable(name, _columns(text), _KEYS[name]) for name, text in _COLUMNS.items()}


def queries() -> dict[str, str]:
    """The queries by name, q01 to q22."""
    text = resources.files("rollview.bench").joinpath("tpch.sql").read_text(encoding="utf-8")
    return dict(re.findall(r"^-- query: (\w+)\n(.*?);$", text, flags=re.MULTILINE | re.DOTALL))
