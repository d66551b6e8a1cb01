"""Atomic writes to embedded tables."""

from __future__ import annotations

import contextlib
import functools
import json
import os
import shutil
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeAlias, TypeVar

import pyarrow as pa
from deltalake import Schema
from pyspark.sql import DataFrame
from pyspark.sql.types import StructField, StructType

from rollview.engine.spark import SparkEngine
from rollview.errors import Conflict, NameTaken, SchemaChanged
from rollview.parse.names import quote
from rollview.store.edits import Append, Edit, Replace, RowEdit, replaced, row_edits
from rollview.store.embedded.checks import check_key, check_not_null, check_properties, check_schema, check_stored_types
from rollview.store.embedded.edited_rows import EditedRows
from rollview.store.embedded.files import in_types, write_frame, write_rows
from rollview.store.embedded.folder import Folder, key_of
from rollview.store.embedded.log import Log, Overtaken, metadata_action, protocol_action
from rollview.store.embedded.prune import prune
from rollview.store.embedded.rewrite import Rewrite, rewrite
from rollview.store.embedded.snapshot import DataFile, Snapshot
from rollview.store.embedded.temp_views import TempViews
from rollview.store.embedded.tidy import tidy
from rollview.store.protocol import FEED_PROPERTY, KEY_PROPERTY, NO_STAMP, Commit, Stamp
from rollview.store.row_counts import RowCounts
from rollview.store.schema import aligned, column_named
from rollview.store.spark_sql.edit_changes import Chain
from rollview.store.warehouse import remove_folder, set_aside, storage_errors

T = TypeVar("T")

#: Rows to write: computed by Spark, or of this process.
Rows: TypeAlias = DataFrame | pa.Table


