"""A subscriber: a bounded queue of diffs, which one thread or task takes as batches while another one adds to it."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from types import TracebackType

from rollview.errors import RollviewError, UserError, named_error
from rollview.live.serve.condition import Condition
from rollview.live.serve.diff import Batch, Diff, Form, merged
from rollview.live.serve.token import Place


class Behind(str, Enum):
    """What happens to a subscriber whose queue is full: its waiting diffs are merged, it is cut off, or whoever changes
    the view waits for it."""

    MERGE = "merge"
    CUT = "cut"
    HOLD = "hold"


class CutOff(RollviewError):
    """A subscriber was too slow, or a diff could not be handed out. ``token`` is where it can resume."""

    code = "cut_off"

    def __init__(
        self, token: str, why: str = "more diffs were waiting than its queue holds, and when_behind is 'cut'"
    ) -> None:
        super().__init__(
            "The subscription was cut off",
            why=why,
            todo="subscribe again with since= and the token of this error, or take when_behind='merge'",
        )
        self.token = token


@dataclass(frozen=True)
class Options:
    """What a subscriber asks for. ``waiting`` is how many diffs its queue holds, ``rows`` how many rows."""

    condition: Condition
    form: Form
    behind: Behind
    progress: bool
    waiting: int
    rows: int


class Subscription:
    """The diffs of a live view, or of a part of it: iterate over it, also with ``async for``. ``error`` is why it
    ended, if it was not closed."""

    def __init__(self, options: Options, first: Diff, leave: Callable[[Subscription], None]) -> None:
        """``first`` says where the subscription begins: its rows are handed over if there are any, or if it is a
        snapshot."""
        self.options, self._leave = options, leave
        self._waiting: deque[Diff] = deque()
        self._rows = 0
        self._batches: Iterator[Batch] = iter(())
        self._current: Diff | None = None
        self._changed = threading.Condition()
        self._tasks: list[tuple[asyncio.AbstractEventLoop, asyncio.Future[None]]] = []
        self._reader: int | None = None
        self.begin = first.after.number
        self._stands: Place = first.before
        self.error: BaseException | None = None
        self.ended = False
        self.ready: Callable[[Subscription], None] | None = None  # called when there is something to take
        if first.snapshot or not first.empty or options.progress:
            self._add(first)
        else:
            self._stands = first.after

    @property
    def token(self) -> str:
        """Where the subscriber stands: after the last complete diff that it took."""
        return self._stands.token(self.options.form.fingerprint)

    def offer(self, diff: Diff) -> None:
        """Adds a diff to the queue. May wait if the subscriber holds up the source."""
        if (diff.empty and not self.options.progress) or diff.after.number <= self.begin:
            return
        with self._changed:
            if self.ended:
                return
            if diff.empty and self._waiting and self._waiting[-1].empty and not self._waiting[-1].snapshot:
                self._waiting.pop()  # of several that only tell how far the view is, the last one does
            elif self._full(diff):
                diff = self._with_room(diff)
            if not self.ended:
                self._add(diff)
                self._changed.notify_all()
        self._wake()

    def _full(self, diff: Diff) -> bool:
        return len(self._waiting) >= self.options.waiting or (
            bool(self._waiting) and self._rows + _size(diff) > self.options.rows
        )

    def _with_room(self, diff: Diff) -> Diff:
        """Makes room for a diff; what is to be added: the diff, or all that is waiting and the diff as one."""
        if self.options.behind is Behind.CUT:
            self._end(CutOff(self.token))
        elif self.options.behind is Behind.MERGE:
            diff = merged([*self._waiting, diff])
            self._waiting.clear()
            self._rows = 0
        elif self._reader != threading.get_ident():  # see check_reader
            self._changed.wait_for(lambda: self.ended or not self._full(diff))
        return diff

    def check_reader(self) -> None:
        """Raises UserError if this thread would wait for itself if it changed the view."""
        if self._reader == threading.get_ident() and len(self._waiting) >= self.options.waiting and not self.ended:
            raise UserError(
                "The subscription would wait for itself",
                why="its queue is full, when_behind is 'hold', and the thread that reads it changes the view",
                todo="read what is waiting first, or change the view in another thread",
            )

    def _add(self, diff: Diff) -> None:
        self._waiting.append(diff)
        self._rows += _size(diff)

    def diffs(self) -> list[Diff]:
        """The diffs that are waiting, and the one that is being taken."""
        with self._changed:
            return [*self._waiting, *([self._current] if self._current is not None else [])]

    def take(self) -> Batch | None:
        """The next batch, if one is waiting. Raises the error that has ended the subscription."""
        self._reader = threading.get_ident()
        try:
            return self._taken()
        except Exception as error:
            if self.error is error:
                raise
            # a diff in a file cannot be read: what follows it is of no use
            self.stop(named := named_error("A diff could not be read", error))
            raise named from error

    def _taken(self) -> Batch | None:
        batch = next(self._batches, None)
        if batch is None:
            with self._changed:
                if not self._waiting:
                    if isinstance(self.error, CutOff):
                        self.error.token = self.token  # after the last diff that was taken
                    if self.error is not None:
                        raise self.error
                    return None
                diff = self._current = self._waiting.popleft()
                self._rows -= _size(diff)
                self._changed.notify_all()
            self._batches = self.options.form.batches(diff, self._stands)
            batch = next(self._batches)
        self._stands = batch.stands
        if batch.complete:
            self._current = None
        return batch

    @property
    def idle(self) -> bool:
        """Whether nothing is waiting: no diff, no rest of one, and not the end."""
        return not self._waiting and self._current is None and not self.ended

    def next(self, timeout: float | None = None) -> Batch | None:
        """The next batch. Waits for it; None if the time is over, or if the subscription is closed."""
        end = None if timeout is None else time.monotonic() + timeout
        while (batch := self.take()) is None:
            with self._changed:
                left = None if end is None else end - time.monotonic()
                if self.ended or (left is not None and left <= 0):
                    if self.ended and (self._waiting or self.error is not None):
                        continue
                    return None
                if not self._waiting:
                    self._changed.wait(left)
        return batch

    def __iter__(self) -> Iterator[Batch]:
        return self

    def __next__(self) -> Batch:
        batch = self.next()
        if batch is None:
            raise StopIteration
        return batch

    def __aiter__(self) -> AsyncIterator[Batch]:
        return self

    async def __anext__(self) -> Batch:
        loop = asyncio.get_running_loop()
        while (batch := self.take()) is None:
            future: asyncio.Future[None] = loop.create_future()
            with self._changed:
                if self.ended and not self._waiting and self.error is None:
                    raise StopAsyncIteration
                if self.idle:
                    self._tasks.append((loop, future))
                else:
                    future.set_result(None)
            await future
        return batch

    def close(self) -> None:
        """Ends the subscription. What is waiting is dropped."""
        with self._changed:
            self._waiting.clear()
            self._batches, self._current = iter(()), None
            self._end(None)
        self._wake()

    def stop(self, error: BaseException) -> None:
        """Ends the subscription at once, with an error."""
        with self._changed:
            self._waiting.clear()
            self._batches, self._current = iter(()), None
            self._end(error)
        self._wake()

    def end(self, error: BaseException | None) -> None:
        """Ends the subscription after what is waiting."""
        with self._changed:
            self._end(error)
        self._wake()

    def _end(self, error: BaseException | None) -> None:
        if not self.ended:
            self.ended, self.error = True, error
            if isinstance(error, CutOff):
                self._waiting.clear()
            self._leave(self)
            self._changed.notify_all()

    def _wake(self) -> None:
        with self._changed:
            tasks, self._tasks = self._tasks, []
        for loop, future in tasks:
            with contextlib.suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(_done, future)
        if self.ready is not None:
            self.ready(self)

    def __enter__(self) -> Subscription:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _size(diff: Diff) -> int:
    """The rows that a diff has in memory."""
    return diff.held if diff.in_memory else 0


def _done(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
