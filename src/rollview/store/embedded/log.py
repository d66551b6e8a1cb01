"""The log of a Delta table: snapshots of its versions, and atomic commits.

Snapshots are replayed by the ``deltalake`` package. Commits are written here: the package can commit added and removed
files, but neither a change feed (``cdc`` actions) nor new metadata together with data, and a view needs both in one
commit. A commit is one file whose name is its version. It is linked into place, which fails if another writer was
first.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import sys
import threading
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError
from pyspark.sql.types import StructType

from rollview.errors import Damaged, VersionGone
from rollview.parse.stored_names import damaged
from rollview.store.embedded.entries import ACTIONS, ENGINE, Entries, Listing, Mark, entry_name, too_few
from rollview.store.embedded.snapshot import Action, DataFile, Snapshot, delete_files, now
from rollview.store.protocol import Commit, Stamp, metadata_of
from rollview.store.row_counts import RowCounts, rows_in_and_out, rows_written
from rollview.store.warehouse import LOG_FOLDER, storage_errors, table_of

if sys.platform != "win32":
    import fcntl


_CHECKPOINT_EVERY = 10


class Overtaken(Exception):
    """Another writer committed first."""


def _commit_file(root: Path, version: int) -> Path:
    return root / LOG_FOLDER / entry_name(version)


class Log:
    """The log of the table in one folder."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._cache: dict[int, tuple[tuple[Mark | None, ...], Snapshot]] = {}
        self._entries = Entries()
        self._readable: dict[int, Mark | None] = {}
        self._held = threading.local()

    @property
    def table(self) -> str:
        """The table's name, for messages."""
        return table_of(self.root.name) or self.root.name

    def exists(self) -> bool:
        try:
            return self.latest() is not None
        except Damaged:  # something is there that cannot be read
            return True

    def latest(self) -> int | None:
        """The newest version, from the names of the commit files."""
        return self._listed().newest

    def oldest(self) -> int:
        """The oldest version whose commit is still in the log."""
        return min(self._listed().commits)

    def _listed(self) -> Listing:
        try:
            return Listing.of(self.root)
        except OSError as error:
            raise damaged(self.table, f"its log cannot be read: {error.strerror or error}") from error

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

    def commit_mark(self, version: int) -> str | None:
        """What tells a commit from another one of the same version; None if it is no longer in the log."""
        return self._entries.digest(version, _commit_file(self.root, version))

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

    def actions(self, version: int) -> list[Action]:
        """The actions of one commit. Raises VersionGone and Damaged."""
        found, trouble = self._lines(version)
        if trouble:
            raise damaged(self.table, f"its log entry {_commit_file(self.root, version).name} {trouble}")
        return found

    def _lines(self, version: int) -> tuple[list[Action], str]:
        """What can be read of a commit, and what is wrong with the rest."""
        found: list[Action] = []
        try:
            text = _commit_file(self.root, version).read_text(encoding="utf-8")
        except FileNotFoundError:
            raise gone(self.table, version, "its commit is no longer in the log") from None
        except UnicodeDecodeError:
            return found, "is not text"
        except OSError as error:
            return found, f"cannot be read: {error.strerror or error}"
        for number, line in enumerate(text.split("\n"), 1):
            if line.strip():
                try:
                    action = json.loads(line)
                except ValueError as error:
                    return found, f"has no JSON in line {number}: {error}"
                said = {k: v for k, v in action.items() if v is not None} if isinstance(action, dict) else {}
                if not said or not all(isinstance(body, dict) for body in said.values()):
                    return found, f"has no action in line {number}"
                found.append(said)
        return found, too_few(found) if found else "is empty"

    def told_properties(self) -> Iterator[Mapping[str, str]]:
        """The properties that the table has had, newest first, as far as its log can be read."""
        listing = self._listed()
        for version in sorted(listing.commits, reverse=True):
            with contextlib.suppress(VersionGone):
                for action in reversed(self._lines(version)[0]):
                    if isinstance(found := action.get("metaData", {}).get("configuration"), dict):
                        yield found
        for version in sorted(listing.checkpoints, reverse=True):
            with contextlib.suppress(DeltaError, OSError):
                yield DeltaTable(self.root.as_uri(), version=version).metadata().configuration

    def info(self, version: int) -> Commit:
        """The time, operation, metadata and counts of a commit."""
        for action in self.actions(version):
            if "commitInfo" in action:
                info = action["commitInfo"]
                break
        else:
            info = {}
        # Delta takes the time of a commit from its file. Commits of this store also have it inside, where copying the
        # file does not change it.
        ours = info.get("engineInfo") == ENGINE
        try:
            stamp = info["timestamp"] if ours else os.stat(_commit_file(self.root, version)).st_mtime_ns // 1_000_000
            operation, metrics = info.get("operation", ""), info.get("operationMetrics") or {}
            told = {name: str(value) for name, value in metrics.items()}
            parameters = {name: str(value) for name, value in (info.get("operationParameters") or {}).items()}
            return Commit(
                version,
                datetime.fromtimestamp(stamp / 1000, timezone.utc),
                metadata_of(info.get("userMetadata")),
                operation,
                rows_written(operation, told),
                *rows_in_and_out(operation, told, parameters),
            )
        except (KeyError, TypeError, ValueError, OverflowError, AttributeError) as error:
            name = _commit_file(self.root, version).name
            raise damaged(self.table, f"its log entry {name} cannot be understood: {error!r}") from error

    def commits(self) -> Iterator[Commit]:
        """The commits that are still in the log, newest first."""
        newest = self.latest()
        for version in () if newest is None else range(newest, self.oldest() - 1, -1):
            yield self.info(version)

    def last(self) -> Commit:
        """The newest commit."""
        return next(self.commits())

    def history(self, limit: int | None, after: int | None) -> list[Commit]:
        """The newest commits; those after a version, if one is given."""
        since = itertools.takewhile(lambda commit: after is None or commit.version > after, self.commits())
        return list(itertools.islice(since, limit))

    def version_at(self, when: datetime) -> int | None:
        """The newest version committed no later than ``when``; None if there was none."""
        newest = self.latest()
        if newest is None:
            return None
        low, high = self.oldest(), newest
        if self.info(low).time > when:
            if low == 0:
                return None
            raise gone(self.table, low - 1, f"its log begins at version {low}")
        while low < high:
            middle = (low + high + 1) // 2
            if self.info(middle).time <= when:
                low = middle
            else:
                high = middle - 1
        return low

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
            self._checkpoint()
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
                try:
                    os.link(draft, _commit_file(self.root, version))
                except FileExistsError:
                    raise Overtaken from None
        finally:
            draft.unlink(missing_ok=True)

    def _checkpoint(self) -> None:
        """Writes a checkpoint. It only shortens later replays, so a failure does not matter."""
        with contextlib.suppress(DeltaError, OSError):
            DeltaTable(self.root.as_uri()).create_checkpoint()


def _unreadable(error: Exception) -> str:
    """Why a log cannot be replayed although its files can be read."""
    said = str(error).split("\n")[0]
    if "metadata" in said and "found in delta log" in said:
        return "no entry of its log says what columns it has: the entry that did is missing or was cut off"
    return f"its log cannot be read: {said[:200]}"


def gone(table: str, version: int, why: str) -> VersionGone:
    return VersionGone(
        f"Version {version} of {table} is no longer there",
        why=why,
        todo="REFRESH MATERIALIZED VIEW … FULL recomputes a view over it",
    )


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
