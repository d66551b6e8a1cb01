"""Propagation of several views: those that are read before those that read them, and each change set read once.

    look       the clock numbers the commits that are there                     clock/
    levels     views below come first: the others propagate their deltas
    rounds     of the views of a level, the one with the least mark goes next, so that all need the same changes
    prune      what is old and has been applied is removed                      roll/prune

Each view has an outcome. A view that fails stops the views that read it, and no others.
"""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import partial

from rollview.errors import VersionGone, named_error
from rollview.refresh.batch import levels
from rollview.refresh.steps import Pace
from rollview.refresh.used import used_columns
from rollview.roll.begin import Begun, begun, overtaken
from rollview.roll.extent import Extent
from rollview.roll.propagate import Propagation, looked
from rollview.roll.prune import tend
from rollview.roll.results import ForwardStep, OnStep, Propagated, PropagateOutcome
from rollview.roll.rolling import Rolling, rolling
from rollview.roll.shelf import Shelves
from rollview.views.catalog import Catalog
from rollview.views.results import since
from rollview.views.upstream import upstream

logger = logging.getLogger("rollview")


def propagate(
    catalog: Catalog, name: str, pace: Pace, steps: int | None = None, on_step: OnStep | None = None
) -> Propagated:
    """Forwards the changes of a view's tables up to the newest position, or by some ``steps``. The views that it reads
    go first, by as many each. Raises the error of the view, or of one that it reads."""
    rolling(catalog, name)
    outcomes = {each.view: each for each in propagate_all(catalog, [name], pace, steps, on_step)}
    last = outcomes[name]
    if last.because is not None:
        raise next(each.error for each in outcomes.values() if each.error is not None)
    return last.propagated()


def propagate_all(
    catalog: Catalog,
    names: Iterable[str] | None,
    pace: Pace,
    steps: int | None = None,
    on_step: OnStep | None = None,
) -> list[PropagateOutcome]:
    """Propagates some views and those that they read, or every view, each by up to ``steps`` queries."""
    run = Run(catalog, pace, steps, on_step)
    run.views(upstream(catalog, catalog.names() if names is None else names))
    for name, outcome in run.outcomes.items():
        if outcome.ok:
            tend(catalog, name)
    return list(run.outcomes.values())


class Run:
    """One run over some views. ``outcomes`` are theirs; ``reads`` counts how often changes of each table were read."""

    def __init__(self, catalog: Catalog, pace: Pace, steps: int | None = None, on_step: OnStep | None = None) -> None:
        self.catalog, self.pace, self.steps, self.on_step = catalog, pace, steps, on_step
        self.newest = looked(catalog)
        self.outcomes: dict[str, PropagateOutcome] = {}
        self.reads: Counter[str] = Counter()
        self._running: dict[str, _Running] = {}

    def views(self, names: Iterable[str]) -> None:
        """Propagates views, those that are read before those that read them."""
        found: dict[str, Rolling] = {}
        for name in names:
            try:
                found[name] = rolling(self.catalog, name)
            except Exception as error:
                self._failed(name, error)
        for level in levels({name: rolled.view for name, rolled in found.items()}):
            self._level([name for name in level if not self._is_lost(found[name])])

    def lower(self, names: Sequence[str]) -> None:
        """Propagates views again, because a delta that another view reads has begun again."""
        self.views(upstream(self.catalog, names))
        for name in names:
            self.outcomes[name].propagated()

    def _is_lost(self, rolled: Rolling) -> bool:
        """Whether a view that is read was not propagated."""
        lost = [self.outcomes[table] for table in rolled.below if not self.outcomes[table].ok]
        if lost:
            because = {name for each in lost for name in (each.because or each.view).split(", ")}
            self.outcomes[rolled.view.name] = PropagateOutcome(rolled.view.name, because=", ".join(sorted(because)))
        return bool(lost)

    def _level(self, names: Sequence[str]) -> None:
        """Propagates views that do not read each other."""
        active: dict[str, _Running] = {}
        for name in names:
            running = self._running.setdefault(name, _Running(self, name))
            if self._tried(name, running.begin):
                active[name] = running
        rows = self.pace.first(self.catalog)
        shelves = Shelves(self.catalog, lambda table: _used(active.values(), table), self.newest, rows)
        try:
            while active:
                name = min(active, key=lambda each: (active[each].mark, each))
                if not self._tried(name, partial(active[name].advance, shelves)) or active[name].is_done:
                    self._finish(active.pop(name))
                shelves.passed(min((each.mark for each in active.values()), default=self.newest))
        finally:
            self.reads.update(shelves.reads)
            shelves.close()

    def _finish(self, running: _Running) -> None:
        if running.is_done:
            self.outcomes[running.name] = PropagateOutcome(running.name, running.result())

    def _tried(self, name: str, what: Callable[[], None]) -> bool:
        """Whether something was done for a view without an error."""
        try:
            what()
        except Exception as error:
            self._failed(name, error)
            return False
        return True

    def _failed(self, name: str, error: Exception) -> None:
        self.outcomes[name] = PropagateOutcome(name, error=named_error(f"{name} could not be propagated", error))


