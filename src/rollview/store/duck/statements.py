"""Statements that create or change tables in DuckDB."""

from __future__ import annotations

from sqlglot import exp

from rollview.engine.duck import DuckFrame, translated
from rollview.engine.protocol import Answer
from rollview.errors import ColumnNotFound, Place, SqlSyntaxError, Unsupported, nearest
from rollview.parse.tables import (
    Assignments,
    CreateTable,
    Delete,
    DropTable,
    Insert,
    Merge,
    TableStatement,
    Update,
)
from rollview.parse.tokens import SqlTokens
from rollview.store.duck.names import DuckNames
from rollview.store.duck.reading import DuckReading
from rollview.store.duck.tables import DuckTables, quoted
from rollview.store.duck.writing import DuckWriting
from rollview.store.edits import Append, Edit, Replace
from rollview.store.protocol import Commit
from rollview.store.schema import wrong_width

#: The first words of queries and settings.
_ASKING = {"SELECT", "WITH", "VALUES", "FROM", "(", "SHOW", "DESCRIBE", "DESC", "EXPLAIN", "SET"}

#: Verbs of SQL that are followed by a kind of object.
_OF_OBJECTS = {"ALTER", "ANALYZE", "CACHE", "CREATE", "DROP", "GRANT", "REFRESH", "REVOKE", "USE"}


