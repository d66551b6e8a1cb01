"""Opening a session."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Literal

from pyspark.sql import SparkSession

from rollview.engine.session import require_delta
from rollview.engine.sources import GivenSpark, LocalSpark
from rollview.engine.spark import SparkEngine
from rollview.errors import (
    NotAWarehouse,
    StorageFailed,
    UserError,
)
from rollview.limits import DEFAULT, Limits
from rollview.session.arguments import article
from rollview.session.rollview import Rollview
from rollview.store.delta import DeltaStore
from rollview.store.embedded import EmbeddedStore


def connect(
    warehouse: str | Path | None = None,
    *,
    spark: SparkSession | None = None,
    store: Literal["embedded", "delta"] | None = None,
    limits: Limits = DEFAULT,
) -> Rollview:
    """Opens a warehouse.

    - ``connect("./warehouse")``: Delta tables in a folder, on a local Spark; nothing else to install.
    - ``connect("./warehouse", store="delta")``: the same folder through Spark's own Delta (jars from Maven Central).
    - ``connect(spark=spark)``: the catalog of an existing session, classic or Connect, that knows Delta.
    - ``connect("duckdb:")``: tables in DuckDB, in memory or in a file named after the colon, to try things out.

    ``limits`` are the thresholds at which something is done in another way: see ``rollview.limits``.
    With a folder, ``spark`` gives the session to use. Otherwise Spark is started when rows have to be read or written
    for the first time: what views there are, how fresh they are, and that nothing has changed is known without it.
    Closing the session stops it, also at the end of ``with rollview.connect("./warehouse") as rv:``.
    """
    if store not in (None, "embedded", "delta"):
        raise UserError(f"There is no store named {store!r}", todo="use 'embedded' or 'delta'")
    if not isinstance(limits, Limits):
        raise UserError(
            f"limits are rollview.limits.Limits, not {article(limits)}", todo="limits=Limits(helper_rows=0)"
        )
    if isinstance(warehouse, str) and warehouse.startswith("duckdb:"):
        return _on_duckdb(warehouse.removeprefix("duckdb:"), limits)
    if warehouse is not None:
        _check_folder(warehouse)
    if spark is not None and not hasattr(spark, "conf"):
        raise UserError(f"spark is a SparkSession, not {article(spark)}", todo="rollview.connect(spark=spark)")
    if warehouse is None:
        if spark is None:
            raise UserError(
                "connect needs a folder or a Spark session",
                todo="rollview.connect('./warehouse') or rollview.connect(spark=spark)",
            )
        if store == "embedded":
            raise UserError("The embedded store needs a folder", todo="rollview.connect('./warehouse', spark=spark)")
        require_delta(spark)
        return Rollview(SparkEngine(spark, limits), DeltaStore(spark, limits=limits), limits)
    source = LocalSpark(delta=store == "delta") if spark is None else GivenSpark(spark)
    if store == "delta":
        require_delta(source.spark)
        return Rollview(SparkEngine(source, limits), DeltaStore(source.spark, warehouse, limits), limits)
    return Rollview(SparkEngine(source, limits), EmbeddedStore(source, warehouse, limits), limits)


def _check_folder(warehouse: object) -> None:
    """Raises an error for what is no folder's name: an address with a scheme would become a folder called so."""
    if not isinstance(warehouse, str | Path):
        raise UserError(
            f"A warehouse is a folder, not {article(warehouse)}", todo="give its path as a string or as a Path"
        )
    if found := re.match(r"([A-Za-z][A-Za-z0-9+.-]+):", str(warehouse)):
        raise NotAWarehouse(
            f"{warehouse} is not a folder on this machine",
            why=f"{found[1]}: is the scheme of an address",
            todo="for tables elsewhere, connect to a Spark session whose catalog has them: "
            f"rollview.connect(spark=spark); for a folder on this machine give just its path, or write ./{warehouse}",
        )


def _on_duckdb(path: str, limits: Limits) -> Rollview:
    """A session on DuckDB, in memory or in a file."""
    import duckdb

    from rollview.engine.duck import DuckEngine
    from rollview.store.duck import DuckStore

    try:
        connection = duckdb.connect(path or ":memory:")
    except duckdb.Error as error:
        raise StorageFailed(
            f"The DuckDB file {path} cannot be opened", why=str(error).split("\n")[0], todo="name another file"
        ) from error
    engine = DuckEngine(connection)
    return Rollview(engine, DuckStore(engine), limits)
