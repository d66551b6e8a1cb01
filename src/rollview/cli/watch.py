"""Refreshes views whenever their base tables change, and retries failures later."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from rollview.errors import RollviewError, named_error
from rollview.roll.following import refresh_all
from rollview.session import Rollview
from rollview.strategy.no_op import NO_OP
from rollview.views.results import Outcome

#: The longest pause in seconds before a failed view is tried again.
LONGEST_PAUSE = 60.0


class Pauses:
    """The pauses of failed views: each is twice as long after every failure in a row."""

    def __init__(self, first: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._first = first
        self._clock = clock
        self._failures: dict[str, int] = {}
        self._until: dict[str, float] = {}

    def failed(self, what: str) -> float:
        """Records a failure; returns the seconds until the next attempt."""
        self._failures[what] = self._failures.get(what, 0) + 1
        pause = min(self._first * 2.0 ** min(self._failures[what], 30), max(LONGEST_PAUSE, self._first))
        self._until[what] = self._clock() + pause
        return pause

    def worked(self, what: str) -> None:
        self._failures.pop(what, None)
        self._until.pop(what, None)

    def resting(self) -> set[str]:
        now = self._clock()
        return {what for what, until in self._until.items() if until > now}


class Watch:
    """Checks views repeatedly. Calls ``changed`` for every refreshed view, and ``failed`` for every failure, with the
    seconds until it is tried again; a failure of the whole check has no view."""

    def __init__(
        self,
        rv: Rollview,
        names: Sequence[str] | None,
        every: float,
        changed: Callable[[Outcome], None],
        failed: Callable[[str | None, RollviewError, float], None],
    ) -> None:
        self.rv, self.names, self.every = rv, names, every
        self._changed, self._failed = changed, failed
        self._pauses = Pauses(max(every, 0.05))
        self.looks = 0

    def run(self, rounds: int) -> None:
        """Checks the views this many times; forever if it is 0."""
        while True:
            pause = self.look()
            self.looks += 1
            if self.looks == rounds:
                return
            time.sleep(pause)

    def look(self) -> float:
        """Refreshes the views whose tables have changed; returns the seconds until the next check."""
        try:
            outcomes = refresh_all(self.rv.catalog, self.names, resting=self._pauses.resting())
        except Exception as error:  # the catalog cannot be read
            pause = self._pauses.failed("")
            self._failed(None, named_error("The views could not be refreshed", error), pause)
            return pause
        self._pauses.worked("")
        for outcome in outcomes:
            if outcome.error is not None:
                self._failed(outcome.view, outcome.error, self._pauses.failed(outcome.view))
            elif outcome.result is not None:
                self._pauses.worked(outcome.view)
                if outcome.result.strategy != NO_OP:
                    self._changed(outcome)
        return self.every
