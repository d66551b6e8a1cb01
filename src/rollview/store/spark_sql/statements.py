"""Statements that Spark itself runs on the tables of a store; a declared key is checked before."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from pyspark.sql import DataFrame, SparkSession

from rollview.engine.protocol import NOTHING, Answer
from rollview.engine.spark import declared
from rollview.errors import NameTaken
from rollview.parse.tables import CreateTable, DropTable, Insert, Merge, TableStatement, Update
from rollview.store.protocol import Reading, Writing
from rollview.store.schema import aligned, check_columns, check_types, column_named
from rollview.store.spark_sql.keys import check_changes, check_key
from rollview.store.spark_sql.names import SparkNames, escape
from rollview.store.spark_sql.row_changes import FILE, POSITION
from rollview.store.spark_sql.table_statements import merge_changes, update_changes


class SparkStatements:
    """Implements the protocol ``Statements``. ``provider`` is the format of new tables, as USING names it; ``settings``
    returns the properties of a new table with a given key."""

    def __init__(
        self,
        spark: SparkSession,
        names: SparkNames,
        reading: Reading,
        writing: Writing,
        provider: str,
        settings: Callable[[Sequence[str]], Mapping[str, str]],
    ) -> None:
        self._spark, self._names, self._reading, self._writing = spark, names, reading, writing
        self._provider, self._settings = provider, settings

    def pass_on(self, sql: str) -> DataFrame:
        return self._spark.sql(self._names.placed(sql))

    def run(self, statement: TableStatement, sql: str) -> DataFrame | Answer:
        if isinstance(statement, CreateTable):
            return self._run_create(statement)
        if isinstance(statement, DropTable):
            table = self._names.canonical(statement.name)
            if not (statement.if_exists and not self._names.exists(table)):
                self._writing.drop(table)
            return NOTHING
        table = self._names.canonical(statement.table)
        there = self._names.exists(table)
        if there:
            self._reading.identity(table)  # raises Damaged if the newest entry of the log is empty, which Spark ignores
        key = self._reading.key(table) if there else ()
        if key and isinstance(statement, Insert):
            rows = self._spark.sql(statement.query)
            schema = self._reading.schema(table)
            fitting = aligned(rows, schema, table, statement.columns, by_name=statement.by_name)
            check_key(table, fitting, key, None if statement.overwrite else self._reading.read(table))
        elif key and (isinstance(statement, Merge) or (isinstance(statement, Update) and _sets(statement, key))):
            self._check_changes(table, key, statement)
        return self._spark.sql(sql)

    def _check_changes(self, table: str, key: Sequence[str], statement: Merge | Update) -> None:
        """Raises KeyViolated if the statement would repeat a key. Nothing is written yet."""
        schema = self._reading.schema(table)
        stored = self._reading.read(table)
        rows = stored.selectExpr("*", f"'' AS {FILE}", f"0L AS {POSITION}")  # the key identifies the rows
        if isinstance(statement, Merge):
            changed = merge_changes(rows, statement, schema, table)
        else:
            changed = update_changes(rows, statement, schema, table)
        check_changes(table, changed, key, stored)

    def _run_create(self, statement: CreateTable) -> DataFrame:
        table = self._names.canonical(statement.name)
        self._names.check_new(table)
        if self._names.exists(table) and not (statement.if_not_exists or statement.or_replace):
            raise NameTaken(f"There is a table named {table} already", todo="choose another name, or drop it first")
        rows = self._spark.sql(statement.query) if statement.query else None
        schema = declared(self._spark, statement.columns) if rows is None else rows.schema
        check_columns(table, schema)
        check_types(table, schema)
        keys = [column_named(schema, name, table) for name in statement.key]
        if rows is not None:
            check_key(table, rows, keys, None)
        return self._spark.sql(self._create_sql(statement, self._names.new_name(table), self._settings(keys)))

    def _create_sql(self, statement: CreateTable, name: str, properties: Mapping[str, str]) -> str:
        """A CREATE TABLE for Spark, in which the key is a table property."""
        verb = "CREATE OR REPLACE TABLE" if statement.or_replace else "CREATE TABLE"
        exists = " IF NOT EXISTS" if statement.if_not_exists else ""
        columns = f" ({statement.columns})" if statement.columns else ""
        comment = f" COMMENT '{escape(statement.comment)}'" if statement.comment else ""
        pairs = ", ".join(f"'{escape(k)}' = '{escape(v)}'" for k, v in {**properties, **statement.properties}.items())
        query = f" AS {statement.query}" if statement.query else ""
        return f"{verb}{exists} {name}{columns} USING {self._provider}{comment} TBLPROPERTIES ({pairs}){query}"


def _sets(statement: Update, key: Sequence[str]) -> bool:
    """Whether an UPDATE sets a column of the key."""
    names = {part.casefold() for name, _ in statement.assignments for part in name}
    return bool(names & {column.casefold() for column in key})
