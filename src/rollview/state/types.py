"""The types of the results of aggregates and window functions: the engine finds them once, and the view records them.

They are recorded by the names of columns, which are unique in a plan. A plan has columns of the same names whenever the
view is compiled again; if one is not recorded, this version of rollview compiles the view in another way.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import replace
from typing import Protocol

from sqlglot import exp

from rollview.delta.analysis.inexact import mean_in
from rollview.delta.analysis.lookback import sum_of
from rollview.delta.derivation import names_of
from rollview.delta.partials import ADD, COUNT, RECOMPUTE, ROWS, Added, Partial, Partials, exact
from rollview.plan.expressions import Expr
from rollview.plan.nodes import Aggregate, Column, Computed, Node, Window

#: The number of the way in which states are laid out. A view with another number is stored again by its next refresh.
FORMAT = 1


class Types(Protocol):
    """Gives the types of columns, as Spark writes them."""

    def of(self, plan: Node, columns: Sequence[Column]) -> dict[str, str]:
        """The types of some columns of a plan, by their names."""


class FoundTypes:
    """Types as the engine finds them, which gives those of all columns of a plan in their order."""

    def __init__(self, ask: Callable[[Node], Sequence[str]]) -> None:
        self._ask = ask
        self.found: dict[str, str] = {}

    def of(self, plan: Node, columns: Sequence[Column]) -> dict[str, str]:
        known = dict(zip((column.name for column in plan.columns), self._ask(plan), strict=True))
        found = {column.name: known[column.name] for column in columns}
        self.found |= found
        return found


class NotRecorded(LookupError):
    """The type of a column is not among those that were found when the view was made."""


class RecordedTypes:
    """Types as they were found when the view was made."""

    def __init__(self, found: Mapping[str, str]) -> None:
        self._found = found

    def of(self, plan: Node, columns: Sequence[Column]) -> dict[str, str]:
        try:
            return {column.name: self._found[column.name] for column in columns}
        except KeyError as error:
            raise NotRecorded(*error.args) from None


def window_types(plan: Node, types: Types) -> dict[str, str]:
    """The types of the columns that window functions make."""
    found: dict[str, str] = {}
    for node in plan.walk():
        if isinstance(node, Window):
            found |= _of_window(node, types)
    return found


def _of_window(node: Window, types: Types) -> dict[str, str]:
    found = types.of(node, [item.column for item in node.functions])
    means = [item for item in node.functions if isinstance(item.call, exp.Avg)]
    others = ((exp.Sum, sum_of), (exp.Max, mean_in))  # the sum of which a running mean is made, and a value of those
    more = tuple(
        replace(item, column=Column(named(item.column.name), ""), call=function(this=item.call.this.copy()))
        for item in means
        for function, named in others
    )
    return found | types.of(Window(node.input, more), [item.column for item in more]) if more else found


def added_up(plan: Node, types: Types) -> tuple[dict[str, Added], dict[str, str]]:
    """The aggregates of a plan that can be added up, by ``names_of``, and the types of what all of them make, and of
    what their means are of."""
    added: dict[str, Added] = {}
    kinds: dict[str, str] = {}
    for node in plan.walk():
        if isinstance(node, Aggregate) and node.sets is None:
            own, found = _of_aggregate(node, types)
            kinds |= own
            if found is not None:
                added[names_of(node)] = found
    return added, kinds


def _of_aggregate(node: Aggregate, types: Types) -> tuple[dict[str, str], Added | None]:
    """The types of an aggregate's results, and of what its means are of; and how its groups follow from sums and
    counts, None if they do not."""
    kinds = types.of(node, [item.column for item in node.aggregates]) if node.aggregates else {}
    partials = Partials()
    pairs = ((item, kinds[item.column.name]) for item in node.aggregates)
    results = {item.column.name: partials.finished(item, COUNT.name, kind) for item, kind in pairs}
    own = {p: f"{node.aggregates[0].column.name}{p.column.name}" for p in partials.found}  # unique in the plan
    values = [Computed(Column(name, name), p.value) for p, name in own.items()]
    means = [(mean_in(item.column.name), mean) for item in node.aggregates if (mean := item.value.find(exp.Avg))]
    values += [Computed(Column(name, ""), exp.Max(this=mean.this.copy())) for name, mean in means]
    stored = Aggregate(node.input, (), tuple(values))
    found = types.of(stored, [item.column for item in values]) if values else {}
    averaged = averaged_in(node)
    settled = [settled_partial(p, found[name], averaged) for p, name in own.items()]
    kinds |= {name: found[name] for name, _ in means}
    if any(partial.combine != ADD for partial in settled):
        return kinds, None
    return kinds, Added(tuple(settled), ROWS, results)


def made_types(node: Node, types: Types) -> dict[str, str]:
    """The types of what one aggregate or window operator makes, and of what its means are of."""
    if isinstance(node, Window):
        return _of_window(node, types)
    return _of_aggregate(node, types)[0] if isinstance(node, Aggregate) else {}


def averaged_in(node: Aggregate) -> set[Expr]:
    """The values of which an aggregate operator computes the mean."""
    return {item.value.this for item in node.aggregates if isinstance(item.value, exp.Avg)}


def settled_partial(partial: Partial, kind: str, averaged: Set[Expr]) -> Partial:
    """A sum is added to only if its type allows it."""
    if partial.combine != ADD or not isinstance(partial.value, exp.Sum):
        return partial
    mean = partial.value.this in averaged
    return partial if exact(kind, mean=mean) else replace(partial, change=None, combine=RECOMPUTE)
