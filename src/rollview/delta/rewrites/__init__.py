"""What is done to a plan before its delta is derived. Nothing of it changes what the plan returns.

| file | what it does |
|---|---|
| ``eager_aggregation.py`` | aggregates before a left join |
| ``semijoin_aggregates.py`` | aggregates for the keys of their join partners only |
"""

from __future__ import annotations

from rollview.delta.derivation import Deriving
from rollview.delta.rewrites.eager_aggregation import grouped_first
from rollview.delta.rewrites.semijoin_aggregates import focused
from rollview.plan.nodes import Node


def prepared(plan: Node, deriving: Deriving, *, below: bool = False) -> Node:
    """The plan in the form whose delta is cheap; the root operator stays if just what is ``below`` it may change."""
    if below:
        early = plan.with_inputs([grouped_first(child, deriving) for child in plan.inputs])
    else:
        early = grouped_first(plan, deriving)
    found = focused(early, deriving)
    deriving.take_whole(found)
    deriving.take_shared(found)
    return found
