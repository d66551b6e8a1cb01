"""Statements that create or change embedded tables, and queries over them."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame

from rollview.engine.protocol import NOTHING, Answer
from rollview.engine.spark import declared, run_query
from rollview.errors import Place, RollviewError, TableNotFound, Unsupported, nearest
from rollview.parse.names import quote
from rollview.parse.references import Reference, references
from rollview.parse.tables import CreateTable, Delete, DropTable, Insert, Merge, TableStatement, Update
from rollview.parse.tokens import SqlTokens
from rollview.store.edits import Replace
from rollview.store.embedded.folder import Folder
from rollview.store.embedded.frames import located_rows
from rollview.store.embedded.names import EmbeddedNames
from rollview.store.embedded.snapshot import Snapshot
from rollview.store.embedded.temp_views import TempViews
from rollview.store.embedded.writing import EmbeddedWriting
from rollview.store.protocol import NO_STAMP
from rollview.store.spark_sql.table_statements import delete_changes, insert_rows, merge_changes, update_changes

#: Words of clauses between a table's name and its alias. If there is one, the name cannot be replaced by rows:
#: TABLESAMPLE, VERSION AS OF, TIMESTAMP AS OF.
_SAYS_MORE = {"tablesample", "of"}

_NOT_HERE = {"ALTER", "ANALYZE", "MSCK", "OPTIMIZE", "REORG", "REPAIR", "RESTORE", "VACUUM"}


class EmbeddedStatements:
    """Implements the protocol ``Statements``."""

    def __init__(self, folder: Folder, views: TempViews, names: EmbeddedNames, writing: EmbeddedWriting) -> None:
        self._folder, self._views, self._names, self._writing = folder, views, names, writing

    def run(self, statement: TableStatement, sql: str) -> Answer:
        if isinstance(statement, CreateTable):
            return self._run_create(statement)
        if isinstance(statement, DropTable):
            name = self._names.canonical(statement.name)
            if self._names.exists(name) or not statement.if_exists:
                self._writing.drop(name)
            return NOTHING
        table = self._names.canonical(statement.table)
        if isinstance(statement, Insert):
            return self._run_insert(statement, table)

        def changed(snapshot: Snapshot) -> DataFrame:
            rows = located_rows(self._folder.spark, snapshot)
            if isinstance(statement, Update):
                return update_changes(rows, statement, snapshot.schema, table)
            if isinstance(statement, Delete):
                return delete_changes(rows, statement, snapshot.schema)
            assert isinstance(statement, Merge)
            return merge_changes(rows, statement, snapshot.schema, table)

        done = self._writing.change(table, changed, type(statement).__name__.upper())[1]
        assert done is not None
        counts = done.counts
        return _counts(inserted=counts.inserted, updated=counts.updated, deleted=counts.deleted)

    def _run_insert(self, statement: Insert, table: str) -> Answer:
        first = self._folder.snapshot(table)
        rows = insert_rows(self._query(statement.query), statement, first.schema, table)
        if statement.overwrite:
            return _counts(inserted=self._writing.commit(table, [Replace(rows)]).rows)
        commit = self._writing.append(first, table, rows, NO_STAMP)
        return _counts(inserted=commit.rows if commit.version > first.version else 0)

    def _run_create(self, statement: CreateTable) -> Answer:
        table = self._names.canonical(statement.name)
        exists = self._names.exists(table)
        if exists and statement.if_not_exists:
            return NOTHING
        query = statement.query
        spark = self._folder.spark
        rows = declared(spark, statement.columns) if query is None else spark.sql(query)
        properties = dict(statement.properties) | ({"comment": statement.comment} if statement.comment else {})
        if exists and statement.or_replace:
            commit = self._writing.commit(table, [Replace(rows, statement.key, properties)])
        else:
            commit = self._writing.create(table, rows, key=statement.key, properties=properties)
        return NOTHING if query is None else _counts(inserted=commit.rows)

    def pass_on(self, sql: str) -> DataFrame:
        verb = next(iter(SqlTokens.of(sql).tokens)).text.upper()
        if verb in _NOT_HERE:
            raise Unsupported(
                f"The embedded store has no {verb}",
                where=Place.find(sql, verb),
                todo="it runs CREATE TABLE, INSERT, UPDATE, DELETE, MERGE, TRUNCATE and DROP; for others open the "
                "warehouse with rollview.connect(folder, store='delta')",
            )
        if verb in ("CREATE", "DROP", "ALTER"):
            self._views.distrust()
        return self._query(sql)

    def _query(self, sql: str) -> DataFrame:
        """The rows of a query over the current versions of this folder's tables. Rows replace the names, because the
        session may have other views with these names, and Spark Connect resolves names when rows are fetched."""
        refs = _read_by(sql)
        if self._folder.source.made is None:
            self._check_known(refs, sql)
        frames = self._views.frames({ref.name for ref in refs})
        if not frames or _SAYS_MORE & SqlTokens.of(sql).words():
            return self._folder.spark.sql(sql)
        return run_query(self._folder.spark, sql, [ref for ref in refs if ref.name in frames], frames)

    def _check_known(self, refs: Sequence[Reference], sql: str) -> None:
        """Raises an error for an unknown name. If the session is not created yet, it has no names of its own."""
        known = self._views.given()
        for ref in refs:
            if len(ref.name) == 1 and ref.name[0].lower() not in known:
                raise TableNotFound(
                    f"There is no table or view named {quote(ref.name[0])}",
                    where=Place(sql, ref.start, ref.stop),
                    todo=nearest(ref.name[0], self._names.tables()),
                    name=ref.name[0],
                )


def _counts(*, inserted: int | None = 0, updated: int = 0, deleted: int = 0) -> Answer:
    return Answer(dict.fromkeys(("inserted", "updated", "deleted"), "BIGINT"), [[inserted or 0, updated, deleted]])


def _read_by(sql: str) -> tuple[Reference, ...]:
    """The tables that a statement reads, as far as it can be parsed as a query."""
    try:
        return references(sql)
    except (RollviewError, RecursionError):
        return ()
