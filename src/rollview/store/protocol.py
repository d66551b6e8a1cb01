"""What rollview asks of a store: versions, snapshots, changes, and atomic writes that carry metadata.

A store's promises, each of which the conformance suite in ``tests/store/test_promises.py`` states and checks:

- ``read(t, v)`` gives the same rows for as long as the store keeps version ``v``.
- ``changes(t, a, b)`` applied to ``read(t, a)`` gives ``read(t, b)``, as bags.
- A write is one commit: all of it is there, or nothing. Its metadata is in that commit.
- A write with an (application, sequence) that the table has seen does nothing.
- Commit times of one table never decrease.
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
    """One commit of a table. ``rows`` counts the rows that it wrote, where the store knows."""

    version: int
    time: datetime
    metadata: Mapping[str, Any]
    operation: str = ""
    rows: int | None = None


@dataclass(frozen=True)
class Identity:
    """A version of a table that cannot be confused with one of a later table of the same name; ``version`` is None for
    a table that has no versions."""

    table_id: str
    version: int | None


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


class Store(Protocol):
    """Tables with versions. ``table`` is always a canonical name, as ``canonical`` returns it."""

    @property
    def has_catalog(self) -> bool:
        """Whether Spark SQL finds tables and views by itself; if not, ``sync`` and ``publish_view`` name them."""

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

    def versioned(self, table: str) -> bool:
        """Whether the table has versions; if not, there is just what it holds now, and nothing tells what changed."""

    def damage(self, table: str) -> Damaged | None:
        """Why the newest version cannot be read, as far as that is seen without reading its rows."""

    def past_properties(self, table: str) -> Iterator[Mapping[str, str]]:
        """The properties that a table has had, newest first, as far as they can be read off a damaged one."""

    def identity(self, table: str) -> Identity:
        """The newest version. Raises TableNotFound and Damaged, as all that reads does."""

    def version(self, table: str) -> int: ...

    def schema(self, table: str, version: int | None = None) -> Any: ...

    def key(self, table: str) -> tuple[str, ...]:
        """The declared key, or nothing."""

    def properties(self, table: str) -> Mapping[str, str]: ...

    def count(self, table: str, version: int | None = None) -> int:
        """The number of rows."""

    def size(self, table: str, version: int | None = None) -> int | None:
        """The bytes of a version, if the store knows them without asking anyone."""

    def bounds(self, table: str, column: str, version: int | None = None) -> tuple[Any, Any] | None:
        """The least and the greatest value of a column, if the store knows them without asking anyone."""

    def read(self, table: str, version: int | None = None) -> Frame:
        """The rows of a version. Raises VersionGone if the store no longer has it."""

    def changes(self, table: str, after: int, upto: int, columns: Sequence[str] | None = None) -> Frame:
        """The rows changed by the commits after ``after``, up to and with ``upto``, with at least these columns."""

    def few_changes(self, table: str, after: int, upto: int, columns: Sequence[str], most: int) -> pa.Table | None:
        """Some columns of the changed rows and their kind, read in this process; None if the store does not read here,
        or if there are more rows than ``most``."""

    def columns(self, table: str, version: int | None = None) -> list[tuple[str, str]]:
        """Names and types of a table's columns, the types as Spark writes them."""

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

    def append(self, table: str, rows: Frame, *, stamp: Stamp = NO_STAMP) -> Commit: ...

    def merge(
        self,
        table: str,
        source: Frame,
        on: Sequence[str],
        *,
        combine: Mapping[str, str] | None = None,
        gone: str | None = None,
        copies: str | None = None,
        stamp: Stamp = NO_STAMP,
    ) -> Commit:
        """Updates the rows that match a source row on ``on`` (NULL equals NULL) and inserts the source rows that
        match none. Where the source's column ``__delete`` is true the matching rows go instead.

        ``combine`` gives new values of matched rows as SQL over ``t``, the table's row, and ``s``, the source's; other
        columns take the source's value. Matched rows go where the condition ``gone`` is true of the two. Source rows
        that match none are not inserted where it is true of them and of a table's row of NULLs.
        ``copies`` names a column that says how many equal rows a row stands for, ``on`` being all others, and no source
        row equals another there: a source row is added, whatever is there; one with a negative number takes as many
        from the rows that it matches, of which one is left with the rest, or none."""

    def replace(
        self,
        table: str,
        rows: Frame,
        *,
        key: Sequence[str] | None = None,
        properties: Mapping[str, str] | None = None,
        stamp: Stamp = NO_STAMP,
    ) -> Commit:
        """Puts these rows, or none, and their schema in the place of the table's. What is None stays as it is;
        properties that are given take the place of the old ones."""

    def recreate(
        self, table: str, rows: Frame, *, properties: Mapping[str, str] | None = None, stamp: Stamp = NO_STAMP
    ) -> Commit:
        """Makes a new table in the place of one that may be damaged, which is there until the new one is written."""

    def set_properties(self, table: str, properties: Mapping[str, str]) -> Commit:
        """Gives properties new values; the rows and the other properties stay as they are."""

    def drop(self, table: str) -> None: ...

    def last_commit(self, table: str, having: str | None = None) -> Commit:
        """The newest commit, or the newest whose metadata has an entry ``having``."""

    def versions_at(self, time: datetime, tables: Sequence[str] | None = None) -> dict[str, int]:
        """For each table that existed then, the version it had."""

    def asked(self) -> AbstractContextManager[None]:
        """Inside, names in Spark SQL mean tables and views of this store, whichever other stores share the session."""

    def sync(self, words: set[str]) -> dict[str, RollviewError]:
        """Lets Spark SQL read the tables with these names, at their newest versions. Tells which cannot be read."""

    def publish_view(self, view: str, state: str, show: str) -> None:
        """Makes a name of Spark SQL show a query over the table, which the query calls ``__state``."""

    def unpublish_view(self, view: str) -> None: ...

    def pass_on(self, sql: str) -> Frame:
        """Gives a statement that rollview does not know to Spark."""

    def run(self, statement: TableStatement, sql: str) -> Frame | Answer:
        """Runs a statement that makes or changes a table. The result tells how many rows it changed; nothing, if it
        is about the table and not about rows."""
