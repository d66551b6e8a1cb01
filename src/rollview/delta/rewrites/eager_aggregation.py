"""Eager aggregation: if a LEFT JOIN is grouped by the left side's key, aggregate the right side before joining.

Before: ``aggregate by a [count(x)] over join left a = b (customers [a, its key], orders [b, x])``.
After: ``project a, coalesce(n, 0) over join left a = b (customers, aggregate by b [count(x) AS n] over orders)``.
Then a changed order affects only its own group, which is read once, and the join key is unique on the right.
Not if the argument of an aggregate is anything but a column of the right side: a padded row would count. Nor if an
aggregate is inexact: inexact values are allowed at the top of a view, but not below a join.
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from rollview.delta.analysis.inexact import is_inexact
from rollview.delta.derivation import Derivation, names_of
from rollview.delta.rules.join import key_equalities
from rollview.keys.facts import facts_of
from rollview.plan.expressions import Expr, conjunction, ref
from rollview.plan.nodes import LEFT, UNKNOWN, Aggregate, Column, Computed, Filter, Join, Node, Project
from rollview.plan.rewrite import apply_rule


def grouped_first(plan: Node, derivation: Derivation) -> Node:
    def rule(node: Node) -> Node | None:
        if not isinstance(node, Aggregate) or node.sets is not None or not node.keys:
            return None
        join = node.input
        if not isinstance(join, Join) or join.kind != LEFT or not derivation.touches(join.right):
            return None
        if any(i.column.name in derivation.kinds and is_inexact(i, derivation.kinds) for i in node.aggregates):
            return None
        return _rewritten(node, join, derivation) if _fits(node, join) else None

    return apply_rule(plan, rule)


def _fits(node: Aggregate, join: Join) -> bool:
    key = facts_of(join.left).key
    by = {item.value.name for item in node.keys if isinstance(item.value, exp.Column)}
    own = len(by) == len(node.keys) and by <= join.left.names and key is not None and key <= by
    return own and all(_of_a_column(item.value, join.right) for item in node.aggregates)


def _of_a_column(value: Expr, right: Node) -> bool:
    plain = isinstance(value, exp.Count | exp.Sum | exp.Avg | exp.Min | exp.Max) and not value.args.get("expressions")
    return plain and isinstance(value.this, exp.Column) and value.this.name in right.names


def _rewritten(node: Aggregate, join: Join, derivation: Derivation) -> Node | None:
    compared = key_equalities(join)
    if compared is None or not node.aggregates:
        return None
    pairs, own = compared
    condition = conjunction(own)
    rows = join.right if condition is None else Filter(join.right, condition)
    first = node.aggregates[0].column.name
    keys = tuple(Computed(Column(f"{first}_b{i}", "", b.type or UNKNOWN), b) for i, (_, b) in enumerate(pairs))
    made = tuple(replace(i, column=replace(i.column, name=_early(i.column.name))) for i in node.aggregates)
    groups = Aggregate(rows, keys, made)
    known = derivation.added_up(node)
    if known is not None:
        results = {_early(name): value for name, value in known.results.items()}
        derivation.added = {**derivation.added, names_of(groups): replace(known, results=results)}
    kinds = {_early(i.column.name): derivation.kinds.get(i.column.name) for i in node.aggregates}
    derivation.kinds = {**derivation.kinds, **{name: kind for name, kind in kinds.items() if kind is not None}}
    on = [exp.EQ(this=a.copy(), expression=ref(key.column.name)) for (a, _), key in zip(pairs, keys, strict=True)]
    joined = Join(LEFT, join.left, groups, conjunction(on))
    return Project(joined, (*node.keys, *(Computed(i.column, _padded(i)) for i in node.aggregates)))


def _early(name: str) -> str:
    return f"{name}_e"


def _padded(item: Computed) -> Expr:
    """The value for a left row without a group: 0 for a count, NULL for other aggregates."""
    early = ref(_early(item.column.name))
    if isinstance(item.value, exp.Count):
        return exp.Coalesce(this=early, expressions=[exp.Literal.number(0)])
    return early