class EmbeddedWriting:
    """Implements the protocol ``Writing``."""

    def __init__(self, folder: Folder, views: TempViews) -> None:
        self._folder, self._views = folder, views

    def check_types(self, table: str, rows: DataFrame) -> None:
        check_stored_types(table, rows.schema)

    def create(
        self,
        table: str,
        rows: Rows | StructType,
        *,
        key: Sequence[str] = (),
        properties: Mapping[str, str] | None = None,
        stamp: Stamp = NO_STAMP,
    ) -> Commit:
        log = self._folder.log(table)
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
            try:
                return _create(log, schema, _settings(keys, properties), files, stamp)
            except Overtaken:
                raise NameTaken(f"Another writer has just made a table named {table}") from None

    def recreate(
        self, table: str, rows: DataFrame, *, properties: Mapping[str, str] | None = None, stamp: Stamp = NO_STAMP
    ) -> Commit:
        root = self._folder.root
        made = Log(root / f".new-{uuid.uuid4().hex}")
        schema = _declared(rows)
        check_schema(table, schema, ())
        check_properties(table, properties or {})
        with self._written(made, rows, -1) as files:
            commit = _create(made, schema, _settings((), properties), files, stamp)
        trash = set_aside(root, table)
        with storage_errors(f"{table} cannot be written; what was stored of it is in {trash}"):
            os.rename(made.root, self._folder.log(table).root)
        self._folder.forget(table)
        remove_folder(trash, f"{table} is stored again, but not all of its old files could be removed: {trash} is left")
        return commit

    def commit(self, table: str, edits: Sequence[Edit], stamp: Stamp = NO_STAMP) -> Commit:
        if (replacing := replaced(edits)) is not None:
            return self._replace(table, replacing, stamp)
        rows = row_edits(edits)
        if all(isinstance(edit, Append) for edit in rows):
            first = self._folder.snapshot(table)
            return self.append(first, table, _together(table, first, [edit.rows for edit in rows]), stamp)
        return self._edit(table, rows, stamp)

    @contextlib.contextmanager
    def _written(self, log: Log, rows: Rows | StructType | None, after: int) -> Iterator[list[DataFile]]:
        """The rows as files of the table. They are removed again if no commit after version ``after`` names them."""
        files: list[DataFile] = []
        try:
            if isinstance(rows, pa.Table):
                files += [write_rows(rows, log.root)] if rows.num_rows else []
            elif rows is not None and not isinstance(rows, StructType):
                files += write_frame(rows, log.root)
            yield files
        finally:
            log.discard(files, after)
            if not log.exists() and log.root.exists():
                shutil.rmtree(log.root, ignore_errors=True)

    def append(self, first: Snapshot, table: str, rows: Rows | None, stamp: Stamp) -> Commit:
        """Writes the files once, then commits them onto the newest version. ``rows`` have the schema of the snapshot
        ``first``; without rows, the commit has only its metadata."""
        log = self._folder.log(table)
        if _repeated(first, stamp):
            return log.last()
        first.check_writable(appending=True)
        with self._written(log, rows, first.version) as files:
            if not files and stamp == NO_STAMP:
                return log.last()

            def attempt(snapshot: Snapshot) -> Commit:
                if snapshot.schema != first.schema or snapshot.table_id != first.table_id:
                    raise SchemaChanged(
                        f"{table} was replaced while rows were written to it", todo="repeat the statement"
                    )
                if _repeated(snapshot, stamp):
                    return log.last()
                key = key_of(snapshot)
                check_not_null(table, snapshot.schema, key, files, log.root)
                check_key(table, key, [snapshot.path(f) for f in snapshot.files], [snapshot.path(f) for f in files])
                counts = RowCounts(inserted=sum(f.rows for f in files))
                return log.commit(snapshot.version + 1, [f.add() for f in files], "WRITE", stamp, counts)

            return self._repeat(table, attempt)

    def _edit(self, table: str, edits: Sequence[RowEdit], stamp: Stamp) -> Commit:
        engine = SparkEngine(self._folder.spark, self._folder.limits)
        rows = EditedRows(engine, table, self._folder.limits)
        chains: list[Chain] = []

        def changed(snapshot: Snapshot) -> DataFrame:
            if len(edits) == 1:
                return rows.changes(snapshot, edits[0])
            stored = functools.partial(rows.stored, snapshot)
            chains.append(Chain(engine, snapshot.schema, table, stored))
            return chains[-1].changes(edits)

        def few() -> bool:
            return chains[-1].few if chains else rows.few

        try:
            return self.change(table, changed, "MERGE", stamp, names=False, few=few)[0]
        finally:
            engine.forget([*rows.kept, *(kept for chain in chains for kept in chain.kept)])

    def change(
        self,
        table: str,
        changed: Callable[[Snapshot], DataFrame],
        operation: str,
        stamp: Stamp = NO_STAMP,
        *,
        names: bool = True,
        few: Callable[[], bool] = lambda: False,
    ) -> tuple[Commit, Rewrite | None]:
        """Commits the changed rows of the newest version; computes them again if another writer was faster.

        ``names`` says whether they read other tables by their names, ``few`` whether there are few of them."""
        log = self._folder.log(table)

        def attempt(snapshot: Snapshot) -> tuple[Commit, Rewrite | None]:
            if _repeated(snapshot, stamp):
                return log.last(), None
            snapshot.check_writable()
            if names:  # the other tables that the statement reads are at their newest versions, too
                self._views.sync(set())
            rows = changed(snapshot)
            done = rewrite(snapshot, rows, table, key_of(snapshot), self._folder.limits, few=few())
            try:
                if not done.counts.rows and stamp == NO_STAMP:
                    return log.last(), done
                return log.commit(snapshot.version + 1, done.actions(), operation, stamp, done.counts), done
            finally:
                log.discard(done.files, snapshot.version)

        return self._repeat(table, attempt)

    def _replace(self, table: str, edit: Replace, stamp: Stamp) -> Commit:
        first, rows = self._folder.snapshot(table), edit.rows
        log = self._folder.log(table)
        if _repeated(first, stamp):
            return log.last()
        first.check_writable()
        schema = _declared(rows)
        if not isinstance(rows, StructType) and schema == _declared(first.schema, nullable=True):
            schema = first.schema  # the same columns keep their NOT NULL and their comments
        check_properties(table, edit.properties or {})
        with self._written(log, rows, first.version) as files:

            def attempt(snapshot: Snapshot) -> Commit:
                if _repeated(snapshot, stamp):
                    return log.last()
                key = edit.key
                keys = key_of(snapshot) if key is None else tuple(column_named(schema, name, table) for name in key)
                check_schema(table, schema, keys)
                settings = _settings(keys, snapshot.properties if edit.properties is None else edit.properties)
                check_not_null(table, schema, keys, files, log.root)
                check_key(table, keys, [], [snapshot.path(f) for f in files])
                actions = [*(f.remove() for f in snapshot.files), *(f.add() for f in files)]
                if schema != snapshot.schema or settings != snapshot.properties:
                    made = metadata_action(schema, settings, snapshot.table_id)
                    actions = [*snapshot.upgrade(schema), made, *actions]
                counts = RowCounts(sum(f.rows for f in files), 0, sum(f.rows for f in snapshot.files))
                return log.commit(snapshot.version + 1, actions, "REPLACE", stamp, counts, counts.inserted)

            return self._repeat(table, attempt)

    def set_properties(self, table: str, properties: Mapping[str, str]) -> Commit:
        check_properties(table, properties)

        def attempt(snapshot: Snapshot) -> Commit:
            snapshot.check_writable()
            settings = {**snapshot.properties, **properties}
            action = metadata_action(snapshot.schema, settings, snapshot.table_id)
            log = self._folder.log(table)
            return log.commit(snapshot.version + 1, [action], "SET TBLPROPERTIES", NO_STAMP, RowCounts())

        return self._repeat(table, attempt)

    def prune(self, table: str, column: str, upto: int, stamp: Stamp = NO_STAMP) -> Commit:
        log = self._folder.log(table)

        def attempt(snapshot: Snapshot) -> Commit:
            if _repeated(snapshot, stamp):
                return log.last()
            snapshot.check_readable()
            snapshot.check_writable()
            pruned = prune(snapshot, column, upto)
            if not pruned.rows and stamp == NO_STAMP:
                return log.last()
            try:
                counts = RowCounts(deleted=pruned.rows)
                return log.commit(snapshot.version + 1, pruned.actions(), "DELETE", stamp, counts)
            finally:
                log.discard(pruned.kept, snapshot.version)

        return self._repeat(table, attempt)

    def tidy(self, table: str, keep: int, seconds: float = 0) -> None:
        tidy(self._folder.log(table), keep, seconds)

    def drop(self, table: str) -> None:
        if not self._folder.log(table).exists():
            raise self._folder.not_found(table)
        trash = set_aside(self._folder.root, table)
        self._folder.forget(table)
        self._views.forget(table)
        remove_folder(trash, f"{table} is dropped, but not all of its files could be removed: {trash} is left")

    def _repeat(self, table: str, attempt: Callable[[Snapshot], T]) -> T:
        """Tries a write on the newest version. After losing a race, it locks out other writers while it tries again."""
        tries = self._folder.limits.write_attempts
        for number in range(tries):
            alone = self._folder.log(table).exclusive() if number else contextlib.nullcontext()
            with alone, contextlib.suppress(Overtaken):
                return attempt(self._folder.snapshot(table))
        raise Conflict(
            f"{table} was changed by other writers {tries} times while this write was prepared",
            todo="repeat the statement; nothing was written",
        )


