"""Aggregates: new minus old values of the affected groups.

Counts and sums of exact numbers need only one scan of the affected groups' new rows: subtracting the change gives the
old values.

    K     = the affected groups
    G     = γ(inputⁿᵉʷ ⋉ K  ∪  −Δinput)      for each affected group, its new values and its old values
    Δ(γ)  = G's new values  −  G's old values

Other aggregates are computed over both the new and the old rows of the affected groups: see ``recompute``.
"""

from __future__ import annotations

from sqlglot import exp

from rollview.delta.derivation import NEW, Derivation, Keys, NotMaintained
from rollview.delta.partials import Added, Partial
from rollview.delta.rules.join import one_changed
from rollview.delta.rules.recompute import affected_keys, recomputed
from rollview.delta.weights import one_by_one
from rollview.plan.expressions import Expr, conjunction, ref, replace_columns
from rollview.plan.nodes import Aggregate, Column, Computed, Filter, Generate, Node, Project, UnionAll
from rollview.plan.reserved import WEIGHT

_BOOLEAN = exp.DataType.build("boolean")

#: True for new rows of the input, false for rows of the change that is subtracted.
_NOW = Column("__now", "__now", _BOOLEAN)

#: Whether a group exists now, and whether it existed before.
_IS, _WAS = Column("__is", "__is", _BOOLEAN), Column("__was", "__was", _BOOLEAN)

_COPY = Column("__copy", "__copy")


def aggregate(node: Aggregate, derivation: Derivation) -> Node | None:
    if node.sets is not None:
        raise NotMaintained("operator_not_incremental", "grouping sets over keys that are not plain columns")
    if derivation.is_whole(node):
        return _change(node, before_and_after(node, derivation))
    added = derivation.added_up(node)
    if added is None or not one_changed(node.input, derivation):
        keys = affected_groups(node, derivation)
        return None if keys is None else recomputed(node, [keys], derivation, "groups")
    delta = derivation.delta(node.input)
    if delta is None:
        return None
    delta = derivation.materialized(delta)
    keys = derivation.keys(delta, [item.value for item in node.keys])
    both = _both(node, added, keys.restrict(derivation.new(node.input)), delta)
    return derivation.step("groups", _change(node, both), f"delta of {node.title} {node.details}")


def affected_groups(node: Aggregate, derivation: Derivation) -> Keys | None:
    """The groups that a change can affect; None if nothing below changed."""
    return affected_keys(node.input, [item.value for item in node.keys], derivation)


def before_and_after(node: Aggregate, derivation: Derivation) -> Node:
    """All groups with their new and old values, as a step of its own."""
    added, delta = derivation.added_up(node), derivation.delta(node.input)
    assert added is not None
    assert delta is not None
    both = _both(node, added, derivation.new(node.input), derivation.materialized(delta))
    return derivation.step("both", both, f"new and old values of {node.title} {node.details}")


def whole_groups(node: Aggregate, derivation: Derivation, version: str) -> Node:
    """The new or the old groups, from the step that has both."""
    both, now = before_and_after(node, derivation), version == NEW
    values = {c.name: ref(c.name if now else _was(c.name)) for c in (item.column for item in node.aggregates)}
    kept = tuple(Computed(c, values.get(c.name, ref(c.name))) for c in node.columns)
    return Project(Filter(both, ref((_IS if now else _WAS).name)), kept)


def _change(node: Aggregate, both: Node) -> Node:
    """Two rows for each changed group: its new values with weight +1, its old values with weight −1."""
    series = exp.GenerateSeries(start=exp.Literal.number(0), end=exp.Literal.number(1))
    twice = Generate(Filter(both, _differs(node)), exp.Explode(this=series), (_COPY,))
    now = exp.EQ(this=ref(_COPY.name), expression=exp.Literal.number(1))

    def either(a: Expr, b: Expr) -> Expr:
        return exp.Case(ifs=[exp.If(this=now.copy(), true=a)], default=b)

    existing = Filter(twice, either(ref(_IS.name), ref(_WAS.name)))
    results = {item.column.name: either(ref(item.column.name), ref(_was(item.column.name))) for item in node.aggregates}
    kept = [Computed(c, results.get(c.name, ref(c.name))) for c in node.columns]
    sign = exp.Cast(this=either(exp.Literal.number(1), exp.Literal.number(-1)), to=WEIGHT.type.copy())
    return Project(existing, (*kept, Computed(WEIGHT, sign)))


def _both(node: Aggregate, added: Added, rows: Node, delta: Node) -> Node:
    """The groups of these rows, with their new values and, after subtracting the delta, their old values."""
    own = tuple(Computed(c, ref(c.name)) for c in node.input.columns)
    one = exp.Cast(this=exp.Literal.number(1), to=WEIGHT.type.copy())
    now = Project(rows, (*own, Computed(WEIGHT, one), Computed(_NOW, exp.true())))
    unit = one_by_one(delta)
    back = Project(unit, (*own, Computed(WEIGHT, exp.Neg(this=ref(WEIGHT.name))), Computed(_NOW, exp.false())))
    together_ = UnionAll(now, back, (*node.input.columns, WEIGHT, _NOW))
    values: list[Computed] = []
    after: dict[str, Expr] = {}
    before: dict[str, Expr] = {}
    for partial in (*added.partials, added.rows):
        name = partial.column.name
        values += [
            Computed(Column(f"{name}_a", ""), _masked(partial)),
            Computed(Column(f"{name}_b", ""), _signed(partial)),
        ]
        after[name], before[name] = ref(f"{name}_a"), ref(f"{name}_b")
    groups = Aggregate(together_, node.keys, tuple(values))
    output = [Computed(item.column, ref(item.column.name)) for item in node.keys]
    for item in node.aggregates:
        result = added.results[item.column.name]
        output.append(Computed(item.column, replace_columns(result, after)))
        was = Column(_was(item.column.name), "", item.column.type)
        output.append(Computed(was, replace_columns(result, before)))
    for flag, found in ((_IS, after), (_WAS, before)):
        exists = exp.GT(this=found[added.rows.column.name], expression=exp.Literal.number(0))
        output.append(Computed(flag, exists if node.keys else exp.true()))
    return Project(groups, tuple(output))


def _was(name: str) -> str:
    return f"{name}_was"


def _differs(node: Aggregate) -> Expr:
    """The condition that a group changed."""
    same = [exp.NullSafeEQ(this=ref(i.column.name), expression=ref(_was(i.column.name))) for i in node.aggregates]
    unchanged = conjunction([ref(_IS.name), ref(_WAS.name), *same])
    assert unchanged is not None
    return exp.Not(this=exp.Paren(this=unchanged))


def _masked(partial: Partial) -> Expr:
    """The new value: over new rows only."""
    value = partial.value.this
    if isinstance(value, exp.Star):
        value = exp.Literal.number(1)
    return type(partial.value)(this=exp.Case(ifs=[exp.If(this=ref(_NOW.name), true=value.copy())]))


def _signed(partial: Partial) -> Expr:
    """The old value: over all rows, with the change subtracted; the count of no rows is 0."""
    assert partial.change is not None
    if isinstance(partial.value, exp.Count):
        return exp.Coalesce(this=partial.change.copy(), expressions=[exp.Literal.number(0)])
    return partial.change
