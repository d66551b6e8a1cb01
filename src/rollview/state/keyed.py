"""Rows that a key tells apart: a row for each row of the query, with hidden key columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from sqlglot import exp

from rollview.delta.analysis.inexact import is_exact, only_at_top
from rollview.delta.derivation import CHANGE
from rollview.delta.weights import consolidated
from rollview.frontend.query import CompiledView
from rollview.plan.expressions import ref
from rollview.plan.nodes import Column, Computed, Filter, Node, Ordering, Project, Window, WindowFunction
from rollview.plan.reserved import DELETED, WEIGHT
from rollview.state.columns import ONE, feed_of, labelled, relabelled, scan_of, stored_names, text_of
from rollview.state.state import Followed, Shown, State
from rollview.state.view_delta import SignedRows, ViewDelta
from rollview.state.writes import AppendRows, UpsertRows, Write


@dataclass(frozen=True)
class Keyed(State):
    """A row for each row of the query."""

    kind: ClassVar[str] = "keyed"

    @property
    def is_inexact(self) -> bool:
        """Whether rows hold values that are not the same when computed again."""
        return not is_exact(self.followed.plan, self.followed.kinds)

    @property
    def has_one_value_each(self) -> bool:
        return only_at_top(self.followed.plan, self.followed.kinds)

    def take(self, delta: ViewDelta) -> Write:
        assert isinstance(delta, SignedRows)
        if delta.grows:
            return AppendRows(labelled(delta.rows, self.plan.columns))
        net = delta.rows if delta.settled else consolidated(delta.rows)
        return UpsertRows(self._latest(net), self.on)

    def _latest(self, net: Node) -> Node:
        """For each key the row that it has now, or that it has none."""
        keys = tuple(ref(c.name) for c in self.plan.columns if c.label in self.on)
        order = (Ordering(ref(WEIGHT.name), descending=True, nulls_first=False),)
        number = Column("__rank", "__rank")
        ranked = Window(net, (WindowFunction(number, exp.RowNumber(), keys, order),))
        first = Filter(ranked, exp.EQ(this=ref(number.name), expression=exp.Literal.number(1)))
        gone = Computed(DELETED, exp.LT(this=ref(WEIGHT.name), expression=exp.Literal.number(0)))
        return labelled(first, self.plan.columns, (gone,))


def keyed_root(compiled: CompiledView) -> tuple[Node, tuple[str, ...]]:
    """The rows with their key, and the key's columns. One row at most has a key, too, so that it can be merged on."""
    root, key = compiled.keyed.plan, compiled.keyed.key or ()
    if key:
        return root, key
    passed = (Computed(column, ref(column.name)) for column in root.columns)
    return Project(root, (*passed, Computed(ONE, exp.Literal.number(1)))), (ONE.name,)


def keyed(compiled: CompiledView, labels: Sequence[str], dialect: str, rows: Node | None = None) -> Keyed:
    """The state of a query whose rows have a key; of some of the ``rows`` of its plan, if they are given."""
    root, key = keyed_root(compiled)
    visible = [column for column in compiled.keyed.plan.columns if column.name not in compiled.keyed.hidden]
    names = stored_names((rows or root).columns, [column.name for column in visible])
    plan = relabelled(rows or root, names)
    shown = tuple(Computed(column, ref(column.name)) for column in visible)
    query = text_of(Project(scan_of(plan), shown), labels, dialect)
    changes = Project(scan_of(plan, CHANGE), (*shown, Computed(WEIGHT, ref(WEIGHT.name))))
    feed = feed_of(changes, labels, dialect)
    picked = tuple(names[column.name] for column in visible)
    return Keyed(plan, tuple(names[name] for name in key), Shown(query, feed, picked), Followed(root))
