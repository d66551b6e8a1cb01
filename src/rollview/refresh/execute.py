"""A refresh plan run stage by stage: steps are computed, rows are written, and the view advances, in one commit.

plan of a step → fitted to what is known by then → SELECT → rows kept
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cached_property
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from rollview.codegen.printer import printed
from rollview.delta.analysis.fan_out import before_consolidation, consolidating, most_rows
from rollview.delta.derivation import NEW, OLD, STEP, Step
from rollview.delta.passes.run_time import fitted
from rollview.engine.protocol import Frame, Kept, relation_name
from rollview.errors import InternalError
from rollview.limits import Limits
from rollview.plan.nodes import Node, Scan
from rollview.refresh.counted_here import counted_here
from rollview.state.top_rows import STORED
from rollview.state.writes import AppendRows, CountRows, UpsertRows, Write
from rollview.store.edits import Append, Edit, TakeCopies, Upsert
from rollview.store.protocol import Commit, Stamp
from rollview.strategy.plan import Advance, Compute, Put, RefreshPlan
from rollview.views.catalog import Catalog
from rollview.views.compiled import guarded
from rollview.views.definition import Vector, View
from rollview.views.relation import rows_at
from rollview.views.results import Ran

logger = logging.getLogger("rollview")


class TooManyRows(Exception):
    """A delta has more rows than it is worth to compute."""


class Execution:
    """One run of a plan between two vectors. It knows of relations what is computed by then: it is the ``Known`` of the
    passes that are applied at run time. ``given`` are rows that are known before, by the names of their relations, such
    as the changes; ``frames`` are relations that are not read at a version of the vectors.

    ``row_limit`` says how many rows a delta may have, if it has more than are always followed; TooManyRows is raised
    if it has more, before all of them are computed.
    """

    def __init__(
        self,
        catalog: Catalog,
        view: View,
        given: Mapping[str, Kept],
        before: Vector,
        after: Vector,
        *,
        frames: Mapping[str, Frame] | None = None,
        broadcasts_results: bool = True,
        row_limit: Callable[[], int] | None = None,
    ) -> None:
        self.catalog, self.view, self.row_limit = catalog, view, row_limit
        self.limits: Limits = catalog.limits
        self.broadcasts_results = broadcasts_results
        self.ran: list[Ran] = []
        self._kept: list[Kept] = []
        self._vectors = {OLD: before, NEW: after}
        self._frames: dict[str, Frame] = {**(frames or {}), **{name: rows.frame for name, rows in given.items()}}
        self._local: dict[str, pa.Table | None] = {name: rows.local for name, rows in given.items()}
        self._rows = {name: rows.rows for name, rows in given.items()}
        self._empty: dict[str, Step] = {}
        self._values: dict[tuple[str, str], Sequence[object] | None] = {}

    @cached_property
    def state(self) -> str:
        """The table of the view's stored rows."""
        return self.catalog.state(self.view.name)

    def run(self, plan: RefreshPlan, stamp: Stamp) -> Commit:
        """Runs the stages; the last one commits, with the vector in the stamp."""
        commit: Commit | None = None
        edits: list[Edit] = []
        for stage in plan.stages:
            if isinstance(stage, Compute):
                self._compute(stage.step)
            elif isinstance(stage, Put):
                rows = self._rows_of(stage.write)
                edits += [] if rows is None else [self._edit(stage.write, rows)]
            elif isinstance(stage, Advance):  # without edits, the commit just says how far the view has come
                commit = self.catalog.store.commit(self.state, edits, stamp)
            else:
                raise InternalError(f"{stage} is no stage of an incremental refresh")
        assert commit is not None
        return commit

    def computed(self, name: str, plan: Node) -> Kept | None:
        """The rows of a plan, kept until ``forget``; None if there can be none."""
        fitting, done = self._fitted(plan)
        kept = None if fitting is None else self._keep(name, fitting, delta=False)
        self._report(Ran(name, "", None if kept is None else kept.rows, done, _reads(fitting), fitting is None))
        return kept

    def derived(self, steps: Sequence[Step]) -> Kept | None:
        """The rows of the last one of some steps, kept until ``forget``; None if there can be none."""
        *before, last = steps
        for step in before:
            self._compute(step)
        return self.computed(last.name, last.plan)

    def forget(self) -> None:
        """The rows of the steps are needed no more."""
        self.catalog.engine.forget(self._kept)

    def _compute(self, step: Step) -> None:
        """Computes a step, unless it can have no rows."""
        plan, done = self._fitted(step.plan)
        rows = None if plan is None else self._keep(step.name, plan, delta=step.delta).rows
        if not rows:
            self._empty[f"{step.name} {STEP}"] = step
        self._report(Ran(step.name, step.what, rows, done, _reads(plan), plan is None))

    def _rows_of(self, write: Write) -> Frame | None:
        """The rows that are written; None if there can be none."""
        plan, done = self._fitted(write.rows)
        if plan is not None and (delta := before_consolidation(plan)) is not None and self._may_be_large(delta):
            kept = self._keep("delta", delta, delta=True)
            self._report(Ran("delta", "the change of the view", kept.rows, (), _reads(delta)))
            plan = consolidating(plan, _step_scan("delta", delta)) if kept.rows else None
        self._report(Ran("rows", write.what, None, done, _reads(plan), plan is None))
        if plan is None:
            return None
        self._provide(plan)
        return self.catalog.engine.select(plan, self._frames)

    def _edit(self, write: Write, rows: Frame) -> Edit:
        """The edit that the rows become."""
        if isinstance(write, AppendRows):
            return Append(rows)
        if isinstance(write, CountRows):
            return TakeCopies(rows, write.on, write.count)
        assert isinstance(write, UpsertRows)
        dialect = self.catalog.engine.dialect
        values = {column: printed(value, dialect) for column, value in write.set.items()}
        return Upsert(rows, write.on, values, None if write.gone is None else printed(write.gone, dialect))

    def _report(self, ran: Ran) -> None:
        self.ran.append(ran)
        logger.debug("%s: %s", self.view.title, ran)

    def _keep(self, step: str, plan: Node, *, delta: bool) -> Kept:
        """The rows of a step, computed once. Raises TooManyRows if it is a delta of too many rows."""
        counted = self._counted(plan) if delta else None
        engine, frame = self.catalog.engine, self._selected(plan)
        limit = self.row_limit if delta and counted is None else None
        done = engine.keep(frame) if limit is None else engine.keep_up_to(frame, limit)
        if done is None:
            raise TooManyRows
        self._kept.append(done)
        name = f"{step} {STEP}"
        self._frames[name], self._local[name], self._rows[name] = done.frame, done.local, done.rows
        return done

    def _counted(self, plan: Node) -> int | None:
        """The rows of a delta that may be large, if this process can count them. Raises TooManyRows if they are more
        than it is worth to compute."""
        if self.row_limit is None or not self._may_be_large(plan):
            return None
        limit = self.row_limit()
        counted = counted_here(plan, self._readable_here, limit)
        if counted is not None and counted > limit:
            raise TooManyRows
        return counted

    def _readable_here(self, scan: Scan) -> pa.Table | list[str] | None:
        """The rows of a relation in this process, or files with them that it can read."""
        if scan.version not in self._vectors:
            return self._local.get(relation_name(scan))
        if self.catalog.has(scan.table):
            return None
        version = self._vectors[scan.version][scan.table]
        files = self.catalog.store.files(scan.table, version)
        few = files and self.catalog.store.count(scan.table, version) <= self.limits.lookup_rows_most
        return files if few else None

    def _may_be_large(self, delta: Node) -> bool:
        """Whether a delta could have more rows than are always followed."""
        if self.row_limit is None:
            return False
        return most_rows(delta, self._number, self.bounds, self._copies) > self.limits.always_followed

    def _copies(self, scan: Scan, columns: Collection[str]) -> int | None:
        """The most rows of a change or step that agree on some columns, if its rows are in this process."""
        rows = self._local.get(relation_name(scan))
        if rows is None or not rows.num_rows:
            return None if rows is None else 0
        try:
            groups = rows.group_by(sorted(columns)).aggregate([([], "count_all")])
        except pa.ArrowNotImplementedError:  # arrays and structs are not grouped here
            return None
        most = pc.max(groups.column("count_all")).as_py()
        assert isinstance(most, int)
        return most

    def _number(self, scan: Scan) -> int | None:
        """The number of rows of a relation, if it is known without a query."""
        if scan.version not in self._vectors:
            return 0 if relation_name(scan) in self._empty else self._rows.get(relation_name(scan))
        table, version = self.catalog.stored(scan.table), self._vectors[scan.version].get(scan.table)
        if version is None:
            return None
        known = self.catalog.store.size(table, version) is not None
        return self.catalog.store.count(table, version) if known else None

    def _selected(self, plan: Node) -> Frame:
        self._provide(plan)
        return self.catalog.engine.select(plan, self._frames, [column.name for column in plan.columns])

    def _provide(self, plan: Node) -> None:
        """Finds the relations that a plan reads."""
        for scan in plan.walk():
            if isinstance(scan, Scan) and relation_name(scan) not in self._frames:
                self._frames[relation_name(scan)] = self._relation(scan)

    def _relation(self, scan: Scan) -> Frame:
        if scan.version == STORED:
            return self.catalog.store.read(self.state)
        if scan.version == STEP:  # a step that was not computed, whose columns are needed
            return self.catalog.engine.nothing(self._selected(self._empty[relation_name(scan)].plan))
        return rows_at(self.catalog, self.view.bases[scan.table], self._vectors[scan.version][scan.table])

    def _fitted(self, plan: Node) -> tuple[Node | None, tuple[str, ...]]:
        """The plan with what is known only now, None if it can have no rows; and what was done to it."""
        return guarded(lambda: fitted(plan, self, self.catalog.running))

    def is_empty(self, scan: Scan) -> bool:
        return relation_name(scan) in self._empty or self._rows.get(relation_name(scan)) == 0

    def values(self, scan: Scan, column: str) -> Sequence[object] | None:
        place = relation_name(scan), column
        if place not in self._values:
            rows = self._local.get(place[0])
            try:
                self._values[place] = None if rows is None else rows.column(column).unique().to_pylist()
            except (ValueError, OverflowError, pa.ArrowNotImplementedError):
                self._values[place] = None  # a year that Python does not know, or an array or struct
        return self._values[place]

    def is_small(self, scan: Scan) -> bool:
        if scan.version not in self._vectors:
            return self._local.get(relation_name(scan)) is not None
        version = self._vectors[scan.version].get(scan.table)
        size = None if version is None else self.catalog.store.size(self.catalog.stored(scan.table), version)
        return size is not None and size <= self.limits.broadcast_bytes

    def bounds(self, scan: Scan, column: str) -> tuple[Any, Any] | None:
        if scan.version not in self._vectors or self.catalog.has(scan.table):
            return None
        return self.catalog.store.bounds(scan.table, column, self._vectors[scan.version][scan.table])


def _reads(plan: Node | None) -> tuple[str, ...]:
    """The relations that a plan reads."""
    scans = () if plan is None else (node for node in plan.walk() if isinstance(node, Scan))
    return tuple(sorted({relation_name(scan) for scan in scans}))


def _step_scan(name: str, plan: Node) -> Scan:
    return Scan(name, plan.columns, tuple(column.name for column in plan.columns), version=STEP)
