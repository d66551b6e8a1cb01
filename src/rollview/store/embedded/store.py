"""The embedded store: Delta tables in a folder."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeVar

from pyspark.sql import DataFrame
from pyspark.sql.types import StructField, StructType

from rollview.engine.protocol import NOTHING, Answer, Kept
from rollview.engine.spark import SparkEngine, declared, run_query
from rollview.errors import (
    Conflict,
    NameTaken,
    Place,
    RollviewError,
    SchemaChanged,
    TableNotFound,
    Unsupported,
    nearest,
)
from rollview.parse.names import quote
from rollview.parse.references import Reference, references
from rollview.parse.tables import CreateTable, Delete, DropTable, Insert, Merge, TableStatement, Update
from rollview.parse.tokens import SqlTokens
from rollview.store.edits import FILE, POSITION
from rollview.store.embedded.checks import check_key, check_not_null, check_properties, check_schema, check_stored_types
from rollview.store.embedded.files import write_frame
from rollview.store.embedded.log import Log, Overtaken, metadata_action, protocol_action
from rollview.store.embedded.lookup import found_rows, looking_for, rows_near
from rollview.store.embedded.reading import located_rows
from rollview.store.embedded.rewrite import Rewrite, rewrite
from rollview.store.embedded.snapshot import DataFile, Snapshot
from rollview.store.embedded.tables import EmbeddedTables, key_of
from rollview.store.protocol import FEED_PROPERTY, KEY_PROPERTY, NO_STAMP, Commit, Stamp
from rollview.store.schema import aligned, column_named
from rollview.store.statements import delete_edits, insert_rows, merge_edits, update_edits, upsert_edits
from rollview.store.warehouse import remove_folder, set_aside, storage_errors

T = TypeVar("T")

#: Words of clauses that stand between a table's name and its alias, where rows cannot be put in for the name:
#: TABLESAMPLE, VERSION AS OF, TIMESTAMP AS OF.
_SAYS_MORE = {"tablesample", "of"}

_NOT_HERE = {"ALTER", "ANALYZE", "MSCK", "OPTIMIZE", "REORG", "REPAIR", "RESTORE", "VACUUM"}


class EmbeddedStore(EmbeddedTables):
    """Keeps the protocol of ``rollview.store.protocol.Store``; see there for what the methods promise."""

    def check_types(self, table: str, rows: DataFrame) -> None:
        check_stored_types(table, rows.schema)

    def create(
        self,
        table: str,
        rows: DataFrame | StructType,
        *,
        key: Sequence[str] = (),
        properties: Mapping[str, str] | None = None,
        stamp: Stamp = NO_STAMP,
    ) -> Commit:
        log = self._log(table)
        if log.exists():
            raise NameTaken(
                f"There is a table named {table} already",
                todo="choose another name, or drop it first: DROP TABLE " + quote(table),
            )
        schema = _declared(rows)
        keys = tuple(column_named(schema, name, table) for name in key)
        check_schema(table, schema, keys)
        check_properties(table, properties or {})
        with self._written(log, rows, -1) as files:
            check_not_null(table, schema, keys, files, log.root)
            check_key(table, keys, [], [str(log.root / f.path) for f in files])
            metadata = metadata_action(schema, _settings(keys, properties))
            actions = [protocol_action(schema), metadata, *(f.add() for f in files)]
            try:
                return log.commit(0, actions, "CREATE TABLE", stamp, sum(f.rows for f in files))
            except Overtaken:
                raise NameTaken(f"Another writer has just made a table named {table}") from None

    def recreate(
        self, table: str, rows: DataFrame, *, properties: Mapping[str, str] | None = None, stamp: Stamp = NO_STAMP
    ) -> Commit:
        made = Log(self.root / f".new-{uuid.uuid4().hex}")
        schema = _declared(rows)
        check_schema(table, schema, ())
        check_properties(table, properties or {})
        with self._written(made, rows, -1) as files:
            metadata = metadata_action(schema, _settings((), properties))
            actions = [protocol_action(schema), metadata, *(f.add() for f in files)]
            commit = made.commit(0, actions, "CREATE TABLE", stamp, sum(f.rows for f in files))
        trash = set_aside(self.root, table)
        with storage_errors(f"{table} cannot be written; what was stored of it is in {trash}"):
            os.rename(made.root, self._log(table).root)
        self._logs.pop(table, None)
        remove_folder(trash, f"{table} is stored again, but not all of its old files could be removed: {trash} is left")
        return commit

    @contextlib.contextmanager
    def _written(self, log: Log, rows: DataFrame | StructType, after: int) -> Iterator[list[DataFile]]:
        """The rows as files of the table; they go again if no commit after version ``after`` comes to name them."""
        files: list[DataFile] = []
        try:
            if not isinstance(rows, StructType):
                files += write_frame(rows, log.root)
            yield files
        finally:
            log.discard(files, after)
            if not log.exists() and log.root.exists():
                shutil.rmtree(log.root, ignore_errors=True)

    def append(self, table: str, rows: DataFrame, *, stamp: Stamp = NO_STAMP) -> Commit:
        first = self._snapshot(table)
        return self._append(first, table, aligned(rows, first.schema, table, by_name=True), stamp)

    def _append(self, first: Snapshot, table: str, rows: DataFrame, stamp: Stamp) -> Commit:
        """Writes the files once, then commits them onto whatever version is the newest."""
        if self._repeated(first, stamp):
            return self.last_commit(table)
        first.check_writable(appending=True)
        log = self._log(table)
        with self._written(log, rows, first.version) as files:
            if not files and stamp == NO_STAMP:
                return self.last_commit(table)

            def attempt(snapshot: Snapshot) -> Commit:
                if snapshot.schema != first.schema or snapshot.table_id != first.table_id:
                    raise SchemaChanged(
                        f"{table} was replaced while rows were written to it", todo="repeat the statement"
                    )
                if self._repeated(snapshot, stamp):
                    return self.last_commit(table)
                key = key_of(snapshot)
                check_not_null(table, snapshot.schema, key, files, log.root)
                check_key(table, key, [snapshot.path(f) for f in snapshot.files], [snapshot.path(f) for f in files])
                adds = [f.add() for f in files]
                return log.commit(snapshot.version + 1, adds, "WRITE", stamp, sum(f.rows for f in files))

            return self._repeat(table, attempt)

    def merge(
        self,
        table: str,
        source: DataFrame,
        on: Sequence[str],
        *,
        combine: Mapping[str, str] | None = None,
        gone: str | None = None,
        copies: str | None = None,
        stamp: Stamp = NO_STAMP,
    ) -> Commit:
        engine, kept, limits = SparkEngine(self.spark, self.limits), list[Kept](), self.limits

        def edits(snapshot: Snapshot) -> DataFrame:
            rows, given, restricted = located_rows(self.spark, snapshot), source, False
            size = sum(file.rows for file in snapshot.files)
            if size > limits.lookup_rows:
                if not kept:
                    kept.append(engine.keep(source))
                given, restricted = kept[0].frame, size > limits.restrict_factor * kept[0].rows
                if kept[0].local is not None:
                    looking = looking_for(kept[0].local, copies)
                    wanted = {column_named(snapshot.schema, name, table): looking[name] for name in on}
                    found = found_rows(snapshot, wanted, limits)
                    if found is not None:
                        at = [(FILE, "string"), (POSITION, "bigint")]
                        kinds = [(field.name, field.dataType.simpleString()) for field in snapshot.schema.fields]
                        rows, restricted = engine.local(found, [*kinds, *at]).frame, False
                    else:
                        rows = rows_near(rows, wanted, limits.listed_keys)
            return upsert_edits(rows, given, on, snapshot.schema, table, combine, gone, copies, restricted)

        def few() -> bool:
            return bool(kept) and kept[0].local is not None

        try:
            return self._edit(table, edits, "MERGE", stamp, names=False, few=few)[0]
        finally:
            engine.forget(kept)

    def _edit(
        self,
        table: str,
        edits: Callable[[Snapshot], DataFrame],
        operation: str,
        stamp: Stamp = NO_STAMP,
        *,
        names: bool = True,
        few: Callable[[], bool] = lambda: False,
    ) -> tuple[Commit, Rewrite | None]:
        """Evaluates the edits against the newest version and commits them; again if another writer was faster.

        ``names`` says whether the edits read other tables by their names, ``few`` whether there are few of them."""

        def attempt(snapshot: Snapshot) -> tuple[Commit, Rewrite | None]:
            if self._repeated(snapshot, stamp):
                return self.last_commit(table), None
            snapshot.check_writable()
            if names:  # what the statement reads beside the table is at its newest version, too
                self.sync(set())
            changed = edits(snapshot)
            done = rewrite(snapshot, changed, table, key_of(snapshot), self.limits, few=few())
            log = self._log(table)
            try:
                if not done.rows and stamp == NO_STAMP:
                    return self.last_commit(table), done
                return log.commit(snapshot.version + 1, done.actions(), operation, stamp, done.rows), done
            finally:
                log.discard(done.files, snapshot.version)

        return self._repeat(table, attempt)

    def replace(
        self,
        table: str,
        rows: DataFrame | StructType,
        *,
        key: Sequence[str] | None = None,
        properties: Mapping[str, str] | None = None,
        stamp: Stamp = NO_STAMP,
    ) -> Commit:
        first = self._snapshot(table)
        if self._repeated(first, stamp):
            return self.last_commit(table)
        first.check_writable()
        schema = _declared(rows)
        if not isinstance(rows, StructType) and schema == _declared(first.schema, nullable=True):
            schema = first.schema  # the same columns keep their NOT NULL and their comments
        check_properties(table, properties or {})
        log = self._log(table)
        with self._written(log, rows, first.version) as files:

            def attempt(snapshot: Snapshot) -> Commit:
                if self._repeated(snapshot, stamp):
                    return self.last_commit(table)
                keys = key_of(snapshot) if key is None else tuple(column_named(schema, name, table) for name in key)
                check_schema(table, schema, keys)
                settings = _settings(keys, snapshot.properties if properties is None else properties)
                check_not_null(table, schema, keys, files, log.root)
                check_key(table, keys, [], [snapshot.path(f) for f in files])
                actions = [*(f.remove() for f in snapshot.files), *(f.add() for f in files)]
                if schema != snapshot.schema or settings != snapshot.properties:
                    actions = [
                        *snapshot.upgrade(schema),
                        metadata_action(schema, settings, snapshot.table_id),
                        *actions,
                    ]
                return log.commit(snapshot.version + 1, actions, "REPLACE", stamp, sum(f.rows for f in files))

            return self._repeat(table, attempt)

    def set_properties(self, table: str, properties: Mapping[str, str]) -> Commit:
        check_properties(table, properties)

        def attempt(snapshot: Snapshot) -> Commit:
            snapshot.check_writable()
            settings = {**snapshot.properties, **properties}
            action = metadata_action(snapshot.schema, settings, snapshot.table_id)
            return self._log(table).commit(snapshot.version + 1, [action], "SET TBLPROPERTIES", NO_STAMP, 0)

        return self._repeat(table, attempt)

    def drop(self, table: str) -> None:
        if not self.exists(table):
            raise self._not_found(table)
        trash = set_aside(self.root, table)
        self._logs.pop(table, None)
        self._published.forget(table)
        remove_folder(trash, f"{table} is dropped, but not all of its files could be removed: {trash} is left")

    def _repeated(self, snapshot: Snapshot, stamp: Stamp) -> bool:
        if stamp.application is None:
            return False
        seen = snapshot.transaction(stamp.application)
        return seen is not None and seen >= stamp.sequence

    def _repeat(self, table: str, attempt: Callable[[Snapshot], T]) -> T:
        """Tries a write on the newest version; once overtaken, it keeps other writers out meanwhile."""
        tries = self.limits.write_attempts
        for number in range(tries):
            alone = self._log(table).exclusive() if number else contextlib.nullcontext()
            with alone, contextlib.suppress(Overtaken):
                return attempt(self._snapshot(table))
        raise Conflict(
            f"{table} was changed by other writers {tries} times while this write was prepared",
            todo="repeat the statement; nothing was written",
        )

    # SQL

    def asked(self) -> contextlib.AbstractContextManager[None]:
        return self._published.asked()

    def sync(self, words: set[str]) -> dict[str, RollviewError]:
        for name, (table, _) in self._published.given().items():
            if not self.exists(table):
                self._published.forget(name)
        wanted: dict[str, tuple[str, str | None]] = {w: (w, None) for w in words if self.exists(w)}
        wanted |= self._published.given()
        problems: dict[str, RollviewError] = {}
        for name, (table, query) in wanted.items():
            try:
                self._published.show(name, table, query)
            except RollviewError as error:
                problems[name] = error
        return problems

    def publish_view(self, view: str, state: str, show: str) -> None:
        self._published.show(view, state, show)

    def unpublish_view(self, view: str) -> None:
        self._published.forget(view)

    def run(self, statement: TableStatement, sql: str) -> Answer:
        if isinstance(statement, CreateTable):
            return self._run_create(statement)
        if isinstance(statement, DropTable):
            name = self.canonical(statement.name)
            if self.exists(name) or not statement.if_exists:
                self.drop(name)
            return NOTHING
        table = self.canonical(statement.table)
        if isinstance(statement, Insert):
            return self._run_insert(statement, table)

        def edits(snapshot: Snapshot) -> DataFrame:
            rows = located_rows(self.spark, snapshot)
            if isinstance(statement, Update):
                return update_edits(rows, statement, snapshot.schema, table)
            if isinstance(statement, Delete):
                return delete_edits(rows, statement, snapshot.schema)
            assert isinstance(statement, Merge)
            return merge_edits(rows, statement, snapshot.schema, table)

        done = self._edit(table, edits, type(statement).__name__.upper())[1]
        assert done is not None
        return _counts(inserted=done.inserted, updated=done.updated, deleted=done.deleted)

    def _run_insert(self, statement: Insert, table: str) -> Answer:
        first = self._snapshot(table)
        rows = insert_rows(self._query(statement.query), statement, first.schema, table)
        if statement.overwrite:
            return _counts(inserted=self.replace(table, rows).rows)
        commit = self._append(first, table, rows, NO_STAMP)
        return _counts(inserted=commit.rows if commit.version > first.version else 0)

    def _run_create(self, statement: CreateTable) -> Answer:
        table = self.canonical(statement.name)
        exists = self.exists(table)
        if exists and statement.if_not_exists:
            return NOTHING
        query = statement.query
        rows = declared(self.spark, statement.columns) if query is None else self.spark.sql(query)
        properties = dict(statement.properties) | ({"comment": statement.comment} if statement.comment else {})
        write = self.replace if exists and statement.or_replace else self.create
        commit = write(table, rows, key=statement.key, properties=properties)
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
            self._published.distrust()
        return self._query(sql)

    def _query(self, sql: str) -> DataFrame:
        """The rows of a query over tables and views of this folder, as they are now. They are put in for their names:
        the session may have other views of these names, and Spark Connect looks for names when rows are fetched."""
        refs = _read_by(sql)
        if self.source.made is None:
            self._check_known(refs, sql)
        frames = self._published.frames({ref.name for ref in refs})
        if not frames or _SAYS_MORE & SqlTokens.of(sql).words():
            return self.spark.sql(sql)
        return run_query(self.spark, sql, [ref for ref in refs if ref.name in frames], frames)

    def _check_known(self, refs: Sequence[Reference], sql: str) -> None:
        """Raises an error for a name that means nothing. A session that is not made yet has no names of its own."""
        known = self._published.given()
        for ref in refs:
            if len(ref.name) == 1 and ref.name[0].lower() not in known:
                raise TableNotFound(
                    f"There is no table or view named {quote(ref.name[0])}",
                    where=Place(sql, ref.start, ref.stop),
                    todo=nearest(ref.name[0], self.tables()),
                    name=ref.name[0],
                )


def _settings(key: Sequence[str], properties: Mapping[str, str] | None) -> dict[str, str]:
    """The properties of a table, its key among them."""
    kept = {name: value for name, value in (properties or {}).items() if name != KEY_PROPERTY}
    return {FEED_PROPERTY: "true", **kept, **({KEY_PROPERTY: json.dumps(list(key))} if key else {})}


def _declared(rows: DataFrame | StructType, *, nullable: bool = False) -> StructType:
    """The schema of a new table. What a query computes may be NULL, whatever Spark inferred for these very rows."""
    if isinstance(rows, StructType) and not nullable:
        return rows
    fields = rows.fields if isinstance(rows, StructType) else rows.schema.fields
    return StructType([StructField(field.name, field.dataType, True) for field in fields])


def _counts(*, inserted: int | None = 0, updated: int = 0, deleted: int = 0) -> Answer:
    return Answer(dict.fromkeys(("inserted", "updated", "deleted"), "BIGINT"), [[inserted or 0, updated, deleted]])


def _read_by(sql: str) -> tuple[Reference, ...]:
    """What a statement reads, as far as it is a query that can be read."""
    try:
        return references(sql)
    except (RollviewError, RecursionError):
        return ()
