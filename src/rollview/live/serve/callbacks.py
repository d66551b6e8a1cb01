"""Calls the functions of subscribers: each one batch after the other, different ones at the same time.

One thread calls quick functions. While all threads wait in calls that take long, more are started. A function that has
lately taken long gets its turn after those that have not, and all slow ones together use half of the threads that there
may be: so those that sleep do not hold up the others.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from rollview.live.serve.diff import Batch, Diff
from rollview.live.serve.subscription import Options, Subscription

Callback = Callable[[Batch], object]
OnEnd = Callable[[BaseException | None], object]

_LOGGER = logging.getLogger("rollview")

#: A call that takes longer than this is slow, and its function counts as slow for so many further calls.
_SLOW_SECONDS, _SLOW_CALLS = 0.05, 20

#: Threads that are in one call for longer than this are no help to those who wait.
_STUCK_SECONDS = 0.005

#: A thread without work ends after this time.
_IDLE_SECONDS = 2.0


@dataclass
class _Served:
    """A subscriber with its function."""

    subscription: Subscription
    callback: Callback
    on_end: OnEnd | None
    slow: int = 0
    queued: bool = False
    told: bool = False


class Callbacks:
    """The threads of one live view."""

    def __init__(self, most: int) -> None:
        self._most = max(most, 2)
        self._changed = threading.Condition()
        self._fast: deque[_Served] = deque()
        self._slow: deque[_Served] = deque()
        self._threads = self._idle = self._in_slow = 0
        self._since: dict[int, float] = {}  # when each thread began its call
        self._watched = False

    def serve(self, subscription: Subscription, callback: Callback, on_end: OnEnd | None) -> None:
        """Calls a function with the batches of a subscription from now on."""
        served = _Served(subscription, callback, on_end)
        subscription.ready = lambda _: self._ready(served)
        if not subscription.idle:
            self._ready(served)

    def _ready(self, served: _Served) -> None:
        with self._changed:
            if served.queued:
                return
            served.queued = True
            (self._slow if served.slow else self._fast).append(served)
            self._changed.notify()
            if not self._threads:
                self._start()
            elif len(self._fast) + len(self._slow) > self._idle and not self._watched:
                self._watched = True
                threading.Thread(target=self._watch, name="rollview-callbacks-watch", daemon=True).start()

    def _start(self) -> None:
        self._threads += 1
        threading.Thread(target=self._work, name="rollview-callbacks", daemon=True).start()

    def _watch(self) -> None:
        """Starts more threads while there is work and all threads are stuck."""
        while True:
            time.sleep(_STUCK_SECONDS)
            with self._changed:
                if not self._fast and not (self._slow and self._in_slow < self._most // 2):
                    self._watched = False
                    return
                last = max(self._since.values(), default=0.0)
                if not self._idle and time.monotonic() - last > _STUCK_SECONDS:
                    for _ in range(min(1 + self._threads // 2, self._most - self._threads)):
                        self._start()

    def _work(self) -> None:
        me = threading.get_ident()
        while (served := self._next()) is not None:
            slow = served.slow > 0
            self._since[me] = time.monotonic()
            try:
                _call(served)
            finally:
                with self._changed:
                    self._in_slow -= slow
                    served.queued = False
                    del self._since[me]
                if not served.told and not served.subscription.idle:
                    self._ready(served)

    def _next(self) -> _Served | None:
        """The next subscriber to be called; None if there is none for a while."""
        with self._changed:
            while True:
                if self._fast:
                    return self._fast.popleft()
                if self._slow and self._in_slow < self._most // 2:
                    self._in_slow += 1
                    return self._slow.popleft()
                self._idle += 1
                woken = self._changed.wait(_IDLE_SECONDS)
                self._idle -= 1
                if not woken and not self._fast and not self._slow:
                    self._threads -= 1
                    return None


class Direct(Subscription):
    """A subscriber whose function is called by whoever changes the view, who waits for it."""

    def __init__(
        self,
        options: Options,
        first: Diff,
        leave: Callable[[Subscription], None],
        callback: Callback,
        on_end: OnEnd | None,
    ) -> None:
        super().__init__(options, first, leave)
        self._served = _Served(self, callback, on_end)

    def offer(self, diff: Diff) -> None:
        if self._waiting or self.ended:
            super().offer(diff)
            self.drain()
        elif not diff.empty or self.options.progress:  # as if it were put into the queue and taken out again
            for batch in self.options.form.batches(diff, self._stands):
                self._stands = batch.stands
                if not _called(self._served, batch):
                    return

    def end(self, error: BaseException | None) -> None:
        super().end(error)
        self.drain()

    def drain(self) -> None:
        """Calls the function with all that is waiting."""
        while not self._served.told and not self.idle:
            _call(self._served)


def _call(served: _Served) -> None:
    """Calls a function with the next batch."""
    subscription = served.subscription
    try:
        batch = subscription.take()
    except Exception as error:  # what has ended the subscription
        _told(served, error)
        return
    if batch is None:
        if subscription.ended:
            _told(served, None)
        return
    begin = time.perf_counter()
    _called(served, batch)
    quick = time.perf_counter() - begin < _SLOW_SECONDS
    served.slow = max(served.slow - 1, 0) if quick else _SLOW_CALLS


def _called(served: _Served, batch: Batch) -> bool:
    """Calls a function with a batch. If it raises, its subscription ends, and it is told so; whether it goes on."""
    try:
        served.callback(batch)
        return True
    except Exception as error:
        served.subscription.stop(error)
        _told(served, error)
        return False


def _told(served: _Served, error: BaseException | None) -> None:
    """Tells a subscriber that its subscription has ended."""
    if served.told:
        return
    served.told = True
    if error is not None:
        _LOGGER.warning("a subscription of a live view has ended: %s", error)
    if served.on_end is not None:
        try:
            served.on_end(error)
        except Exception:
            _LOGGER.exception("a subscriber failed when it was told that its subscription has ended")
