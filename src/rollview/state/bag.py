"""Rows without a key: equal rows share one stored row, whose hidden ``__n`` says how many they are.

Several stored rows may be equal: new rows are appended without a look at what is there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from sqlglot import exp

from rollview.delta.analysis.inexact import is_exact, of_a_bag
from rollview.delta.derivation import CHANGE
from rollview.delta.partials import COUNT
from rollview.delta.weights import consolidated
from rollview.frontend.query import CompiledView
from rollview.plan.expressions import ref
from rollview.plan.nodes import Aggregate, Column, Computed, Generate, Node, Project
from rollview.plan.reserved import WEIGHT
from rollview.state.columns import feed_of, labelled, relabelled, scan_of, stored_names, text_of
from rollview.state.state import Followed, Shown, State
from rollview.state.view_delta import SignedRows, ViewDelta
from rollview.state.writes import AppendRows, CountRows, Write


@dataclass(frozen=True)
class Bag(State):
    """A row for each row of the query, or for some equal ones."""

    kind: ClassVar[str] = "bag"

    @property
    def has_one_value_each(self) -> bool:
        return is_exact(self.followed.plan, of_a_bag(self.followed.kinds))

    def take(self, delta: ViewDelta) -> Write:
        assert isinstance(delta, SignedRows)
        columns = [column for column in self.plan.columns if column.name != COUNT.name]
        number = (Computed(COUNT, ref(WEIGHT.name)),)
        if delta.grows:
            return AppendRows(labelled(delta.rows, columns, number))
        net = delta.rows if delta.settled else consolidated(delta.rows)
        return CountRows(labelled(net, columns, number), self.on, self.label(COUNT.name))


def repeated(plan: Node) -> Generate:
    """The stored rows, each as often as its number says."""
    copy = Column("__copy", "__copy")
    series = exp.GenerateSeries(start=exp.Literal.number(1), end=ref(COUNT.name))
    return Generate(scan_of(plan), exp.Explode(this=series), (copy,))


def bag(compiled: CompiledView, labels: Sequence[str], dialect: str, rows: Node | None = None) -> Bag:
    """The state of a query whose rows have no key; of some of the ``rows`` of its plan, if they are given."""
    root = compiled.plan
    stored = rows or root
    visible = [column for column in compiled.keyed.plan.columns if column.name not in compiled.keyed.hidden]
    names = stored_names(stored.columns, [column.name for column in visible])
    counted = Aggregate(
        stored, tuple(Computed(c, ref(c.name)) for c in stored.columns), (Computed(COUNT, exp.Count(this=exp.Star())),)
    )
    plan = relabelled(counted, {**names, COUNT.name: COUNT.label})
    shown = tuple(Computed(column, ref(column.name)) for column in visible)
    query = text_of(Project(repeated(plan), shown), labels, dialect)
    times = Computed(WEIGHT, exp.Mul(this=ref(WEIGHT.name), expression=ref(COUNT.name)))
    feed = feed_of(Project(scan_of(plan, CHANGE), (*shown, times)), labels, dialect)
    on = tuple(names[column.name] for column in stored.columns)
    return Bag(plan, on, Shown(query, feed), Followed(root))
