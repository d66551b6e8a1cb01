"""Restrict an aggregate that is joined to the keys of its join partners.

Before: ``multi join a = b, b = c (lineitem [a], filter brand over part [b], aggregate by c over lineitem [c])``.
After: the aggregate is over ``restrict c <=> k1 (lineitem, distinct b of filter brand over part)``.
So only the affected groups of that brand are computed. Only unchanged partners with a filter are used, directly or as
the right side of a semi join with another partner.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import permutations

from sqlglot import exp

from rollview.delta.derivation import Derivation, Keys
from rollview.delta.rules.join import plain
from rollview.plan.expressions import Expr, conjuncts, equal_groups, ref
from rollview.plan.nodes import INNER, SEMI, Aggregate, Filter, Join, MultiJoin, Node, Project
from rollview.plan.rewrite import apply_rule


def focused(plan: Node, derivation: Derivation) -> Node:
    def rule(node: Node) -> Node | None:
        if not isinstance(node, Join | MultiJoin) or node.kind != INNER:
            return None
        parts = list(node.inputs)
        for place, part in enumerate(parts):
            others = [other for other in node.inputs if other is not node.inputs[place]]
            for partner, names in (found for other in others for found in _partners(other)):
                if not derivation.touches(partner):
                    part = _of_keys(part, _pairs(node, names), partner, derivation)
            parts[place] = part
        return node.with_inputs(parts) if any(a is not b for a, b in zip(parts, node.inputs, strict=True)) else None

    return apply_rule(plan, rule)


def _partners(part: Node) -> Iterator[tuple[Node, dict[str, str]]]:
    """Filtered tables that restrict the input and are cheap to read once more: the input itself, or the right side of
    a semi join with it; each with the input's columns mapped to its own equal columns."""
    if plain(part) and any(isinstance(node, Filter) for node in part.walk()):
        yield part, {name: name for name in part.names}
    elif isinstance(part, Join) and part.kind == SEMI:
        yield from _partners(part.left)
        equal = equal_groups(list(conjuncts(part.condition)))
        columns = [[value.name for value in group if isinstance(value, exp.Column)] for group in equal]
        pairs = [pair for group in columns for pair in permutations(group, 2)]
        for partner, names in _partners(part.right):
            yield partner, {a: names[b] for a, b in pairs if a in part.left.names and b in names}


def _pairs(node: Join | MultiJoin, names: dict[str, str]) -> dict[str, Expr]:
    """Maps columns of the join to the partner's columns that they equal."""
    pairs: dict[str, Expr] = {}
    for mine, theirs in (pair for group in equal_groups(node.conditions) for pair in permutations(group, 2)):
        if isinstance(mine, exp.Column) and mine.name in names and isinstance(theirs, exp.Column):
            pairs[theirs.name] = ref(names[mine.name])
    return pairs


def _of_keys(part: Node, pairs: dict[str, Expr], partner: Node, derivation: Derivation) -> Node:
    if isinstance(part, Filter):
        return part.with_inputs([_of_keys(part.input, pairs, partner, derivation)])
    if isinstance(part, Project):
        values = {item.column.name: item.value for item in part.output}
        below = {values[name].name: mine for name, mine in pairs.items() if isinstance(values.get(name), exp.Column)}
        return part.with_inputs([_of_keys(part.input, below, partner, derivation)])
    if not isinstance(part, Aggregate) or part.sets is not None or not derivation.touches(part):
        return part
    tied = [(item.value, pairs[item.column.name]) for item in part.keys if item.column.name in pairs]
    if not tied:
        return part
    keys = derivation.keys(derivation.new(partner), [ref(mine.name) for _, mine in tied])
    matched = tuple((value, name) for (value, _), (_, name) in zip(tied, keys.pairs, strict=True))
    return replace(part, input=Keys(keys.plan, matched).restrict(part.input))
