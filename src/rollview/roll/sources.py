"""What a view reads, as the propagation sees it: commits with positions, and changed rows with their times."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import pyarrow as pa
import pyarrow.compute as pc
from sqlglot import exp

from rollview.delta.weights import consolidated
from rollview.engine.protocol import Frame, Kept, has_no_equality
from rollview.errors import VersionGone
from rollview.plan.expressions import ref
from rollview.plan.nodes import (
    INNER,
    Column,
    Computed,
    Filter,
    Join,
    Node,
    Ordering,
    Project,
    Scan,
    Window,
    WindowFunction,
    exactly,
    union_of,
)
from rollview.plan.reserved import TIME, WEIGHT
from rollview.roll.schedule import Backlog
from rollview.store.protocol import Identity
from rollview.views.catalog import Catalog
from rollview.views.changes import ChangeSet, ChangeSets, unreadable_feed
from rollview.views.relation import relation, scan_of

#: The columns of the relation that says at which position each commit is.
_VERSION = Column("__version", "__version", TIME.type)
_POSITION = Column("__position", "__position", TIME.type)


class TableSource:
    """A base table, whose commits the clock numbers. ``used`` are the columns that the view needs."""

    def __init__(self, catalog: Catalog, name: str, used: Sequence[str], sets: ChangeSets) -> None:
        self._catalog, self._engine, self._sets = catalog, catalog.engine, sets
        self.name, self._used = name, list(used)

    def backlog(self, after: int, upto: int) -> Backlog:
        """The commits after a position, up to another one. An updated row counts as two: it is deleted and inserted."""
        unknown = self._catalog.limits.first_step_rows
        numbered = self._catalog.clock.commits(self.name, after, upto)
        rows = (each.rows if each.signed is None else each.signed for each in numbered)
        many = (unknown if count is None else count for count in rows)
        return Backlog([(each.position, count) for each, count in zip(numbered, many, strict=True)], upto)

    def identity(self, position: int) -> Identity:
        """The version at a position."""
        found = self._catalog.clock.vector(position).get(self.name)
        if found is None or found.version is None:
            raise VersionGone(f"{self.name} had no version at position {position}")
        return found

    def version(self, position: int) -> int:
        version = self.identity(position).version
        assert version is not None
        return version

    def rows(self, version: int) -> Frame:
        """All rows of a version."""
        return relation(self._catalog, self.name).rows(version)

    def changes(self, after: int, upto: int) -> Kept:
        """The net change of each position after one, up to another: the used columns, ``__w`` and ``__t``."""
        first, last = self.version(after), self.version(upto)
        found = self._sets.of(relation(self._catalog, self.name), first, last, self._used)
        numbered = self._catalog.clock.commits(self.name, after, upto)
        at = {each.version: each.position for each in numbered}
        with unreadable_feed(self.name):
            local = found.arrow()
            if local is not None and (rows := _placed(local.select(self._columns), at)) is not None:
                return self._engine.local(_net(rows), self._typed)
            if len(at) > 1 and not self._catalog.store.dates_changes(self.name, first, last):
                return self._engine.keep(self._one_by_one(after, list(at.values())))
            return self._engine.keep(self._placed_by_query(found, at))

    def _one_by_one(self, after: int, positions: Sequence[int]) -> Frame:
        """The changes of each commit by itself, because the store compares versions and tells no commits."""
        scans, frames = [], {}
        for number, (one, other) in enumerate(pairwise([after, *positions])):
            own = scan_of(f"commit {number}", self._typed)
            found = self._sets.of(
                relation(self._catalog, self.name), self.version(one), self.version(other), self._used
            )
            frames[own.table] = self._placed_by_query(found, {self.version(other): other})
            scans.append(own)
        return self._engine.select(union_of(scans, scans[0].output), frames, self._columns)

    @property
    def _columns(self) -> list[str]:
        return [*self._used, WEIGHT.label, TIME.label]

    @property
    def _typed(self) -> list[tuple[str, str]]:
        kinds = dict(relation(self._catalog, self.name).columns())
        return [*((name, kinds[name]) for name in self._used), (WEIGHT.label, "bigint"), (TIME.label, "bigint")]

    def _placed_by_query(self, found: ChangeSet, at: dict[int, int]) -> Frame:
        """The same, if the rows are not in this process."""
        own = scan_of("changes", self._typed[:-2])
        version = Column(TIME.name, TIME.label, TIME.type)
        changes = Scan("changes", (*own.output, WEIGHT, version), (*own.sources, WEIGHT.label, TIME.label))
        map_ = Scan("positions", (_VERSION, _POSITION), (_VERSION.label, _POSITION.label))
        same = exp.EQ(this=ref(TIME.name), expression=ref(_VERSION.name))
        kept = tuple(Computed(column, ref(column.name)) for column in (*own.output, WEIGHT))
        rows: Node = Project(
            Join(INNER, changes, map_, same, small="right"), (*kept, Computed(TIME, ref(_POSITION.name)))
        )
        if not any(has_no_equality(kind) for _, kind in self._typed):
            rows = consolidated(rows)
        numbers = pa.table({_VERSION.label: list(at), _POSITION.label: list(at.values())})
        positions = self._engine.local(numbers, [(_VERSION.label, "bigint"), (_POSITION.label, "bigint")])
        frames = {"changes": found.timed(self._used), "positions": positions.frame}
        return self._engine.select(exactly(rows, (*own.output, WEIGHT, TIME)), frames, self._columns)

    def can_be_cut(self) -> bool:
        """Whether the changes of one commit can be put into an order, by which they are cut into parts."""
        return not any(has_no_equality(kind) or "map<" in kind for _, kind in self._typed)

    def part(self, changes: Kept, number: int, parts: int) -> Kept:
        """Every so manieth of some changed rows, in an order that is the same whenever they are read."""
        own = scan_of("changes", self._typed)
        order = tuple(Ordering(ref(column.name)) for column in own.output)
        place = Column("__place", "__place")
        numbered = Window(own, (WindowFunction(place, exp.RowNumber(), (), order),))
        rest = exp.Mod(this=ref(place.name), expression=exp.Literal.number(parts))
        chosen = Filter(numbered, exp.EQ(this=rest, expression=exp.Literal.number(number)))
        plan = Project(chosen, tuple(Computed(column, ref(column.name)) for column in own.output))
        return self._engine.keep(self._engine.select(plan, {"changes": changes.frame}, self._columns))


def _placed(rows: pa.Table, at: dict[int, int]) -> pa.Table | None:
    """Changed rows with the positions of their commits; None if the store does not tell the commits here."""
    versions = rows.column(TIME.label)
    if versions.null_count:
        return None
    found = pc.index_in(versions, value_set=pa.array(list(at), pa.int64()))
    rows = rows.filter(pc.is_valid(found))  # a commit without a position changes nothing
    positions = pc.take(pa.array(list(at.values()), pa.int64()), found.drop_null())
    return rows.set_column(rows.column_names.index(TIME.label), TIME.label, positions)


def _net(rows: pa.Table) -> pa.Table:
    """What the changes of each position amount to."""
    keys = [name for name in rows.column_names if name != WEIGHT.label]
    try:
        net = rows.group_by(keys).aggregate([(WEIGHT.label, "sum")])
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid):  # arrays and structs are not grouped here
        return rows
    net = net.rename_columns([WEIGHT.label if name == f"{WEIGHT.label}_sum" else name for name in net.column_names])
    return net.filter(pc.not_equal(net.column(WEIGHT.label), 0)).select(rows.column_names)