class DuckStatements:
    """Implements the protocol ``Statements``."""

    def __init__(self, tables: DuckTables, names: DuckNames, reading: DuckReading, writing: DuckWriting) -> None:
        self._tables, self._names, self._reading, self._writing = tables, names, reading, writing

    def pass_on(self, sql: str) -> DuckFrame:
        words = SqlTokens.of(sql).tokens[:2]
        verb = words[0].text.upper()
        if verb not in _ASKING:
            words = words if verb in _OF_OBJECTS else words[:1]
            said = " ".join(word.text.upper() for word in words)
            raise Unsupported(
                f"The DuckDB store has no {said}"
                if verb in _OF_OBJECTS
                else f"No statement begins with {words[0].text}",
                where=Place(sql, words[0].start, words[-1].stop),
                todo="use a statement that rollview runs on DuckDB: a query, CREATE TABLE, INSERT, UPDATE, DELETE, "
                "MERGE, TRUNCATE, DROP TABLE, or a statement about a MATERIALIZED VIEW",
            )
        return DuckFrame(translated(sql))

    def run(self, statement: TableStatement, sql: str) -> Answer:
        changed = self._run(statement)
        about_table = isinstance(statement, DropTable) or (
            isinstance(statement, CreateTable) and statement.query is None
        )
        return Answer({"changed": "BIGINT"}, [] if about_table else [[changed]])

    def _run(self, statement: TableStatement) -> int:
        if isinstance(statement, CreateTable):
            return self._run_create(statement)
        if isinstance(statement, DropTable):
            name = self._names.canonical(statement.name)
            if self._tables.exists(name) or not statement.if_exists:
                self._writing.drop(name)
            return 0
        table = self._names.canonical(statement.table)
        before = self._reading.version(table)
        if isinstance(statement, Insert):
            commit = self._run_insert(statement, table)
        elif isinstance(statement, Merge):
            commit = self._run_merge(statement, table)
        else:
            commit = self._run_edit(statement, table)
        return (commit.rows or 0) if commit.version > before else 0

    def _run_create(self, statement: CreateTable) -> int:
        table = self._names.canonical(statement.name)
        if self._tables.exists(table) and statement.if_not_exists:
            return 0
        query = statement.query
        rows = self._shape(statement.columns) if query is None else DuckFrame(translated(query))
        properties = dict(statement.properties)
        try:
            if self._tables.exists(table) and statement.or_replace:
                commit = self._writing.commit(table, [Replace(rows, statement.key, properties)])
            else:
                commit = self._writing.create(table, rows, key=statement.key, properties=properties)
        finally:
            self._tables.db.execute("DROP TABLE IF EXISTS temp.rv_shape")
        return commit.rows or 0

    def _shape(self, columns: str) -> DuckFrame:
        """No rows, with the columns of a list."""
        before = "CREATE TABLE rv_shape ("
        try:
            made = translated(f"{before}{columns})")
        except SqlSyntaxError as error:
            if (where := error.where) is not None:
                at = len(before)
                error.where = Place(columns, max(0, where.start - at), min(len(columns), where.stop - at))
            raise
        self._tables.db.execute(made.replace("CREATE TABLE", "CREATE OR REPLACE TEMP TABLE", 1))
        return DuckFrame("SELECT * FROM temp.rv_shape")

    def _run_insert(self, statement: Insert, table: str) -> Commit:
        columns = list(statement.columns) or self._tables.columns(table)
        if statement.by_name:
            raise Unsupported("The DuckDB store has no INSERT BY NAME", todo="name the columns")
        listed = ", ".join(quoted(c) for c in columns)
        given = translated(statement.query)
        if (width := len(self._tables.engine.columns(DuckFrame(given)))) != len(columns):
            raise wrong_width(table, columns, width, Place(statement.query, 0, len(statement.query)))
        rows = DuckFrame(f"SELECT * FROM ({given}) AS v({listed})")
        if statement.overwrite:
            types = dict(self._reading.columns(table))
            picked = ", ".join(f"CAST({quoted(c)} AS {_type_in_duckdb(types[c])}) AS {quoted(c)}" for c in columns)
            edit: Edit = Replace(DuckFrame(f"SELECT {picked} FROM ({rows.sql})"))
        else:
            edit = Append(rows)
        return self._writing.commit(table, [edit])

    def _rows_with_id(self, table: str) -> str:
        listed = self._tables.listed(table)
        return f"(SELECT rowid AS __rid, {listed} FROM rv_data.{quoted(table)} WHERE __to IS NULL)"

    def _run_edit(self, statement: Update | Delete, table: str) -> Commit:
        where = f" WHERE {translated(statement.where)}" if statement.where else ""
        inner = f"(SELECT *, __rid AS __r FROM {self._rows_with_id(table)} AS {quoted(statement.alias)}{where})"
        values = {column: f"t.{quoted(column)}" for column in self._tables.columns(table)}
        if isinstance(statement, Delete):
            return self._writing.change(table, f"{inner} AS t", "'d'", values, "DELETE")
        sets = self._assigned(table, statement.assignments)
        news = ", ".join(f"{sets.get(c.lower(), quoted(c))} AS {quoted('__new_' + c)}" for c in values)
        inner = f"(SELECT *, {news} FROM {self._rows_with_id(table)} AS {quoted(statement.alias)}{where})"
        values = {c: f"t.{quoted('__new_' + c)}" for c in values}
        return self._writing.change(table, f"{inner} AS t", "'u'", values, "UPDATE")

    def _assigned(self, table: str, assignments: Assignments) -> dict[str, str]:
        """The new values by the names of their columns in lower case."""
        columns = self._tables.columns(table)
        for name, _ in assignments:
            if name[-1].lower() not in map(str.lower, columns):
                raise ColumnNotFound(
                    f"{table} has no column named {name[-1]}",
                    todo=nearest(name[-1], columns) or f"its columns are {', '.join(columns)}",
                )
        return {name[-1].lower(): translated(text) for name, text in assignments}

    def _run_merge(self, statement: Merge, table: str) -> Commit:
        target, given = quoted(statement.alias), quoted(statement.source_alias)
        columns = self._tables.columns(table)
        source = f"(SELECT *, true AS __there FROM ({translated(f'SELECT * FROM {statement.source}')}))"
        kinds = {"both": f"{target}.__rid IS NOT NULL AND {given}.__there", "source": f"{target}.__rid IS NULL",
                 "target": f"{given}.__there IS NULL"}  # fmt: skip
        tests, news = [], {c: [] for c in columns}  # type: tuple[list[str], dict[str, list[str]]]
        for clause in statement.clauses:
            more = f" AND ({translated(clause.condition)})" if clause.condition else ""
            test = f"WHEN {kinds[clause.matched]}{more} THEN"
            tests.append(f"{test} {chr(39)}{'d' if clause.action == 'delete' else 'u'}{chr(39)}")
            sets = self._assigned(table, clause.assignments or ())
            for column in columns:
                kept = f"{target}.{quoted(column)}" if clause.action == "update" else "NULL"
                value = f"{given}.{quoted(column)}" if clause.assignments is None else sets.get(column.lower(), kept)
                news[column].append(f"{test} {value}")
        listed = ", ".join(f"CASE {' '.join(parts)} END AS {quoted(c)}" for c, parts in news.items())
        joined = (
            f"(SELECT {target}.__rid AS __rid, CASE {' '.join(tests)} END AS __what, {listed} "
            f"FROM {self._rows_with_id(table)} AS {target} FULL JOIN {source} AS {given} "
            f"ON {translated(statement.condition)}) AS t"
        )
        return self._writing.change(table, joined, "t.__what", {c: f"t.{quoted(c)}" for c in columns}, "MERGE")


def _type_in_duckdb(kind: str) -> str:
    return exp.DataType.build(kind, dialect="spark").sql("duckdb")
