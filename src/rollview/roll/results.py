"""What propagating did."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


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
        return (
            f"{self.view}: {self.rows:,} changed rows of {self.table}, positions {self.after + 1} to {self.upto}"
            f"{part}; {self.rows_written:,} rows added, complete up to {self.mark}"
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
