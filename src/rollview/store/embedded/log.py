"""The log of a Delta table: snapshots of its versions, and atomic commits.

Snapshots are replayed by the ``deltalake`` package. Commits are written here: the package can commit added and removed
files, but neither a change feed (``cdc`` actions) nor new metadata together with data, and a view needs both in one
commit. A commit is one file whose name is its version. It is linked into place, which fails if another writer was
first.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import threading
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError
from pyspark.sql.types import StructType

from rollview.errors import Damaged, VersionGone
from rollview.parse.stored_names import damaged
from rollview.store.embedded.commits import Commits, commit_file, gone
from rollview.store.embedded.entries import ACTIONS, ENGINE, Listing, Mark, entry_name
from rollview.store.embedded.snapshot import Action, DataFile, Snapshot, delete_files, now
from rollview.store.protocol import Commit, Stamp
from rollview.store.row_counts import RowCounts
from rollview.store.warehouse import LOG_FOLDER, storage_errors

if sys.platform != "win32":
    import fcntl


_CHECKPOINT_EVERY = 10


class Overtaken(Exception):
    """Another writer committed first."""


class Log(Commits):
    """The log of the table in one folder."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self._cache: dict[int, tuple[tuple[Mark | None, ...], Snapshot]] = {}
        self._readable: dict[int, Mark | None] = {}
        self._held = threading.local()

    def snapshot(self, version: int | None = None) -> Snapshot:
        """A version of the table, the newest if none is given. Raises VersionGone and Damaged."""
        listing = self._listed()
        newest = listing.newest
        if newest is None:
            raise FileNotFoundError(self.root)
        wanted = newest if version is None else version
        if wanted > newest or wanted < 0:
            raise VersionGone(f"{self.table} has no version {wanted}", why=f"its newest version is {newest}")
        marks = listing.marks(wanted)
        if wanted in self._cache and self._cache[wanted][0] == marks:
            return self._cache[wanted][1]
        self._check_whole(listing, wanted, marks)
        try:
            table = DeltaTable(self.root.as_uri(), version=wanted)
        except (DeltaError, OSError) as error:
            self._check_checkpoint(listing, wanted)
            for commit in listing.replayed(wanted):
                self.actions(commit)  # says which file it is
            if wanted < newest:
                raise gone(self.table, wanted, _unreadable(error)) from error
            raise damaged(self.table, _unreadable(error)) from error
        snapshot = Snapshot(self.root, wanted, self._entries.digest(wanted, listing.commits.get(wanted)), table)
        while len(self._cache) >= 8:
            self._cache.pop(next(iter(self._cache)))
        self._cache[wanted] = (marks, snapshot)
        return snapshot

    def check(self) -> None:
        """Raises Damaged if an entry of the log that the newest version is replayed from cannot be read."""
        listing = self._listed()
        newest = listing.newest
        if newest is None:
            return
        marks = listing.marks(newest)
        self._check_whole(listing, newest, marks)
        for commit, mark in zip(listing.replayed(newest), marks, strict=False):  # those of a checkpoint come last
            if self._readable.get(commit) != mark:
                self.actions(commit)
                self._readable[commit] = mark

    def _check_whole(self, listing: Listing, version: int, marks: Sequence[Mark | None]) -> None:
        """Raises an error if a commit that a version is replayed from is missing, empty or cut off."""
        for commit, mark in zip(listing.replayed(version), marks, strict=False):
            entry = listing.commits.get(commit)
            if entry is None and version != listing.newest:
                raise gone(self.table, version, f"the log entry {entry_name(commit)} is no longer there")
            trouble = "is missing" if entry is None else self._entries.cut(commit, entry, mark)
            if trouble and not self.root.exists():  # the table has just been dropped
                raise FileNotFoundError(self.root)
            if trouble:
                raise damaged(self.table, f"its log entry {entry_name(commit)} {trouble}")

    def _check_checkpoint(self, listing: Listing, version: int) -> None:
        """Raises an error if the checkpoint that a version is replayed from cannot be read."""
        for part in listing.checkpoints.get(listing.checkpoint(version), ()):
            try:
                if part.name.endswith(".parquet"):
                    pq.read_metadata(part.path)
            except (pa.ArrowException, OSError) as error:
                raise damaged(self.table, f"the checkpoint {part.name} of its log cannot be read") from error

    def discard(self, files: Iterable[DataFile], after: int) -> None:
        """Removes files that were written for a commit, unless a commit after ``after`` names them: an interrupt can
        arrive after the commit."""
        named: set[str] = set()
        try:
            for version in range(after + 1, (self.latest() or 0) + 1):
                with contextlib.suppress(VersionGone):
                    for action in self.actions(version):
                        named |= {body["path"] for kind, body in action.items() if kind in ("add", "cdc")}
        except Damaged:  # what it names is not known: nothing is removed
            return
        delete_files([file for file in files if file.path not in named], self.root)

    @contextlib.contextmanager
    def exclusive(self) -> Iterator[None]:
        """Keeps other writers on this machine from committing inside the block, so that the loser of a race can win.

        Commits are atomic without it, because no two of them can have the same file name.
        """
        if sys.platform == "win32" or getattr(self._held, "now", False):
            yield
            return
        with storage_errors(f"{self.table} cannot be written"):
            self.root.mkdir(parents=True, exist_ok=True)
            file = open(self.root / ".rollview.lock", "ab")  # noqa: SIM115  closed below
        with file:
            fcntl.flock(file, fcntl.LOCK_EX)
            self._held.now = True
            try:
                yield
            finally:
                self._held.now = False

    def commit(
        self,
        version: int,
        actions: Sequence[Action],
        operation: str,
        stamp: Stamp,
        counts: RowCounts,
        rows: int | None = None,
    ) -> Commit:
        """Writes version ``version`` atomically; ``rows`` is the count that it reports, by default the changed rows.
        Raises Overtaken if another writer did so first."""
        moment = now()
        if version > 0:
            before = self.info(version - 1).time.timestamp() * 1000
            moment = max(moment, int(before) + 1)
        info: Action = {
            "timestamp": moment,
            "operation": operation,
            "operationParameters": {},
            "operationMetrics": {"numOutputRows": str(counts.rows if rows is None else rows), **counts.metrics()},
            "engineInfo": ENGINE,
        }
        if version > 0:
            info["readVersion"] = version - 1
        if stamp.metadata:
            info["userMetadata"] = json.dumps(stamp.metadata, sort_keys=True)
        lines: list[Action] = [{"commitInfo": info}, *actions]
        if stamp.application is not None:
            lines.append({"txn": {"appId": stamp.application, "version": stamp.sequence, "lastUpdated": moment}})
        info["operationMetrics"][ACTIONS] = str(len(lines))
        with storage_errors(f"{self.table} cannot be written"):
            self._write(version, lines, moment)
        if version > 0 and version % _CHECKPOINT_EVERY == 0:
            self.checkpoint()
        return self.info(version)

    def _write(self, version: int, lines: Sequence[Action], moment: int) -> None:
        """Links a commit file into place."""
        folder = self.root / LOG_FOLDER
        folder.mkdir(parents=True, exist_ok=True)
        draft = folder / f".{uuid.uuid4().hex}.tmp"
        try:
            with open(draft, "w", encoding="utf-8") as out:
                out.write("\n".join(json.dumps(line, ensure_ascii=False) for line in lines) + "\n")
                out.flush()
                os.fsync(out.fileno())
            os.utime(draft, ns=(moment * 1_000_000, moment * 1_000_000))
            with self.exclusive():
                if version > 0 and not commit_file(self.root, version - 1).exists():
                    raise Overtaken  # long ago: the entries after its version have been removed
                try:
                    os.link(draft, commit_file(self.root, version))
                except FileExistsError:
                    raise Overtaken from None
        finally:
            draft.unlink(missing_ok=True)

    def checkpoint(self, version: int | None = None) -> None:
        """Writes a checkpoint, of the newest version if none is given. It only shortens later replays, so a failure
        does not matter."""
        with contextlib.suppress(DeltaError, OSError):
            DeltaTable(self.root.as_uri(), version=version).create_checkpoint()


