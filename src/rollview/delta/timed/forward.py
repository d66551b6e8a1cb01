"""The changes of one table, forwarded through a plan: the timed delta that they mean for its rows.

    Δ(R₁ ⋈ … ⋈ Rₙ)  =  Σᵢ  R₁′ ⋈ … ⋈ Rᵢ₋₁′ ⋈ ΔRᵢ ⋈ Rᵢ₊₁ ⋈ … ⋈ Rₙ      over the places i of the forwarded table

R is the table as it stood where it was forwarded to before, R′ as it stands after these changes; each is seen as
``sight`` has it. Other tables are the same before and after, and stand where they were forwarded to: nothing needs to
be compensated later. Filter, project, explode and UNION ALL are applied to the timed rows.

Before: ``multi join (orders, customers)``, orders forwarded. After: ``multi join (orders change, customers as seen)``,
with one weight and one time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from sqlglot import exp

from rollview.delta.derivation import CHANGE, NEW, OLD, NotMaintained
from rollview.delta.timed.sight import SEEN_TIME, SEEN_WEIGHT, Seen, Sights, Way, number, seen_scan, with_no_time
from rollview.delta.timed.timed_join import joined_delta, joined_seen
from rollview.plan.check import check
from rollview.plan.expressions import ref
from rollview.plan.nodes import (
    Column,
    Computed,
    Filter,
    Generate,
    Join,
    MultiJoin,
    Node,
    Project,
    Scan,
    UnionAll,
    exactly,
    union_of,
)
from rollview.plan.reserved import TIME, WEIGHT
from rollview.plan.types import converted


def forward_delta(plan: Node, table: str, sights: Sights, way: Way) -> Node | None:
    """The timed delta of a plan when the changes of one table are forwarded: its columns, ``__w`` and ``__t``. None if
    the plan does not read the table."""
    found = _Forward(table, sights, way).delta(plan)
    return None if found is None else check(exactly(found, (*plan.columns, WEIGHT, TIME)), "a timed delta rule")


class _Forward:
    def __init__(self, table: str, sights: Sights, way: Way) -> None:
        self._table, self._sights, self._way = table, sights, way
        self._deltas: dict[Node, Node | None] = {}
        self._seen: dict[tuple[Node, str], Seen] = {}

    def delta(self, node: Node) -> Node | None:
        """The timed delta; None if the table is not below."""
        if self._table not in node.tables:
            return None
        if node not in self._deltas:
            self._deltas[node] = self._delta_of(node)
        return self._deltas[node]

    def _delta_of(self, node: Node) -> Node | None:
        if isinstance(node, Scan):
            sources = (*node.sources, WEIGHT.label, TIME.label)
            return replace(node, output=(*node.output, WEIGHT, TIME), sources=sources, key=(), version=CHANGE)
        if isinstance(node, UnionAll):
            return self._union_delta(node)
        if isinstance(node, Join | MultiJoin):
            return self._join_delta(node)
        below = self.delta(node.inputs[0])
        assert below is not None
        return _linear(node, below, (WEIGHT, TIME))

    def _join_delta(self, node: Join | MultiJoin) -> Node:
        terms = []
        for place, side in enumerate(node.inputs):
            delta = self.delta(side)
            if delta is not None:
                before = [self.seen(other, NEW) for other in node.inputs[:place]]
                after = [self.seen(other, OLD) for other in node.inputs[place + 1 :]]
                terms.append(joined_delta(delta, [*before, *after], node.conditions, node.columns, self._way))
        return _union(terms, (*node.columns, WEIGHT, TIME))

    def _union_delta(self, node: UnionAll) -> Node:
        terms = []
        for side in node.inputs:
            below = self.delta(side)
            if below is None and converted(node):  # a side without rows of its own affects the type
                nothing = Filter(self.seen(side, NEW).plan, exp.false())
                own = tuple(Computed(column, ref(column.name)) for column in side.columns)
                below = Project(nothing, (*own, Computed(WEIGHT, number(1)), Computed(TIME, number(0))))
            if below is not None:
                terms.append(_renamed(below, side, node, (WEIGHT, TIME)))
        return _union(terms, (*node.output, WEIGHT, TIME))

    def seen(self, node: Node, when: str) -> Seen:
        """The rows of a plan as the query sees them, before or after the forwarded changes."""
        if not node.tables:
            return Seen(node, timed=False)
        if (node, when) not in self._seen:
            self._seen[node, when] = self._seen_of(node, when)
        return self._seen[node, when]

    def _seen_of(self, node: Node, when: str) -> Seen:
        if isinstance(node, Scan):
            sight = self._sights[node.table, when if node.table == self._table else NEW]
            return seen_scan(node, sight, self._way)
        inputs = [self.seen(child, when) for child in node.inputs]
        if isinstance(node, Join | MultiJoin):
            return joined_seen(inputs, node.conditions, node.columns, self._way)
        if not any(each.timed for each in inputs):
            return Seen(node.with_inputs([each.plan for each in inputs]), timed=False)
        if isinstance(node, UnionAll):
            sides = [each.plan if each.timed else with_no_time(each.plan, self._way) for each in inputs]
            marks = (SEEN_WEIGHT, SEEN_TIME)
            terms = [_renamed(plan, side, node, marks) for plan, side in zip(sides, node.inputs, strict=True)]
            return Seen(_union(terms, (*node.output, *marks)), timed=True)
        return Seen(_linear(node, inputs[0].plan, (SEEN_WEIGHT, SEEN_TIME)), timed=True)


def _linear(node: Node, below: Node, marks: tuple[Column, Column]) -> Node:
    """A linear operator over timed rows."""
    make = _LINEAR.get(type(node))
    if make is None:
        raise NotMaintained("operator_not_incremental", f"there is no timed delta rule for {node.title}")
    return make(node, below, tuple(Computed(column, ref(column.name)) for column in marks))


_LINEAR: dict[type[Node], Callable[..., Node]] = {
    Filter: lambda node, below, marks: Filter(below, node.condition),
    Project: lambda node, below, marks: Project(below, (*node.output, *marks)),
    Generate: lambda node, below, marks: Generate(below, node.generator, node.output, node.outer),
}


def _renamed(below: Node, side: Node, node: UnionAll, marks: tuple[Column, Column]) -> Node:
    """The timed rows of one side of a UNION ALL, under the names of its result."""
    pairs = zip(node.output, side.columns, strict=True)
    own = tuple(Computed(replace(out, type=column.type), ref(column.name)) for out, column in pairs)
    return Project(below, (*own, *(Computed(column, ref(column.name)) for column in marks)))


def _union(terms: list[Node], output: tuple[Column, ...]) -> Node:
    return union_of([exactly(term, output) for term in terms], output)
