"""A warehouse folder with tables and views that is made without Spark: what its log tells can be tested in the quick half.

The views are defined on DuckDB, and their definitions are stored in the folder as Spark would have stored them.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pyspark.sql.types import DoubleType, IntegerType, LongType, StringType, StructField, StructType

from rollview import connect
from rollview.engine.sources import LocalSpark
from rollview.parse.stored_names import STATE_PREFIX
from rollview.store.embedded import EmbeddedStore
from rollview.store.protocol import Identity, Stamp
from rollview.views.catalog import DEFINITION, stamp_metadata

_KINDS = {"int": IntegerType(), "string": StringType(), "double": DoubleType()}

TABLES = {"raw": [("id", "int"), ("g", "string"), ("x", "int")], "more": [("id", "int")]}

VIEWS = {
    "silver": "SELECT id, g, x FROM raw WHERE x > 0",
    "gold": "SELECT g, sum(x) AS s FROM silver GROUP BY g",
    "platinum": "SELECT count(*) AS n FROM gold",
    "other": "SELECT count(*) AS n FROM more",
}


def make_folder(folder: Path) -> Path:
    """Tables without rows, and the views of ``VIEWS`` over them, all fresh."""
    store, rv = EmbeddedStore(LocalSpark(), folder), connect("duckdb:")
    for name, columns in TABLES.items():
        rv.sql(f"CREATE TABLE {name} ({', '.join(f'{c} {k}' for c, k in columns)}, PRIMARY KEY (id))")
        store.create(name, _schema(dict(columns)), key=("id",))
    for name, query in VIEWS.items():
        rv.create(name, query)
        view = rv.catalog.get(name)
        vector = {table: shown(store, table) for table in view.tables}
        stamp = Stamp(stamp_metadata(view, vector, 1, "full", "made"), view.id, 1)
        kinds = {column: view.layout.types[column] for column in view.layout.columns}
        store.create(STATE_PREFIX + name, _schema(kinds), properties={DEFINITION: view.to_json()}, stamp=stamp)
    rv.close()
    return folder


def shown(store: EmbeddedStore, table: str) -> Identity:
    return store.identity(table if table in TABLES else STATE_PREFIX + table)


def touch(store: EmbeddedStore, table: str) -> None:
    """A commit of a table, of a view's state as well, that changes no rows."""
    store.set_properties(table if table in TABLES else STATE_PREFIX + table, {"touched": "again"})


def _schema(columns: Mapping[str, str]) -> StructType:
    return StructType([StructField(name, _KINDS.get(kind, LongType())) for name, kind in columns.items()])
