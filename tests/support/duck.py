"""DuckDB as a second engine for the tests: the shop and TPC-H in it, and what the compiler needs to know of them."""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import duckdb
import sqlglot

import shop
from rollview.frontend.sql import BaseTable
from rollview.parse.names import Name


def execute_spark_sql(db: duckdb.DuckDBPyConnection, sql: str) -> None:
    """A statement of the conformance set; DuckDB is not told the keys, it would check them within a transaction."""
    if "MERGE INTO" in sql:  # the one MERGE of the set, in DuckDB's words
        db.execute("DELETE FROM products WHERE prod_id = 12")
        db.execute(
            "INSERT INTO products VALUES (12, 'novel II', 'books', 11.00, ['gift', 'new']), (20, 'drum', 'music', 64.00, ['loud'])"
        )
        return
    text = sqlglot.transpile(sql, read="spark", write="duckdb")[0]
    db.execute(re.sub(r", PRIMARY KEY \(.*\)", ")", text) if text.startswith("CREATE") else text)


def shop_tables() -> dict[str, BaseTable]:
    """The tables of the shop, read off its schema."""
    found = {}
    for sql in shop.schema():
        match = re.search(r"CREATE TABLE (\w+) \((.*)\)$", sql, flags=re.DOTALL)
        if match:
            body, _, key = match[2].partition(", PRIMARY KEY ")
            columns = tuple(
                (part.split()[0], part.split(maxsplit=1)[1].lower()) for part in re.split(r",\s*(?![^(<]*[)>])", body)
            )
            found[match[1]] = BaseTable(match[1], columns, tuple(re.findall(r"\w+", key)))
    return found


def make_tpch(folder: Path, scale: float = 0.01) -> None:
    """TPC-H's data as Parquet files."""
    tool = Path(sys.executable).parent / "tpchgen-cli"
    subprocess.run(
        [str(tool), "parquet", "-s", str(scale), "--output-dir", str(folder)], check=True, capture_output=True
    )


def finder(tables: dict[str, BaseTable]) -> Any:
    def find(name: Name) -> BaseTable | None:
        return tables.get(name[-1].lower())

    return find


def result(db: duckdb.DuckDBPyConnection, sql: str) -> Counter[Any]:
    """The bag of rows; DOUBLE values to nine significant digits."""
    return Counter(tuple(_rounded(value) for value in row) for row in db.execute(sql).fetchall())


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{value:.8e}")
    return tuple(_rounded(item) for item in value) if isinstance(value, list) else value
