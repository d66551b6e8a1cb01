"""The first rows in an order, with some to spare: see ``delta/rules/top_rows``.

They are stored by their key, or as a bag. ORDER BY … LIMIT is left to the readers: which of the stored rows are shown
may change without a change of theirs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from sqlglot import exp

from rollview.delta.analysis.inexact import is_exact, of_a_bag
from rollview.delta.partials import COUNT
from rollview.delta.rules.top_rows import First
from rollview.frontend.query import CompiledView
from rollview.plan.expressions import Expr, ref
from rollview.plan.nodes import Computed, Limit, Node, Project, Scan
from rollview.plan.reserved import STATE, WEIGHT
from rollview.state.bag import Bag, bag, repeated
from rollview.state.columns import scan_of, text_of
from rollview.state.keyed import Keyed, keyed
from rollview.state.state import Shown, State
from rollview.state.view_delta import ViewDelta
from rollview.state.writes import Write

#: The version of a scan that reads the rows which the view has stored.
STORED = "stored"


@dataclass(frozen=True)
class TopRows(State):
    """``rows`` says how they are stored, ``first`` of what they are the first."""

    kind: ClassVar[str] = "top_rows"
    rows: Keyed | Bag
    first: First

    @property
    def has_one_value_each(self) -> bool:
        kinds = self.followed.kinds
        return is_exact(self.followed.plan, of_a_bag(kinds) if isinstance(self.rows, Bag) else kinds)

    def take(self, delta: ViewDelta) -> Write:
        return self.rows.take(delta)

    @property
    def stored(self) -> Node:
        """The stored rows as a delta that brings them: how often each is there is its weight."""
        one = exp.Cast(this=exp.Literal.number(1), to=COUNT.type.copy())
        number: Expr = ref(COUNT.name) if isinstance(self.rows, Bag) else one
        own = tuple(Computed(column, ref(column.name)) for column in self.first.columns)
        scan = Scan(STATE, self.plan.columns, self.columns, version=STORED)
        return Project(scan, (*own, Computed(WEIGHT, number)))


def top_rows(compiled: CompiledView, first: First, labels: Sequence[str], dialect: str) -> TopRows:
    """The state of a query that shows the first rows of something."""
    make = bag if compiled.keyed.key is None else keyed
    rows: Keyed | Bag = make(compiled, labels, dialect, first.of(first.input))
    if first.limit:  # more are stored than are shown
        visible = [column for column in compiled.keyed.plan.columns if column.name not in compiled.keyed.hidden]
        stored = repeated(rows.plan) if isinstance(rows, Bag) else scan_of(rows.plan)
        top = Limit(stored, first.order, first.needed - first.skipped, first.skipped)
        query = text_of(Project(top, tuple(Computed(c, ref(c.name)) for c in visible)), labels, dialect)
        rows = replace(rows, shown=Shown(query, None))
    return TopRows(rows.plan, rows.on, rows.shown, rows.followed, rows, first)
