"""Names of embedded tables: one level, in lower case; Spark SQL finds them as temporary views."""

from __future__ import annotations

import contextlib

from rollview.errors import RollviewError
from rollview.parse.names import Name, quote
from rollview.store.embedded.folder import Folder
from rollview.store.embedded.temp_views import TempViews
from rollview.store.session_names import Query
from rollview.store.warehouse import flat_name


class EmbeddedNames:
    """Implements the protocol ``Names``."""

    has_catalog = False
    lists_own = True

    def __init__(self, folder: Folder, views: TempViews) -> None:
        self._folder, self._views = folder, views

    def canonical(self, name: Name) -> str:
        return flat_name(name)

    def sql_name(self, table: str) -> str:
        return quote(table)

    def companion(self, table: str, prefix: str) -> str:
        return prefix + table

    def owner(self, table: str, prefix: str) -> str | None:
        return table[len(prefix) :] if table.startswith(prefix) else None

    def tables(self) -> list[str]:
        return self._folder.tables()

    def exists(self, table: str) -> bool:
        return self._folder.log(table).exists()

    def asked(self) -> contextlib.AbstractContextManager[None]:
        return self._views.asked()

    def sync(self, words: set[str]) -> dict[str, RollviewError]:
        return self._views.sync(words)

    def name_query(self, name: str, table: str, query: str, called: str) -> None:
        self._views.show(name, table, Query(query, called))

    def forget_name(self, name: str) -> None:
        self._views.forget(name)
