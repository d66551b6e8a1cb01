"""Keeps a table small that gets many small appends: one file for many, and no log entries that nobody needs.

Each step leaves a table that can be read, so this may end anywhere: first the merged file is committed, then files are
removed that no kept version has, and then the entries that name them, the oldest first.
"""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from urllib.parse import unquote

import pyarrow as pa

from rollview.errors import VersionGone
from rollview.store.embedded.commits import commit_file
from rollview.store.embedded.entries import Listing
from rollview.store.embedded.files import read_rows, write_rows
from rollview.store.embedded.log import Log, Overtaken
from rollview.store.embedded.snapshot import Action, Snapshot
from rollview.store.protocol import NO_STAMP
from rollview.store.row_counts import RowCounts
from rollview.store.warehouse import storage_errors

#: A file of this many rows is not merged with others again.
_LARGE = 10_000


def tidy(log: Log, keep: int, seconds: float) -> None:
    """Merges small files, and removes what only versions before the newest ``keep`` need, and before the version of so
    many ``seconds`` ago."""
    first = (log.latest() or 0) - keep
    _merge(log, log.snapshot())
    if seconds:
        first = min(first, _version_at(log, datetime.now(timezone.utc) - timedelta(seconds=seconds)))
    listing = Listing.of(log.root)
    if first <= min(listing.commits):
        return
    log.checkpoint(first)
    listing = Listing.of(log.root)
    bound = listing.checkpoint(first)
    with log.exclusive(), storage_errors(f"old files of {log.table} cannot be removed"):
        for version in sorted(version for version in listing.commits if version <= bound):
            for action in log.actions(version):
                if "remove" in action:
                    (log.root / unquote(action["remove"]["path"])).unlink(missing_ok=True)
            if version < bound:
                commit_file(log.root, version).unlink(missing_ok=True)
        for version, parts in listing.checkpoints.items():
            for part in parts if version < bound else ():
                (log.root / part.path).unlink(missing_ok=True)


def _version_at(log: Log, moment: datetime) -> int:
    """The version that a table had at a moment; −1 if that is not known."""
    try:
        found = log.version_at(moment)
    except VersionGone:
        return -1
    return -1 if found is None else found


def _merge(log: Log, snapshot: Snapshot) -> None:
    """Commits one file in the place of the small ones; another writer's commit comes first, then later ones do it."""
    small = [file for file in snapshot.files if file.rows < _LARGE]
    if len(small) < 2:
        return
    snapshot.check_readable()
    snapshot.check_writable(appending=True)
    rows = pa.concat_tables([read_rows(snapshot.path(file), snapshot.arrow_schema) for file in small])
    merged = write_rows(rows, log.root)
    try:
        actions = [_unchanged(action) for action in (*(file.remove() for file in small), merged.add())]
        log.commit(snapshot.version + 1, actions, "OPTIMIZE", NO_STAMP, RowCounts())
    except Overtaken:
        pass
    finally:
        log.discard([merged], snapshot.version)


def _unchanged(action: Action) -> Action:
    """An action on a file that neither adds rows to the table nor removes any."""
    return {kind: {**body, "dataChange": False} for kind, body in action.items()}
