"""The protocol of a store: names, reading, writing, statements.

A store promises the following. The suite in ``rollview.store.conformance`` checks each promise:

- ``read(t, v)`` gives the same rows for as long as the store keeps version ``v``.
- ``changes(t, a, b)`` applied to ``read(t, a)`` gives ``read(t, b)``, as bags.
- A write is one atomic commit. Its metadata is in that commit.
- The edits of a commit apply in order, each to the result of the previous one.
- A write does nothing if the table already has a commit with its (application, sequence).
- An edit that changes no row writes no row, also not to the change feed.
- Versions of one table increase, but need not be consecutive. Commit times never decrease.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol

import pyarrow as pa

from rollview.engine.protocol import Answer, Frame
from rollview.errors import Damaged, RollviewError, TableNotFound, VersionGone, nearest
from rollview.parse.names import Name
from rollview.parse.stored_names import is_reserved
from rollview.parse.tables import TableStatement
from rollview.store.edits import Edit

#: Columns that ``changes`` adds to a table's own. The time of a row is that of its commit in ``history``.
CHANGE_TYPE = "_change_type"
COMMIT_VERSION = "_commit_version"
COMMIT_TIME = "_commit_timestamp"

#: The kinds of change: the values of CHANGE_TYPE.
INSERT, DELETE = "insert", "delete"
UPDATE_BEFORE, UPDATE_AFTER = "update_preimage", "update_postimage"

#: Table properties. Every store writes them, so that the other stores find them.
KEY_PROPERTY = "rollview.key"
FEED_PROPERTY = "delta.enableChangeDataFeed"


@dataclass(frozen=True)
class Stamp:
    """The metadata of a write's commit, and the application and sequence number by which a repeated write is found."""

    metadata: Mapping[str, Any] = field(default_factory=dict)
    application: str | None = None
    sequence: int = 0


NO_STAMP = Stamp()


#: The entry of a commit's metadata that names the transaction it is part of. Commits of several tables that name the
#: same one became visible together.
TRANSACTION = "rollview.transaction"


@dataclass(frozen=True)
class Commit:
    """One commit of a table.

    ``rows`` counts the rows that it changed (inserted, updated and deleted ones), or that it wrote. ``inserted`` and
    ``deleted`` count the rows that it added to the table and removed from it; an updated row counts in both. Each count
    is None if the store does not know it. ``mark`` is the mark of its ``Identity``."""

    version: int
    time: datetime
    metadata: Mapping[str, Any]
    operation: str = ""
    rows: int | None = None
    inserted: int | None = None
    deleted: int | None = None
    mark: str | None = field(default=None, compare=False)

    @property
    def signed(self) -> int | None:
        """The rows that it deleted and inserted."""
        return None if self.inserted is None or self.deleted is None else self.inserted + self.deleted

    @property
    def changes_rows(self) -> bool:
        """Whether the commit may have changed what the table shows. Compaction and changes of properties do not."""
        return (self.inserted, self.deleted) != (0, 0) or self.operation.startswith(("CREATE", "REPLACE"))


@dataclass(frozen=True)
class Identity:
    """A version of a table, distinct from the versions of a later table of the same name. ``version`` is None if the
    table has no versions. ``mark`` distinguishes the commit from another one of the same version, which there can be
    after a log was truncated or restored from a copy; None if the store does not know it."""

    table_id: str
    version: int | None
    mark: str | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Progress:
    """The newest version of a table, and what was committed since a version that the caller knows, oldest first.
    ``follows`` says whether the newest version comes after the known one, or is the same."""

    newest: Identity
    commits: tuple[Commit, ...]
    follows: bool = True


@dataclass(frozen=True)
class CommitRows:
    """A commit of a table with the rows that it changed: columns of the table, and CHANGE_TYPE as the last one."""

    commit: Commit
    rows: pa.Table


def metadata_of(text: str | None) -> Mapping[str, Any]:
    """The metadata dictionary of a commit; empty if another writer has put another text there."""
    try:
        found = json.loads(text) if text else {}
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def no_such_table(table: str, names: Sequence[str]) -> TableNotFound:
    """The error for a missing table. It suggests a table of the user with a similar name."""
    offered = [name for name in names if not is_reserved(name)]
    return TableNotFound(f"There is no table named {table}", todo=nearest(table, offered))


