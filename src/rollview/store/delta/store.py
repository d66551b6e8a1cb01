"""The store for Delta tables through Spark, composed of its parts."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

from rollview.limits import DEFAULT, Limits
from rollview.store.composed import ComposedStore
from rollview.store.delta.names import FolderNames
from rollview.store.delta.reading import DeltaReading
from rollview.store.delta.statements import DeltaStatements
from rollview.store.delta.writing import DeltaWriting
from rollview.store.spark_sql.names import CatalogNames, SparkNames


class DeltaStore(ComposedStore):
    """Delta tables of a session's catalog and by path, or those of a folder."""

    def __init__(self, spark: SparkSession, folder: str | Path | None = None, limits: Limits = DEFAULT) -> None:
        own = None if folder is None else FolderNames(spark, folder, limits)
        names: SparkNames = own or CatalogNames(spark, "delta")
        self.root = None if own is None else own.root
        reading = DeltaReading(spark, names, own, limits)
        writing = DeltaWriting(spark, names, own, reading, limits)
        super().__init__(names, reading, writing, DeltaStatements(spark, names, reading, writing))
