"""The general rule: restricted recomputation.

    K     = the keys of the output that a change can affect
    Δ(N)  = N(inputsⁿᵉʷ ⋉ K)  −  N(inputsᵒˡᵈ ⋉ K)

Right for every operator whose output rows with one key depend only on the input rows with that key:

| operator | K |
|---|---|
| aggregate | the affected groups; without GROUP BY, the single group |
| distinct, EXCEPT, INTERSECT (ALL or not) | the affected rows |
| window | the affected partitions; without PARTITION BY, all rows: see ``window`` |
| ORDER BY … LIMIT | all rows |
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from rollview.delta.affected_keys import all_affected
from rollview.delta.derivation import Derivation, Keys
from rollview.delta.weights import consolidated, together, weighted
from rollview.plan.expressions import Expr, ref
from rollview.plan.nodes import (
    Column,
    Computed,
    Distinct,
    Limit,
    Node,
    Project,
    SetOperation,
    UnionAll,
)


def recomputed(node: Node, keys: Sequence[Keys], derivation: Derivation, what: str) -> Node:
    """The operator over its restricted new inputs minus that over its restricted old inputs, as a step of its own."""
    after = node.with_inputs([k.restrict(derivation.new(side)) for k, side in zip(keys, node.inputs, strict=True)])
    before = node.with_inputs([k.restrict(derivation.old(side)) for k, side in zip(keys, node.inputs, strict=True)])
    difference = together([weighted(after, 1), weighted(before, -1)], node.columns)
    assert difference is not None
    return derivation.step(what, consolidated(difference), f"delta of {node.title} {node.details}".rstrip())


def affected_keys(below: Node, values: Sequence[Expr], derivation: Derivation) -> Keys | None:
    """The affected values of some expressions: for plain columns a superset, for others from the exact delta."""
    names = [value.name for value in values if isinstance(value, exp.Column)]
    if len(names) == len(values):
        rows = all_affected(below, list(dict.fromkeys(names)), derivation)
    else:
        rows = derivation.delta(below)
    if rows is None:
        return None
    return derivation.keys(derivation.materialized(rows) if values else rows, values)


def distinct(node: Distinct, derivation: Derivation) -> Node | None:
    keys = affected_keys(node.input, [ref(column.name) for column in node.columns], derivation)
    return None if keys is None else recomputed(node, [keys], derivation, "distinct")


def set_operation(node: SetOperation, derivation: Derivation) -> Node | None:
    terms: list[Node | None] = []
    for side in node.inputs:
        below = all_affected(side, [column.name for column in side.columns], derivation)
        pairs = zip(node.output, side.columns, strict=True)
        terms.append(None if below is None else Project(below, tuple(Computed(o, ref(c.name)) for o, c in pairs)))
    rows = _union(terms, node.output)
    if rows is None:
        return None
    keys = derivation.keys(derivation.materialized(rows), [ref(column.name) for column in node.output])
    sides = []
    for side in node.inputs:
        names = [key for _, key in keys.pairs]
        sides.append(Keys(keys.plan, tuple((ref(c.name), k) for c, k in zip(side.columns, names, strict=True))))
    return recomputed(node, sides, derivation, "rows")


def _union(terms: Sequence[Node | None], output: tuple[Column, ...]) -> Node | None:
    found = [term for term in terms if term is not None]
    return found[0] if len(found) == 1 else UnionAll(found[0], found[1], output) if found else None


def limit(node: Limit, derivation: Derivation) -> Node | None:
    if not derivation.touches(node):
        return None
    return recomputed(node, [Keys(node, ())], derivation, "limit")
