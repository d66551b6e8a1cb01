"""Passes over delta plans. None changes what a plan returns; each can be left out.

A rule writes the plain, right plan; a pass makes it cheap. Each is its own file.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rollview.delta.deriving import Step
from rollview.delta.passes.delta_first import delta_first
from rollview.delta.passes.push_restrictions import push_restrictions
from rollview.delta.passes.restrict_partners import restrict_partners
from rollview.plan.nodes import Node
from rollview.plan.normalising.prune_columns import prune_columns

#: A pass looks at the plan of one step.
Pass = Callable[[Node], Node]

PASSES: tuple[Pass, ...] = (delta_first, restrict_partners, push_restrictions, prune_columns)


def improved(steps: Sequence[Step], passes: Sequence[Pass] = PASSES) -> list[Step]:
    """The steps after the passes."""
    found = []
    for step in steps:
        plan = step.plan
        for each in passes:
            plan = each(plan)
        found.append(Step(step.name, plan, step.what))
    return found
