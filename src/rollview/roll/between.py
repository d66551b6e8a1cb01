"""The change of a table's or a view's visible rows between two moments. Nothing is written.

| what is known of a view there | its change is |
|---|---|
| its delta reaches both moments | read from the delta |
| stored versions that show both | read from the changes of the state |
| the changes of its tables | derived, as a refresh from one to the other would do |
| its query alone | its rows at both, compared |

If the delta reaches a part of the way, the change is put together. The change at each position is that of the delta, or
is found step by step.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

from sqlglot import exp

from rollview.clock import Moment
from rollview.delta.weights import consolidated
from rollview.engine.protocol import Frame, has_no_equality
from rollview.errors import UserError, VersionGone
from rollview.parse.names import quote
from rollview.plan.expressions import ref
from rollview.plan.nodes import Computed, Project, Scan, exactly, union_of
from rollview.plan.reserved import TIME, WEIGHT
from rollview.roll.derived import derived_changes, no_changes
from rollview.roll.reachable import Reachable, reachable
from rollview.roll.reading import STORED_ROWS, as_stored, nearest, read_as_of, shown_at, state_at
from rollview.roll.rows import DELTA_ROWS
from rollview.roll.shelf import Shelves
from rollview.roll.table_source import TableSource
from rollview.roll.visible import back, stored_changes
from rollview.views.catalog import Catalog
from rollview.views.changes import ChangeSet
from rollview.views.goal import Goal
from rollview.views.past import Past
from rollview.views.relation import added, difference, relation, scan_of
from rollview.views.upstream import base_tables


def changes_between(catalog: Catalog, name: str, after: Moment, upto: Moment, *, timed: bool = False) -> Any:
    """The visible columns and ``__w``, the number of copies that are added, as the engine's own type. If ``timed``, the
    change at each position after the first moment, with ``__t``. Otherwise a second moment that is the earlier one
    leads back."""
    if timed:
        _check_order(after, upto)
    _check_names(catalog, name)
    with ExitStack() as stack:
        if not catalog.has(name):
            frame = _of_table(catalog, name, after, upto, stack, timed=timed)
        else:
            of = _ViewChanges(catalog, name, stack)
            stack.enter_context(catalog.engine.settings(of.view.settings))
            frame = of.timed(after, upto) if timed else of.net(after, upto)
        return catalog.engine.detached(frame)


def _check_names(catalog: Catalog, name: str) -> None:
    for column, _ in relation(catalog, name).columns():
        if column.casefold() in (WEIGHT.label, TIME.label):
            raise UserError(
                f"The changes of {name} cannot be shown",
                why=f"it has a column {column}, and its changes have one of that name beside it",
                todo=f"make a view in which the column has another name: SELECT {quote(column)} AS other_name",
            )


def _check_order(after: Moment, upto: Moment) -> None:
    if after.position is None or upto.position is None:
        raise UserError(
            "Changes with their positions are between two positions",
            why="the tables never stood at these versions together",
            todo="rv.commits() lists where they stood together; without timed=True, any two vectors will do",
        )
    if after.position > upto.position:
        raise UserError(
            f"Position {upto.position} is before position {after.position}",
            why="changes with their positions lead forward",
            todo="exchange the two, or leave out timed=True: then the change leads back",
        )


def _of_table(catalog: Catalog, name: str, after: Moment, upto: Moment, stack: ExitStack, *, timed: bool) -> Frame:
    now, engine = relation(catalog, name), catalog.engine
    first, last = (Goal(each.vector, exact=True).version(catalog, name) for each in (after, upto))
    names = [column for column, _ in now.columns()]
    assert first.version is not None
    assert last.version is not None
    if timed:
        assert after.position is not None
        assert upto.position is not None
        shelves = Shelves(catalog, lambda table: names, upto.position, catalog.limits.changes_here)
        stack.callback(shelves.close)
        kept = TableSource(catalog, name, names, shelves).changes(after.position, upto.position)
        stack.callback(engine.forget, [kept])
        return kept.frame
    if first == last:
        return engine.nothing(added(engine, now.rows()))
    found = ChangeSet(engine, catalog.limits, now, first.version, last.version, names)
    stack.callback(found.forget)
    return found.net(names).rows.frame


class _ViewChanges:
    """The changes of one view. Frames can be read while the stack is open."""

    def __init__(self, catalog: Catalog, name: str, stack: ExitStack) -> None:
        self.view = catalog.get(name)
        self._catalog, self._engine, self._stack, self._name = catalog, catalog.engine, stack, name
        self._reach: Reachable | None = reachable(catalog, name)
        self._labels = [column.name for column in self.view.columns]

    @functools.cached_property
    def _past(self) -> Past:
        return Past(self._catalog, self._name)

    def net(self, after: Moment, upto: Moment) -> Frame:
        """The net change; through the delta as far as it reaches."""
        found = self._reached(after, upto)
        if found is None:
            return self._net(after, upto)
        low, high = self._moment(found[0]), self._moment(found[1])
        if after.position is not None and upto.position is not None and after.position > upto.position:
            low, high = high, low
        parts = [(after, low), (low, high), (high, upto)]
        frames = [self._net(*part) for part in parts if part[0].vector != part[1].vector]
        return self._together([(frame, None) for frame in frames])

    def timed(self, after: Moment, upto: Moment) -> Frame:
        """The net change at each position."""
        found = self._reached(after, upto)
        if found is None or self.view.layout.feed is None:
            return self._together(self._stepped(after, upto), timed=True)
        assert self._reach is not None
        low, high = found
        through = self._by_delta(self._reach, low, high, timed=True)
        before, beyond = self._stepped(after, self._moment(low)), self._stepped(self._moment(high), upto)
        return self._together([*before, (through, None), *beyond], timed=True)

    def _stepped(self, after: Moment, upto: Moment) -> list[tuple[Frame, int | None]]:
        """The net change of each position at which a base table changed, with the position."""
        bases, at = base_tables(self._catalog, [self._name]), after
        found: list[tuple[Frame, int | None]] = []
        for unit in self._catalog.clock.units(after.position, upto.position):
            if not bases.isdisjoint(unit.tables):
                here = self._moment(unit.position)
                found.append((self._net(at, here), unit.position))
                at = here
        return found

    def _moment(self, position: int) -> Moment:
        return Moment(position, self._catalog.clock.vector(position))

    def _reached(self, after: Moment, upto: Moment) -> tuple[int, int] | None:
        """The part of the way that the delta reaches, from its earlier to its later position."""
        if self._reach is None:
            return None
        one, other = (self._reach.position(each.vector) for each in (after, upto))
        extent = self._reach.stored.extent
        ends = [after.position if one is None else one, upto.position if other is None else other]
        if None in ends:
            return None
        low, high = sorted(min(max(end, extent.begin), extent.mark) for end in ends if end is not None)
        return (low, high) if low < high or (one is not None and other is not None) else None

    def _net(self, after: Moment, upto: Moment) -> Frame:
        """The net change, found in one of the ways."""
        if self._reach is not None:
            one, other = (self._reach.position(each.vector) for each in (after, upto))
            if one is not None and other is not None:
                return self._by_delta(self._reach, one, other)
        for way in (self._by_state, self._derived):
            found = way(after, upto)
            if found is not None:
                return found
        return self._compared(*(read_as_of(self._catalog, self._name, _goal(each)) for each in (after, upto)))

    def _by_delta(self, found: Reachable, one: int, other: int, *, timed: bool = False) -> Frame:
        rolled, engine, layout = found.rolled, self._engine, self.view.layout
        if one == other:
            return self._timed_at(no_changes(self._catalog, self.view), other)
        if layout.feed is None:  # which rows are shown depends on all of them
            return self._compared(shown_at(found, one), shown_at(found, other))
        low, high = sorted((one, other))
        anchor, stored = nearest(found, low)
        plan = stored_changes(rolled.state, state_at(rolled.state, anchor, low), low, high, timed=timed)
        frames = {STORED_ROWS: stored, DELTA_ROWS: rolled.delta.read(found.stored.version)}
        names = [*rolled.state.columns, WEIGHT.label, TIME.label]
        rows = engine.select(back(plan) if one > other else plan, frames, names)
        return engine.over_state(as_stored(engine, rows, engine.columns(stored)), layout.feed)

    def _timed_at(self, rows: Frame, position: int) -> Frame:
        scan = self._scan()
        passed = (Computed(column, ref(column.name)) for column in scan.output)
        at = exp.Cast(this=exp.Literal.number(position), to=TIME.type.copy())
        names = [*self._labels, WEIGHT.label, TIME.label]
        return self._engine.select(Project(scan, (*passed, Computed(TIME, at))), {"rows": rows}, names)

    def _by_state(self, after: Moment, upto: Moment) -> Frame | None:
        one, other = self._past.showing(after.vector), self._past.showing(upto.vector)
        if one is None or other is None or one.version is None or other.version is None:
            return None
        if one == other:
            return no_changes(self._catalog, self.view)
        now = relation(self._catalog, self._name)
        found = ChangeSet(self._engine, self._catalog.limits, now, one.version, other.version, self._labels)
        self._stack.callback(found.forget)
        try:
            return found.net(self._labels).rows.frame
        except VersionGone:
            return None

    def _derived(self, after: Moment, upto: Moment) -> Frame | None:
        try:
            old, new = (_goal(each).versions(self._catalog, self.view) for each in (after, upto))
        except VersionGone:
            return None
        return derived_changes(self._catalog, self.view, old, new, self._stack)

    def _compared(self, old: Frame, new: Frame) -> Frame:
        for column in self.view.columns:
            if has_no_equality(column.type) or "map<" in column.type:
                raise UserError(
                    f"The changes of {self.view.title} are not known",
                    why=f"its rows cannot be compared: {column.name} is of the type {column.type}",
                    todo="rv.table(…, as_of=…) reads the rows at each moment",
                )
        typed = [(column.name, column.type) for column in self.view.columns]
        return self._engine.select(difference(typed), {"old": old, "new": new}, [*self._labels, WEIGHT.label])

    def _together(self, parts: Sequence[tuple[Frame, int | None]], *, timed: bool = False) -> Frame:
        """The sum of changes: rows with their weights, and with the position of each part, or their own."""
        more = (TIME,) if timed else ()
        labels = [*self._labels, WEIGHT.label, *(column.label for column in more)]
        if not parts:
            none = no_changes(self._catalog, self.view)
            return self._timed_at(none, 0) if timed else none
        frames, terms = {}, []
        for number, (frame, position) in enumerate(parts):
            given = self._timed_at(frame, position) if timed and position is not None else frame
            frames[f"part {number}"] = given
            terms.append(self._scan(f"part {number}", *more))
        columns = terms[0].columns
        whole = exactly(consolidated(union_of(terms, columns)), columns)
        return self._engine.select(whole, frames, labels)

    def _scan(self, name: str = "rows", *more: Any) -> Scan:
        scan = scan_of(name, [(column.name, column.type) for column in self.view.columns])
        labels = (*scan.sources, WEIGHT.label, *(column.label for column in more))
        return Scan(name, (*scan.output, WEIGHT, *more), labels)


def _goal(moment: Moment) -> Goal:
    return Goal(moment.vector, exact=True)
