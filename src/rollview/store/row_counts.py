"""The number of rows that a commit of a Delta table changed, from the metrics that Delta defines for a commit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

_MERGED = ("numTargetRowsInserted", "numTargetRowsUpdated", "numTargetRowsDeleted")

#: Operations that write rows and remove none.
_ADDING = {"CREATE TABLE", "CREATE TABLE AS SELECT", "WRITE"}

#: Operations that change no rows.
_KEEPING = {"ADD COLUMNS", "CHANGE COLUMN", "OPTIMIZE", "SET TBLPROPERTIES", "UNSET TBLPROPERTIES", "VACUUM END"}


@dataclass(frozen=True)
class RowCounts:
    """Rows that a commit inserts, updates and deletes."""

    inserted: int = 0
    updated: int = 0
    deleted: int = 0

    @property
    def rows(self) -> int:
        return self.inserted + self.updated + self.deleted

    def metrics(self) -> dict[str, str]:
        counts = (self.inserted, self.updated, self.deleted)
        return {name: str(count) for name, count in zip(_MERGED, counts, strict=True)}


def rows_written(operation: str, metrics: Mapping[str, str]) -> int | None:
    """The rows that a commit changed or wrote, if it says so; rows that were only copied are not among them."""
    if operation == "MERGE" and any(name in metrics for name in _MERGED):
        return sum(int(metrics.get(name, 0)) for name in _MERGED)
    return int(metrics["numOutputRows"]) if "numOutputRows" in metrics else None


def rows_in_and_out(
    operation: str, metrics: Mapping[str, str], parameters: Mapping[str, str]
) -> tuple[int | None, int | None]:
    """The rows that are in the table since a commit, and those that no longer are; None if the commit does not say."""
    told = {name: int(value) for name, value in metrics.items() if name.startswith("num") and value.isdigit()}
    if any(name in told for name in _MERGED):
        inserted, updated, deleted = (told.get(name, 0) for name in _MERGED)
        return inserted + updated, updated + deleted
    if operation in _KEEPING:
        return 0, 0
    if operation == "DELETE" and "numDeletedRows" in told:
        return 0, told["numDeletedRows"]
    if operation == "UPDATE" and "numUpdatedRows" in told:
        return told["numUpdatedRows"], told["numUpdatedRows"]
    if operation in _ADDING and parameters.get("mode", "Append").strip('"') in ("Append", "ErrorIfExists"):
        return told.get("numOutputRows", 0 if operation == "CREATE TABLE" else None), 0
    return None, None
