"""Merge two filters into one.

Before: ``filter p over filter q over x``. After: ``filter q AND p over x``.
Also drops a filter that is always true; never one that is always false.
"""

from __future__ import annotations

from rollview.plan.expressions import conjunction, conjuncts
from rollview.plan.nodes import Filter, Node


def merge_filters(node: Node) -> Node | None:
    if not isinstance(node, Filter):
        return None
    parts = conjuncts(node.condition)
    if not parts:
        return node.input
    if not isinstance(node.input, Filter):
        return None
    below = conjuncts(node.input.condition)
    condition = conjunction([*below, *(part for part in parts if part not in below)])
    assert condition is not None
    return Filter(node.input.input, condition)
