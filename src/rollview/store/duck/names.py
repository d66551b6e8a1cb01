"""Names in DuckDB: one level, in lower case. DuckDB's catalog has the tables and the named queries."""

from __future__ import annotations

import contextlib

from rollview.errors import BadName, RollviewError
from rollview.parse.names import Name
from rollview.store.duck.tables import DuckTables, quoted


class DuckNames:
    """Implements the protocol ``Names``."""

    has_catalog = True
    lists_own = True

    def __init__(self, tables: DuckTables) -> None:
        self._tables = tables

    def canonical(self, name: Name) -> str:
        if len(name) != 1:
            raise BadName(f"{'.'.join(name)} has several parts", todo="the DuckDB store has no schemas")
        return name[0].lower()

    def sql_name(self, table: str) -> str:
        return quoted(table)

    def companion(self, table: str, prefix: str) -> str:
        return prefix + table

    def owner(self, table: str, prefix: str) -> str | None:
        return table[len(prefix) :] if table.startswith(prefix) else None

    def tables(self) -> list[str]:
        return self._tables.tables()

    def exists(self, table: str) -> bool:
        return self._tables.exists(table)

    def asked(self) -> contextlib.AbstractContextManager[None]:
        return contextlib.nullcontext()

    def sync(self, words: set[str]) -> dict[str, RollviewError]:
        return {}

    def name_query(self, name: str, table: str, query: str, called: str) -> None:
        text = query.replace(quoted(called), f"(SELECT * FROM {quoted(table)})")
        self._tables.db.execute(f"CREATE OR REPLACE VIEW {quoted(name)} AS {text}")

    def forget_name(self, name: str) -> None:
        self._tables.db.execute(f"DROP VIEW IF EXISTS {quoted(name)}")
