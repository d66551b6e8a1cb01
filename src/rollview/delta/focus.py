"""An aggregate that is joined is needed for the keys of its partners only.

Before: ``multi join a = b, b = c (lineitem [a], filter brand over part [b], aggregate by c over lineitem [c])``.
After: the aggregate is over ``join semi c <=> k1 (lineitem, distinct b of filter brand over part)``.
So of the touched groups only those of the brand are looked at. Only partners that did not change, and that a condition
makes small, are used; the rules for semi joins do the rest.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations

from sqlglot import exp

from rollview.delta.deriving import Deriving, Keys
from rollview.delta.join import plain
from rollview.plan.expressions import Expr, equal_groups, ref
from rollview.plan.nodes import INNER, Aggregate, Filter, Join, MultiJoin, Node, Project
from rollview.plan.normalising import apply_rule


def focused(plan: Node, deriving: Deriving) -> Node:
    def rule(node: Node) -> Node | None:
        if not isinstance(node, Join | MultiJoin) or node.kind != INNER:
            return None
        parts = list(node.inputs)
        for place, part in enumerate(parts):
            for partner in node.inputs:
                if partner is not node.inputs[place] and _selective(partner) and not deriving.touches(partner):
                    part = _narrowed(part, partner, node, deriving)
            parts[place] = part
        return node.with_inputs(parts) if any(a is not b for a, b in zip(parts, node.inputs, strict=True)) else None

    return apply_rule(plan, rule)


def _selective(partner: Node) -> bool:
    """Some rows of one table: to read it once more costs little."""
    return plain(partner) and any(isinstance(node, Filter) for node in partner.walk())


def _narrowed(part: Node, partner: Node, node: Join | MultiJoin, deriving: Deriving) -> Node:
    """The aggregate in this input, if there is one, over the rows with the partner's keys."""
    pairs: dict[str, Expr] = {}
    for mine, theirs in (pair for group in equal_groups(node.conditions) for pair in permutations(group, 2)):
        if isinstance(mine, exp.Column) and mine.name in partner.names and isinstance(theirs, exp.Column):
            pairs[theirs.name] = mine
    return _of_keys(part, pairs, partner, deriving)


def _of_keys(part: Node, pairs: dict[str, Expr], partner: Node, deriving: Deriving) -> Node:
    if isinstance(part, Filter):
        return part.with_inputs([_of_keys(part.input, pairs, partner, deriving)])
    if isinstance(part, Project):
        values = {item.column.name: item.value for item in part.output}
        below = {values[name].name: mine for name, mine in pairs.items() if isinstance(values.get(name), exp.Column)}
        return part.with_inputs([_of_keys(part.input, below, partner, deriving)])
    if not isinstance(part, Aggregate) or part.sets is not None or not deriving.touches(part):
        return part
    tied = [(item.value, pairs[item.column.name]) for item in part.keys if item.column.name in pairs]
    if not tied:
        return part
    keys = deriving.keys(deriving.new(partner), [ref(mine.name) for _, mine in tied])
    matched = tuple((value, name) for (value, _), (_, name) in zip(tied, keys.pairs, strict=True))
    return replace(part, input=Keys(keys.plan, matched).restrict(part.input))
