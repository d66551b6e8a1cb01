"""A Δ-script run: its steps in order, each fitted to what is known by then, and the rows that the view is to get.

plan of a step → terms over empty steps dropped → small sides named → values of keys written in → SELECT → rows kept
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from rollview.delta.analysis.fan_out import before_consolidation, consolidating, most_rows
from rollview.delta.derivation import CHANGE, NEW, OLD, STEP, Step
from rollview.delta.passes.drop_empty import drop_empty
from rollview.delta.passes.literal_keys import literal_keys
from rollview.delta.passes.small_sides import small_sides
from rollview.engine.protocol import Frame, Kept, relation_name
from rollview.plan.nodes import Node, Scan
from rollview.strategy.script import STATE_VERSION, Script
from rollview.views.catalog import Catalog
from rollview.views.definition import Vector, View
from rollview.views.relation import base_rows


def _step_scan(name: str, plan: Node) -> Scan:
    return Scan(name, plan.columns, tuple(column.name for column in plan.columns), version=STEP)


class TooManyRows(Exception):
    """A delta has more rows than it is worth to compute."""


class Running:
    """One run of a script. ``kept`` is what the engine has to forget afterwards; ``sending`` says whether the engine is
    to broadcast results of joins. ``most`` says how many rows a delta may have, if more than are always followed;
    TooManyRows is raised if it has more, before all of them are computed."""

    def __init__(
        self,
        catalog: Catalog,
        view: View,
        changes: Mapping[str, Kept],
        before: Vector,
        after: Vector,
        kept: list[Kept],
        *,
        sending: bool = True,
        most: Callable[[], int] | None = None,
    ) -> None:
        self.catalog, self.view, self.kept, self.sending, self.most = catalog, view, kept, sending, most
        self._vectors = {OLD: before, NEW: after}
        self._changes = changes
        self._frames: dict[str, Frame] = {}
        self._local: dict[str, pa.Table | None] = {f"{t} {CHANGE}": change.local for t, change in changes.items()}
        self._rows = {f"{t} {CHANGE}": change.rows for t, change in changes.items()}
        self._empty: dict[str, Step] = {}
        self._values: dict[tuple[str, str], Sequence[object] | None] = {}

    def rows(self, script: Script) -> Frame | None:
        """What the last SELECT gives; None if it can have no rows."""
        for step in script.steps:
            self._take(step)
        plan = self._fitted(script.rows)
        if plan is None:
            return None
        delta = before_consolidation(plan)
        if delta is not None and self._may_be_large(delta):
            found = self._kept("delta", delta, delta=True)
            if not found.rows:
                return None
            plan = consolidating(plan, _step_scan("delta", delta))
        self._provide(plan)
        return self.catalog.engine.select(plan, self._frames)

    def _take(self, step: Step) -> None:
        """Computes a step, unless it can have no rows."""
        name, plan = f"{step.name} {STEP}", self._fitted(step.plan)
        if plan is None or not self._kept(step.name, plan, delta=step.delta).rows:
            self._empty[name] = step

    def _kept(self, step: str, plan: Node, *, delta: bool) -> Kept:
        """The rows of a step, computed once. Raises TooManyRows if it is a delta of too many rows."""
        engine, frame = self.catalog.engine, self._selected(plan)
        limit = self.most if delta else None
        done = engine.keep(frame) if limit is None else engine.keep_up_to(frame, limit)
        if done is None:
            raise TooManyRows
        self.kept.append(done)
        name = f"{step} {STEP}"
        self._frames[name], self._local[name], self._rows[name] = done.frame, done.local, done.rows
        return done

    def _may_be_large(self, delta: Node) -> bool:
        """Whether a delta could have more rows than are always followed."""
        if self.most is None:
            return False
        return most_rows(delta, self._number, self._bounds, self._copies) > self.catalog.limits.always_followed

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
        """The number of rows of a relation, if it is known without asking the engine."""
        if scan.version not in self._vectors:
            return 0 if relation_name(scan) in self._empty else self._rows.get(relation_name(scan))
        table, version = self.catalog.stored(scan.table), self._vectors[scan.version][scan.table]
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
        if scan.version == CHANGE:
            return self._changes[scan.table].frame
        if scan.version == STATE_VERSION:
            return self.catalog.store.read(self.catalog.state(self.view.name))
        if scan.version == STEP:  # a step that was not computed, of which the columns are needed
            return self.catalog.engine.nothing(self._selected(self._empty[relation_name(scan)].plan))
        version = self._vectors[scan.version][scan.table]
        return base_rows(self.catalog, self.view.bases[scan.table], version)

    def _fitted(self, plan: Node) -> Node | None:
        """The plan with what is known only now; None if it can have no rows."""
        there = drop_empty(plan, lambda scan: relation_name(scan) in self._empty)
        if there is None:
            return None
        sized = small_sides(there, self._is_small, results=self.sending)
        return literal_keys(sized, self._known, self._bounds, self.catalog.limits)

    def _known(self, scan: Scan, column: str) -> Sequence[object] | None:
        place = relation_name(scan), column
        if place not in self._values:
            rows = self._local.get(place[0])
            try:
                self._values[place] = None if rows is None else rows.column(column).unique().to_pylist()
            except (ValueError, OverflowError, pa.ArrowNotImplementedError):
                self._values[place] = None  # a year that Python does not know, or an array or struct
        return self._values[place]

    def _is_small(self, scan: Scan) -> bool:
        if scan.version not in self._vectors:
            return self._local.get(relation_name(scan)) is not None
        version = self._vectors[scan.version][scan.table]
        size = self.catalog.store.size(self.catalog.stored(scan.table), version)
        return size is not None and size <= self.catalog.limits.broadcast_bytes

    def _bounds(self, scan: Scan, column: str) -> tuple[Any, Any] | None:
        if scan.version not in self._vectors or self.catalog.has(scan.table):
            return None
        return self.catalog.store.bounds(scan.table, column, self._vectors[scan.version][scan.table])
