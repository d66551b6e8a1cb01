"""Names of a Spark session's catalog, which stores of any table format that Spark reads share."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from typing import Protocol

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from rollview.engine.spark_errors import spark_errors
from rollview.errors import BadName, Damaged, RollviewError
from rollview.parse.names import Name, parse_name, quote, quote_name
from rollview.store.protocol import Names, no_such_table
from rollview.store.session_names import names_of

PLAIN = re.compile(r"\w+", re.ASCII)


class SparkNames(Names, Protocol):
    """The names of a store in Spark, as its other parts use them."""

    def require(self, table: str) -> str:
        """The table's name in SQL. Raises TableNotFound and Damaged."""

    def check_new(self, table: str) -> None:
        """Raises BadName if no statement of Spark can make a table of this name."""

    def new_name(self, table: str) -> str:
        """The name by which a statement of Spark makes a table."""

    def placed(self, sql: str) -> str:
        """A query with fully qualified names. Spark Connect resolves names when rows are fetched, and by then another
        warehouse may have run a statement."""


class CatalogNames:
    """Implements the protocol ``SparkNames``: the session's catalog says what a name means."""

    has_catalog = True
    lists_own = False

    def __init__(self, spark: SparkSession, provider: str) -> None:
        self._spark, self._provider = spark, provider
        self._queries: dict[str, str] = {}

    @contextlib.contextmanager
    def asked(self) -> Iterator[None]:
        names = names_of(self._spark)
        with names.turn(""):
            names.enter(self._spark, "")
            yield

    def canonical(self, name: Name) -> str:
        """``table`` in schema default, ``schema.table`` elsewhere, the catalog before it if it is another one."""
        if name[0].lower() == self._provider and len(name) == 2:
            return quote_name(name)
        catalog, schema = self._spark.catalog.currentCatalog(), self._spark.catalog.currentDatabase()
        if schema in (names := names_of(self._spark)).spaces:
            schema = names.schema
        full = (catalog, schema)[: max(0, 3 - len(name))] + tuple(name)
        for part in full:
            if not PLAIN.fullmatch(part):
                raise BadName(
                    f"{part!r} cannot be a name in Spark's catalog",
                    why="the catalog takes letters, digits and _ only",
                    todo="choose another name",
                )
        short = full[2:] if full[:2] == ("spark_catalog", "default") else full[full[0] == "spark_catalog" :]
        return ".".join(short).lower()

    def sql_name(self, table: str) -> str:
        if table.startswith("`"):
            return table
        parts = tuple(table.split("."))
        return quote_name(("spark_catalog", "default")[: 3 - len(parts)] + parts)

    def companion(self, table: str, prefix: str) -> str:
        *space, last = parse_name(table)
        return ".".join([*space, prefix + last])

    def owner(self, table: str, prefix: str) -> str | None:
        *space, last = parse_name(table)
        return ".".join([*space, last[len(prefix) :]]) if last.startswith(prefix) else None

    def tables(self) -> list[str]:
        listed = self._spark.sql("SHOW SCHEMAS").collect()
        rows = [row for space in listed for row in self._spark.sql(f"SHOW TABLES IN {quote(space[0])}").collect()]
        return sorted({self.canonical((row["namespace"], row["tableName"])) for row in rows if not row["isTemporary"]})

    def exists(self, table: str) -> bool:
        if table.startswith("`"):
            with contextlib.suppress(PySparkException):
                return bool(self._spark.sql(f"DESCRIBE DETAIL {table}").collect())
            return False
        try:
            with spark_errors(""):
                return self._spark.catalog.tableExists(self.sql_name(table))
        except Damaged:  # something is there that cannot be read
            return True

    def require(self, table: str) -> str:
        if not self.exists(table):
            raise no_such_table(table, self.tables())
        return self.sql_name(table)

    def check_new(self, table: str) -> None:
        """``canonical`` has checked the name."""

    def new_name(self, table: str) -> str:
        return self.sql_name(table)

    def placed(self, sql: str) -> str:
        return sql

    def sync(self, words: set[str]) -> dict[str, RollviewError]:
        return {}

    def name_query(self, name: str, table: str, query: str, called: str) -> None:
        text = query.replace(quote(called), self.sql_name(table))
        if self._queries.get(name) != text:
            self._spark.sql(f"CREATE OR REPLACE VIEW {self.sql_name(name)} AS {text}")
            self._queries[name] = text

    def forget_name(self, name: str) -> None:
        self._queries.pop(name, None)
        self._spark.sql(f"DROP VIEW IF EXISTS {self.sql_name(name)}")


def escape(text: str) -> str:
    """Text as part of a string in SQL."""
    return text.replace("\\", "\\\\").replace("'", "\\'")
