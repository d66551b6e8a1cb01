"""Removes the oldest rows of a table that is written in the order of a column, without reading most of them.

A file whose statistics say that it has no other rows is removed as a whole. A file that has others, too, is written
again without the old ones if it is small, and stays as it is otherwise: its other rows will be old one day.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow.compute as pc

from rollview.store.embedded.files import nulls_in, read_rows, write_rows
from rollview.store.embedded.snapshot import Action, DataFile, Snapshot

#: A file of more rows is not written again.
_SMALL = 10_000


@dataclass(frozen=True)
class Pruned:
    """``gone`` are the removed files, ``kept`` those with what is left of some of them; ``rows`` were removed."""

    gone: Sequence[DataFile]
    kept: Sequence[DataFile]

    @property
    def rows(self) -> int:
        return sum(file.rows for file in self.gone) - sum(file.rows for file in self.kept)

    def actions(self) -> list[Action]:
        return [*(file.remove() for file in self.gone), *(file.add() for file in self.kept)]


def prune(snapshot: Snapshot, column: str, upto: int) -> Pruned:
    """Files without the rows whose value in a column is at most ``upto``. New files are written, nothing is
    committed."""
    gone, kept = [], []
    for file, bounds in zip(snapshot.files, snapshot.file_bounds(column), strict=True):
        if bounds is not None and bounds[0] > upto:
            continue
        if bounds is not None and bounds[1] <= upto and nulls_in(file, column) == 0:
            gone.append(file)
        elif file.rows < _SMALL:
            rows = read_rows(snapshot.path(file), snapshot.arrow_schema)
            old = pc.fill_null(pc.less_equal(rows.column(column), upto), False)
            left = rows.filter(pc.invert(old))
            if left.num_rows < file.rows:
                gone.append(file)
                kept += [write_rows(left, snapshot.root)] if left.num_rows else []
    return Pruned(gone, kept)
