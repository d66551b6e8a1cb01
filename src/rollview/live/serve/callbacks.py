"""Calls the functions of subscribers: each one batch after the other, different ones at the same time.

There are few threads. A function that takes long gets its turn after those that do not, and all slow ones together use
half of the threads: so a few that sleep do not hold up the others.
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

#: A call that takes longer than this is slow.
_SLOW_SECONDS = 0.01

#: A thread without work ends after this time.
_IDLE_SECONDS = 2.0


@dataclass
class _Served:
    """A subscriber with its function."""

    subscription: Subscription
    callback: Callback
    on_end: OnEnd | None
    slow: bool = False
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
            if self._idle:
                self._changed.notify()
            elif self._threads < self._most:
                self._threads += 1
                threading.Thread(target=self._work, name="rollview-callbacks", daemon=True).start()

    def _work(self) -> None:
        while (served := self._next()) is not None:
            slow = served.slow
            try:
                _call(served)
            finally:
                with self._changed:
                    self._in_slow -= slow
                    served.queued = False
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
        super().offer(diff)
        self.drain()

    def end(self, error: BaseException | None) -> None:
        super().end(error)
        self.drain()

    def drain(self) -> None:
        """Calls the function with all that is waiting."""
        while not self._served.told and not self.idle:
            _call(self._served)


def _call(served: _Served) -> None:
    """Calls a function with one batch. If it raises, its subscription ends, and it is told so."""
    subscription = served.subscription
    try:
        batch = subscription.take()
        if batch is None:
            if subscription.ended:
                _told(served, None)
            return
        begin = time.perf_counter()
        served.callback(batch)
        served.slow = time.perf_counter() - begin > _SLOW_SECONDS
    except Exception as error:
        subscription.stop(error)
        _told(served, error)


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
