"""What a block of code did: rows read, jobs run and bytes written, by the engine and by this process.

``with engine.measured() as work:`` opens a block. The engine counts by itself what it does for the block; code that
reads or writes files in this process says so with ``read_here`` and ``wrote_here``, and need not know which blocks are
open. A block belongs to the thread that opened it. Blocks nest: the outer one includes the inner one.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class Counts:
    """What an engine counted; None is what it does not count."""

    rows_read: int | None = None
    jobs: int | None = None
    bytes_written: int | None = None


#: Of an engine that had nothing to do.
NOTHING_DONE = Counts(0, 0, 0)

#: Of an engine that cannot tell.
UNKNOWN = Counts()


class Counter(Protocol):
    """Counts for one block what an engine does. Neither method raises an error: the block goes on without figures."""

    def attach(self) -> None:
        """Begins to count, if there is something to attach to by now. Called when the block begins, and whenever a
        session is started inside it."""

    def detach(self) -> Counts:
        """Ends counting."""


@dataclass(frozen=True)
class Constant:
    """The counter of an engine that says the same of every block."""

    counts: Counts

    def attach(self) -> None:
        pass

    def detach(self) -> Counts:
        return self.counts


class Work:
    """What a block did. The figures are complete when it has ended; None is what the engine cannot tell."""

    def __init__(self) -> None:
        self._rows_here = self._bytes_here = 0
        self._counted = NOTHING_DONE

    @property
    def rows_read(self) -> int | None:
        """The rows that tasks of the engine read, and those that this process read itself."""
        return _sum(self._counted.rows_read, self._rows_here)

    @property
    def jobs(self) -> int | None:
        """Spark jobs that ran."""
        return self._counted.jobs

    @property
    def bytes_written(self) -> int | None:
        """The bytes that tasks of the engine wrote to files, and those that this process wrote itself."""
        return _sum(self._counted.bytes_written, self._bytes_here)

    def read(self, rows: int) -> None:
        """Adds rows that this process has read itself."""
        self._rows_here += rows

    def wrote(self, size: int) -> None:
        """Adds bytes that this process has written itself."""
        self._bytes_here += size

    def _end(self, counted: Counts, outer: Work | None) -> None:
        self._counted = counted
        if outer is not None:
            outer.read(self._rows_here)
            outer.wrote(self._bytes_here)


def _sum(counted: int | None, here: int) -> int | None:
    return None if counted is None else counted + here


class _Open(threading.local):
    """The open blocks of a thread, the innermost last."""

    def __init__(self) -> None:
        self.blocks: list[tuple[Work, Counter]] = []


_OPEN = _Open()


@contextmanager
def measured(counter: Counter) -> Iterator[Work]:
    """A block whose work is measured."""
    work = Work()
    outer = _OPEN.blocks[-1][0] if _OPEN.blocks else None
    counter.attach()
    _OPEN.blocks.append((work, counter))
    try:
        yield work
    finally:
        _OPEN.blocks.pop()
        work._end(counter.detach(), outer)


def session_started() -> None:
    """Tells the open blocks of this thread that there is a session now."""
    for _, counter in _OPEN.blocks:
        counter.attach()


def read_here(rows: int) -> None:
    """Adds rows that this process has read itself to the block that is open in this thread, if there is one."""
    if _OPEN.blocks:
        _OPEN.blocks[-1][0].read(rows)


def wrote_here(size: int) -> None:
    """The same for bytes that this process has written."""
    if _OPEN.blocks:
        _OPEN.blocks[-1][0].wrote(size)
