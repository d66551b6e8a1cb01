"""Follows the tables of a live view: once, in a loop, or in a thread. Failures are retried, with growing pauses."""

from __future__ import annotations

import logging
import threading
from types import TracebackType

from rollview.engine.protocol import Engine
from rollview.errors import ColumnNotFound, RollviewError, SchemaChanged, VersionGone, named_error
from rollview.live.follow.source import Replaced
from rollview.live.state import State

_LOGGER = logging.getLogger("rollview")

#: What makes a live view read its tables again.
_LOST = (Replaced, VersionGone, SchemaChanged, ColumnNotFound)


def poll(state: State, *, at_once: bool = False) -> int:
    """Moves a live view over what was committed to its tables; the number of steps. If its changes are not known, the
    view is made again, and the diff is exact all the same. If it cannot be what it was, it ends."""
    with state.moving():
        try:
            return _moved(state, at_once=at_once)
        except SchemaChanged as error:
            state.end(error)
            raise


def _moved(state: State, *, at_once: bool) -> int:
    state.source.check_view()
    try:
        return _polled(state, at_once=at_once)
    except _LOST as error:
        _LOGGER.info("the live view %s reads its tables again: %s", state.definition.title, error)
        state.deliver(state.rebuild())
        return 1


def _polled(state: State, *, at_once: bool) -> int:
    done = 0
    for step in state.source.steps(state.place.vector, at_once=at_once):
        try:
            diff = state.take(step)
        except RollviewError:
            # the query fails over the rows of this commit; a later one may have mended it
            if at_once:
                raise
            return done + _polled(state, at_once=True)
        state.deliver(diff)
        done += 1
    return done


class Follower:
    """Follows in a thread until it is stopped. ``error`` is why it does not get on at the moment, if it does not."""

    def __init__(self, state: State, engine: Engine, every: float, longest: float, *, at_once: bool) -> None:
        self._state, self._engine, self._every, self._longest = state, engine, every, max(longest, every)
        self._at_once = at_once
        self._stopped = threading.Event()
        self.error: RollviewError | None = None
        self._thread = threading.Thread(target=self._run, name="rollview-live", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Stops following, after what is being done."""
        self._stopped.set()
        if self._thread.is_alive() and self._thread is not threading.current_thread():
            self._thread.join()

    @property
    def running(self) -> bool:
        return self._thread.is_alive() and not self._stopped.is_set()

    def run(self) -> None:
        """Follows in this thread, until another one stops it or the view ends."""
        pause = self._every
        while not self._stopped.is_set():
            try:
                poll(self._state, at_once=self._at_once)
                self.error, pause = None, self._every
            except SchemaChanged as error:  # the view has ended
                self.error = error
                return
            except Exception as error:  # the store or Spark may work again
                self.error = named_error("A live view could not follow its tables", error)
                pause = min(max(pause, 0.05) * 2, self._longest)
                _LOGGER.warning("the live view %s: %s", self._state.definition.title, self.error)
            self._stopped.wait(pause)

    def _run(self) -> None:
        with self._engine.beside():
            self.run()

    def __enter__(self) -> Follower:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
