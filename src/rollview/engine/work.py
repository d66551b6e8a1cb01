"""What a block of code did: rows read, jobs run and bytes written, by the engine and by this process.

``with engine.measured() as work:`` opens a block. The engine itself counts what it does for the block; code that reads
or writes files in this process reports that by ``read_here`` and ``wrote_here``, and need not know which blocks are
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
    """What an engine counted. A figure is None if the engine does not count it."""

    rows_read: int | None = None
    jobs: int | None = None
    bytes_written: int | None = None


#: The counts of an engine that had nothing to do.
NOTHING_DONE = Counts(0, 0, 0)

#: The counts of an engine that cannot count.
UNKNOWN = Counts()


class Counter(Protocol):
    """Counts what an engine does for one block. Neither method raises an error: if counting fails, the block continues
    without figures."""

    def attach(self) -> None:
        """Starts counting, if there is a session. Called when the block begins, and whenever a session starts inside
        it."""

    def detach(self) -> Counts:
        """Stops counting, and returns the counts."""


@dataclass(frozen=True)
class Constant:
    """The counter of an engine whose counts are the same for every block."""

    counts: Counts

    def attach(self) -> None:
        pass

    def detach(self) -> Counts:
        return self.counts


class Work:
    """What a block did. The figures are complete when the block has ended. A figure is None if the engine cannot count
    it."""

    def __init__(self) -> None:
        self._rows_here = self._bytes_here = 0
        self._counted = NOTHING_DONE

    @property
    def rows_read(self) -> int | None:
        """The rows that the engine's tasks and this process read."""
        return _sum(self._counted.rows_read, self._rows_here)

    @property
    def jobs(self) -> int | None:
        """The number of Spark jobs that ran."""
        return self._counted.jobs

    @property
    def bytes_written(self) -> int | None:
        """The bytes that the engine's tasks and this process wrote to files."""
        return _sum(self._counted.bytes_written, self._bytes_here)

    def read(self, rows: int) -> None:
        """Adds rows that this process read."""
        self._rows_here += rows

    def wrote(self, size: int) -> None:
        """Adds bytes that this process wrote."""
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
    """Notifies the open blocks of this thread that a session has started."""
    for _, counter in _OPEN.blocks:
        counter.attach()


def read_here(rows: int) -> None:
    """Adds rows that this process read to the innermost open block of this thread, if there is one."""
    if _OPEN.blocks:
        _OPEN.blocks[-1][0].read(rows)


def wrote_here(size: int) -> None:
    """Adds bytes that this process wrote to the innermost open block of this thread, if there is one."""
    if _OPEN.blocks:
        _OPEN.blocks[-1][0].wrote(size)
