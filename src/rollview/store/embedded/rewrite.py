"""Changed rows → files to remove, files to add, and a change feed.

Only the files that hold a changed row are rewritten, and the change feed has just the changed rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark.sql import DataFrame

from rollview.engine.work import read_here, wrote_here
from rollview.limits import Limits
from rollview.parse.names import quote
from rollview.store.edits import ambiguous
from rollview.store.embedded.checks import check_key, check_not_null
from rollview.store.embedded.files import read_rows, write_frame, write_rows
from rollview.store.embedded.snapshot import CHANGE_FOLDER, Action, DataFile, Snapshot, delete_files
from rollview.store.protocol import CHANGE_TYPE, DELETE, INSERT, UPDATE_AFTER, UPDATE_BEFORE
from rollview.store.row_counts import RowCounts
from rollview.store.spark_sql.row_changes import AFTER, BEFORE, FILE, KIND, POSITION, UPDATE, located


@dataclass(frozen=True)
class Rewrite:
    """The effect of changed rows on a table's files."""

    removed: tuple[DataFile, ...]
    added: tuple[DataFile, ...]
    feed: tuple[DataFile, ...]
    counts: RowCounts

    def actions(self) -> list[Action]:
        feed = [
            {"cdc": {"path": f.path, "partitionValues": {}, "size": f.size, "dataChange": False}} for f in self.feed
        ]
        return [*(f.remove() for f in self.removed), *(f.add() for f in self.added), *feed]

    @property
    def files(self) -> list[DataFile]:
        """The files that were written."""
        return [*self.added, *self.feed]


def rewrite(
    snapshot: Snapshot, edits: DataFrame, table: str, key: Sequence[str], limits: Limits, *, few: bool = False
) -> Rewrite:
    """Applies the edits; ``few`` says that there are known to be few. Nothing is committed: a caller that fails to
    commit must discard the files."""
    if few or _are_small(snapshot.files, limits):
        rows = edits.toArrow()
    else:
        staged = write_frame(edits, snapshot.root, CHANGE_FOLDER)
        try:
            if not _are_small(staged, limits):
                return _rewrite_large(
                    snapshot, edits.sparkSession.read.parquet(*map(snapshot.path, staged)), table, key
                )
            rows = pa.concat_tables([pq.read_table(snapshot.path(file)) for file in staged]) if staged else None
        finally:
            delete_files(staged, snapshot.root)
        if rows is None:
            return Rewrite((), (), (), RowCounts())
    return _rewrite_small(snapshot, rows, table, key)


def _are_small(files: Sequence[DataFile], limits: Limits) -> bool:
    rows, size = sum(file.rows for file in files), sum(file.size for file in files)
    return rows <= limits.edits_here and size <= limits.edits_here_bytes


def _rewrite_small(snapshot: Snapshot, edits: pa.Table, table: str, key: Sequence[str]) -> Rewrite:
    edits, files = _numbered(snapshot, edits)
    _check_unambiguous(table, edits)
    edits = _first_of_each(edits)
    kind = edits[KIND]
    before, after = _images(edits, BEFORE, snapshot.arrow_schema), _images(edits, AFTER, snapshot.arrow_schema)
    updates, deletes, inserts = (pc.equal(kind, k) for k in (UPDATE, DELETE, INSERT))
    counts = {k: pc.sum(mask).as_py() or 0 for k, mask in ((UPDATE, updates), (DELETE, deletes), (INSERT, inserts))}
    if edits.num_rows == 0:
        return Rewrite((), (), (), RowCounts())

    def one(number: int) -> DataFile | None:
        mine = pc.equal(edits[FILE], number)
        keep = np.ones(files[number].rows, dtype=bool)
        keep[edits.filter(mine)[POSITION].to_numpy()] = False
        new = after.filter(pc.and_(mine, updates))
        if not keep.any() and new.num_rows == 0:
            return None
        old = read_rows(snapshot.path(files[number]), snapshot.arrow_schema).filter(pa.array(keep))
        return write_rows(pa.concat_tables([old, new]), snapshot.root)

    added: list[DataFile] = []
    feed: list[DataFile] = []
    try:
        with ThreadPoolExecutor(max_workers=4) as pool:
            added += [file for file in pool.map(one, range(len(files))) if file is not None]
        read_here(sum(file.rows for file in files))  # work of other threads would not be counted
        wrote_here(sum(file.size for file in added))
        if counts[INSERT]:
            added.append(write_rows(after.filter(inserts), snapshot.root))
        if counts[UPDATE] or (counts[DELETE] and added):
            images = [
                (before, updates, UPDATE_BEFORE),
                (after, updates, UPDATE_AFTER),
                (before, deletes, DELETE),
                (after, inserts, INSERT),
            ]
            feed.append(
                write_rows(
                    pa.concat_tables([_tagged(t.filter(m), k) for t, m, k in images]), snapshot.root, CHANGE_FOLDER
                )
            )
        whole = RowCounts(counts[INSERT], counts[UPDATE], counts[DELETE])
        result = Rewrite(tuple(files), tuple(added), tuple(feed), whole)
        _check_rows(snapshot, result, table, key, _changed_keys(before, after, kind, key))
    except BaseException:
        delete_files([*added, *feed], snapshot.root)
        raise
    return result


