"""A view that another view reads. Its changes are those of its timed delta, and its rows at a position are those of a
stored version of it, and the changes from where that stands."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from rollview.delta.timed import Way
from rollview.delta.weights import consolidated
from rollview.engine.protocol import Frame, Kept
from rollview.errors import VersionGone
from rollview.plan.expressions import Expr, ref
from rollview.plan.nodes import Aggregate, Column, Computed, Node, Project, Scan, exactly, union_of
from rollview.plan.reserved import TIME, WEIGHT
from rollview.roll.reachable import Reachable
from rollview.roll.reading import STORED_ROWS, as_stored, nearest, state_at
from rollview.roll.rolling import Rolling
from rollview.roll.rows import DELTA_ROWS, between, delta_scan
from rollview.roll.schedule import Backlog
from rollview.roll.source import Source, Span, Stands
from rollview.roll.visible import stored_changes
from rollview.views.relation import scan_of

#: The time of rows that were there before, or are until the end: see ``delta/timed/sight``.
_NO_TIME = {Way.HISTORY: 0, Way.PRESENCE: 2**63 - 1}


class ViewSource(Source):
    """A view, at the version of its delta that was the newest when this was made, and one of its rows."""

    def __init__(self, rolled: Rolling, used: Sequence[str]) -> None:
        super().__init__(rolled.catalog, rolled.view.name, used)
        self._state = rolled.state
        self._reach = found = _reachable(rolled)
        self._anchor, self._rows = nearest(found, found.stored.extent.mark)

    @property
    def mark(self) -> int:
        """Up to here, the changes of the view are known."""
        return self._reach.stored.extent.mark

    def backlog(self, after: int, upto: int) -> Backlog:
        rows = between(delta_scan(self._state), after, upto)
        count = Column("__rows", "__rows")
        counted = Aggregate(rows, (Computed(TIME, ref(TIME.name)),), (Computed(count, exp.Count(this=exp.Star())),))
        found = self._engine.arrow(self._engine.select(counted, self._frames, [TIME.label, count.label]))
        commits = zip(*(found.column(name).to_pylist() for name in (TIME.label, count.label)), strict=True)
        return Backlog(sorted(commits), upto)

    def stands(self, position: int) -> Stands:
        return Stands(self._anchor.version, self._anchor.position)

    def spans(self, spans: Sequence[Span], way: Way) -> Kept:
        terms, frames = [], {}
        for number, span in enumerate(spans):
            name = f"changes{number}"
            frames[name] = self._visible(span)
            terms.append(_signed(name, self.typed, span, _NO_TIME[way]))
        plan = union_of(terms, terms[0].columns)
        net = exactly(consolidated(plan), plan.columns) if self.is_comparable else plan
        return self._engine.keep(self._engine.select(net, frames, self.columns))

    @property
    def _frames(self) -> dict[str, Frame]:
        return {DELTA_ROWS: self._reach.rolled.delta.read(self._reach.stored.version), STORED_ROWS: self._rows}

    def _visible(self, span: Span) -> Frame:
        """The changes of the rows that the view shows."""
        state, layout, engine = self._state, self._reach.rolled.view.layout, self._engine
        assert layout.feed is not None
        first = state_at(state, self._anchor, span.after)
        plan = stored_changes(state, first, span.after, span.upto, timed=span.timed)
        rows = engine.select(plan, self._frames, [*state.columns, WEIGHT.label, TIME.label])
        return engine.over_state(as_stored(engine, rows, engine.columns(self._rows)), layout.feed)


def _reachable(rolled: Rolling) -> Reachable:
    delta = rolled.delta.current()
    if delta is None:
        title = rolled.view.title
        raise VersionGone(f"The changes of {title} are not known", why="it was recomputed or replaced meanwhile")
    return Reachable(rolled, delta)


def _signed(name: str, typed: Sequence[tuple[str, str]], span: Span, no_time: int) -> Node:
    """Changes as they are added, or taken away."""
    own = scan_of(name, typed[:-2])
    scan = Scan(name, (*own.output, WEIGHT, TIME), (*own.sources, WEIGHT.label, TIME.label))
    weight: Expr = ref(WEIGHT.name)
    if span.sign < 0:
        weight = exp.Neg(this=weight)
    time = ref(TIME.name) if span.timed else exp.Cast(this=exp.Literal.number(no_time), to=TIME.type.copy())
    kept = tuple(Computed(column, ref(column.name)) for column in own.output)
    return Project(scan, (*kept, Computed(WEIGHT, weight), Computed(TIME, time)))
