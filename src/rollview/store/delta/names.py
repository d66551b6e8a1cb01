"""What names mean to Delta through Spark: tables of the session's catalog, or of a folder that a schema stands for."""

from __future__ import annotations

import contextlib
import hashlib
import re
from collections.abc import Iterator
from pathlib import Path

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from rollview.engine.spark_errors import spark_errors
from rollview.errors import BadName, Damaged, RollviewError, TableNotFound
from rollview.parse.names import Name, parse_name, quote, quote_name
from rollview.plan.reserved import STATE
from rollview.store.embedded.log import Log
from rollview.store.embedded.reading import missing_file
from rollview.store.protocol import no_such_table
from rollview.store.session_names import Shown, names_of
from rollview.store.warehouse import LOG_FOLDER, flat_name, folder_of, open_warehouse, table_of

PLAIN = re.compile(r"\w+", re.ASCII)


class DeltaNames:
    """The part of the store that is about names.

    With a folder, tables are addressed by their paths, and named in a schema of the session's catalog that stands for
    the folder. Without one, the session's catalog says what a name means.
    """

    def __init__(self, spark: SparkSession, folder: str | Path | None = None) -> None:
        self.spark = spark
        self.root = None if folder is None else open_warehouse(folder)
        self._named: dict[str, str] = {}
        self._logs: dict[str, Log] = {}
        self._space: str | None = None
        self._place = ""  # whose names these are: those of the catalog are nobody's
        if self.root is not None:
            self._place = f"delta {self.root}"
            self._space = "rollview_" + hashlib.sha1(str(self.root).encode()).hexdigest()[:12]
            with spark_errors(""):
                spark.sql(f"CREATE SCHEMA IF NOT EXISTS {self._space} LOCATION '{self.root.as_uri()}'")
                names_of(spark).spaces.add(self._space)
                with self.asked():
                    pass

    @contextlib.contextmanager
    def asked(self) -> Iterator[None]:
        names = names_of(self.spark)
        with names.turn(self._place):
            names.enter(self.spark, self._place, self._space)
            yield

    @property
    def has_catalog(self) -> bool:
        return self.root is None

    def canonical(self, name: Name) -> str:
        """``table`` in schema default, ``schema.table`` elsewhere, the catalog before it if it is another one."""
        if self.root is not None:
            if len(name) == 2 and name[0] == self._space:
                name = name[1:]
            return flat_name(name)
        if name[0].lower() == "delta" and len(name) == 2:
            return quote_name(name)
        catalog, schema = self.spark.catalog.currentCatalog(), self.spark.catalog.currentDatabase()
        if schema in (names := names_of(self.spark)).spaces:
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
        if self.root is not None:
            return f"delta.{quote(str(self._path(table)))}"
        if table.startswith("`"):
            return table
        parts = tuple(table.split("."))
        return quote_name(("spark_catalog", "default")[: 3 - len(parts)] + parts)

    def _path(self, table: str) -> Path:
        assert self.root is not None
        return self.root / folder_of(table)

    def companion(self, table: str, prefix: str) -> str:
        if self.root is not None:
            return prefix + table
        *space, last = parse_name(table)
        return ".".join([*space, prefix + last])

    def owner(self, table: str, prefix: str) -> str | None:
        *space, last = [table] if self.root is not None else parse_name(table)
        return ".".join([*space, last[len(prefix) :]]) if last.startswith(prefix) else None

    def tables(self) -> list[str]:
        if self.root is not None:
            found = (table_of(entry.parent.name) for entry in self.root.glob(f"*/{LOG_FOLDER}"))
            return sorted(table for table in found if table is not None)
        listed = self.spark.sql("SHOW SCHEMAS").collect()
        rows = [row for space in listed for row in self.spark.sql(f"SHOW TABLES IN {quote(space[0])}").collect()]
        return sorted({self.canonical((row["namespace"], row["tableName"])) for row in rows if not row["isTemporary"]})

    def exists(self, table: str) -> bool:
        if self.root is not None:
            return (self._path(table) / LOG_FOLDER).is_dir()
        if table.startswith("`"):
            with contextlib.suppress(PySparkException):
                return bool(self.spark.sql(f"DESCRIBE DETAIL {table}").collect())
            return False
        try:
            with spark_errors(""):
                return self.spark.catalog.tableExists(self.sql_name(table))
        except Damaged:  # something is there that cannot be read
            return True

    def _require(self, table: str) -> str:
        """The table's name in SQL. Raises TableNotFound and Damaged."""
        if not self.exists(table):
            raise self._not_found(table)
        if self.root is not None:
            self._log(table).check()  # Spark reads over an empty entry
        return self.sql_name(table)

    def _not_found(self, table: str) -> TableNotFound:
        return no_such_table(table, self.tables())

    def _damage_here(self, table: str) -> Damaged | None:
        """What is damaged of a table in the folder, as far as it is seen without Spark."""
        log = self._log(table)
        try:
            log.check()
        except Damaged as error:
            return error
        try:
            return missing_file(log.snapshot())
        except (Damaged, FileNotFoundError):  # a table that is not read here, or that has just been dropped
            return None

    def _log(self, table: str) -> Log:
        """The log of a table in the folder."""
        if table not in self._logs:
            self._logs[table] = Log(self._path(table))
        return self._logs[table]

    def sync(self, words: set[str]) -> dict[str, RollviewError]:
        problems: dict[str, RollviewError] = {}
        for table in words:
            if self.exists(table):
                try:
                    self._name(table)
                    if lost := self._damage_here(table):
                        problems[table] = lost
                except Damaged as error:
                    problems[table] = error
        return problems

    def _name(self, table: str) -> None:
        """Lets Spark SQL find a table of the folder by its name."""
        name = self._require(table)
        if not PLAIN.fullmatch(table):
            self._give(table, f"SELECT * FROM {name}")
        elif table not in self._named:
            place = escape(self._path(table).as_uri())
            with spark_errors(""):
                self.spark.sql(f"CREATE TABLE IF NOT EXISTS {self._in_space(table)} USING delta LOCATION '{place}'")
            self._named[table] = ""

    def _give(self, name: str, query: str) -> None:
        """A name that Spark's catalog does not take is a temporary view of the session."""
        names = names_of(self.spark)
        with names.turn(self._place), spark_errors(""):
            names.give(self.spark.sql(query), name, Shown(self._place, name, query))

    def _in_space(self, name: str) -> str:
        """The name in the schema that stands for the folder."""
        return f"{self._space}.{quote(name)}"

    def publish_view(self, view: str, state: str, show: str) -> None:
        query = show.replace(quote(STATE), self.sql_name(state))
        if self.root is not None and not PLAIN.fullmatch(view):
            self._give(view, query)
            return
        if self._named.get(view) == query:
            return
        name = self.sql_name(view) if self.root is None else self._in_space(view)
        self.spark.sql(f"CREATE OR REPLACE VIEW {name} AS {query}")
        self._named[view] = query

    def unpublish_view(self, view: str) -> None:
        self._named.pop(view, None)
        if self.root is not None and not PLAIN.fullmatch(view):
            names_of(self.spark).take(self.spark, view)
            return
        name = self.sql_name(view) if self.root is None else self._in_space(view)
        self.spark.sql(f"DROP VIEW IF EXISTS {name}")


def escape(text: str) -> str:
    """Text as part of a string in SQL."""
    return text.replace("\\", "\\\\").replace("'", "\\'")
