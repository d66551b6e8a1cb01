"""What a caller says of where a refresh goes, and how: AS OF and steps, checked."""

from __future__ import annotations

import math
from collections.abc import Mapping

from rollview.clock import AsOf, Moment, moment
from rollview.errors import UserError
from rollview.parse.names import parse_name
from rollview.refresh.steps import Pace
from rollview.session.arguments import NAME, NAME_TODO, article, check_text
from rollview.views.catalog import Catalog
from rollview.views.goal import NEWEST, Goal
from rollview.views.upstream import base_tables


def goal_of(catalog: Catalog, as_of: AsOf | None) -> tuple[Goal, int | None]:
    """The goal of a moment, and its position on the commit clock if it stands at one; without a moment, the newest."""
    if as_of is None:
        return NEWEST, None
    found = moment_of(catalog, as_of)
    return Goal(found.vector, exact=True), found.position


def moment_of(catalog: Catalog, as_of: AsOf) -> Moment:
    """The moment that a caller names. A vector names base tables, in any spelling."""
    if isinstance(as_of, Mapping):
        named = [(_base_table(catalog, name), version) for name, version in as_of.items()]
        as_of = dict(named)
        if not 0 < len(named) == len(as_of):
            what = "names a table twice" if named else "names no table"
            raise UserError(f"The vector {what}", todo="give one version for each table: {'orders': 5}")
    return moment(catalog.clock, as_of, catalog.numbered())


def position_of(catalog: Catalog, view: str, as_of: AsOf) -> int:
    """The position of a moment for a view. Raises UserError if a vector lacks a table of the view, and for versions
    that never stood together."""
    goal, position = goal_of(catalog, as_of)
    for table in sorted(base_tables(catalog, [view]) - goal.vector.keys()):
        goal.version(catalog, table)  # says what is missing
    if position is None:
        raise UserError(
            "The tables never stood at these versions together", todo="rv.commits() lists where they stood together"
        )
    return position


def _base_table(catalog: Catalog, name: str) -> str:
    check_text(name, NAME, NAME_TODO)
    found = catalog.store.canonical(parse_name(name))
    if catalog.has(found):
        raise UserError(
            f"{found} is a materialized view",
            why="a vector has versions of base tables, and a view shows what they lead to",
            todo=f"name the tables that {found} reads",
        )
    return found


def pace_of(catalog: Catalog, rows: int | None, seconds: float | None) -> Pace | None:
    """The pace of a refresh in steps; None if it is to go at once. The commits that are there are numbered: steps end
    between them."""
    if rows is None and seconds is None:
        return None
    if rows is not None and (not isinstance(rows, int) or isinstance(rows, bool) or rows < 1):
        raise UserError(f"step_rows is a number of rows, not {told(rows)}", todo="give a whole number of 1 or more")
    if seconds is not None and not (_is_number(seconds) and 0 < seconds < math.inf):
        raise UserError(f"step_seconds is a time, not {told(seconds)}", todo="give a number of seconds above 0")
    catalog.clock.look(catalog.numbered())
    return Pace(rows, seconds)


def check_full(full: bool, rows: object, seconds: object) -> None:
    if full and (rows is not None or seconds is not None):
        raise UserError(
            "A full refresh has no steps", why="the view is recomputed at once", todo="leave out full, or the steps"
        )


def check_steps(steps: object) -> None:
    if steps is not None and (not isinstance(steps, int) or isinstance(steps, bool) or steps < 1):
        raise UserError(f"steps is a number of queries, not {told(steps)}", todo="give a whole number of 1 or more")


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def told(value: object) -> str:
    """A value that is not what it should be, for messages."""
    return repr(value) if _is_number(value) else article(value)
