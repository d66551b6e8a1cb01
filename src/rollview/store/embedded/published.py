"""The names by which Spark SQL reads embedded tables: temporary views of a session, kept at the newest versions."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

from pyspark.sql import DataFrame, SparkSession

from rollview.engine.spark import over_state
from rollview.errors import RollviewError
from rollview.store.protocol import Identity
from rollview.store.session_names import SessionNames, Shown, names_of


class Published:
    """The names that one store gives."""

    def __init__(
        self,
        spark: SparkSession,
        folder: str,
        identity: Callable[[str], Identity],
        read: Callable[[str], DataFrame],
    ) -> None:
        self.spark = spark
        self.folder = folder
        self._identity = identity
        self._read = read
        self._given: dict[str, tuple[str, str | None]] = {}

    @property
    def _names(self) -> SessionNames:
        return names_of(self.spark)

    def given(self) -> dict[str, tuple[str, str | None]]:
        """The names that this folder's stores have given, each with its table and the query over it."""
        shown = self._names.shown.items()
        return {name: (each.table, each.query) for name, each in shown if each.folder == self.folder} | self._given

    @contextlib.contextmanager
    def asked(self) -> Iterator[None]:
        """Inside, names that another store gave to the session mean nothing."""
        with self._names.turn(self.folder):
            self._names.enter(self.spark, self.folder)
            yield

    def show(self, name: str, table: str, query: str | None = None) -> None:
        """Lets a name show the newest version of a table, or a query over it, unless it does so already."""
        self._given[name] = table, query
        with self._names.turn(self.folder):
            try:
                wanted = Shown(self.folder, table, query, self._identity(table))
                if self._names.shown.get(name) != wanted:
                    rows = self._read(table)
                    rows = rows if query is None else over_state(rows, query)
                    self._names.give(self.spark, name, wanted, rows)
            except RollviewError:  # better no rows than old ones
                self._names.take(self.spark, name)
                raise

    def forget(self, name: str) -> None:
        self._given.pop(name, None)
        with self._names.turn(self.folder):
            shown = self._names.shown.get(name)
            if shown is not None and shown.folder == self.folder:
                self._names.take(self.spark, name)

    def distrust(self) -> None:
        """After a statement that may have made or dropped views by itself, every name is given again."""
        self._names.distrust()