def no_such_commit(table: str, having: str | None) -> VersionGone:
    return VersionGone(f"No commit of {table} that is still in its log carries {having!r}")


class Names(Protocol):
    """The names of tables. ``table`` is always a canonical name, as ``canonical`` returns it."""

    @property
    def has_catalog(self) -> bool:
        """Whether SQL itself finds tables and named queries. If not, ``sync`` and ``name_query`` name them."""

    @property
    def lists_own(self) -> bool:
        """Whether ``tables`` lists just the tables of a warehouse, and quickly. A catalog may have many others."""

    def canonical(self, name: Name) -> str:
        """The spelling of a name that this store uses. Raises BadName if no table of the store can have the name."""

    def sql_name(self, table: str) -> str:
        """The name as SQL writes it, quoted."""

    def companion(self, table: str, prefix: str) -> str:
        """The canonical name of a table beside ``table``: the same name with ``prefix`` before the last part."""

    def owner(self, table: str, prefix: str) -> str | None:
        """The name from which ``companion`` made this one; None if it did not."""

    def tables(self) -> list[str]:
        """Canonical names of the tables that can be listed."""

    def exists(self, table: str) -> bool: ...

    def asked(self) -> AbstractContextManager[None]:
        """Inside the block, names in SQL mean tables of this store, also if other stores share the session."""

    def sync(self, words: set[str]) -> dict[str, RollviewError]:
        """Makes the newest versions of these tables readable by name in SQL. Returns the errors of unreadable ones."""

    def name_query(self, name: str, table: str, query: str, called: str) -> None:
        """Gives a name in SQL to a query over the newest rows of a table, which the query calls ``called``."""

    def forget_name(self, name: str) -> None:
        """Removes a name that ``name_query`` gave."""


class Reading(Protocol):
    """Versions, their rows, and what changed between them. All methods raise TableNotFound and Damaged."""

    def versioned(self, table: str) -> bool:
        """Whether the table has versions. If not, only its current rows can be read, and no changes."""

    def damage(self, table: str) -> Damaged | None:
        """Why the newest version cannot be read; None if no damage is found. No rows are read for this."""

    def past_properties(self, table: str) -> Iterator[Mapping[str, str]]:
        """The properties that a table has had, newest first, as far as they can be read if the table is damaged."""

    def identity(self, table: str) -> Identity:
        """The newest version."""

    def version(self, table: str) -> int: ...

    def commit_mark(self, table: str, version: int) -> str | None:
        """The mark of an older version, as ``identity`` gave it when it was the newest. None if the store cannot tell
        it cheaply, or no longer has the commit."""

    def schema(self, table: str, version: int | None = None) -> Any: ...

    def columns(self, table: str, version: int | None = None) -> list[tuple[str, str]]:
        """Names and types of a table's columns, the types as Spark writes them."""

    def key(self, table: str) -> tuple[str, ...]:
        """The declared key; empty if there is none."""

    def properties(self, table: str) -> Mapping[str, str]: ...

    def count(self, table: str, version: int | None = None) -> int:
        """The number of rows."""

    def size(self, table: str, version: int | None = None) -> int | None:
        """The bytes of a version, if the store knows them without reading the table."""

    def bounds(self, table: str, column: str, version: int | None = None) -> tuple[Any, Any] | None:
        """The least and the greatest value of a column, if the store knows them without reading the table."""

    def read(self, table: str, version: int | None = None) -> Frame:
        """The rows of a version. Raises VersionGone if the store no longer has it."""

    def files(self, table: str, version: int | None = None) -> list[str] | None:
        """The Parquet files that hold the rows of a version and no others; None if this process cannot read them, or
        if the rows are not all that is needed to read the table: it has partitions, or columns of other names."""

    def changes(self, table: str, after: int, upto: int, columns: Sequence[str] | None = None) -> Frame:
        """The rows changed by the commits after version ``after``, up to and including ``upto``: at least these
        columns, the kind of change, and the version and time of the commit. An update is two rows."""

    def dates_changes(self, table: str, after: int, upto: int) -> bool:
        """Whether ``changes`` tells the commit of each row. Otherwise it compares the two versions, and all rows are of
        the later one."""

    def few_changes(self, table: str, after: int, upto: int, columns: Sequence[str], most: int) -> pa.Table | None:
        """Exactly these columns of ``changes``, with kind, version and time, read into this process. None if the store
        cannot read them in this process, or if there are more than ``most`` rows."""

    def commits(
        self, table: str, after: int, columns: Sequence[str] | None = None, upto: int | None = None
    ) -> Iterator[CommitRows]:
        """The commits after version ``after``, up to and including ``upto`` or the newest, oldest first: each with the
        rows that it changed, in this process, in these columns or all. If the table has a key, the two rows of an
        update that kept the key are side by side. No version is replayed from the log for this, and no engine runs if
        this process can read the files."""

    def batches(
        self, table: str, version: int | None = None, columns: Sequence[str] | None = None
    ) -> Iterator[pa.RecordBatch]:
        """The rows of a version in this process, in batches; in these columns or all. No engine runs if this process
        can read the files."""

    def last_commit(self, table: str, having: str | None = None) -> Commit:
        """The newest commit, or the newest whose metadata has an entry ``having``."""

    def history(self, table: str, limit: int | None = None, after: int | None = None) -> list[Commit]:
        """The newest commits that the store still has, newest first; those after the version ``after``, if given."""

    def progress(self, table: str, known: Identity | None) -> Progress:
        """The newest version, and the commits since the version ``known``: all that the store still has if no version
        is known or the table was recreated, and only the newest if the log went back. See ``store.progress``."""

    def commits_between(self, table: str, after: int, upto: int) -> int:
        """The number of commits from one version to another; negative if the second version is the earlier one."""

    def versions_at(self, time: datetime, tables: Sequence[str] | None = None) -> dict[str, int]:
        """The version that each table had at a time, for the tables that existed then."""


