"""Delta tables through Spark, and the statements that change them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyspark.sql import DataFrame

from rollview.engine.protocol import NOTHING, Answer
from rollview.engine.spark import declared
from rollview.errors import BadName, NameTaken, RollviewError
from rollview.parse.names import quote
from rollview.parse.references import references
from rollview.parse.tables import CreateTable, DropTable, Insert, Merge, TableStatement, Update
from rollview.parse.tokens import SqlTokens
from rollview.store.delta.names import PLAIN, escape
from rollview.store.delta.writing import DeltaWriting, table_settings
from rollview.store.edits import AFTER, BEFORE, FILE, KIND, POSITION
from rollview.store.protocol import DELETE
from rollview.store.schema import aligned, check_columns, check_types, column_named
from rollview.store.session_names import names_of
from rollview.store.statements import merge_edits, update_edits


class DeltaStore(DeltaWriting):
    """Keeps the protocol of ``rollview.store.protocol.Store``; see there for what the methods promise."""

    def pass_on(self, sql: str) -> DataFrame:
        return self.spark.sql(self._placed(sql))

    def _placed(self, sql: str) -> str:
        """A query whose names say by themselves that they are of this folder: Spark Connect looks for names when rows
        are fetched, and another warehouse may have been asked by then."""
        if self.root is None:
            return sql
        try:
            refs = [ref for ref in references(sql) if len(ref.name) == 1]
        except (RollviewError, RecursionError):  # no query: it is run now
            return sql
        shown, sampled = names_of(self.spark).shown, "tablesample" in SqlTokens.of(sql).words()
        for ref in reversed(refs):
            name, given = ref.name[0].lower(), shown.get(ref.name[0].lower())
            if name in self._named:
                sql = sql[: ref.start] + self._in_space(name) + sql[ref.stop :]
            elif given is not None and given.folder == self._place and given.query is not None and not sampled:
                alias = "" if ref.aliased else f" AS {quote(ref.name[0])}"
                sql = f"{sql[: ref.start]}({given.query}){alias}{sql[ref.stop :]}"
        return sql

    def run(self, statement: TableStatement, sql: str) -> DataFrame | Answer:
        if isinstance(statement, CreateTable):
            return self._run_create(statement)
        if isinstance(statement, DropTable):
            table = self.canonical(statement.name)
            if not (statement.if_exists and not self.exists(table)):
                self.drop(table)
            return NOTHING
        table = self.canonical(statement.table)
        there = self.exists(table)
        if there:
            self.identity(table)  # raises Damaged if the newest entry of the log is empty: Delta would write over it
        key = self.key(table) if there else ()
        if key and isinstance(statement, Insert):
            schema = self.schema(table)
            rows = aligned(self.spark.sql(statement.query), schema, table, statement.columns, by_name=statement.by_name)
            self._check_key(table, rows, key, None if statement.overwrite else self.read(table))
        elif key and (isinstance(statement, Merge) or (isinstance(statement, Update) and _sets(statement, key))):
            self._check_edits(table, key, statement)
        return self.spark.sql(sql)

    def _check_edits(self, table: str, key: Sequence[str], statement: Merge | Update) -> None:
        """Raises KeyViolated if the statement would repeat a key. Nothing is written yet."""
        schema = self.schema(table)
        rows = self.read(table).selectExpr("*", f"'' AS {FILE}", f"0L AS {POSITION}")  # the key tells the rows apart
        if isinstance(statement, Merge):
            edits = merge_edits(rows, statement, schema, table)
        else:
            edits = update_edits(rows, statement, schema, table)
        before, after = ([f"{image}.{quote(c)} AS {quote(c)}" for c in key] for image in (BEFORE, AFTER))
        new = edits.where(f"{KIND} <> '{DELETE}'").selectExpr(*after)
        touched = edits.where(f"{FILE} IS NOT NULL").selectExpr(*before)
        self._check_key(table, new, key, rows.join(touched, list(key), "left_anti"))

    def _run_create(self, statement: CreateTable) -> DataFrame:
        table = self.canonical(statement.name)
        if self.root is not None and not PLAIN.fullmatch(table):
            raise BadName(
                f"{table!r} cannot be a table's name in Spark's catalog",
                why="the catalog takes letters, digits and _ only",
                todo="choose another name, or use the embedded store",
            )
        if self.exists(table) and not (statement.if_not_exists or statement.or_replace):
            raise NameTaken(f"There is a table named {table} already", todo="choose another name, or drop it first")
        rows = self.spark.sql(statement.query) if statement.query else None
        schema = declared(self.spark, statement.columns) if rows is None else rows.schema
        check_columns(table, schema)
        check_types(table, schema)
        keys = [column_named(schema, name, table) for name in statement.key]
        if rows is not None:
            self._check_key(table, rows, keys, None)
        name = self.sql_name(table) if self.root is None else self._in_space(table)
        return self.spark.sql(_create_table_sql(statement, name, table_settings(keys)))


def _sets(statement: Update, key: Sequence[str]) -> bool:
    """Whether an UPDATE sets a column of the key."""
    names = {part.casefold() for name, _ in statement.assignments for part in name}
    return bool(names & {column.casefold() for column in key})


def _create_table_sql(statement: CreateTable, name: str, properties: Mapping[str, str]) -> str:
    """A CREATE TABLE for Spark and Delta, whose key is a table property."""
    verb = "CREATE OR REPLACE TABLE" if statement.or_replace else "CREATE TABLE"
    exists = " IF NOT EXISTS" if statement.if_not_exists else ""
    columns = f" ({statement.columns})" if statement.columns else ""
    comment = f" COMMENT '{escape(statement.comment)}'" if statement.comment else ""
    pairs = ", ".join(f"'{escape(k)}' = '{escape(v)}'" for k, v in {**properties, **statement.properties}.items())
    query = f" AS {statement.query}" if statement.query else ""
    return f"{verb}{exists} {name}{columns} USING delta{comment} TBLPROPERTIES ({pairs}){query}"