def _unreadable(error: Exception) -> str:
    """Why a log cannot be replayed although its files can be read."""
    said = str(error).split("\n")[0]
    if "metadata" in said and "found in delta log" in said:
        return "no entry of its log says what columns it has: the entry that did is missing or was cut off"
    return f"its log cannot be read: {said[:200]}"


def protocol_action(schema: StructType) -> Action:
    """The protocol of a new table: the change feed, and TIMESTAMP_NTZ if a column has it."""
    protocol: Action = {
        "minReaderVersion": 1,
        "minWriterVersion": 7,
        "writerFeatures": ["appendOnly", "changeDataFeed", "invariants"],
    }
    if "timestamp_ntz" in schema.json():
        protocol |= {
            "minReaderVersion": 3,
            "readerFeatures": ["timestampNtz"],
            "writerFeatures": [*protocol["writerFeatures"], "timestampNtz"],
        }
    return {"protocol": protocol}


def metadata_action(schema: StructType, properties: Mapping[str, str], table_id: str | None = None) -> Action:
    return {
        "metaData": {
            "id": table_id or str(uuid.uuid4()),
            "format": {"provider": "parquet", "options": {}},
            "schemaString": schema.json(),
            "partitionColumns": [],
            "configuration": dict(properties),
            "createdTime": now(),
        }
    }
