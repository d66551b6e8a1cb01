"""The tables that a live view reads: what was committed to them since a vector, in order, and their change between two.

The commits of all tables are ordered as the commit clock orders them, and those of one transaction are one step. The
clock itself is not asked: nothing is written for a live view.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timezone
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from rollview.clock.order import Sighted, units_of
from rollview.errors import RollviewError, SchemaChanged, TableNotFound, VersionGone
from rollview.live.core import Core
from rollview.live.definition import Definition, columns_read
from rollview.live.follow.table import Changed, FollowedTable
from rollview.plan.reserved import WEIGHT
from rollview.store.progress import went_back
from rollview.store.protocol import Identity
from rollview.views.catalog import SHAPE, Catalog

Vector = Mapping[str, Identity]

#: What a subscriber does whose token leads nowhere.
_AGAIN = "begin again with a snapshot: snapshot=True"


class Replaced(RollviewError):
    """A table is another one now, or its log went back: its changes since a vector are not known."""

    code = "table_replaced"


class Step(NamedTuple):
    """What a unit of work changed, as weighted rows of each table, and the vector that it leads to."""

    changes: Mapping[str, pa.Table]
    vector: Vector
    time: datetime


class Source:
    """The tables of one live view."""

    def __init__(self, catalog: Catalog, definition: Definition) -> None:
        self._catalog, self._definition = catalog, definition
        self.tables = [
            FollowedTable(catalog, base, columns_read(definition.shape, table))
            for table, base in definition.bases.items()
        ]
        self._state = catalog.state(definition.view.name) if definition.named else None
        self._shown = None if self._state is None else catalog.store.identity(self._state)

    def newest(self) -> dict[str, Identity]:
        """The newest version of each table."""
        return {table.name: table.identity() for table in self.tables}

    def counts(self, vector: Vector) -> dict[str, int]:
        """The rows of each table."""
        return {table.name: table.count(vector[table.name].version) for table in self.tables}

    def rows(self, vector: Vector) -> Iterator[tuple[str, pa.Table]]:
        """The rows of all tables at a vector, in pieces."""
        for table in self.tables:
            for piece in table.rows(vector[table.name].version):
                yield table.name, piece

    def steps(self, known: Vector, *, at_once: bool = False) -> Iterator[Step]:
        """What was committed since a vector. Raises Replaced, before the first step."""
        self.check_view()
        sighted: dict[str, list[Sighted]] = {}
        for table in self.tables:
            progress = table.progress(known[table.name])
            if not progress.follows:
                raise Replaced(f"{table.name} was replaced, or its log went back")
            newest = progress.newest
            if progress.commits:
                sighted[table.name] = [Sighted(table.name, newest.table_id, each) for each in progress.commits]
        if not sighted:
            return
        steps = self._steps(known, sighted)
        yield from [_together(list(steps))] if at_once else steps

    def _steps(self, known: Vector, sighted: Mapping[str, Sequence[Sighted]]) -> Iterator[Step]:
        tables = {table.name: table for table in self.tables}
        reading = {}
        for name, commits in sighted.items():
            after = known[name].version
            assert after is not None
            reading[name] = tables[name].commits(after, commits[-1].commit.version)
        vector = dict(known)
        for unit in units_of(sighted):
            changes: dict[str, list[pa.Table]] = {}
            for each in unit:
                found = next(reading[each.table])
                assert found.commit.version == each.commit.version
                vector[each.table] = each.identity
                if found.rows.num_rows:
                    changes.setdefault(each.table, []).append(found.rows)
            joined = {name: pa.concat_tables(parts) for name, parts in changes.items()}
            yield Step(joined, dict(vector), max(each.commit.time for each in unit))

    def between(self, one: Vector, other: Vector) -> dict[str, pa.Table]:
        """The change of the tables from one vector to another; where the second version is the earlier one, it leads
        back. Raises VersionGone if it is not known any more."""
        found = {}
        for table in self.tables:
            first, last = one[table.name], other[table.name]
            self._check_same(table, first, last)
            assert first.version is not None
            assert last.version is not None
            low, high = sorted([first.version, last.version])
            if low < high:
                rows = netted(pa.concat_tables([each.rows for each in _known(table, low, high)]))
                found[table.name] = rows if first.version == low else _negated(rows)
        return found

    def _check_same(self, table: FollowedTable, first: Identity, last: Identity) -> None:
        newest = table.identity()
        stored = self._catalog.stored(table.name)
        for each in (first, last):
            if each.table_id != newest.table_id or went_back(self._catalog.store, stored, each, newest):
                raise VersionGone(
                    f"Version {each.version} of {table.name} is no longer there",
                    why="the table was replaced, or its log went back",
                    todo=_AGAIN,
                )

    def check_view(self) -> None:
        """Raises SchemaChanged if the materialized view was replaced or dropped. Of its commits, only the metadata is
        read."""
        if self._state is None or self._shown is None:
            return
        name = self._definition.view.name
        todo = f"close this live view; rv.live({name!r}) makes one of what the name means now"
        try:
            progress = self._catalog.store.progress(self._state, self._shown)
        except TableNotFound as error:
            raise SchemaChanged(f"The materialized view {name} was dropped", todo=todo) from error
        marks = {commit.metadata[SHAPE] for commit in progress.commits if SHAPE in commit.metadata}
        if marks - {self._definition.mark}:
            raise SchemaChanged(f"The materialized view {name} was replaced", todo=todo)
        self._shown = progress.newest


def _known(table: FollowedTable, after: int, upto: int) -> Iterator[Changed]:
    """The commits between two versions. Raises VersionGone if one is not known any more."""
    try:
        yield from table.commits(after, upto)
    except VersionGone as error:
        error.todo = _AGAIN
        raise


def load(core: Core, pieces: Iterator[tuple[str, pa.Table]]) -> Iterator[int]:
    """Loads the rows of tables; after each piece, yields the number of its rows."""
    for table, piece in pieces:
        core.load(table, piece)
        yield piece.num_rows
    core.loaded()


def _together(steps: Sequence[Step]) -> Step:
    """Several steps as one."""
    changes: dict[str, list[pa.Table]] = {}
    for step in steps:
        for table, rows in step.changes.items():
            changes.setdefault(table, []).append(rows)
    joined = {table: netted(pa.concat_tables(parts)) for table, parts in changes.items()}
    return Step(joined, steps[-1].vector, max(step.time for step in steps))


def netted(rows: pa.Table) -> pa.Table:
    """Weighted rows added up, if rows of these types can be: what came and went again is not looked at."""
    names = [name for name in rows.column_names if name != WEIGHT.label]
    try:
        found = rows.group_by(names).aggregate([(WEIGHT.label, "sum")])
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid):  # arrays and structs
        return rows
    found = found.select([*names, f"{WEIGHT.label}_sum"]).rename_columns([*names, WEIGHT.label])
    return found.filter(pc.not_equal(found.column(WEIGHT.label), 0))


def _negated(rows: pa.Table) -> pa.Table:
    at = rows.column_names.index(WEIGHT.label)
    return rows.set_column(at, WEIGHT.label, pc.negate(rows.column(at)))


def now() -> datetime:
    return datetime.now(timezone.utc)
