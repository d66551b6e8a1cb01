"""What a caller says of where a refresh goes, and how: AS OF and steps, checked."""

from __future__ import annotations

import math

from rollview.clock import AsOf, moment
from rollview.errors import UserError
from rollview.refresh.steps import Pace
from rollview.session.arguments import article
from rollview.views.catalog import Catalog
from rollview.views.goal import NEWEST, Goal


def goal_of(catalog: Catalog, as_of: AsOf | None) -> tuple[Goal, int | None]:
    """The goal of a moment, and its position on the commit clock if it stands at one; without a moment, the newest."""
    if as_of is None:
        return NEWEST, None
    found = moment(catalog.clock, as_of, catalog.clocked())
    return Goal(found.vector, exact=True), found.position


def pace_of(catalog: Catalog, rows: int | None, seconds: float | None) -> Pace | None:
    """The pace of a refresh in steps; None if it is to go at once. The commits that are there are numbered: steps end
    between them."""
    if rows is None and seconds is None:
        return None
    if rows is not None and (not isinstance(rows, int) or isinstance(rows, bool) or rows < 1):
        raise UserError(f"step_rows is a number of rows, not {_told(rows)}", todo="give a whole number of 1 or more")
    if seconds is not None and not (_is_number(seconds) and 0 < seconds < math.inf):
        raise UserError(f"step_seconds is a time, not {_told(seconds)}", todo="give a number of seconds above 0")
    catalog.clock.look(catalog.clocked())
    return Pace(rows, seconds)


def check_full(full: bool, rows: object, seconds: object) -> None:
    if full and (rows is not None or seconds is not None):
        raise UserError(
            "A full refresh has no steps", why="the view is recomputed at once", todo="leave out full, or the steps"
        )


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _told(value: object) -> str:
    return repr(value) if _is_number(value) else article(value)
