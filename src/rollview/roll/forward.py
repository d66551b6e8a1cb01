"""One forward query: the changes of a table over an interval, joined with the other tables as they stood where they
have been forwarded to. It is one SELECT over unions, with all its compensation.

interval → how each table is seen → plan (delta/timed) → relations → rows of the delta
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from rollview.delta.derivation import CHANGE, NEW, OLD, STEP
from rollview.delta.timed import Sight, Way
from rollview.engine.protocol import Frame, Kept
from rollview.errors import InternalError
from rollview.plan.nodes import Node, Scan
from rollview.refresh.execute import Execution
from rollview.roll.rows import forwarded_rows
from rollview.roll.schedule import Backlog, Interval
from rollview.roll.source import Source, Span, Stands
from rollview.state.state import State
from rollview.views.catalog import Catalog
from rollview.views.definition import View
from rollview.views.relation import as_defined

#: Spans of changes of a table, by the steps that have their rows.
Changes = dict[str, tuple[str, Sequence[Span]]]


@dataclass
class Reading:
    """What a forward query reads: how it sees each table, the versions of tables, relations that were read before, and
    the changes beside the forwarded ones."""

    way: Way
    sights: dict[tuple[str, str], Sight] = field(default_factory=dict)
    versions: dict[str, dict[str, int | None]] = field(default_factory=lambda: {OLD: {}, NEW: {}})
    frames: dict[str, Frame] = field(default_factory=dict)
    changes: Changes = field(default_factory=dict)

    def see(self, table: str, when: str, version: str, spans: Sequence[Span]) -> None:
        """Sees a table by a relation, and by spans of its changes."""
        step = f"{table} later" if when == NEW else f"{table} later, {when}"
        self.sights[table, when] = Sight(version, step if spans else None)
        if spans:
            self.changes[step] = (table, spans)


def by_history(
    interval: Interval,
    forwarded: Mapping[str, int],
    backlogs: Mapping[str, Backlog],
    sources: Mapping[str, Source],
) -> Reading:
    """Every table is read as it stood at the first forwarded commit, or before, and its changes from there to where it
    has been forwarded to are added: these may be later than some of the forwarded ones, so their times count."""
    reading = Reading(Way.HISTORY)
    first = interval.after + 1
    for table, at in forwarded.items():
        upto = interval.upto if table == interval.table else at
        base = min(upto, first)
        stands = sources[table].stands(base)
        later = [Span(base, upto)] if backlogs[table].rows(base, upto) else []
        reading.versions[NEW][table] = stands.version
        reading.see(table, NEW, NEW, [*stands.way_to(base), *later])
    stood = sources[interval.table].stands(interval.after)
    reading.versions[OLD][interval.table] = stood.version
    reading.see(interval.table, OLD, OLD, stood.way_to(interval.after))
    return reading


@dataclass(frozen=True)
class Present:
    """What a table has now: its rows, their version, and the position at which the table came to it."""

    frame: Frame
    version: int
    position: int


def by_presence(
    interval: Interval,
    forwarded: Mapping[str, int],
    present: Mapping[str, Present],
    backlogs: Mapping[str, Backlog],
    sources: Mapping[str, Source],
) -> Reading:
    """Every table is read as it is now, and its changes since where it has been forwarded to are taken away. Each may
    be read at another moment, but none before the end of the interval. A view is seen as it stood at some such moment,
    whatever it shows now."""
    check_moments(interval, present, backlogs)
    reading = Reading(Way.PRESENCE)
    for table, at in forwarded.items():
        stood = {NEW: interval.upto, OLD: at} if table == interval.table else {NEW: at}
        if table in present:
            now = present[table]
            stands, moment = Stands(now.version, now.position), now.position
            reading.frames[f"{table} {NEW}"] = now.frame
        else:
            moment = max(at, interval.upto)
            stands = sources[table].stands(moment)
        reading.versions[NEW][table] = stands.version
        for when, position in stood.items():
            later = [Span(position, moment)] if backlogs[table].rows(position, moment) else []
            reading.see(table, when, NEW, [*stands.way_to(moment, -1), *later])
    return reading


def check_moments(interval: Interval, present: Mapping[str, Present], backlogs: Mapping[str, Backlog]) -> None:
    """A change at the end of the interval must find what its partners had by then."""
    for table, now in present.items():
        if backlogs[table].free(now.position) < interval.upto:
            raise InternalError(
                f"{table} was read at position {now.position}, before the end of the changes of {interval.table}",
                why=f"these are forwarded up to position {interval.upto}",
            )


class Forwarding:
    """Runs the forward queries of one view, and keeps the plans that it has made."""

    def __init__(self, catalog: Catalog, view: View, state: State, sources: Mapping[str, Source]) -> None:
        self._catalog, self._view, self._state, self._sources = catalog, view, state, sources
        self._plans: dict[object, Node | None] = {}
        self._kept: list[Kept] = []
        self.taken = 0
        self.compensated = 0

    def run(self, interval: Interval, reading: Reading) -> Kept | None:
        """The rows that the query adds to the delta; None if there are none. They are kept until ``forget``. ``taken``
        are then the forwarded rows, ``compensated`` those of the other changes."""
        plan = self._plan(interval.table, reading)
        source = self._sources[interval.table]
        changes = self._keep(source.changes(interval.after, interval.upto))
        if (cut := interval.cut) is not None:
            changes = self._keep(source.part(changes, cut.done, cut.parts))
        given = {f"{interval.table} {CHANGE}": changes}
        for step in _steps(plan):
            table, spans = reading.changes[step]
            given[f"{step} {STEP}"] = self._keep(self._sources[table].spans(spans, reading.way))
        self.taken, self.compensated = changes.rows, sum(each.rows for each in given.values()) - changes.rows
        old, new = reading.versions[OLD], reading.versions[NEW]
        execution = Execution(self._catalog, self._view, given, old, new, frames=self._as_defined(reading.frames))
        with self._catalog.engine.errors(self._view.query.text):
            found = execution.computed("rows", plan)
        return None if found is None else self._keep(found)

    def forget(self) -> None:
        self._catalog.engine.forget(self._kept)
        self._kept.clear()

    def _keep(self, rows: Kept) -> Kept:
        self._kept.append(rows)
        return rows

    def _plan(self, table: str, reading: Reading) -> Node:
        asked = (table, reading.way, frozenset(reading.sights.items()))
        if asked not in self._plans:
            self._plans[asked] = forwarded_rows(self._state, table, reading.sights, reading.way)
        plan = self._plans[asked]
        assert plan is not None  # the state reads each of the tables
        return plan

    def _as_defined(self, frames: Mapping[str, Frame]) -> dict[str, Frame]:
        bases, engine = self._view.bases, self._catalog.engine
        return {name: as_defined(engine, bases[name.rpartition(" ")[0]], frame) for name, frame in frames.items()}


def _steps(plan: Node) -> Iterable[str]:
    """The steps with changes that a plan reads."""
    return {node.table for node in plan.walk() if isinstance(node, Scan) and node.version == STEP}
