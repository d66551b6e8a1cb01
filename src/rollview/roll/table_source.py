"""A base table that a view reads: its commits with positions, and its changed rows with their times.

The views of one run share what is read: see ``shelf``.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import pyarrow as pa
import pyarrow.compute as pc
from sqlglot import exp

from rollview.delta.timed import Way
from rollview.delta.weights import consolidated
from rollview.engine.protocol import Frame, Kept
from rollview.plan.expressions import ref
from rollview.plan.nodes import INNER, Column, Computed, Join, Node, Project, Scan, exactly, union_of
from rollview.plan.reserved import TIME, WEIGHT
from rollview.roll.schedule import Backlog
from rollview.roll.shelf import Shelf, Shelves, signed_rows
from rollview.roll.source import Source, Span, Stands
from rollview.views.catalog import Catalog
from rollview.views.changes import ChangeSet, unreadable_feed
from rollview.views.relation import scan_of

#: The columns of the relation that says at which position each commit is.
_VERSION = Column("__version", "__version", TIME.type)
_POSITION = Column("__position", "__position", TIME.type)


class TableSource(Source):
    """A base table, whose commits the clock numbers."""

    def __init__(self, catalog: Catalog, name: str, used: Sequence[str], shelves: Shelves) -> None:
        super().__init__(catalog, name, used)
        self._shelf: Shelf = shelves.of(name)

    def backlog(self, after: int, upto: int) -> Backlog:
        """An updated row counts as two: it is deleted and inserted."""
        numbered = self._catalog.clock.commits(self.name, after, upto)
        return Backlog([(each.position, signed_rows(each, self._catalog.limits)) for each in numbered], upto)

    def stands(self, position: int) -> Stands:
        return Stands(self._shelf.version(position), position)

    def spans(self, spans: Sequence[Span], way: Way) -> Kept:
        (span,) = spans  # a table is read where it stood, so no way leads there
        assert span.timed
        assert span.sign > 0
        with unreadable_feed(self.name):
            local = self._shelf.timed(span.after, span.upto)
            if local is not None:
                return self._engine.local(_net(local.select(self.columns)), self.typed)
            at = self._shelf.positions(span.after, span.upto)
            if len(at) > 1 and not self._are_dated(span):
                return self._engine.keep(self._one_by_one(span.after, list(at.values())))
            found = self._shelf.changes(span.after, span.upto, self.used)
            return self._engine.keep(self._placed_by_query(found, at))

    def _are_dated(self, span: Span) -> bool:
        versions = self._shelf.version(span.after), self._shelf.version(span.upto)
        return self._catalog.store.dates_changes(self.name, *versions)

    def _one_by_one(self, after: int, positions: Sequence[int]) -> Frame:
        """The changes of each commit by itself, because the store compares versions and tells no commits."""
        scans, frames = [], {}
        for number, (one, other) in enumerate(pairwise([after, *positions])):
            own = scan_of(f"commit {number}", self.typed)
            found = self._shelf.changes(one, other, self.used)
            frames[own.table] = self._placed_by_query(found, {self._shelf.version(other): other})
            scans.append(own)
        return self._engine.select(union_of(scans, scans[0].output), frames, self.columns)

    def _placed_by_query(self, found: ChangeSet, at: dict[int, int]) -> Frame:
        """The net change of each position, if the rows are not in this process."""
        own = scan_of("changes", self.typed[:-2])
        version = Column(TIME.name, TIME.label, TIME.type)
        changes = Scan("changes", (*own.output, WEIGHT, version), (*own.sources, WEIGHT.label, TIME.label))
        map_ = Scan("positions", (_VERSION, _POSITION), (_VERSION.label, _POSITION.label))
        same = exp.EQ(this=ref(TIME.name), expression=ref(_VERSION.name))
        kept = tuple(Computed(column, ref(column.name)) for column in (*own.output, WEIGHT))
        rows: Node = Project(
            Join(INNER, changes, map_, same, small="right"), (*kept, Computed(TIME, ref(_POSITION.name)))
        )
        if self.is_comparable:
            rows = exactly(consolidated(rows), rows.columns)
        numbers = pa.table({_VERSION.label: list(at), _POSITION.label: list(at.values())})
        positions = self._engine.local(numbers, [(_VERSION.label, "bigint"), (_POSITION.label, "bigint")])
        frames = {"changes": found.timed(self.used), "positions": positions.frame}
        return self._engine.select(rows, frames, self.columns)


def _net(rows: pa.Table) -> pa.Table:
    """What the changes of each position amount to."""
    keys = [name for name in rows.column_names if name != WEIGHT.label]
    try:
        net = rows.group_by(keys).aggregate([(WEIGHT.label, "sum")])
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid):  # arrays and structs are not grouped here
        return rows
    net = net.rename_columns([WEIGHT.label if name == f"{WEIGHT.label}_sum" else name for name in net.column_names])
    return net.filter(pc.not_equal(net.column(WEIGHT.label), 0)).select(rows.column_names)