def _create(
    log: Log, schema: StructType, settings: Mapping[str, str], files: Sequence[DataFile], stamp: Stamp
) -> Commit:
    """The first commit of a table. Raises Overtaken."""
    actions = [protocol_action(schema), metadata_action(schema, settings), *(f.add() for f in files)]
    return log.commit(0, actions, "CREATE TABLE", stamp, RowCounts(inserted=sum(f.rows for f in files)))


def _repeated(snapshot: Snapshot, stamp: Stamp) -> bool:
    if stamp.application is None:
        return False
    seen = snapshot.transaction(stamp.application)
    return seen is not None and seen >= stamp.sequence


def _settings(key: Sequence[str], properties: Mapping[str, str] | None) -> dict[str, str]:
    """The properties of a table, its key among them."""
    kept = {name: value for name, value in (properties or {}).items() if name != KEY_PROPERTY}
    return {FEED_PROPERTY: "true", **kept, **({KEY_PROPERTY: json.dumps(list(key))} if key else {})}


def _together(table: str, first: Snapshot, appended: Sequence[Rows]) -> Rows | None:
    """The rows of several appends, with the columns of the table."""
    here = [rows for rows in appended if isinstance(rows, pa.Table)]
    if here and len(here) == len(appended):
        return pa.concat_tables([in_types(rows, first.arrow_schema, rows.num_rows) for rows in here])
    frames = [aligned(rows, first.schema, table, by_name=True) for rows in appended]
    return functools.reduce(lambda one, other: one.unionAll(other), frames) if frames else None


def _declared(rows: Rows | StructType, *, nullable: bool = False) -> StructType:
    """The schema of a new table. What a query computes may be NULL, whatever Spark inferred for these very rows."""
    if isinstance(rows, pa.Table):
        declared: StructType = StructType.fromJson(json.loads(Schema.from_arrow(rows.schema).to_json()))
        return declared
    if isinstance(rows, StructType) and not nullable:
        return rows
    fields = rows.fields if isinstance(rows, StructType) else rows.schema.fields
    return StructType([StructField(field.name, field.dataType, True) for field in fields])
