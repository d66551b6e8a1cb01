"""What a user calls about moments: positions and commits, rows at a moment, and the changes between two."""

from __future__ import annotations

from pyspark.sql import DataFrame

from rollview.clock import AsOf, Moment, Units
from rollview.errors import UserError
from rollview.parse.names import parse_name
from rollview.roll.between import changes_between
from rollview.roll.reading import read_as_of
from rollview.session.arguments import POSITION_TODO, article
from rollview.session.as_of import goal_of, moment_of
from rollview.session.session import Session
from rollview.session.statements import check_catalog
from rollview.views.relation import relation


class Moments(Session):
    """The calls about moments."""

    def position(self, as_of: AsOf | None = None) -> int | None:
        """The newest position of the commit clock, or the one of a moment. None if there is none yet, or if the tables
        of a vector never stood so at one time.

        ``as_of`` is a time (a ``datetime``, or text; in the session's zone if it names none), which may take
        ``Limits.settle_seconds`` if it is just past, or a vector: ``{"orders": 5, "customers": 2}``."""
        if as_of is not None:
            return moment_of(self.catalog, as_of).position
        unit = self.catalog.clock.look(self.catalog.numbered())
        return None if unit is None else unit.position

    def commits(self, after: int | None = None, upto: int | None = None) -> Units:
        """The units of work with positions after one position, up to another one: what became visible together, with
        its time, the tables that it changed and the version that each came to, and the number of changed rows."""
        for end in (after, upto):
            if end is not None and (isinstance(end, bool) or not isinstance(end, int)):
                raise UserError(f"A position is a whole number, not {article(end)}", todo=POSITION_TODO)
        self.catalog.clock.look(self.catalog.numbered())
        return self.catalog.clock.units(after, upto)

    def table(self, name: str, version: int | None = None, *, as_of: AsOf | None = None) -> DataFrame:
        """The rows of a view (exactly its query's columns) or of a table: the newest, those of an earlier version, or
        those AS OF a moment (see ``refresh``). A view is read there without moving it."""
        found = self._name(name)
        if as_of is not None:
            if version is not None:
                raise UserError("A version and a moment exclude each other", todo="give version or as_of, not both")
            goal, _ = goal_of(self.catalog, as_of)
            past: DataFrame = self.engine.output(read_as_of(self.catalog, found, goal))
            return past
        if self.store.has_catalog and version is None:
            check_catalog(self.catalog, [parse_name(name)])
        frame: DataFrame = self.engine.output(relation(self.catalog, found).rows(version))
        return frame

    def changes(self, name: str, after: AsOf, upto: AsOf | None = None, *, timed: bool = False) -> DataFrame:
        """The net change of the rows of a view or table from one moment to another, without one to now: its columns
        and ``__w``, how many copies of the row were added, or taken away if it is negative.

        With ``timed``, the net change at each position of the commit clock, with the position as ``__t``; the moments
        are positions or times then. Otherwise, a moment ``upto`` that is the earlier one gives the change that leads
        back. What a view's timed delta has is read from there (see ``propagate``). Nothing moves."""
        found, catalog = self._name(name), self.catalog
        if not catalog.has(found):
            relation(catalog, found).identity()  # a name that means nothing is reported first
        first = moment_of(catalog, after)
        last = self._now() if upto is None else moment_of(catalog, upto)
        changed: DataFrame = changes_between(catalog, found, first, last, timed=timed)
        return changed

    def _now(self) -> Moment:
        """The newest position."""
        unit = self.catalog.clock.look(self.catalog.numbered())
        if unit is None:
            raise UserError("There is no commit yet", why="no table has one", todo="rv.commits() lists them")
        return Moment(unit.position, self.catalog.clock.vector(unit.position))
