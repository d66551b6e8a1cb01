"""The general rule: restricted recomputation.

    K     = the keys of the output that a change can touch
    Δ(N)  = N(inputsⁿᵉʷ ⋉ K)  −  N(inputsᵒˡᵈ ⋉ K)

Right for every operator whose rows with one key depend on the input rows with that key alone:

| operator | K |
|---|---|
| aggregate | the touched groups; without GROUP BY, the one group |
| distinct, EXCEPT, INTERSECT (ALL or not) | the touched rows |
| window | the touched partitions; without PARTITION BY, all rows |
| ORDER BY … LIMIT | all rows |
"""

from __future__ import annotations

from collections.abc import Sequence

from rollview.delta.deriving import Deriving, Keys, NotMaintained
from rollview.delta.weights import consolidated, together, weighted
from rollview.plan.expressions import Expr, ref
from rollview.plan.nodes import Aggregate, Column, Computed, Distinct, Limit, Node, Project, SetOperation, Window


def recomputed(node: Node, keys: Sequence[Keys], deriving: Deriving, what: str) -> Node:
    """The operator over its restricted inputs, after and before, as a step of its own."""
    after = node.with_inputs([k.restrict(deriving.new(side)) for k, side in zip(keys, node.inputs, strict=True)])
    before = node.with_inputs([k.restrict(deriving.old(side)) for k, side in zip(keys, node.inputs, strict=True)])
    difference = together([weighted(after, 1), weighted(before, -1)], node.columns)
    assert difference is not None
    return deriving.step(what, consolidated(difference), f"change of {node.title} {node.details}")


def aggregate(node: Aggregate, deriving: Deriving) -> Node | None:
    if node.sets is not None:
        raise NotMaintained("operator_not_incremental", "grouping sets over keys that are not plain columns")
    below = deriving.delta(node.input)
    if below is None:
        return None
    keys = touched_groups(node, below, deriving)
    return recomputed(node, [keys], deriving, "groups")


def touched_groups(node: Aggregate, below: Node, deriving: Deriving) -> Keys:
    return deriving.keys(below, [item.value for item in node.keys])


def distinct(node: Distinct, deriving: Deriving) -> Node | None:
    below = deriving.delta(node.input)
    if below is None:
        return None
    keys = deriving.keys(below, [ref(column.name) for column in node.columns])
    return recomputed(node, [keys], deriving, "distinct")


def set_operation(node: SetOperation, deriving: Deriving) -> Node | None:
    terms: list[Node | None] = []
    for side in node.inputs:
        below = deriving.delta(side)
        pairs = zip(node.output, side.columns, strict=True)
        terms.append(None if below is None else Project(below, tuple(Computed(o, ref(c.name)) for o, c in pairs)))
    rows = _union(terms, node.output)
    if rows is None:
        return None
    keys = deriving.keys(rows, [ref(column.name) for column in node.output])
    sides = []
    for side in node.inputs:
        names = [key for _, key in keys.pairs]
        sides.append(Keys(keys.plan, tuple((ref(c.name), k) for c, k in zip(side.columns, names, strict=True))))
    return recomputed(node, sides, deriving, "rows")


def _union(terms: Sequence[Node | None], output: tuple[Column, ...]) -> Node | None:
    from rollview.plan.nodes import UnionAll

    there = [term for term in terms if term is not None]
    return there[0] if len(there) == 1 else UnionAll(there[0], there[1], output) if there else None


def window(node: Window, deriving: Deriving) -> Node | None:
    by = partitions(node)
    if len(by) > 1:  # one partitioning after the other
        chained: Node = node.input
        for group in by:
            chained = Window(chained, group)
        return deriving.delta(chained)
    below = deriving.delta(node.input)
    if below is None:
        return None
    keys = deriving.keys(below, partition_of(node))
    return recomputed(node, [keys], deriving, "partitions")


def partition_of(node: Window) -> list[Expr]:
    return list(node.functions[0].value.args.get("partition_by") or ())


def partitions(node: Window) -> list[tuple[Computed, ...]]:
    """The functions, together where they have the same PARTITION BY."""
    groups: dict[tuple[Expr, ...], list[Computed]] = {}
    for item in node.functions:
        groups.setdefault(tuple(item.value.args.get("partition_by") or ()), []).append(item)
    return [tuple(group) for group in groups.values()]


def limit(node: Limit, deriving: Deriving) -> Node | None:
    if deriving.delta(node.input) is None:
        return None
    return recomputed(node, [Keys(node, ())], deriving, "limit")
