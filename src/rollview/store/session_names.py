"""The owner of each name in a Spark session.

A session has one set of temporary views and one current schema, and several warehouses may share it. The warehouse that
runs a statement decides what its names mean: before the statement is analysed, it takes over the names that belong to
another warehouse. Statements of one warehouse run in parallel; statements of two warehouses take turns.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from weakref import WeakKeyDictionary

from pyspark.sql import DataFrame, SparkSession

from rollview.engine.spark import sql_over, verbatim
from rollview.parse.names import quote
from rollview.store.protocol import Identity


@dataclass(frozen=True)
class Query:
    """A query over the rows of one table, which it calls ``called``, or by the table's own name."""

    text: str
    called: str = ""

    def over(self, rows: DataFrame) -> DataFrame:
        template = verbatim(self.text).replace(quote(self.called), "{rows}")
        return sql_over(rows.sparkSession, template, rows=rows)


@dataclass(frozen=True)
class Shown:
    """What a name shows: a table in a folder, or a query over it, at a version; None if the version is not known.
    ``folder`` identifies the store: two stores that read the same folder in different ways have different values."""

    folder: str
    table: str
    query: Query | None = None
    identity: Identity | None = None


@dataclass
class SessionNames:
    """The temporary views that warehouses have created in one session, and the warehouse whose turn it is."""

    shown: dict[str, Shown] = field(default_factory=dict)
    spaces: set[str] = field(default_factory=set)  # the schemas that stand for folders
    schema: str = "default"  # the current schema as it was before one of these
    _free: threading.Condition = field(default_factory=threading.Condition)
    _owner: str | None = None
    _inside: int = 0

    @contextlib.contextmanager
    def turn(self, folder: str) -> Iterator[None]:
        """Inside the block, only this folder may give names. The session's catalog has an empty folder."""
        with self._free:
            self._free.wait_for(lambda: not self._inside or self._owner == folder)
            self._owner = folder
            self._inside += 1
        try:
            yield
        finally:
            with self._free:
                self._inside -= 1
                self._free.notify_all()

    def give(self, rows: DataFrame, name: str, shown: Shown) -> None:
        rows.createOrReplaceTempView(quote(name))
        self.shown[name] = shown

    def take(self, spark: SparkSession | None, name: str) -> None:
        """Removes a name, whichever warehouse gave it."""
        if self.shown.pop(name, None) is not None and spark is not None:
            spark.catalog.dropTempView(name)

    def enter(self, spark: SparkSession | None, folder: str, space: str | None = None) -> None:
        """Switches the names to those of a folder, or of the session's catalog: names that other warehouses gave are
        removed, and the current schema becomes the one that stands for the folder, or the session's own."""
        for name in [name for name, shown in self.shown.items() if shown.folder != folder]:
            self.take(spark, name)
        if self.spaces and spark is not None:
            current = spark.catalog.currentDatabase()
            if current not in self.spaces:
                self.schema = current
            if current != (wanted := space or self.schema):
                spark.sql(f"USE {quote(wanted)}")

    def distrust(self) -> None:
        """Makes every name be given again, after a statement that may have created or dropped views."""
        for name, shown in list(self.shown.items()):
            self.shown[name] = replace(shown, identity=None)


_BY_SESSION: WeakKeyDictionary[SparkSession, SessionNames] = WeakKeyDictionary()


def names_of(spark: SparkSession) -> SessionNames:
    return _BY_SESSION.setdefault(spark, SessionNames())
