"""The commits of a log, as its entries tell them: no version is replayed for this."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from deltalake import DeltaTable
from deltalake.exceptions import DeltaError

from rollview.errors import Damaged, VersionGone
from rollview.parse.stored_names import damaged
from rollview.store.embedded.entries import ENGINE, Entries, Listing, Mark, entry_name, too_few
from rollview.store.embedded.snapshot import Action
from rollview.store.protocol import Commit, Identity, Progress, metadata_of
from rollview.store.row_counts import rows_in_and_out, rows_written
from rollview.store.warehouse import LOG_FOLDER, table_of


def commit_file(root: Path, version: int) -> Path:
    return root / LOG_FOLDER / entry_name(version)


class Commits:
    """The commits of the table in one folder."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._entries = Entries()
        self._times: dict[int, tuple[Mark | None, int]] = {}
        self._was_there: int | None = None  # a version that was found before

    @property
    def table(self) -> str:
        """The table's name, for messages."""
        return table_of(self.root.name) or self.root.name

    def exists(self) -> bool:
        try:
            if self._was_there is None or not commit_file(self.root, self._was_there).exists():
                self._was_there = self.latest()
            return self._was_there is not None
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

    def has(self, version: int) -> bool:
        """Whether the commit of a version is in the log; the log is not listed for this."""
        return commit_file(self.root, version).exists()

    def commit_mark(self, version: int) -> str | None:
        """What tells a commit from another one of the same version; None if it is no longer in the log."""
        return self._entries.digest(version, commit_file(self.root, version))

    def actions(self, version: int) -> list[Action]:
        """The actions of one commit. Raises VersionGone and Damaged."""
        found, trouble = self._lines(version)
        if trouble:
            raise damaged(self.table, f"its log entry {entry_name(version)} {trouble}")
        return found

    def _lines(self, version: int) -> tuple[list[Action], str]:
        """What can be read of a commit, and what is wrong with the rest."""
        found: list[Action] = []
        try:
            text = commit_file(self.root, version).read_text(encoding="utf-8")
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
        return self.commit_of(version, self.actions(version))

    def commit_of(self, version: int, actions: Sequence[Action]) -> Commit:
        """The same from its actions."""
        info = _info(actions)
        try:
            operation, metrics = info.get("operation", ""), info.get("operationMetrics") or {}
            told = {name: str(value) for name, value in metrics.items()}
            parameters = {name: str(value) for name, value in (info.get("operationParameters") or {}).items()}
            in_and_out = rows_in_and_out(operation, told, parameters)
            if not any(_moves_rows(action) for action in actions):
                in_and_out = (0, 0)
            return Commit(
                version,
                datetime.fromtimestamp(self._time(version, info) / 1000, timezone.utc),
                metadata_of(info.get("userMetadata")),
                operation,
                rows_written(operation, told),
                *in_and_out,
                mark=self.commit_mark(version),
            )
        except (KeyError, TypeError, ValueError, OverflowError, AttributeError) as error:
            raise damaged(self.table, f"its log entry {entry_name(version)} cannot be understood: {error!r}") from error

    def _time(self, version: int, info: Mapping[str, Any]) -> int:
        """The time of a commit, in milliseconds, never before that of the commit before it.

        It is taken from inside the entry, where copying the folder does not change it. Times that Delta or this store
        ordered when they committed are true as they are; any other writer's may be before those of earlier commits."""
        times: list[int] = []
        known: list[tuple[int, Mark | None]] = []
        while True:
            file = commit_file(self.root, version)
            mark = self._entries.mark(file)
            was, settled = self._times.get(version, (None, 0))
            if times and was is not None and was == mark:
                times.append(settled)
                break
            own, ordered = self._own_time(file, info)
            times.append(own)
            known.append((version, mark))
            version -= 1
            if ordered or not commit_file(self.root, version).exists():
                break
            with contextlib.suppress(VersionGone):
                info = _info(self._lines(version)[0])
        found = list(itertools.accumulate(reversed(times), max))[-len(known) :]
        for (each, mark), time in zip(reversed(known), found, strict=True):
            self._times[each] = mark, time
        return found[-1]

    def _own_time(self, file: Path, info: Mapping[str, Any]) -> tuple[int, bool]:
        """The time in an entry, and whether its writer put it after the time of the entry before."""
        if "inCommitTimestamp" in info:
            return int(info["inCommitTimestamp"]), True
        if "timestamp" in info:
            return int(info["timestamp"]), info.get("engineInfo") == ENGINE
        return os.stat(file).st_mtime_ns // 1_000_000, False

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

    def progress(self, known: Identity | None) -> Progress | None:
        """What was committed since a version, from the entries after it alone: the log is not listed, so this takes no
        longer for a long log. None if they cannot tell, because the table is another one or its log went back."""
        if known is None or known.version is None or known.mark is None:
            return None
        if self.commit_mark(known.version) != known.mark:
            return None
        found: list[Commit] = []
        while self.has(version := known.version + 1 + len(found)):
            actions = self.actions(version)
            if any(action.get("metaData", {}).get("id", known.table_id) != known.table_id for action in actions):
                return None
            found.append(self.commit_of(version, actions))
        newest = Identity(known.table_id, found[-1].version, found[-1].mark) if found else known
        return Progress(newest, tuple(found))

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


def _info(actions: Sequence[Action]) -> Mapping[str, Any]:
    """What the writer of an entry says of it."""
    return next((action["commitInfo"] for action in actions if "commitInfo" in action), {})


def _moves_rows(action: Action) -> bool:
    """Whether an action may change the rows or the columns of a table. Compaction says that its files do not."""
    if "metaData" in action or "cdc" in action:
        return True
    return any(action[kind].get("dataChange", True) for kind in ("add", "remove") if kind in action)


def gone(table: str, version: int, why: str) -> VersionGone:
    return VersionGone(
        f"Version {version} of {table} is no longer there",
        why=why,
        todo="ask for a later version; REFRESH MATERIALIZED VIEW … FULL recomputes a view at the newest",
    )
