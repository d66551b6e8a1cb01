"""What rollview asks of a store: names, reading, writing, statements.

A store's promises, each of which the suite in ``rollview.store.conformance`` states and checks:

- ``read(t, v)`` gives the same rows for as long as the store keeps version ``v``.
- ``changes(t, a, b)`` applied to ``read(t, a)`` gives ``read(t, b)``, as bags.
- A write is one commit: all of it is there, or nothing. Its metadata is in that commit.
- The edits of a commit apply in order, each to the rows that those before it left.
- A write with an (application, sequence) that the table has seen does nothing.
- An edit that changes no row writes none, and none is in the change feed.
- Versions of one table are ordered; that they are consecutive is not promised. Commit times never decrease.
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
from rollview.parse.stored_names import view_of
from rollview.parse.tables import TableStatement
from rollview.store.edits import Edit

#: Columns that ``changes`` adds to a table's own.
CHANGE_TYPE = "_change_type"
COMMIT_VERSION = "_commit_version"
COMMIT_TIME = "_commit_timestamp"

#: The kinds of change, as CHANGE_TYPE holds them.
INSERT, DELETE = "insert", "delete"
UPDATE_BEFORE, UPDATE_AFTER = "update_preimage", "update_postimage"

#: Table properties. They are written by every store, so that the other stores find them.
KEY_PROPERTY = "rollview.key"
FEED_PROPERTY = "delta.enableChangeDataFeed"


@dataclass(frozen=True)
class Stamp:
    """What a write carries into its commit: metadata, and who repeats it under which number."""

    metadata: Mapping[str, Any] = field(default_factory=dict)
    application: str | None = None
    sequence: int = 0


NO_STAMP = Stamp()


@dataclass(frozen=True)
class Commit:
    """One commit of a table.

    ``rows`` counts the rows that it changed: inserted, updated and deleted ones, or those that it wrote. ``inserted``
    and ``deleted`` count the rows that are in the table since, and no longer; an updated row is one of each. Each is
    None if the store does not know it."""

    version: int
    time: datetime
    metadata: Mapping[str, Any]
    operation: str = ""
    rows: int | None = None
    inserted: int | None = None
    deleted: int | None = None


@dataclass(frozen=True)
class Identity:
    """A version of a table that cannot be confused with one of a later table of the same name; ``version`` is None for
    a table that has no versions. ``mark`` tells the commit from another one of the same version, which there can be
    after a log was cut or restored from a copy; None if the store cannot tell."""

    table_id: str
    version: int | None
    mark: str | None = field(default=None, compare=False)


def metadata_of(text: str | None) -> Mapping[str, Any]:
    """The metadata dictionary of a commit; other writers may have put any text there."""
    try:
        found = json.loads(text) if text else {}
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def no_such_table(table: str, names: Sequence[str]) -> TableNotFound:
    """The error for a table that is not there; the users' own tables are offered."""
    offered = [name for name in names if view_of(name) is None]
    return TableNotFound(f"There is no table named {table}", todo=nearest(table, offered))


def no_such_commit(table: str, having: str | None) -> VersionGone:
    return VersionGone(f"No commit of {table} that is still in its log carries {having!r}")


class Names(Protocol):
    """What names mean. ``table`` is always a canonical name, as ``canonical`` returns it."""

    @property
    def has_catalog(self) -> bool:
        """Whether SQL finds tables and named queries by itself; if not, ``sync`` and ``name_query`` name them."""

    def canonical(self, name: Name) -> str:
        """The one spelling of a name that this store uses. Raises BadName if the store cannot have it."""

    def sql_name(self, table: str) -> str:
        """The name as it stands in SQL, quoted."""

    def companion(self, table: str, prefix: str) -> str:
        """The canonical name of a table beside ``table`` whose last part has ``prefix`` before it."""

    def owner(self, table: str, prefix: str) -> str | None:
        """The name that ``companion`` made this one from; None if it did not."""

    def tables(self) -> list[str]:
        """Canonical names of the tables that can be listed."""

    def exists(self, table: str) -> bool: ...

    def asked(self) -> AbstractContextManager[None]:
        """Inside, names in SQL mean what they mean in this store, whichever other stores share the session."""

    def sync(self, words: set[str]) -> dict[str, RollviewError]:
        """Lets SQL read the tables with these names, at their newest versions. Returns those that cannot be read."""

    def name_query(self, name: str, table: str, query: str, called: str) -> None:
        """Makes a name of SQL show a query over the newest rows of a table, which the query calls ``called``."""

    def forget_name(self, name: str) -> None:
        """Takes back a name that ``name_query`` gave."""


class Reading(Protocol):
    """Versions, their rows, and what changed between them. All methods raise TableNotFound and Damaged."""

    def versioned(self, table: str) -> bool:
        """Whether the table has versions; if not, only what it holds now can be read, and not what changed."""

    def damage(self, table: str) -> Damaged | None:
        """Why the newest version cannot be read, as far as that is seen without reading its rows."""

    def past_properties(self, table: str) -> Iterator[Mapping[str, str]]:
        """The properties that a table has had, newest first, as far as they can be read off a damaged one."""

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
        """The declared key, or nothing."""

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
        """The rows changed by the commits after ``after``, up to and with ``upto``: at least these columns, the kind of
        change, and the version and time of the commit. An update is two rows."""

    def few_changes(self, table: str, after: int, upto: int, columns: Sequence[str], most: int) -> pa.Table | None:
        """Just these columns of ``changes``, with kind, version and time, read into this process. None if the store
        does not read here, or if there are more rows than ``most``."""

    def last_commit(self, table: str, having: str | None = None) -> Commit:
        """The newest commit, or the newest whose metadata has an entry ``having``."""

    def history(self, table: str, limit: int | None = None, after: int | None = None) -> list[Commit]:
        """The newest commits that the store still knows, newest first; those after a version, if one is given."""

    def commits_between(self, table: str, after: int, upto: int) -> int:
        """How many commits lead from one version to another; negative if the second is the earlier one."""

    def versions_at(self, time: datetime, tables: Sequence[str] | None = None) -> dict[str, int]:
        """For each table that existed then, the version it had."""


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
        """Makes a table. Raises NameTaken."""

    def commit(self, table: str, edits: Sequence[Edit], stamp: Stamp = NO_STAMP) -> Commit:
        """Applies edits in one commit: in order, each to the rows that those before it left. See ``store.edits``.

        The changes of the commit are the difference between the table before the first edit and after the last one: a
        row that is updated twice is one update, and one that is inserted and deleted is no change. Without edits, or if
        they change no row, a stamped commit has just its metadata; one without a stamp need not be made, and the newest
        is returned instead.
        Raises AmbiguousMerge, KeyViolated, and Conflict if other writers were faster again and again."""

    def recreate(
        self, table: str, rows: Frame, *, properties: Mapping[str, str] | None = None, stamp: Stamp = NO_STAMP
    ) -> Commit:
        """Makes a new table in the place of one that may be damaged, which is there until the new one is written."""

    def set_properties(self, table: str, properties: Mapping[str, str]) -> Commit:
        """Gives properties new values; the rows and the other properties stay as they are."""

    def drop(self, table: str) -> None: ...


class Statements(Protocol):
    """Statements in SQL."""

    def run(self, statement: TableStatement, sql: str) -> Frame | Answer:
        """Runs a statement that makes or changes a table. The result says how many rows it changed; nothing, if it
        is about the table and not about rows."""

    def pass_on(self, sql: str) -> Frame:
        """Gives any other statement to the engine."""


class Store(Names, Reading, Writing, Statements, Protocol):
    """Tables with versions: the four parts in one."""
