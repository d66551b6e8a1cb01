"""The normal form of plans, by a tuple of named rules. No rule changes what a plan returns.

Each rule is a file of its own, with the plan before, the plan after, and the case where it must not fire.

| file | what it does |
|---|---|
| ``drop_branches.py`` | branches of a UNION ALL whose condition is false |
| ``drop_projects.py`` | projections that only drop columns |
| ``expand_grouping_sets.py`` | GROUPING SETS → UNION ALL of aggregates |
| ``flatten_joins.py`` | nested inner joins → one n-way join |
| ``infer_predicates.py`` | conditions copied across equalities |
| ``merge_filters.py`` | two filters → one |
| ``merge_projects.py`` | two projections → one |
| ``outer_to_inner.py`` | outer joins whose padded rows are filtered out |
| ``prune_columns.py`` | unused columns |
| ``push_filters.py`` | filters towards the scans |
| ``push_join_conditions.py`` | conditions of an inner join on one input → filters |
| ``right_to_left.py`` | right joins → left joins |
"""

from __future__ import annotations

from collections.abc import Callable

from rollview.plan.check import check
from rollview.plan.nodes import Node, size
from rollview.plan.rewrite.drop_branches import drop_branches
from rollview.plan.rewrite.drop_projects import drop_projects
from rollview.plan.rewrite.expand_grouping_sets import expand_grouping_sets
from rollview.plan.rewrite.flatten_joins import flatten_joins
from rollview.plan.rewrite.infer_predicates import infer_predicates
from rollview.plan.rewrite.merge_filters import merge_filters
from rollview.plan.rewrite.merge_projects import merge_projects
from rollview.plan.rewrite.outer_to_inner import outer_to_inner
from rollview.plan.rewrite.prune_columns import prune_columns
from rollview.plan.rewrite.push_filters import push_filters
from rollview.plan.rewrite.push_join_conditions import push_join_conditions
from rollview.plan.rewrite.right_to_left import right_to_left

#: A rule returns the replacement of one operator, or None if it does not fire.
Rule = Callable[[Node], Node | None]

RULES: tuple[Rule, ...] = (
    right_to_left,
    expand_grouping_sets,
    merge_filters,
    outer_to_inner,
    push_join_conditions,
    push_filters,
    drop_branches,
    infer_predicates,
    merge_projects,
    drop_projects,
)

_MOST_ROUNDS = 12

#: The result of a rule is discarded if the plan grows beyond this factor: copying shared subplans can explode.
_MOST_GROWTH = 8


def normalise(plan: Node, rules: tuple[Rule, ...] = RULES) -> Node:
    """The plan in normal form: the rules applied until none fires or a number of rounds is reached, then unused columns
    pruned, and inner joins flattened last."""
    most = _MOST_GROWTH * size(plan)
    for _ in range(_MOST_ROUNDS):  # the plan is right after any number of rounds: no rule changes its meaning
        changed = plan
        for rule in rules:
            found = apply_rule(changed, rule)
            if found is changed or size(found) <= most:
                changed = found
        if changed == plan:
            break
        plan = changed
    return apply_rule(check(prune_columns(plan), "prune_columns"), flatten_joins)


def apply_rule(plan: Node, rule: Rule) -> Node:
    """Applies the rule to every operator, inputs first. Equal operators become one."""
    done: dict[Node, Node] = {}
    known: dict[Node, Node] = {}
    for node in plan.walk():
        inputs = [done[child] for child in node.inputs]
        same = all(a is b for a, b in zip(inputs, node.inputs, strict=True))
        found = node if same else node.with_inputs(inputs)
        made = rule(found)
        found = found if made is None else check(made, rule.__name__)
        done[node] = known.setdefault(found, found)
    return done[plan]
