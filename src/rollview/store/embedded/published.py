"""The names by which Spark SQL reads embedded tables: temporary views of a session, kept at the newest versions.

Several stores may share one session, so what a name shows is remembered for the session, not for the store.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from weakref import WeakKeyDictionary

from pyspark.sql import DataFrame, SparkSession

from rollview.engine.sessions import SparkSource
from rollview.engine.spark import over_state
from rollview.parse.names import quote
from rollview.store.protocol import Identity


@dataclass(frozen=True)
class Shown:
    """What a name shows: a table in a folder, or a query over it, at a version."""

    folder: str
    table: str
    query: str | None
    identity: Identity


_BY_SESSION: WeakKeyDictionary[SparkSession, dict[str, Shown]] = WeakKeyDictionary()


class Published:
    """The names that one store has given."""

    def __init__(
        self,
        source: SparkSource,
        folder: str,
        identity: Callable[[str], Identity],
        read: Callable[[str], DataFrame],
    ) -> None:
        self.source = source
        self.folder = folder
        self._identity = identity
        self._read = read

    @property
    def _shown(self) -> dict[str, Shown]:
        """What the names of the session show; a session that is not made yet has none."""
        spark = self.source.made
        return {} if spark is None else _BY_SESSION.setdefault(spark, {})

    def mine(self) -> dict[str, Shown]:
        return {name: shown for name, shown in self._shown.items() if shown.folder == self.folder}

    def show(self, name: str, table: str, query: str | None = None) -> None:
        """Lets a name show the newest version of a table, or a query over it, unless it does so already."""
        wanted = Shown(self.folder, table, query, self._identity(table))
        if self._shown.get(name) != wanted:
            rows = self._read(table)  # with this there is a session
            (rows if query is None else over_state(rows, query)).createOrReplaceTempView(quote(name))
            self._shown[name] = wanted

    def forget(self, name: str) -> None:
        if name in self.mine():
            del self._shown[name]
            self.source.spark.catalog.dropTempView(name)

    def distrust(self) -> None:
        """After a statement that may have made or dropped views by itself, every name is given anew."""
        self._shown.clear()
