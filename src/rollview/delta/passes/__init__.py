"""Optimizer passes over delta plans. None changes what a plan returns; each can be omitted.

A delta rule generates a simple, correct plan; passes make it cheap. Each is a file of its own.

| file | what it does |
|---|---|
| ``restrict_partners.py`` | join partners of a delta restricted to the delta's keys |
| ``push_restrictions.py`` | restrictions pushed down to the scans |
| ``small_first.py`` | inner joins ordered to start with the small input |
| ``run_time.py`` | the passes at run time, in order |
| ``drop_empty.py`` | at run time: terms over empty steps dropped |
| ``small_sides.py`` | at run time: the side of each join to broadcast |
| ``literal_keys.py`` | at run time: small sets of keys as literal predicates |
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

#: A pass rewrites the plan of one step.
Pass = Callable[[Node], Node]


def one_project(plan: Node) -> Node:
    """Merges nested projections."""
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
    """The steps with only the columns that later steps read; the last step keeps all columns."""
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
