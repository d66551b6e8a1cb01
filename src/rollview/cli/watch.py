"""Refreshes views whenever their base tables change, or propagates them and applies at an interval. Failures are
retried later."""

from __future__ import annotations

import re
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rollview.errors import RollviewError, UserError, named_error
from rollview.roll.following import refresh_all
from rollview.roll.results import PropagateOutcome
from rollview.roll.rolling import rolling
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


class Rounds(ABC):
    """Looks at views again and again, with pauses. ``looks`` counts how often."""

    def __init__(self) -> None:
        self.looks = 0

    def run(self, rounds: int) -> None:
        """Looks this many times; forever if it is 0."""
        while True:
            pause = self.look()
            self.looks += 1
            if self.looks == rounds:
                return
            time.sleep(pause)

    @abstractmethod
    def look(self) -> float:
        """Does what there is to do; returns the seconds until the next look."""


class Watch(Rounds):
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
        super().__init__()
        self.rv, self.names, self.every = rv, names, every
        self._changed, self._failed = changed, failed
        self._pauses = Pauses(max(every, 0.05))

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


#: Steps of each view before it is seen whether views are to be applied.
STEPS_AT_A_TIME = 4


class RollingWatch(Rounds):
    """Propagates the views of ``names`` repeatedly, a few steps at a time, and applies them whenever ``apply_every``
    seconds have passed; never without it. Calls ``propagated`` and ``changed`` for what was done, and ``failed`` for
    every failure, with the seconds until the view is tried again."""

    def __init__(
        self,
        rv: Rollview,
        names: Callable[[], Sequence[str]],
        every: float,
        apply_every: float | None,
        how: Mapping[str, Any],
        propagated: Callable[[PropagateOutcome], None],
        changed: Callable[[Outcome], None],
        failed: Callable[[str | None, RollviewError, float], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__()
        self.rv, self.names, self.every, self.apply_every, self.how = rv, names, every, apply_every, how
        self._propagated, self._changed, self._failed = propagated, changed, failed
        self._clock = clock
        self._pauses = Pauses(max(every, 0.05), clock)
        self._applied: dict[str, float] = {}

    def look(self) -> float:
        try:
            resting = self._pauses.resting()
            active = [name for name in self.names() if name not in resting]
            outcomes = self.rv.propagate_all(active, steps=STEPS_AT_A_TIME, **self.how) if active else []
            goals = self._goals(outcomes)
        except Exception as error:  # the catalog cannot be read
            pause = self._pauses.failed("")
            self._failed(None, named_error("The views could not be propagated", error), pause)
            return pause
        self._pauses.worked("")
        behind = [self._seen(outcome, goals.get(outcome.view, 0)) for outcome in outcomes]
        return 0.0 if any(behind) else self.every

    def _goals(self, outcomes: Sequence[PropagateOutcome]) -> dict[str, int]:
        """Where each view is applied to. Views that read each other go to the least mark of theirs: a view shows stored
        versions of those that it reads, so none may go on alone."""
        marks = {outcome.view: outcome.result.mark for outcome in outcomes if outcome.result is not None}
        together = {name: {name} for name in marks}
        for name in marks:
            for below in marks.keys() & set(self.rv.catalog.get(name).tables):
                both = together[name] | together[below]
                together |= dict.fromkeys(both, both)
        return {name: min(marks[each] for each in views) for name, views in together.items()}

    def _seen(self, outcome: PropagateOutcome, goal: int) -> bool:
        """Tells what was propagated, and applies it if it is time; whether there is more to propagate."""
        name, done = outcome.view, outcome.result
        if outcome.error is not None:
            self._failed(name, outcome.error, self._pauses.failed(name))
        if done is None:
            return False
        if done.queries:
            self._propagated(outcome)
        began = self._applied.setdefault(name, self._clock())
        if self.apply_every is not None and self._clock() - began >= self.apply_every:
            self._applied[name] = self._clock()
            try:
                self._apply(name, goal)
            except Exception as error:
                self._failed(name, named_error(f"{name} could not be applied", error), self._pauses.failed(name))
                return False
        self._pauses.worked(name)
        return bool(done.lag)

    def _apply(self, name: str, goal: int) -> None:
        shown = rolling(self.rv.catalog, name).standing()
        if shown is not None and shown > goal:  # another session has gone on, and the others will follow
            return
        result = self.rv.apply(name, as_of=goal)
        if result.strategy != NO_OP:
            self._changed(Outcome(name, result))


_UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


def seconds_of(text: str) -> float:
    """The seconds of an interval such as ``90``, ``30s``, ``5m`` or ``2h``."""
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([smhd]?)\s*", text)
    if found is None or not float(found[1]):
        raise UserError(
            f"{text!r} is no interval", todo="write a number of seconds above 0, or one with a unit: 30s, 5m, 2h, 1d"
        )
    return float(found[1]) * _UNITS[found[2]]
