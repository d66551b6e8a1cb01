"""Statements on Delta tables: those of Spark, with a change feed and the key in the properties of new tables."""

from __future__ import annotations

from pyspark.sql import SparkSession

from rollview.store.delta.reading import DeltaReading
from rollview.store.delta.writing import DeltaWriting, table_settings
from rollview.store.spark_sql.names import SparkNames
from rollview.store.spark_sql.statements import SparkStatements


class DeltaStatements(SparkStatements):
    """Implements the protocol ``Statements``."""

    def __init__(self, spark: SparkSession, names: SparkNames, reading: DeltaReading, writing: DeltaWriting) -> None:
        super().__init__(spark, names, reading, writing, "delta", table_settings)