class Writing(Protocol):
    """Atomic writes."""

    def check_types(self, table: str, rows: Frame) -> None:
        """Raises Unsupported if a table cannot hold values of the types that these rows have."""

    def create(
        self,
        table: str,
        rows: Frame,
        *,
        key: Sequence[str] = (),
        properties: Mapping[str, str] | None = None,
        stamp: Stamp = NO_STAMP,
    ) -> Commit:
        """Creates a table. ``rows`` may be an Arrow table. Raises NameTaken."""

    def commit(self, table: str, edits: Sequence[Edit], stamp: Stamp = NO_STAMP) -> Commit:
        """Applies edits in one commit: in order, each to the result of the previous one. See ``store.edits``.

        The changes of the commit are the difference between the table before the first edit and after the last one: a
        row that is updated twice is one update, and one that is inserted and deleted is no change. If there are no
        edits, or they change no row, a commit that is stamped with an application has only its metadata; any other
        commit may be omitted, and the newest commit is returned instead.
        Raises AmbiguousMerge, KeyViolated, and Conflict if other writers were faster in every attempt."""

    def recreate(
        self, table: str, rows: Frame, *, properties: Mapping[str, str] | None = None, stamp: Stamp = NO_STAMP
    ) -> Commit:
        """Replaces a table, which may be damaged, by a new one. The old table stays until the new one is written."""

    def set_properties(self, table: str, properties: Mapping[str, str]) -> Commit:
        """Sets properties. The rows and the other properties stay as they are."""

    def prune(self, table: str, column: str, upto: int, stamp: Stamp = NO_STAMP) -> Commit:
        """Removes the rows whose value in a column of whole numbers is at most ``upto``, as far as files have no other
        rows; others may stay, if they are in a file with rows that do. Older versions can still be read. If there is
        nothing to remove, a commit that is stamped with an application has only its metadata."""

    def tidy(self, table: str, keep: int, seconds: float = 0) -> None:
        """Merges the small files of a table that is only appended to or pruned, and removes what only older versions
        need: those before the newest ``keep``, and before the version that the table had this many ``seconds`` ago. The
        rows, the later changes and the commit of the oldest version that is kept stay as they are."""

    def drop(self, table: str) -> None: ...


class Statements(Protocol):
    """Statements in SQL."""

    def run(self, statement: TableStatement, sql: str) -> Frame | Answer:
        """Runs a statement that creates or changes a table. The result is the number of changed rows; it is empty if
        the statement is about the table and not about rows."""

    def pass_on(self, sql: str) -> Frame:
        """Passes any other statement to the engine."""


class Store(Names, Reading, Writing, Statements, Protocol):
    """Tables with versions: the four parts together."""

    def keeps_history(self, table: str) -> bool:
        """Whether older versions of the table can be read, not only their changes."""
