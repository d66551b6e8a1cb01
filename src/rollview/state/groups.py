"""Groups: a row for each group of the aggregate that the query ends in.

A group also stores what a change can be added to: the number of its rows, sums and counts. See ``delta/partials``. What
the query computes from them is stored, too: readers need not compute, whatever their session's settings are. Only
ORDER BY … LIMIT above groups is left to the readers, because any group may come to be among the first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from sqlglot import exp

from rollview.delta.analysis.inexact import is_exact
from rollview.delta.derivation import CHANGE
from rollview.delta.partials import ADD, COUNT, GREATEST, LEAST, Partial, Partials, combined
from rollview.plan.expressions import Expr, ref, replace_columns
from rollview.plan.nodes import Aggregate, Column, Computed, Filter, Node, Project
from rollview.plan.reserved import DELETED, WEIGHT
from rollview.state.columns import ONE, feed_of, scan_of, text_of
from rollview.state.finish import SHOWN, Finish, computed_columns, group_labels, order_columns
from rollview.state.state import Followed, Shown, State
from rollview.state.types import Types, averaged_in, settled_partial
from rollview.state.view_delta import AffectedGroups, GroupSums, ViewDelta
from rollview.state.writes import UpsertRows, Write


@dataclass(frozen=True)
class Groups(State):
    """``root`` is the aggregate; ``partials`` are its stored sums, counts and other values, ``computed`` the stored
    columns that follow from the others."""

    kind: ClassVar[str] = "groups"
    root: Aggregate
    partials: tuple[Partial, ...]
    computed: tuple[Computed, ...]

    @property
    def has_one_value_each(self) -> bool:
        return is_exact(self.root.input, self.followed.kinds)

    def take(self, delta: ViewDelta) -> Write:
        if isinstance(delta, GroupSums):
            return self.added(delta.rows)
        assert isinstance(delta, AffectedGroups)
        if not self.root.keys:
            return UpsertRows(self._stored(delta.rows), self.on)
        gone = Computed(DELETED, exp.Is(this=ref(COUNT.name), expression=exp.null()))
        return UpsertRows(self._stored(delta.rows, (gone,)), self.on)

    def added(self, sums: Node, more: Sequence[Column] = ()) -> UpsertRows:
        """Sums and counts are added to stored groups; new groups are inserted. ``more`` columns are passed on."""
        together = {COUNT.name: _sum(self.label(COUNT.name))}
        together |= {p.column.name: _combined(p, self.label(p.column.name)) for p in self.partials}
        given = {key.column.name: _of("s", self.label(key.column.name)) for key in self.root.keys}
        values = {self.label(name): value for name, value in together.items()}
        for partial in self.partials:
            if partial.known is not None:  # the sum of no values is NULL, not zero
                some = exp.GT(this=together[partial.known].copy(), expression=exp.Literal.number(0))
                value = together[partial.column.name].copy()
                values[self.label(partial.column.name)] = exp.Case(ifs=[exp.If(this=some, true=value)])
        values |= {item.column.label: replace_columns(item.value, together | given) for item in self.computed}
        none = exp.EQ(this=exp.Paren(this=together[COUNT.name]), expression=exp.Literal.number(0))
        rows = self._stored(sums, [Computed(column, ref(column.name)) for column in more])
        return UpsertRows(rows, self.on, values, none if self.root.keys else None)

    def _stored(self, rows: Node, more: Sequence[Computed] = ()) -> Node:
        """The stored columns of groups: partials, the constant key of the one group, and what follows from them."""
        made = {item.column.name: item.value for item in self.computed}
        output = []
        for column in self.plan.columns:
            value = made.get(column.name) or (ref(column.name) if column.name in rows.names else exp.Literal.number(1))
            output.append(Computed(column, value))
        return Project(rows, (*output, *more))


def groups(plan: Node, finish: Finish, types: Types, names: Sequence[str], dialect: str) -> Groups:
    """The state of a query that ends in groups; its visible columns have these names."""
    root, partials = finish.root, Partials()
    kinds = types.of(root, [item.column for item in root.aggregates])
    results = {i.column.name: partials.finished(i, COUNT.name, kinds[i.column.name]) for i in root.aggregates}
    results |= {key.column.name: ref(key.column.name) for key in root.keys}
    wanted = {column.name: replace_columns(finish.values[column.name], results) for column in plan.columns}
    stored = tuple(Computed(p.column, p.value) for p in partials.found)
    whole: Node = Aggregate(root.input, root.keys, (*stored, Computed(COUNT, exp.Count(this=exp.Star()))))
    if not root.keys:  # the one group has a key, too, so that it can be merged on
        passed = (Computed(c, ref(c.name)) for c in whole.columns)
        whole = Project(whole, (Computed(ONE, exp.Literal.number(1)), *passed))
    computed = computed_columns(plan, wanted, finish, results, whole.names)
    labels = group_labels(plan, wanted, whole)
    passed_on = tuple(Computed(Column(c.name, labels[c.name], c.type), ref(c.name)) for c in whole.columns)
    state_plan = Project(whole, (*passed_on, *computed))
    found = types.of(state_plan, [p.column for p in partials.found])
    averaged = averaged_in(root)
    settled = tuple(settled_partial(p, found[p.column.name], averaged) for p in partials.found)
    on = tuple(labels[key.column.name] for key in root.keys) or (ONE.label,)
    shown = _shown(plan, finish, state_plan, wanted, results, names, dialect)
    return Groups(state_plan, on, shown, Followed(root), root, settled, computed)


def _shown(
    plan: Node,
    finish: Finish,
    state_plan: Node,
    wanted: Mapping[str, Expr],
    results: Mapping[str, Expr],
    names: Sequence[str],
    dialect: str,
) -> Shown:
    """How readers see the groups."""
    seen = {
        name: ref(value.name) if isinstance(value, exp.Column) else ref(f"__v_{name}") for name, value in wanted.items()
    }
    limit = finish.limit
    terms = zip(limit.order, order_columns(finish, results), strict=True) if limit is not None else ()
    order = tuple(replace(term, value=value) for term, value in terms)

    def read(version: str) -> Project:
        node: Node = scan_of(state_plan, version)
        if finish.having is not None:
            node = Filter(node, ref(SHOWN.name))
        if limit is not None:
            node = replace(limit, input=node, order=order)
        weight = (Computed(WEIGHT, ref(WEIGHT.name)),) if version == CHANGE else ()
        return Project(node, (*(Computed(c, seen[c.name]) for c in plan.columns), *weight))

    feed = None if limit is not None else feed_of(read(CHANGE), names, dialect)
    picked = None
    if finish.having is None and limit is None:
        stored_as = {column.name: column.label for column in state_plan.columns}
        picked = tuple(stored_as[seen[column.name].name] for column in plan.columns)
    return Shown(text_of(read(""), names, dialect), feed, picked)


def _sum(column: str) -> Expr:
    """The stored and the given value together; a value that is not known counts nothing."""
    stored, given = _of("t", column), _of("s", column)
    return combined(stored, given, exp.Add(this=stored, expression=given))


def _combined(partial: Partial, name: str) -> Expr:
    """Two stored values of a group as one."""
    if partial.combine == ADD:
        return _sum(name)
    kind: type[exp.Func] = {LEAST: exp.Least, GREATEST: exp.Greatest}[partial.combine]
    stored, given = _of("t", name), _of("s", name)
    return combined(stored, given, kind(this=stored, expressions=[given]))


def _of(alias: str, column: str) -> Expr:
    return exp.Column(this=exp.to_identifier(column, quoted=True), table=exp.to_identifier(alias))
