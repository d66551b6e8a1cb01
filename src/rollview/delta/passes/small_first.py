"""Order an inner join so that it starts with its small input and joins one table after the other to it.

Before: ``multi join a = b, c = d (customer [a] new, orders [b, c] new, lineitem [d] change)``.
After: ``join inner a = b (join inner c = d (lineitem change, orders new), customer new)``, each with a small left side,
which an engine can broadcast instead of shuffling the large table.
Deltas, earlier steps and tables restricted to affected keys are small. If no input is small, the order stays the
user's.
"""

from __future__ import annotations

from rollview.delta.derivation import cheap
from rollview.plan.expressions import Expr, conjunction, conjuncts, equality, names_in
from rollview.plan.nodes import CROSS, INNER, Filter, Join, MultiJoin, Node, Project, Restrict, exactly
from rollview.plan.reserved import WEIGHT
from rollview.plan.rewrite import apply_rule


def small_first(plan: Node) -> Node:
    return apply_rule(plan, _chained)


def _chained(node: Node) -> Node | None:
    if isinstance(node, MultiJoin):
        waiting, open_ = list(node.parts), list(node.conditions)
    elif isinstance(node, Join) and node.kind.is_inner and node.small is None:
        waiting, open_ = [node.left, node.right], conjuncts(node.condition)
    else:
        return None
    first = min(waiting, key=_size)
    if _size(first) > 1:
        return None
    waiting.remove(first)
    chain = first
    while waiting:
        so_far, left = chain, list(open_)
        part = min(waiting, key=lambda each: (_tie(so_far, each, left), _size(each)))
        waiting.remove(part)
        names = chain.names | part.names
        ready = [condition for condition in open_ if names_in(condition) <= names]
        open_ = [condition for condition in open_ if condition not in ready]
        chain = Join(INNER if ready else CROSS, chain, part, conjunction(ready), small="left" if ready else None)
    return exactly(chain, node.columns)


def _tie(chain: Node, part: Node, conditions: list[Expr]) -> int:
    """0 if an equality connects the input to the chain, 1 if another condition does, 2 if none does."""
    names = chain.names | part.names
    ties = [c for c in conditions if names_in(c) <= names and names_in(c) & chain.names and names_in(c) & part.names]
    return 2 if not ties else 0 if any(equality(c) is not None for c in ties) else 1


def _size(node: Node) -> int:
    """0 for a delta and for materialized rows, 1 for a table restricted to keys, 2 for other inputs."""
    if WEIGHT.name in node.names or cheap(node):
        return 0
    if isinstance(node, Filter | Project):
        return _size(node.input)
    return 1 if isinstance(node, Restrict) else 2
