"""Edits: the rows of a table that a statement changes, addressed by file and position.

Addressing rows by position makes no difference between tables with and without a key: two equal rows are two rows.
"""

from __future__ import annotations

from pyspark.sql import DataFrame

#: Columns of an edit: where the old row is, what it was, what it becomes, and the kind of change.
FILE, POSITION, BEFORE, AFTER, KIND = "__rv_file", "__rv_position", "__rv_before", "__rv_after", "__rv_kind"

#: Kinds of edits beside INSERT and DELETE of the change feed.
UPDATE = "update"


def located(frame: DataFrame) -> DataFrame:
    """The rows of files with their file and position."""
    return frame.selectExpr("*", f"_metadata.file_path AS {FILE}", f"_metadata.row_index AS {POSITION}")
