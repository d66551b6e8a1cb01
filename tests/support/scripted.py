"""A store whose tables are commits that a test writes down, with any times, marks and transactions; they have no rows.

What is written down becomes visible with ``show``, so that a commit can appear late. All other tables, and so the
stored clock, are those of a store in DuckDB.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from typing import Any

from rollview.clock import CommitClock
from rollview.errors import RollviewError, TableNotFound
from rollview.limits import Limits
from rollview.session.connect import connect
from rollview.store.progress import progress_of
from rollview.store.protocol import TRANSACTION, Commit, Identity, Progress

BEGIN = datetime(2026, 11, 18, 17, tzinfo=timezone.utc)


def second(number: float) -> datetime:
    """The time this many seconds after five o'clock."""
    return BEGIN + timedelta(seconds=number)


@dataclass
class Table:
    id: str
    commits: list[Commit] = field(default_factory=list)
    hidden: list[Commit] = field(default_factory=list)


class ScriptedStore:
    """A store of scripted tables. ``reads`` counts the commits that were read of each table."""

    def __init__(self, base: Any = None) -> None:
        rv = connect("duckdb:")
        self.base: Any = base or rv.store
        self.engine = rv.engine
        self.scripted: dict[str, Table] = {}
        self.broken: dict[str, RollviewError] = {}
        self.reads: dict[str, int] = {}
        self._made = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self.base, name)

    def put(
        self,
        table: str,
        at: float,
        *,
        rows: int | None = 1,
        together: str | None = None,
        hide: bool = False,
        operation: str = "WRITE",
    ) -> int:
        """Commits to a table ``at`` seconds, and returns the version. ``rows`` is None if they are not counted."""
        self._made += 1
        there = self.scripted.setdefault(table, Table(f"id-{table}-{self._made}"))
        version = len(there.commits) + len(there.hidden)
        metadata = {} if together is None else {TRANSACTION: together}
        mark = f"mark-{self._made}"
        commit = Commit(version, second(at), metadata, operation, rows, rows, None if rows is None else 0, mark)
        (there.hidden if hide or there.hidden else there.commits).append(commit)
        return version

    def show(self, table: str) -> None:
        """Makes the hidden commits of a table visible."""
        there = self.scripted[table]
        there.commits += there.hidden
        there.hidden.clear()

    def drop(self, table: str) -> None:
        del self.scripted[table]

    def lose(self, table: str, upto: int) -> None:
        """The log of a table goes back to a version."""
        self.scripted[table].commits = self.scripted[table].commits[: upto + 1]

    def clock(self, now: Any = None, limits: Limits | None = None) -> tuple[CommitClock, Wall]:
        wall = now or Wall()
        return CommitClock(self, self.engine, limits or Limits(), now=wall.now, sleep=wall.sleep), wall

    def identity(self, table: str) -> Identity:
        there = self._table(table)
        return Identity(there.id, there.commits[-1].version, there.commits[-1].mark)

    def commit_mark(self, table: str, version: int) -> str | None:
        return next((c.mark for c in self._table(table).commits if c.version == version), None)

    def history(self, table: str, limit: int | None = None, after: int | None = None) -> list[Commit]:
        found = [c for c in reversed(self._table(table).commits) if after is None or c.version > after][:limit]
        self.reads[table] = self.reads.get(table, 0) + len(found)
        return found

    def progress(self, table: str, known: Identity | None) -> Progress:
        if table in self.broken:
            raise self.broken[table]
        if table in self.scripted:
            return progress_of(self, table, known)
        if self.base.exists(table):
            found: Progress = self.base.progress(table, known)
            return found
        raise TableNotFound(f"There is no table named {table}")

    def _table(self, table: str) -> Table:
        if table not in self.scripted or not self.scripted[table].commits:
            raise TableNotFound(f"There is no table named {table}")
        return self.scripted[table]


class Wall:
    """A clock on the wall that a test sets: seconds after five o'clock."""

    def __init__(self, seconds: float = 3600) -> None:
        self.seconds = seconds
        self.slept: list[float] = []

    def now(self) -> int:
        return (second(self.seconds) - datetime(1970, 1, 1, tzinfo=timezone.utc)) // timedelta(microseconds=1)

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.seconds += seconds
