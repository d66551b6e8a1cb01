"""The timed delta of a view as a table beside its state, which is only appended to. Each commit has the rows of one
forward query, and the extent that they lead to: so a process can be stopped between any two of them.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa

from rollview.engine.protocol import Frame, Kept
from rollview.errors import NameTaken, RollviewError, SchemaChanged, TableNotFound, VersionGone
from rollview.plan.reserved import TIME
from rollview.roll.extent import EXTENT, Extent
from rollview.roll.rows import empty_delta
from rollview.state.state import State
from rollview.store.edits import Append, Edit, Replace
from rollview.store.protocol import Commit, Stamp
from rollview.views.catalog import RUN, Catalog
from rollview.views.definition import View

logger = logging.getLogger("rollview")

#: Delta removes old entries of the log by itself; checkpoints soon forget merged files, or they would grow for ever.
_PROPERTIES = {
    "delta.logRetentionDuration": "interval 1 days",
    "delta.deletedFileRetentionDuration": "interval 1 hours",
}

#: After this many commits the small files are merged.
_TIDIED = 100


@dataclass(frozen=True)
class Stored:
    """A version of the delta, and how far it reaches."""

    version: int
    extent: Extent


class DeltaTable:
    """The table of one view's timed delta."""

    def __init__(self, catalog: Catalog, view: View) -> None:
        self._catalog, self._store, self._view = catalog, catalog.store, view
        self.name = catalog.delta(view.name)

    def stored(self) -> Stored | None:
        """The newest version; None if nothing has been propagated yet."""
        if not self._store.exists(self.name):
            return None
        try:
            commit = self._store.last_commit(self.name, having=EXTENT)
        except (TableNotFound, VersionGone):  # another session has dropped it
            return None
        return Stored(commit.version, Extent.from_metadata(commit.metadata[EXTENT]))

    def current(self) -> Stored | None:
        """The newest version, if it belongs to the rows that are stored, and to the deltas of the views below as they
        are now."""
        stored = self.stored()
        if stored is None or stored.extent.epoch != self._catalog.reflected(self._view).epoch:
            return None
        for name, birth in stored.extent.below.items():
            below = DeltaTable(self._catalog, self._catalog.get(name)).current()
            if below is None or below.extent.birth != birth:
                return None
        return stored

    def begin(self, state: State, extent: Extent) -> bool:
        """Begins an epoch: what was stored for an older one is gone. False if another session was faster."""
        stored = self._catalog.store.read(self._catalog.state(self._view.name))
        rows = self._catalog.engine.select(empty_delta(state), {"state": stored})
        stamp = self._stamp(extent)
        if not self._store.exists(self.name):
            try:
                commit = self._store.create(self.name, rows, properties=_PROPERTIES, stamp=stamp)
            except NameTaken:
                return False
        else:
            commit = self._store.commit(self.name, [Replace(rows)], stamp)
        return _is_ours(commit, stamp)

    def append(self, rows: Kept | None, extent: Extent) -> Commit | None:
        """Commits the rows of a forward query; None if another session's commit came first."""
        edits: list[Edit] = [] if rows is None or not rows.rows else [Append(_given(rows))]
        stamp = self._stamp(extent)
        try:
            commit = self._store.commit(self.name, edits, stamp)
        except (SchemaChanged, TableNotFound):  # another session has replaced the view by one with other columns
            return None
        if not _is_ours(commit, stamp):
            return None
        if commit.version % _TIDIED == 0:
            self._tidy(Stored(commit.version, extent))
        return commit

    def _tidy(self, stored: Stored) -> None:
        try:
            self.tidy(stored)
        except RollviewError as error:  # it is tried again after as many commits
            logger.warning("the small files of %s could not be merged: %s", self.name, error)

    def prune(self, extent: Extent) -> Commit | None:
        """Removes the rows with times up to the begin of an extent, as far as that takes little; None if another
        session's commit came first."""
        stamp = self._stamp(extent)
        commit = self._store.prune(self.name, TIME.label, extent.begin, stamp)
        return commit if _is_ours(commit, stamp) else None

    def tidy(self, stored: Stored) -> None:
        """Merges small files, and removes those that were replaced so long ago that no query reads them any more. The
        newest commit that has an extent stays."""
        keep = self._store.version(self.name) - stored.version
        self._store.tidy(self.name, keep, self._catalog.limits.grace_seconds)

    def read(self, version: int) -> Frame:
        return self._store.read(self.name, version)

    def _stamp(self, extent: Extent) -> Stamp:
        """The sequence goes on in the next epoch, so that a commit of this one cannot come after its begin."""
        metadata: Mapping[str, object] = {EXTENT: extent.to_metadata(), RUN: uuid.uuid4().hex}
        return Stamp(metadata, f"{self._view.id}.delta", extent.sequence)


def _given(rows: Kept) -> Frame | pa.Table:
    """Few rows are written without Spark."""
    return rows.frame if rows.local is None else rows.local


def _is_ours(commit: Commit, stamp: Stamp) -> bool:
    return bool(commit.metadata.get(RUN) == stamp.metadata[RUN])
