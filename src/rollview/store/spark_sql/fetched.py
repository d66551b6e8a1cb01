"""Rows that only Spark can read, fetched into this process."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa
from pyspark.sql import DataFrame

from rollview.parse.names import quote
from rollview.store.commit_rows import by_commit
from rollview.store.protocol import CHANGE_TYPE, COMMIT_VERSION, CommitRows, Reading


def fetched_batches(rows: DataFrame, columns: Sequence[str] | None) -> Iterator[pa.RecordBatch]:
    """The rows of a frame."""
    wanted = rows if columns is None else rows.select(*map(quote, columns))
    return iter(wanted.toArrow().to_batches())


def fetched_commits(
    reading: Reading, table: str, after: int, columns: Sequence[str] | None, upto: int | None
) -> Iterator[CommitRows]:
    """The commits after a version with the rows that they changed, in one query."""
    history = [commit for commit in reading.history(table, after=after) if upto is None or commit.version <= upto]
    if not history:
        return
    newest, key = history[0].version, reading.key(table)
    shown = [name for name, _ in reading.columns(table, newest)] if columns is None else list(columns)
    read = list(dict.fromkeys([*shown, *key]))
    frame: DataFrame = reading.changes(table, after, newest, read)
    yield from by_commit(history, frame.select(*map(quote, [*read, CHANGE_TYPE, COMMIT_VERSION])).toArrow(), shown, key)
