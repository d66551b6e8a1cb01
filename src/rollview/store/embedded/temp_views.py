"""The names by which Spark SQL reads embedded tables: temporary views of a session, kept at the newest versions."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Iterator

from pyspark.sql import DataFrame

from rollview.errors import RollviewError
from rollview.parse.names import Name
from rollview.store.embedded.folder import Folder
from rollview.store.protocol import Identity
from rollview.store.session_names import Query, SessionNames, Shown, names_of


class TempViews:
    """The temporary views that one store creates."""

    def __init__(self, folder: Folder, identity: Callable[[str], Identity], read: Callable[[str], DataFrame]) -> None:
        self._tables = folder
        self.source, self.folder = folder.source, str(folder.root)
        self._identity = identity
        self._read = read
        self._given: dict[str, tuple[str, Query | None]] = {}

    @property
    def _names(self) -> SessionNames:
        """The names of the session; no names if the session is not created yet."""
        spark = self.source.made
        return SessionNames() if spark is None else names_of(spark)

    def given(self) -> dict[str, tuple[str, Query | None]]:
        """The names that this folder's stores have given, each with its table and the query over it."""
        shown = self._names.shown.items()
        return {name: (each.table, each.query) for name, each in shown if each.folder == self.folder} | self._given

    def frames(self, names: Collection[Name]) -> dict[Name, DataFrame]:
        """The newest rows of those names that this folder has given."""
        known = {name: shown for name in names if len(name) == 1 and (shown := self._given.get(name[0].lower()))}
        rows = {name: (self._read(table), query) for name, (table, query) in known.items()}
        return {name: frame if query is None else query.over(frame) for name, (frame, query) in rows.items()}

    @contextlib.contextmanager
    def asked(self) -> Iterator[None]:
        """Inside the block, names that another store gave to the session are not visible."""
        with self._names.turn(self.folder):
            self._names.enter(self.source.made, self.folder)
            yield

    def sync(self, words: set[str]) -> dict[str, RollviewError]:
        """Makes names show the newest versions: the names that are asked for, and all that were given before. Returns
        the errors of tables that cannot be read."""
        for name, (table, _) in self.given().items():
            if not self._tables.log(table).exists():
                self.forget(name)
        wanted: dict[str, tuple[str, Query | None]] = {w: (w, None) for w in words if self._tables.log(w).exists()}
        wanted |= self.given()
        problems: dict[str, RollviewError] = {}
        for name, (table, query) in wanted.items():
            try:
                self.show(name, table, query)
            except RollviewError as error:
                problems[name] = error
        return problems

    def show(self, name: str, table: str, query: Query | None = None) -> None:
        """Makes a name show the newest version of a table, or a query over it, unless it does already."""
        self._given[name] = table, query
        with self._names.turn(self.folder):
            try:
                wanted = Shown(self.folder, table, query, self._identity(table))
                if self._names.shown.get(name) != wanted:
                    rows = self._read(table)  # creates the session
                    rows = rows if query is None else query.over(rows)
                    self._names.give(rows, name, wanted)
            except RollviewError:  # no rows are better than old ones
                self._names.take(self.source.made, name)
                raise

    def forget(self, name: str) -> None:
        self._given.pop(name, None)
        with self._names.turn(self.folder):
            shown = self._names.shown.get(name)
            if shown is not None and shown.folder == self.folder:
                self._names.take(self.source.made, name)

    def distrust(self) -> None:
        """Makes every name be given again, after a statement that may have created or dropped views."""
        self._names.distrust()
