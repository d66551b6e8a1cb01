"""The stored rows that an edit may touch: all of them, or those that are found by the values of the given rows."""

from __future__ import annotations

from pyspark.sql import DataFrame

from rollview.engine.protocol import Kept
from rollview.engine.spark import SparkEngine
from rollview.limits import Limits
from rollview.store.edits import Append, RowEdit, TakeCopies
from rollview.store.embedded.frames import located_rows
from rollview.store.embedded.lookup import found_rows, looking_for, rows_near
from rollview.store.embedded.snapshot import Snapshot
from rollview.store.schema import column_named
from rollview.store.spark_sql.edit_changes import changes_of
from rollview.store.spark_sql.row_changes import FILE, POSITION


class EditedRows:
    """The rows of one table. Given rows are computed once, even if an edit is tried several times."""

    def __init__(self, engine: SparkEngine, table: str, limits: Limits) -> None:
        self._engine, self._table, self._limits = engine, table, limits
        self._given: dict[int, Kept] = {}

    @property
    def kept(self) -> list[Kept]:
        return list(self._given.values())

    @property
    def few(self) -> bool:
        """Whether the given rows are known to be few."""
        return bool(self._given) and all(kept.local is not None for kept in self._given.values())

    def changes(self, snapshot: Snapshot, edit: RowEdit) -> DataFrame:
        """The rows that a single edit changes."""
        rows, given, restricted = self.stored(snapshot, edit)
        return changes_of(rows, given, edit, snapshot.schema, self._table, restricted=restricted)

    def stored(self, snapshot: Snapshot, edit: RowEdit) -> tuple[DataFrame, DataFrame, bool]:
        """The located rows that an edit may touch, the given rows, and whether the table is so much larger than these
        that it should be restricted to the rows that match before it is joined."""
        assert not isinstance(edit, Append)
        limits, size = self._limits, sum(file.rows for file in snapshot.files)
        rows = located_rows(self._engine.spark, snapshot)
        if size <= limits.lookup_rows:
            return rows, edit.rows, False
        given = self._given.get(id(edit)) or self._given.setdefault(id(edit), self._engine.keep(edit.rows))
        if given.local is None:
            return rows, given.frame, size > limits.restrict_factor * given.rows
        looking = looking_for(given.local, edit.count if isinstance(edit, TakeCopies) else None)
        wanted = {column_named(snapshot.schema, name, self._table): looking[name] for name in edit.on}
        found = found_rows(snapshot, wanted, limits)
        if found is None:
            near = rows_near(rows, wanted, limits.listed_keys)
            return near, given.frame, size > limits.restrict_factor * given.rows
        place = [(FILE, "string"), (POSITION, "bigint")]
        kinds = [(field.name, field.dataType.simpleString()) for field in snapshot.schema.fields]
        return self._engine.local(found, [*kinds, *place]).frame, given.frame, False
