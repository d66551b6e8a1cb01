"""A view that another view reads. Its changes are those of its timed delta, and its rows at a position are those of a
stored version of it, and the changes from where that stands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from rollview.delta.timed import Way
from rollview.delta.weights import consolidated
from rollview.engine.protocol import Frame, Kept
from rollview.errors import UserError, VersionGone
from rollview.plan.expressions import Expr, ref
from rollview.plan.nodes import Aggregate, Column, Computed, Node, Project, Scan, exactly, union_of
from rollview.plan.reserved import TIME, WEIGHT
from rollview.roll.reachable import Anchor
from rollview.roll.reading import STORED_ROWS, as_stored, state_at
from rollview.roll.rolling import Rolling
from rollview.roll.rows import DELTA_ROWS, between, delta_scan
from rollview.roll.schedule import Backlog
from rollview.roll.source import Source, Span, Stands
from rollview.roll.stored import Stored
from rollview.roll.visible import stored_changes
from rollview.views.catalog import EPOCH, VECTOR, vector_in
from rollview.views.past import Past, standing
from rollview.views.relation import scan_of

#: The time of rows that were there before, or are until the end: see ``delta/timed/sight``.
_NO_TIME = {Way.HISTORY: 0, Way.PRESENCE: 2**63 - 1}


class ViewSource(Source):
    """A view, at the version of its delta and the version of its rows that were found when this was made."""

    def __init__(self, rolled: Rolling, used: Sequence[str]) -> None:
        super().__init__(rolled.catalog, rolled.view.name, used)
        self._rolled = rolled
        self.pinned = pinned(rolled)

    @property
    def mark(self) -> int:
        """Up to here, the changes of the view are known."""
        return self.pinned.delta.extent.mark

    def backlog(self, after: int, upto: int) -> Backlog:
        rows = between(delta_scan(self._rolled.state), after, upto)
        count = Column("__rows", "__rows")
        counted = Aggregate(rows, (Computed(TIME, ref(TIME.name)),), (Computed(count, exp.Count(this=exp.Star())),))
        found = self._engine.arrow(self._engine.select(counted, self._frames, [TIME.label, count.label]))
        commits = zip(*(found.column(name).to_pylist() for name in (TIME.label, count.label)), strict=True)
        return Backlog(sorted(commits), upto)

    def stands(self, position: int) -> Stands:
        return self.pinned.rows

    def spans(self, spans: Sequence[Span], way: Way) -> Kept:
        terms, frames = [], {}
        for number, span in enumerate(spans):
            name = f"changes{number}"
            frames[name] = self._visible(span.after, span.upto)
            terms.append(_signed(name, self.typed, span, _NO_TIME[way]))
        plan = union_of(terms, terms[0].columns)
        net = exactly(consolidated(plan), plan.columns) if self.is_comparable else plan
        return self._engine.keep(self._engine.select(net, frames, self.columns))

    @property
    def _frames(self) -> dict[str, Frame]:
        state = self._catalog.store.read(self._catalog.state(self.name), self.pinned.rows.version)
        return {DELTA_ROWS: self._rolled.delta.read(self.pinned.delta.version), STORED_ROWS: state}

    def _visible(self, after: int, upto: int) -> Frame:
        """The timed changes of the rows that the view shows."""
        state, layout, engine, frames = self._rolled.state, self._rolled.view.layout, self._engine, self._frames
        assert layout.feed is not None
        stands = Anchor(self.pinned.rows.version, self.pinned.rows.position)
        plan = stored_changes(state, state_at(state, stands, after), after, upto, timed=True)
        rows = engine.select(plan, frames, [*state.columns, WEIGHT.label, TIME.label])
        return engine.over_state(as_stored(engine, rows, engine.columns(frames[STORED_ROWS])), layout.feed)


@dataclass(frozen=True)
class Pinned:
    """A version of a view's delta, and one of its rows that stands where the delta reaches."""

    delta: Stored
    rows: Stands


def pinned(rolled: Rolling) -> Pinned:
    """The newest versions that belong together."""
    catalog, view = rolled.catalog, rolled.view
    delta = rolled.delta.current()
    if delta is None:
        raise VersionGone(f"The changes of {view.title} are not known", why="it was recomputed or replaced meanwhile")
    extent = delta.extent
    commit = catalog.store.last_commit(catalog.state(view.name), having=VECTOR)
    position = standing(catalog, view, vector_in(commit))
    if position is not None and commit.metadata.get(EPOCH) == extent.epoch and extent.begin <= position <= extent.mark:
        return Pinned(delta, Stands(commit.version, position))
    found = Past(catalog, view.name).within(extent.begin, extent.mark, extent.epoch)
    if found is None:
        where = "at no position" if position is None else f"at position {position}"
        raise UserError(
            f"The rows of {view.title} are not known where its changes are",
            why=f"it stands {where}, and its changes are known from position {extent.begin} to {extent.mark}",
            todo=f"rv.apply({view.title!r}), or rv.propagate({view.title!r})",
        )
    return Pinned(delta, Stands(*found))


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
