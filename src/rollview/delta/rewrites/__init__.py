"""Rewrites of a plan before its delta is derived. None changes what the plan returns.

| file | what it does |
|---|---|
| ``eager_aggregation.py`` | aggregation moved below a left join |
| ``semijoin_aggregates.py`` | aggregates restricted to the keys of their join partners |
"""

from __future__ import annotations

from rollview.delta.analysis.needed_whole import find_shared, find_whole_groups
from rollview.delta.derivation import Derivation
from rollview.delta.rewrites.eager_aggregation import grouped_first
from rollview.delta.rewrites.semijoin_aggregates import focused
from rollview.plan.nodes import Node


def prepared(plan: Node, derivation: Derivation, *, below: bool = False) -> Node:
    """The plan in the form with the cheapest delta. With ``below``, the root operator is kept as it is."""
    if below:
        early = plan.with_inputs([grouped_first(child, derivation) for child in plan.inputs])
    else:
        early = grouped_first(plan, derivation)
    found = focused(early, derivation)
    find_whole_groups(found, derivation)
    find_shared(found, derivation)
    return found