class _Running:
    """A view in a run: its delta as it has begun, and what was done so far."""

    def __init__(self, run: Run, name: str) -> None:
        self._run, self.name = run, name
        self._at: Begun | None = None
        self._first: Extent | None = None
        self._propagation: Propagation | None = None
        self._done: list[ForwardStep] = []
        self._refreshed, self._anew, self._lost, self._start = False, False, 0, time.monotonic()
        self.is_done = False

    @property
    def at(self) -> Begun:
        assert self._at is not None
        return self._at

    @property
    def mark(self) -> int:
        return self._extent.mark

    @property
    def _extent(self) -> Extent:
        return self.at.extent if self._propagation is None else self._propagation.extent

    def begin(self, *, anew: bool = False) -> None:
        """Finds the delta, or begins it."""
        run = self._run
        self._at = begun(run.catalog, self.name, run.newest, run.lower, anew=anew)
        self._propagation, self.is_done = None, False
        self._first = self._first or self._at.extent
        self._refreshed = self._refreshed or self._at.refreshed

    def advance(self, shelves: Shelves) -> None:
        """Runs a forward query; if there is none left to run, the view is done."""
        try:
            with self._run.catalog.engine.settings(self.at.rolled.view.settings):
                step = self._step(shelves)
        except VersionGone:
            if self._anew:
                raise
            self._anew = True
            self.begin(anew=True)
            return
        if step is not None:
            self._report(step)
        elif self._propagation is not None and self._propagation.overtaken:
            self._lost += 1
            if self._lost == self._run.catalog.limits.refresh_attempts:
                raise overtaken(self.name)
            self.begin()
        else:
            self.is_done = True

    def _step(self, shelves: Shelves) -> ForwardStep | None:
        run = self._run
        if self._propagation is None:
            self._propagation = Propagation(self.at, run.pace, shelves, run.newest)
        step = self._propagation.step() if run.steps is None or len(self._done) < run.steps else None
        if step is None:
            self._propagation.finish()
        return step

    def _report(self, step: ForwardStep) -> None:
        self._lost = 0
        self._done.append(step)
        logger.info("%s", step)
        if self._run.on_step is not None:
            self._run.on_step(step)

    def result(self) -> Propagated:
        assert self._first is not None
        marks = self._extent.begin, self._first.mark, self.mark, self._run.newest
        return Propagated(self.name, *marks, tuple(self._done), since(self._start), self._refreshed)


def _used(running: Iterable[_Running], table: str) -> set[str]:
    """The columns of a table that views use."""
    found: set[str] = set()
    for each in running:
        rolled = each.at.rolled
        if table in rolled.bases:
            found.update(used_columns(rolled.catalog, rolled.view, table))
    return found