def _rewrite_large(snapshot: Snapshot, edits: DataFrame, table: str, key: Sequence[str]) -> Rewrite:
    """The same in Spark, for edits that would not fit into this process."""
    spark = edits.sparkSession
    names = snapshot.schema.names
    kept = [quote(c) for c in names]
    before, after = ([f"{image}.{quote(c)} AS {quote(c)}" for c in names] for image in (BEFORE, AFTER))
    placed = edits.where(f"{FILE} IS NOT NULL")
    several = placed.groupBy(FILE, POSITION).agg({"*": "count", KIND: "max"})
    if not several.where(f"`count(1)` > 1 AND `max({KIND})` <> '{DELETE}'").isEmpty():
        raise ambiguous(table)
    placed = placed.dropDuplicates([FILE, POSITION])
    edits = edits.where(f"{FILE} IS NULL").unionAll(placed)
    counts = {row[0]: row[1] for row in edits.groupBy(KIND).count().collect()}
    by_name = _files_by_name(snapshot)
    removed = tuple(by_name[row[0]] for row in placed.select(FILE).distinct().collect())
    added: list[DataFile] = []
    feed: list[DataFile] = []
    try:
        new = edits.where(f"{KIND} <> '{DELETE}'").selectExpr(*after)
        if removed:
            old = located(spark.read.schema(snapshot.schema).parquet(*map(snapshot.path, removed)))
            new = old.join(placed.select(FILE, POSITION), [FILE, POSITION], "left_anti").selectExpr(*kept).unionAll(new)
        added += write_frame(new, snapshot.root)
        images = [
            edits.where(f"{KIND} <> '{gone}'").selectExpr(
                *image, f"CASE {KIND} WHEN '{UPDATE}' THEN '{updated}' ELSE {KIND} END AS {CHANGE_TYPE}"
            )
            for image, gone, updated in ((before, INSERT, UPDATE_BEFORE), (after, DELETE, UPDATE_AFTER))
        ]
        feed += write_frame(images[0].unionAll(images[1]), snapshot.root, CHANGE_FOLDER)
        whole = RowCounts(*(counts.get(kind, 0) for kind in (INSERT, UPDATE, DELETE)))
        result = Rewrite(removed, tuple(added), tuple(feed), whole)
        _check_rows(snapshot, result, table, key, None)
    except BaseException:
        delete_files([*added, *feed], snapshot.root)
        raise
    return result


def _files_by_name(snapshot: Snapshot) -> dict[str, DataFile]:
    return {Path(file.path).name: file for file in snapshot.files}


def _numbered(snapshot: Snapshot, edits: pa.Table) -> tuple[pa.Table, list[DataFile]]:
    """The edits with numbers of files instead of their names, and these files."""
    coded = edits[FILE].combine_chunks().dictionary_encode()
    if isinstance(coded, pa.ChunkedArray):
        coded = coded.chunk(0) if coded.num_chunks else pa.array([], pa.string()).dictionary_encode()
    by_name = _files_by_name(snapshot)
    files = [by_name[name] for name in coded.dictionary.to_pylist()]
    return edits.set_column(edits.column_names.index(FILE), FILE, coded.indices), files


def _check_unambiguous(table: str, edits: pa.Table) -> None:
    """Raises AmbiguousMerge if one row has several edits, unless all of them delete it."""
    placed = edits.filter(pc.is_valid(edits[FILE])).select([FILE, POSITION, KIND])
    groups = placed.group_by([FILE, POSITION]).aggregate([([], "count_all"), (KIND, "min"), (KIND, "max")])
    clash = pc.and_(pc.greater(groups["count_all"], 1), pc.not_equal(groups[f"{KIND}_max"], DELETE))
    if pc.any(clash).as_py():
        raise ambiguous(table)


def _first_of_each(edits: pa.Table) -> pa.Table:
    """One edit for each old row: deleting a row twice is deleting it."""
    order = pa.array(np.arange(edits.num_rows))
    places = pa.table(
        {
            FILE: edits[FILE],
            POSITION: edits[POSITION],
            "at": order,
            "new": pc.if_else(pc.is_valid(edits[FILE]), -1, order),
        }
    )
    kept = places.group_by([FILE, POSITION, "new"]).aggregate([("at", "min")])["at_min"]
    return edits if len(kept) == edits.num_rows else edits.take(kept)


def _images(edits: pa.Table, name: str, schema: pa.Schema) -> pa.Table:
    whole = edits[name].combine_chunks()
    if isinstance(whole, pa.ChunkedArray):
        whole = pa.concat_arrays(whole.chunks) if whole.num_chunks else pa.nulls(0, edits.schema.field(name).type)
    columns = [column.cast(field.type) for column, field in zip(whole.flatten(), schema, strict=True)]
    return pa.table(columns, schema=schema)


def _tagged(rows: pa.Table, kind: str) -> pa.Table:
    return rows.append_column(CHANGE_TYPE, pa.array([kind] * rows.num_rows, pa.string()))


def _changed_keys(before: pa.Table, after: pa.Table, kind: pa.ChunkedArray, key: Sequence[str]) -> pa.Table | None:
    """The new keys: those of inserted rows, and of updated rows whose key changes."""
    if not key:
        return None
    moved = pc.equal(kind, INSERT)
    for column in key:
        same = pc.fill_null(pc.equal(before[column], after[column]), False)
        moved = pc.or_(moved, pc.and_(pc.equal(kind, UPDATE), pc.invert(same)))
    return after.select(list(key)).filter(moved)


def _check_rows(snapshot: Snapshot, result: Rewrite, table: str, key: Sequence[str], fresh: pa.Table | None) -> None:
    check_not_null(table, snapshot.schema, key, result.added, snapshot.root)
    if fresh is not None and fresh.num_rows == 0:
        return
    gone = {file.path for file in result.removed}
    kept = [snapshot.path(file) for file in snapshot.files if file.path not in gone]
    check_key(table, key, kept, [snapshot.path(file) for file in result.added], fresh)
