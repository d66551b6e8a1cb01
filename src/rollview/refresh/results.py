"""What the calls of a session return."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from rollview.refresh.views import Vector

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
    INEXACT: "floating-point sums are not exactly the same when computed again, and these cannot be stored inside the view",
    "history_gone": "a version or the changes of a base table are no longer there",
    "too_much_changed": "so much of the base tables has changed that to compute the view anew costs less",
    "key_changed": "the declared key of a base table has changed",
    "layout_changed": "this version of rollview stores the view in another way",
    "time_dependent": "the query uses the current time, user or another thing of the moment",
    "not_compiled": "the query has a part that the compiler cannot make a plan of",
    "table_replaced": "a base table was dropped and made again",
}


@dataclass(frozen=True)
class RefreshResult:
    """What a refresh did."""

    view: str
    strategy: str
    reason: str | None
    from_vector: Vector
    to_vector: Vector
    rows_read: int
    rows_written: int
    seconds: float

    @property
    def explanation(self) -> str:
        """The reason, or what the strategy does, as a sentence."""
        return REASONS[self.reason] if self.reason else STRATEGIES[self.strategy]


@dataclass(frozen=True)
class Verification:
    """A view compared with its query run from scratch. The samples hold a few of the differing rows."""

    view: str
    missing: int
    extra: int
    missing_sample: tuple[dict[str, Any], ...] = ()
    extra_sample: tuple[dict[str, Any], ...] = ()

    @property
    def ok(self) -> bool:
        return self.missing == 0 and self.extra == 0

    def __bool__(self) -> bool:
        return self.ok


@dataclass(frozen=True)
class ViewStatus:
    """One line of ``views()``. ``behind`` counts, for each base table that has moved on, the commits not yet shown;
    None means that the table is gone or was made anew."""

    name: str
    policy: str
    vector: Vector
    behind: dict[str, int | None]
    last_refresh: datetime
    last_strategy: str
    comment: str | None = None

    @property
    def fresh(self) -> bool:
        return not self.behind
