"""What the calls of a session return."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from rollview.errors import RollviewError, UserError
from rollview.strategy.choose import DONE
from rollview.strategy.no_op import NO_OP
from rollview.strategy.reasons import REASONS
from rollview.views.definition import Vector

#: The strategy of a view that follows its timed delta: see ``roll/apply``.
APPLY = "apply"

_APPLIED = {APPLY: "changes that had been propagated were applied"}


def counted(number: int, what: str, plural: str | None = None) -> str:
    """A number of things: 1 row, 2,000 rows."""
    return f"{number:,} {what if number == 1 else plural or what + 's'}"


@dataclass(frozen=True)
class Ran:
    """A step of a refresh as it was run: its rows, None if they were not counted; what was done to its plan when the
    sizes were known; and the relations that it read. ``skipped`` says that it could have no rows."""

    step: str
    what: str
    rows: int | None
    passes: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()
    skipped: bool = False

    def __str__(self) -> str:
        rows = "no rows, not computed" if self.skipped else "" if self.rows is None else counted(self.rows, "row")
        return f"{self.step}: {'; '.join(part for part in (self.what, rows, *self.passes) if part)}"


@dataclass(frozen=True)
class RefreshResult:
    """What a refresh did. ``rows_changed`` counts the changed rows of the base tables that the view and its helpers
    use, ``changed`` those of each table; ``rows_read`` all rows that were read, ``jobs`` Spark's jobs; what the engine
    cannot know is None. ``ran`` are the steps. ``stale`` names the views upstream, at any level, that were not known to
    show the newest base tables: then the view does not either, although it shows what they show. ``stuck`` says of some
    of these why no refresh can bring them there: a table is gone, or cannot be read. ``steps`` counts the commits of
    catch-up done in several; ``position`` is the position of the commit clock at which the view now stands, if the
    refresh was asked to go to a moment."""

    view: str
    strategy: str
    reason: str | None
    from_vector: Vector
    to_vector: Vector
    rows_changed: int = 0
    rows_read: int | None = 0
    rows_written: int = 0
    jobs: int | None = 0
    bytes_written: int | None = 0
    seconds: float = 0.0
    stale: tuple[str, ...] = ()
    part: str = ""
    stuck: Mapping[str, str] = field(default_factory=dict)
    ran: tuple[Ran, ...] = ()
    steps: int = 1
    position: int | None = None
    changed: Mapping[str, int] = field(default_factory=dict)

    @property
    def explanation(self) -> str:
        """The reason, with the part of the query that it is about, or what the strategy does, as a sentence."""
        done = REASONS[self.reason] if self.reason else (DONE | _APPLIED)[self.strategy]
        if self.part:
            done = f"{done}: {self.part}"
        return f"{done}; {are_behind(self.stale, self.stuck)}" if self.stale else done


def are_behind(stale: Sequence[str], stuck: Mapping[str, str]) -> str:
    """What it means that views upstream are behind, or cannot be refreshed, as a sentence."""
    behind = [name for name in stale if name not in stuck]
    one = "is" if len(behind) == 1 else "are"
    parts = [f"{', '.join(behind)} {one} behind the base tables"] if behind else []
    parts += [f"{name} cannot be refreshed ({why})" for name, why in stuck.items()]
    return f"upstream, {'; '.join(parts)}"


def in_all(results: Sequence[RefreshResult]) -> RefreshResult:
    """The result of a refresh that went through several steps, from the results of these."""
    done = [result for result in results if result.strategy != NO_OP] or list(results[-1:])
    last = done[-1]
    return replace(
        results[-1],
        strategy=last.strategy,
        reason=last.reason,
        part=last.part,
        from_vector=results[0].from_vector,
        rows_changed=sum(result.rows_changed for result in results),
        changed=dict(sum((Counter(result.changed) for result in results), Counter())),
        rows_read=total(*(result.rows_read for result in results)),
        rows_written=sum(result.rows_written for result in results),
        jobs=total(*(result.jobs for result in results)),
        bytes_written=total(*(result.bytes_written for result in results)),
        seconds=round(sum(result.seconds for result in results), 3),
        ran=tuple(ran for result in results for ran in result.ran),
        steps=sum(result.steps for result in done),
    )


def total(*figures: int | None) -> int | None:
    """The sum of some figures; None if one of them is not known."""
    known = [figure for figure in figures if figure is not None]
    return sum(known) if len(known) == len(figures) else None


def since(begin: float) -> float:
    """Seconds since a moment of the monotonic clock, to the millisecond."""
    return round(time.monotonic() - begin, 3)


REFRESHED, FAILED, SKIPPED = "refreshed", "failed", "skipped"


@dataclass(frozen=True)
class Outcome:
    """What became of one view when several were refreshed: it was refreshed, with a ``result``; it failed, with an
    ``error``; or it was skipped ``because`` of a view upstream that failed (several are separated by commas).
    ``apart`` are the tables of which it shows another version than the others do, with the version that these show: it
    was further already, or its helpers were, because another session had refreshed it meanwhile.

    The fields of the result can be read from the outcome; if there is none, that raises what went wrong."""

    view: str
    result: RefreshResult | None = None
    error: RollviewError | None = None
    because: str | None = None
    apart: Mapping[str, int | None] = field(default_factory=dict)

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
    def rows_changed(self) -> int:
        return self.refreshed().rows_changed

    @property
    def rows_read(self) -> int | None:
        return self.refreshed().rows_read

    @property
    def jobs(self) -> int | None:
        return self.refreshed().jobs

    @property
    def bytes_written(self) -> int | None:
        return self.refreshed().bytes_written

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
            shown = self.result.to_vector
            each = [f"{t} at version {shown.get(t)}, the others at {version}" for t, version in self.apart.items()]
            return "; ".join([self.result.explanation, *([f"it shows {', '.join(each)}"] if each else [])])
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
class Reach:
    """``shown`` is the position at which the view stands, if it stands at one, and ``time`` that position's time.

    The delta reaches from the position ``oldest`` up to ``mark``, the high-water mark. ``lag`` counts the commits of
    the view's base tables after the mark, and ``lag_seconds`` is the age of the first of them: 0 if there is none. A
    view without a delta for the rows that it has stored has neither ``oldest`` nor ``mark``, and no lag.

    ``needed`` says of each base table from which version on its history is still needed to follow it: the rows of this
    version, and all changes since."""

    view: str
    shown: int | None
    time: datetime | None
    oldest: int | None
    mark: int | None
    lag: int | None
    lag_seconds: float | None
    needed: Mapping[str, int]


@dataclass(frozen=True)
class ViewStatus:
    """One line of ``views()``. ``behind`` counts, for each base table that has moved on, the commits not yet shown;
    None means that the table is gone or was recreated, or that it is in ``went_back``: it no longer has the commit that
    the view shows. ``stale`` names the views upstream, at any level, that are
    themselves behind, and ``stuck`` says of some of these why they cannot be refreshed. ``unversioned`` are the base
    tables that have no versions: nobody knows whether they have changed, and the view does not count as fresh.
    ``keep_changes`` is how long its timed delta is kept, if its definition says so, and ``reach`` how far it reaches,
    if there is one.
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
    went_back: tuple[str, ...] = ()
    keep_changes: str | None = None
    reach: Reach | None = None

    @property
    def fresh(self) -> bool:
        """Whether the view is known to show the newest versions of the base tables, through all levels."""
        return not self.behind and not self.stale and not self.unversioned and self.damage is None
