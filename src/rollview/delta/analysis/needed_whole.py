"""Relations that a refresh needs in full, both old and new, whatever changed.

They are computed once, as steps: groups below an operator that needs all of its input rows (LIMIT, a global aggregate,
a window without PARTITION BY), and shared subplans that have few rows.
"""

from __future__ import annotations

from collections import Counter
from functools import lru_cache

from rollview.delta.derivation import Derivation, form
from rollview.delta.rules.join import one_changed
from rollview.keys.facts import facts_of
from rollview.plan.nodes import LEFT, Aggregate, Filter, Join, Limit, Node, Project, UnionAll, Window
from rollview.plan.traits import needs_all_rows


def find_whole_groups(plan: Node, derivation: Derivation) -> None:
    """Registers the aggregates whose groups are all needed by an operator above."""
    for node in plan.walk():
        if needs_all_rows(node) and derivation.touches(node):
            for inner in _groups_below(node.inputs[0]):
                if derivation.added_up(inner) is not None and one_changed(inner.input, derivation):
                    derivation.whole.append(form(inner))


def find_shared(plan: Node, derivation: Derivation) -> None:
    """Registers shared subplans. Their deltas are computed once; so are their old and new rows, if these are few
    (groups, or one row) and all needed."""
    readers = Counter(child for node in plan.walk() for child in node.inputs)
    derivation.readers = readers
    for node in plan.walk():
        added = (
            isinstance(node, Aggregate)
            and derivation.added_up(node) is not None
            and one_changed(node.input, derivation)
        )
        if derivation.touches(node) and readers[node] > 1 and _one_row(node) and not added:
            derivation.kept.add(node)
        if derivation.touches(node) and needs_all_rows(node):
            below = node.inputs[0]
            while isinstance(below, Filter | Project) and readers[below] < 2:
                below = below.input
            if readers[below] > 1 and _few(below):
                derivation.kept.add(below)


def _one_row(node: Node) -> bool:
    return isinstance(node, Aggregate | Project) and bool(node.inputs[0].inputs) and facts_of(node).key == frozenset()


@lru_cache(maxsize=4096)
def _few(node: Node) -> bool:
    """Whether the rows are groups, or are derived from groups one by one."""
    if isinstance(node, Filter | Project | Limit | Window):
        return _few(node.inputs[0])
    if isinstance(node, UnionAll):
        return all(_few(side) for side in node.inputs)
    if isinstance(node, Join) and (node.kind.is_inner or node.kind is LEFT):
        one = [facts_of(side).key == frozenset() for side in node.inputs]
        return (one[1] and _few(node.left)) or (one[0] and _few(node.right))
    return isinstance(node, Aggregate)


def _groups_below(node: Node) -> list[Aggregate]:
    if isinstance(node, Aggregate):
        return [node] if node.keys and node.sets is None else []
    return _groups_below(node.inputs[0]) if isinstance(node, Filter | Project | Limit | Window) else []
