"""What propagating did."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from rollview.errors import NotIncremental, RollviewError, UserError
from rollview.views.results import counted


@dataclass(frozen=True)
class ForwardStep:
    """One forward query: the changes of a table ``after`` one position, ``upto`` another one, in a ``part`` of several
    if that is one large commit. ``rows`` are the changed rows that it took in, ``compensated`` those of other tables
    that it read because they are ahead, ``rows_written`` what it added to the view's delta."""

    view: str
    table: str
    after: int
    upto: int
    part: tuple[int, int]
    rows: int
    compensated: int
    rows_written: int
    seconds: float
    mark: int

    def __str__(self) -> str:
        number, parts = self.part
        part = f", part {number} of {parts}" if parts > 1 else ""
        rows = counted(self.rows, "changed row")
        return (
            f"{self.view}: {rows} of {self.table}, positions {self.after + 1} to {self.upto}"
            f"{part}; {counted(self.rows_written, 'row')} added, complete up to {self.mark}"
        )


#: Called after each forward query.
OnStep = Callable[[ForwardStep], None]


@dataclass(frozen=True)
class Propagated:
    """What ``propagate`` did for one view. The view's delta is complete from position ``begin`` up to ``mark``, the
    high-water mark; it was ``before``. ``newest`` is the newest position there is. ``queries`` counts the forward
    queries, ``rows`` the changed rows that they took in, ``compensated`` those that they read of tables that are ahead,
    and ``rows_written`` the rows added to the delta. ``refreshed`` says that the view had to be refreshed first: it
    stood at no position of the clock, or could not be followed."""

    view: str
    begin: int
    before: int
    mark: int
    newest: int
    steps: tuple[ForwardStep, ...] = ()
    seconds: float = 0.0
    refreshed: bool = False

    @property
    def queries(self) -> int:
        return len(self.steps)

    @property
    def rows(self) -> int:
        return sum(step.rows for step in self.steps)

    @property
    def compensated(self) -> int:
        return sum(step.compensated for step in self.steps)

    @property
    def rows_written(self) -> int:
        return sum(step.rows_written for step in self.steps)

    @property
    def lag(self) -> int:
        """The positions between the mark and the newest one."""
        return self.newest - self.mark


PROPAGATED, FAILED, REFUSED, SKIPPED = "propagated", "failed", "refused", "skipped"


@dataclass(frozen=True)
class PropagateOutcome:
    """What became of one view when several were propagated: it was, with a ``result``; it failed, with an ``error``; it
    was refused, because an operator has no timed rule; or it was skipped ``because`` of views below that failed."""

    view: str
    result: Propagated | None = None
    error: RollviewError | None = None
    because: str | None = None

    @property
    def outcome(self) -> str:
        if self.result is not None:
            return PROPAGATED
        if self.error is None:
            return SKIPPED
        return REFUSED if isinstance(self.error, NotIncremental) else FAILED

    @property
    def ok(self) -> bool:
        return self.result is not None

    def __bool__(self) -> bool:
        return self.ok

    def propagated(self) -> Propagated:
        """The result. Raises the error of a view that failed, and an error about a view that was skipped."""
        if self.result is not None:
            return self.result
        if self.error is not None:
            raise self.error
        raise UserError(f"{self.view} was not propagated", why=self.explanation)

    @property
    def explanation(self) -> str:
        """What was done, what went wrong, or why nothing was tried, as a sentence."""
        if self.result is not None:
            done = self.result
            queries, rows = counted(done.queries, "query", "queries"), counted(done.rows, "changed row")
            return f"{queries} over {rows}; complete up to position {done.mark}"
        if self.error is not None:
            return str(self.error).splitlines()[0] + (f": {self.error.why}" if self.error.why else "")
        return f"{self.because} failed"
