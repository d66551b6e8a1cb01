"""What the calls of a session return."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from rollview.errors import RollviewError, UserError
from rollview.views.definition import Vector

NO_OP, FULL = "no_op", "full"

#: The reason of a view with floating-point aggregates that no helper can store.
INEXACT = "inexact_rows"

#: What a refresh does.
STRATEGIES = {
    NO_OP: "nothing has changed since the last refresh",
    "append": "new rows were appended",
    "row_delta": "the rows that differ were merged",
    "aggregate_merge": "changes were added to the touched groups",
    "group_recompute": "the touched groups were computed again",
    "partition_recompute": "the touched window partitions were computed again",
    FULL: "the whole query was computed",
}

#: Why a refresh recomputed the whole view: a code for programs, a sentence for people.
REASONS = {
    "created": "the view is new",
    "replaced": "the view's definition was replaced",
    "requested": "REFRESH … FULL was asked for",
    "policy": "the view's policy is FULL",
    "operator_not_incremental": "the query has an operator for which there is no delta rule",
    "not_comparable": "values of a type that has no equality, MAP or VARIANT, would have to be compared",
    "not_stored": "to follow changes, values of a type would have to be stored that the view's store does not hold",
    INEXACT: "floating-point sums differ in their last digits when computed again, and a helper cannot store these",
    "history_gone": "a version or the changes of a base table are no longer there",
    "too_much_changed": "so much of the base tables has changed that to compute the view anew costs less",
    "too_many_rows_differ": "the changed rows join so many other rows that recomputing is cheaper",
    "key_changed": "the declared key of a base table has changed",
    "layout_changed": "this version of rollview stores the view in another way",
    "time_dependent": "the query uses the current time, user or another thing of the moment",
    "not_compiled": "the query has a part that the compiler cannot make a plan of",
    "table_replaced": "a base table was dropped and made again",
    "not_versioned": "a base table has no versions, so nothing tells what has changed in it",
    "damaged": "stored rows of the view were missing or could not be read",
}


@dataclass(frozen=True)
class RefreshResult:
    """What a refresh did. ``stale`` names the views upstream, at any level, that were not known to show the newest base
    tables: then the view does not either, although it shows what they show. ``stuck`` says of some of these why no
    refresh can bring them there: a table is gone, or cannot be read."""

    view: str
    strategy: str
    reason: str | None
    from_vector: Vector
    to_vector: Vector
    rows_read: int
    rows_written: int
    seconds: float
    stale: tuple[str, ...] = ()
    part: str = ""
    stuck: Mapping[str, str] = field(default_factory=dict)

    @property
    def explanation(self) -> str:
        """The reason, with the part of the query that it is about, or what the strategy does, as a sentence."""
        told = REASONS[self.reason] if self.reason else STRATEGIES[self.strategy]
        if self.part:
            told = f"{told}: {self.part}"
        return f"{told}; {are_behind(self.stale, self.stuck)}" if self.stale else told


def are_behind(stale: Sequence[str], stuck: Mapping[str, str]) -> str:
    """What it means that views upstream are behind, or cannot be refreshed, as a sentence."""
    behind = [name for name in stale if name not in stuck]
    one = "is" if len(behind) == 1 else "are"
    parts = [f"{', '.join(behind)} {one} behind the base tables"] if behind else []
    parts += [f"{name} cannot be refreshed ({why})" for name, why in stuck.items()]
    return f"upstream, {'; '.join(parts)}"


def since(begin: float) -> float:
    """Seconds since a moment of the monotonic clock, to the millisecond."""
    return round(time.monotonic() - begin, 3)


REFRESHED, FAILED, SKIPPED = "refreshed", "failed", "skipped"


@dataclass(frozen=True)
class Outcome:
    """What became of one view when several were refreshed: it was refreshed, with a ``result``; it failed, with an
    ``error``; or it was skipped ``because`` of a view upstream that failed (several are separated by commas).

    The fields of the result can be read from the outcome; if there is none, that raises what went wrong."""

    view: str
    result: RefreshResult | None = None
    error: RollviewError | None = None
    because: str | None = None

    @property
    def outcome(self) -> str:
        return REFRESHED if self.result is not None else FAILED if self.error is not None else SKIPPED

    @property
    def ok(self) -> bool:
        return self.result is not None

    def __bool__(self) -> bool:
        return self.ok

    def refreshed(self) -> RefreshResult:
        """The result. Raises the error of a view that failed, and an error about a view that was skipped."""
        if self.result is not None:
            return self.result
        if self.error is not None:
            raise self.error
        raise UserError(f"{self.view} was not refreshed", why=self.explanation)

    @property
    def strategy(self) -> str:
        return self.refreshed().strategy

    @property
    def reason(self) -> str | None:
        return self.refreshed().reason

    @property
    def from_vector(self) -> Vector:
        return self.refreshed().from_vector

    @property
    def to_vector(self) -> Vector:
        return self.refreshed().to_vector

    @property
    def rows_read(self) -> int:
        return self.refreshed().rows_read

    @property
    def rows_written(self) -> int:
        return self.refreshed().rows_written

    @property
    def seconds(self) -> float:
        return self.refreshed().seconds

    @property
    def stale(self) -> tuple[str, ...]:
        return self.refreshed().stale

    @property
    def stuck(self) -> Mapping[str, str]:
        return self.refreshed().stuck

    @property
    def explanation(self) -> str:
        """What was done, what went wrong, or why nothing was tried, as a sentence."""
        if self.result is not None:
            return self.result.explanation
        return self.error.what if self.error is not None else f"it reads {self.because}, which failed"


@dataclass(frozen=True)
class Verification:
    """A view compared with its query run from scratch. The samples hold a few of the differing rows. ``choices`` are
    those that the query leaves open, and how the view makes them, if its text run from scratch made others: then the
    view is compared with the query whose choices are made as the view makes them. ``inexact`` are columns of other
    types than floats that are computed from floating-point aggregates, if only these differ: that may be chance, or
    the view may be wrong. If several views are verified, there may be an ``error`` instead: the view could not be
    compared."""

    view: str
    missing: int
    extra: int
    missing_sample: tuple[dict[str, Any], ...] = ()
    extra_sample: tuple[dict[str, Any], ...] = ()
    choices: tuple[str, ...] = ()
    error: RollviewError | None = None
    inexact: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        return self.missing == 0 and self.extra == 0 and self.error is None

    def __bool__(self) -> bool:
        return self.ok


@dataclass(frozen=True)
class ViewStatus:
    """One line of ``views()``. ``behind`` counts, for each base table that has moved on, the commits not yet shown;
    None means that the table is gone or was made anew. ``stale`` names the views upstream, at any level, that are
    themselves behind, and ``stuck`` says of some of these why they cannot be refreshed. ``unversioned`` are the base
    tables that have no versions: nobody knows whether they have changed, and the view does not count as fresh.
    ``damage`` says what cannot be read, of the view or of a table below it; of a damaged view, only what could still
    be read is known."""

    name: str
    policy: str | None
    vector: Vector
    behind: dict[str, int | None]
    last_refresh: datetime | None
    last_strategy: str | None
    comment: str | None = None
    stale: tuple[str, ...] = ()
    unversioned: tuple[str, ...] = ()
    damage: str | None = None
    stuck: Mapping[str, str] = field(default_factory=dict)

    @property
    def fresh(self) -> bool:
        """Whether the view is known to show the newest versions of the base tables, through all levels."""
        return not self.behind and not self.stale and not self.unversioned and self.damage is None
