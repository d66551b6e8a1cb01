"""Passes over delta plans. None changes what a plan returns; each can be left out.

A rule writes the plain, right plan; a pass makes it cheap. Each is its own file.

| file | what it does |
|---|---|
| ``restrict_partners.py`` | a delta's join partners, reduced to the delta's keys |
| ``push_restrictions.py`` | restrictions towards the scans |
| ``small_first.py`` | joins begin with their small input |
| ``running.py`` | the passes at run time, in order |
| ``drop_empty.py`` | at run time: terms over empty steps |
| ``small_sides.py`` | at run time: which side of a join to broadcast |
| ``literal_keys.py`` | at run time: few keys as literals |
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from rollview.delta.derivation import STEP, Step
from rollview.delta.passes.push_restrictions import push_restrictions
from rollview.delta.passes.restrict_partners import restrict_partners
from rollview.delta.passes.small_first import small_first
from rollview.plan.check import check
from rollview.plan.nodes import Node, Scan, exactly
from rollview.plan.rewrite import apply_rule
from rollview.plan.rewrite.merge_projects import merge_projects
from rollview.plan.rewrite.prune_columns import prune_columns

#: A pass looks at the plan of one step.
Pass = Callable[[Node], Node]


def one_project(plan: Node) -> Node:
    """Projections over projections are one."""
    return apply_rule(plan, merge_projects)


PASSES: tuple[Pass, ...] = (restrict_partners, push_restrictions, small_first, one_project, prune_columns)


def improved(steps: Sequence[Step], passes: Sequence[Pass] = PASSES) -> list[Step]:
    """The steps after the passes."""
    found = []
    for step in steps:
        plan = step.plan
        for each in passes:
            plan = check(each(plan), each.__name__)
        found.append(replace(step, plan=plan))
    return _needed(found) if prune_columns in passes else found


def _needed(steps: Sequence[Step]) -> list[Step]:
    """The steps with just the columns that later ones read; all those of the last."""
    used: dict[str, set[str]] = {steps[-1].name: set(steps[-1].plan.names)}
    found: list[Step] = []
    for step in reversed(steps):
        wanted = [column for column in step.plan.columns if column.name in used.get(step.name, set())]
        plan = prune_columns(exactly(step.plan, wanted)) if wanted else step.plan
        for node in plan.walk():
            if isinstance(node, Scan) and node.version == STEP:
                used.setdefault(node.table, set()).update(node.sources)
        found.append(replace(step, plan=plan))
    return found[::-1]
