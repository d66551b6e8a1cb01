"""Names of Delta tables in a folder: addressed by path, and named in a schema that stands for the folder."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterator
from pathlib import Path

from pyspark.sql import SparkSession

from rollview.engine.spark_errors import spark_errors
from rollview.errors import BadName, Damaged, RollviewError
from rollview.limits import Limits
from rollview.parse.names import Name, quote
from rollview.parse.references import references
from rollview.parse.tokens import SqlTokens
from rollview.store.embedded.folder import Folder
from rollview.store.embedded.frames import missing_file
from rollview.store.embedded.log import Log
from rollview.store.protocol import no_such_table
from rollview.store.session_names import Query, Shown, names_of
from rollview.store.spark_sql.names import PLAIN, escape
from rollview.store.warehouse import LOG_FOLDER, flat_name, table_of


class FolderNames:
    """Implements the protocol ``SparkNames`` for a folder of Delta tables."""

    has_catalog = False
    lists_own = True

    def __init__(self, spark: SparkSession, folder: str | Path, limits: Limits) -> None:
        self._spark, self._folder = spark, Folder(spark, folder, limits)
        self.root = self._folder.root
        self._named: dict[str, str] = {}
        self._place = f"delta {self.root}"  # identifies this store in the session's names
        self._space = "rollview_" + hashlib.sha1(str(self.root).encode()).hexdigest()[:12]
        with spark_errors(""):
            spark.sql(f"CREATE SCHEMA IF NOT EXISTS {self._space} LOCATION '{self.root.as_uri()}'")
            names_of(spark).spaces.add(self._space)
            with self.asked():
                pass

    @contextlib.contextmanager
    def asked(self) -> Iterator[None]:
        names = names_of(self._spark)
        with names.turn(self._place):
            names.enter(self._spark, self._place, self._space)
            yield

    def canonical(self, name: Name) -> str:
        if len(name) == 2 and name[0] == self._space:
            name = name[1:]
        return flat_name(name)

    def path(self, table: str) -> Path:
        return self.log(table).root

    def log(self, table: str) -> Log:
        return self._folder.log(table)

    def sql_name(self, table: str) -> str:
        return f"delta.{quote(str(self.path(table)))}"

    def companion(self, table: str, prefix: str) -> str:
        return prefix + table

    def owner(self, table: str, prefix: str) -> str | None:
        return table[len(prefix) :] if table.startswith(prefix) else None

    def tables(self) -> list[str]:
        found = (table_of(entry.parent.name) for entry in self.root.glob(f"*/{LOG_FOLDER}"))
        return sorted(table for table in found if table is not None)

    def exists(self, table: str) -> bool:
        return (self.path(table) / LOG_FOLDER).is_dir()

    def require(self, table: str) -> str:
        if not self.exists(table):
            raise no_such_table(table, self.tables())
        self.log(table).check()  # Spark reads over an empty entry
        return self.sql_name(table)

    def damage(self, table: str) -> Damaged | None:
        """The damage of a table, as far as it is found without Spark."""
        log = self.log(table)
        try:
            log.check()
        except Damaged as error:
            return error
        try:
            return missing_file(log.snapshot())
        except (Damaged, FileNotFoundError):  # a table that is not read here, or that has just been dropped
            return None

    def dropped(self, table: str) -> None:
        """Removes the name of a dropped table."""
        self._folder.forget(table)
        self._named.pop(table, None)
        if PLAIN.fullmatch(table):
            with spark_errors(""):
                self._spark.sql(f"DROP TABLE IF EXISTS {self.new_name(table)}")
        else:
            names_of(self._spark).take(self._spark, table)

    def sync(self, words: set[str]) -> dict[str, RollviewError]:
        problems: dict[str, RollviewError] = {}
        for table in words:
            if self.exists(table):
                try:
                    self._name(table)
                    if lost := self.damage(table):
                        problems[table] = lost
                except Damaged as error:
                    problems[table] = error
        return problems

    def _name(self, table: str) -> None:
        """Makes a table readable by its name in Spark SQL."""
        name = self.require(table)
        if not PLAIN.fullmatch(table):
            self._give(table, f"SELECT * FROM {name}")
        elif table not in self._named:
            place = escape(self.path(table).as_uri())
            with spark_errors(""):
                self._spark.sql(f"CREATE TABLE IF NOT EXISTS {self.new_name(table)} USING delta LOCATION '{place}'")
            self._named[table] = ""

    def _give(self, name: str, query: str) -> None:
        """A name that Spark's catalog does not take is a temporary view of the session."""
        names = names_of(self._spark)
        with names.turn(self._place), spark_errors(""):
            names.give(self._spark.sql(query), name, Shown(self._place, name, Query(query)))

    def check_new(self, table: str) -> None:
        if not PLAIN.fullmatch(table):
            raise BadName(
                f"{table!r} cannot be a table's name in Spark's catalog",
                why="the catalog takes letters, digits and _ only",
                todo="choose another name, or use the embedded store",
            )

    def new_name(self, table: str) -> str:
        """The name in the schema that stands for the folder."""
        return f"{self._space}.{quote(table)}"

    def placed(self, sql: str) -> str:
        try:
            refs = [ref for ref in references(sql) if len(ref.name) == 1]
        except (RollviewError, RecursionError):  # no query: it is run now
            return sql
        shown, sampled = names_of(self._spark).shown, "tablesample" in SqlTokens.of(sql).words()
        for ref in reversed(refs):
            name, given = ref.name[0].lower(), shown.get(ref.name[0].lower())
            if name in self._named:
                sql = sql[: ref.start] + self.new_name(name) + sql[ref.stop :]
            elif given is not None and given.folder == self._place and given.query is not None and not sampled:
                alias = "" if ref.aliased else f" AS {quote(ref.name[0])}"
                sql = f"{sql[: ref.start]}({given.query.text}){alias}{sql[ref.stop :]}"
        return sql

    def name_query(self, name: str, table: str, query: str, called: str) -> None:
        text = query.replace(quote(called), self.sql_name(table))
        if not PLAIN.fullmatch(name):
            self._give(name, text)
        elif self._named.get(name) != text:
            self._spark.sql(f"CREATE OR REPLACE VIEW {self.new_name(name)} AS {text}")
            self._named[name] = text

    def forget_name(self, name: str) -> None:
        self._named.pop(name, None)
        if not PLAIN.fullmatch(name):
            names_of(self._spark).take(self._spark, name)
        else:
            self._spark.sql(f"DROP VIEW IF EXISTS {self.new_name(name)}")
